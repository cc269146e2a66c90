/* server.h - a running server: listener, threads, store, and their start and end.
 *
 * Ports are bound first, so that a busy one is reported at once and /ready can report the progress
 * of the replay; requests are served when the store is open. Threads stop in reverse order: the
 * listener stops accepting requests, those in flight end, queues close, threads join, the store
 * writes its data to disk. */
#pragma once
#include "app/config.h"
#include "app/log.h"
#include "base/err.h"

struct sf_server;

/* `config` and `log` are borrowed until free. BUSY: a port is in use, `why` says what to do. */
enum sf_err sf_server_start(const struct sf_config *config, struct sf_log *log,
                            struct sf_server **out, struct sf_why *why);
/* False while the store is being opened. When that failed, *out_err is set and the caller stops the
 * server. */
bool sf_server_is_open(struct sf_server *s, enum sf_err *out_err, struct sf_why *why);
/* The bound addresses, "127.0.0.1:4317 ...", borrowed until free. */
const char *sf_server_addresses(const struct sf_server *s);
/* Reads the tokens and the users of a proxy again; on failure the previous ones stay in effect. */
enum sf_err sf_server_reload(struct sf_server *s, struct sf_why *why);
/* Reads the limits of tenants again when `is_asked` or their file has changed. False: neither. On
 * failure the previous limits stay in effect. */
bool sf_server_reload_limits(struct sf_server *s, bool is_asked, enum sf_err *out_err,
                             struct sf_why *why);
/* Uses the alert rules and receivers of `config` from the next evaluation on. */
void sf_server_replace_alerts(struct sf_server *s, const struct sf_config *config);
/* Stops everything in order. */
void sf_server_stop(struct sf_server *s);
void sf_server_free(struct sf_server *s); /* after stop; NULL is fine */
