/* tokens.h - authentication: a file of hashed tokens.
 *
 * One line per token, name:scopes:hash[:tenant,...], scopes being any of read,write,admin,control
 * with commas between them, hash the SHA-256 of the token in hexadecimal, tenants the only ones it
 * may name (without them: all). Empty lines and lines that begin with # are ignored. The file
 * contains no usable secret, but it lists the callers, so it should be private. Lookups may come
 * from any thread, also during a reload. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_grant; /* serve/service.h */
struct sf_tokens;

/* NOT_FOUND, DENIED, IO (the file), INPUT (a line; `why` has its number), LIMIT, NOMEM. */
enum sf_err sf_tokens_open(const char *path, struct sf_tokens **out, struct sf_why *why);
void sf_tokens_close(struct sf_tokens *t); /* NULL is fine */
/* Reads the file again (SIGHUP). On failure the previous tokens stay valid. */
enum sf_err sf_tokens_reload(struct sf_tokens *t, struct sf_why *why);
size_t sf_tokens_count(struct sf_tokens *t);
/* Whether other users can read the file, which is worth a warning. */
bool sf_tokens_is_shared(struct sf_tokens *t);

/* False: unknown. Takes the same time whichever token it is. `arg` is the struct sf_tokens, untyped
 * so that the function fits sf_service_auth.token. */
bool sf_tokens_grant(void *arg, sf_str token, struct sf_grant *out);

/* ---- making a token ---- */

/* Parses "read,write" into bits; false: an unknown scope. */
bool sf_tokens_parse_scopes(sf_str text, unsigned *out);
bool sf_tokens_is_name(sf_str name); /* letters, digits, dots, dashes, underscores; 1 to 64 */
/* Checks "red,blue": names that X-Scope-OrgID may contain. INPUT. */
enum sf_err sf_tokens_check_tenants(sf_str tenants, struct sf_why *why);
/* Makes a random token and its line for the file (without newline). `tenants` may be empty: all. */
enum sf_err sf_tokens_make(sf_str name, unsigned scopes, sf_str tenants, struct sf_buf *out_token,
                           struct sf_buf *out_line, struct sf_why *why);
