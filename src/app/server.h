/* server.h - a running server: listener, threads, store, and their start and end.
 *
 * Ports are bound first, so that a busy one is stated at once and /ready can tell how far the
 * replay of the log is; requests are served when the store is open. Threads end in reverse of their
 * start: the listener stops taking requests, those in flight end, queues close, threads join, the
 * store writes out. */
#pragma once
#include "app/config.h"
#include "app/log.h"
#include "base/err.h"

struct sf_server;

/* `config` and `log` are borrowed until free. BUSY: a port is taken, `why` says the fix. */
enum sf_err sf_server_start(const struct sf_config *config, struct sf_log *log,
                            struct sf_server **out, struct sf_why *why);
/* False while the store is still opening. `out_err` tells whether that failed; then stop. */
bool sf_server_is_open(struct sf_server *s, enum sf_err *out_err, struct sf_why *why);
/* "127.0.0.1:4317 ..." of what is bound, borrowed until free. */
const char *sf_server_addresses(const struct sf_server *s);
/* Reads the tokens again; what was there stays in force when that fails. */
enum sf_err sf_server_reload(struct sf_server *s, struct sf_why *why);
/* Reads the limits of tenants again when `is_asked` or their file has changed. False: neither.
 * What was there stays in force when that fails. */
bool sf_server_reload_limits(struct sf_server *s, bool is_asked, enum sf_err *out_err,
                             struct sf_why *why);
/* From the next evaluation on, the rules and receivers of alerts of `config`. */
void sf_server_replace_alerts(struct sf_server *s, const struct sf_config *config);
/* Ends everything in order. */
void sf_server_stop(struct sf_server *s);
void sf_server_free(struct sf_server *s); /* after stop; NULL is fine */
