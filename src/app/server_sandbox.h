/* server_sandbox.h - what a server may still open and call once it has started. */
#pragma once
#include "app/config.h"
#include "app/log.h"

/* Landlock and seccomp for the calling thread and those it starts: the data directory may be
 * written, and every file that a later request or reload reads is named here. Without effect where
 * server.sandbox is off. The log says what is on. */
enum sf_err sf_server_sandbox_enter(const struct sf_config *c, struct sf_log *log,
                                    struct sf_why *why);
