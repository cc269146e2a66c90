/* proxy_users.h - users authenticated by a proxy in front of the server, and their permissions.
 *
 * One line per rule, who:scopes[:tenant,...]; `who` is the user name sent by the proxy, @group, or
 * * for every signed-in user. The first matching line applies. Empty lines and lines that begin
 * with # are ignored. Lookups may come from any thread, also during a reload. */
#pragma once
#include "app/config.h"
#include "serve/service.h"

struct sf_proxy_users;

/* Opens the file and the list of peers that `c` names. NOT_FOUND, DENIED, IO (the file), INPUT,
 * LIMIT, NOMEM. */
enum sf_err sf_proxy_users_open(const struct sf_config *c, struct sf_proxy_users **out,
                                struct sf_why *why);
void sf_proxy_users_close(struct sf_proxy_users *u); /* NULL is fine */
/* Reads the file again (SIGHUP). On failure the previous rules stay in effect. */
enum sf_err sf_proxy_users_reload(struct sf_proxy_users *u, struct sf_why *why);

/* For sf_service_auth; `arg` is the struct sf_proxy_users. */
bool sf_proxy_users_is_proxy(void *arg, const char *peer);
bool sf_proxy_users_grant(void *arg, sf_str user, sf_str groups, struct sf_grant *out);
