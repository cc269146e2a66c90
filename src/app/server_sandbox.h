/* server_sandbox.h - the sandbox that restricts the files and system calls of the running
 * server. */
#pragma once
#include "app/config.h"
#include "app/log.h"

/* Landlock and seccomp for the calling thread and those it starts: the data directory may be
 * written, and files that a later request or reload reads may be read. Does nothing when
 * server.sandbox is off. The log says what is active. */
enum sf_err sf_server_sandbox_enter(const struct sf_config *c, struct sf_log *log,
                                    struct sf_why *why);
