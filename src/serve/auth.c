#include "serve/auth.h"

#include <stdio.h>

#include "base/text.h"

/* The token of `Authorization: Bearer`, of HTTP basic (as password) or of the configured header. A
 * decoded token is stored in `room`, which begins empty. False: no token. */
static bool auth_token(const struct sf_request *r, sf_str header, struct sf_buf *room, sf_str *out)
{
    sf_str auth = sf_request_header(r, SF_STR("authorization"));
    size_t at;
    if (header.len) {
        sf_str val = sf_request_header(r, header);
        if (val.len) {
            *out = val;
            return true;
        }
    }
    if (!sf_str_find_char(auth, ' ', &at))
        return false;
    sf_str scheme = sf_str_part(auth, 0, at);
    sf_str rest = sf_str_trim(sf_str_from_at(auth, at + 1));
    if (sf_str_ieq(scheme, SF_STR("bearer")) && rest.len) {
        *out = rest;
        return true;
    }
    if (!sf_str_ieq(scheme, SF_STR("basic")) || !sf_base64_decode(room, rest) ||
        !sf_str_find_char(sf_buf_str(room), ':', &at))
        return false;
    *out = sf_str_from_at(sf_buf_str(room), at + 1);
    return out->len > 0;
}

static bool auth_is_asked(const struct sf_service *s)
{
    return s->auth.token || s->auth.user;
}

static unsigned count_headers(const struct sf_request *r, sf_str name)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < r->n_headers; i++)
        n += sf_str_eq(r->headers[i].name, name);
    return n;
}

bool sf_auth_is_signed_in(const struct sf_service *s, const struct sf_request *r)
{
    return s->auth.user && s->auth.is_proxy(s->auth.user_arg, r->peer) &&
           sf_request_header(r, s->auth.user_header).len > 0;
}

/* The proxy must replace the user header that a client sent: if it appended its own, the client's
 * would come first. So a repeated header is refused. */
static enum sf_err grant_user(const struct sf_service *s, const struct sf_request *r,
                              struct sf_grant *out, struct sf_why *why)
{
    sf_str user = sf_request_header(r, s->auth.user_header), groups = SF_STR_NONE;
    if (s->auth.groups_header.len)
        groups = sf_request_header(r, s->auth.groups_header);
    if (count_headers(r, s->auth.user_header) > 1 ||
        (s->auth.groups_header.len && count_headers(r, s->auth.groups_header) > 1))
        return sf_fail(why, SF_ERR_DENIED,
                       "the proxy's header occurs more than once: the proxy must replace the "
                       "header that clients send, not add one");
    (void)snprintf(out->name, sizeof(out->name), "%.*s", SF_STR_ARG(sf_str_part(user, 0, 64)));
    if (s->auth.user(s->auth.user_arg, user, groups, out))
        return SF_OK;
    return sf_fail(
        why, SF_ERR_DENIED,
        "you are signed in as %.*s, but no line of auth.proxy.users_file names this user",
        SF_STR_ARG(sf_str_part(user, 0, 80)));
}

enum sf_err sf_auth_grant(const struct sf_service *s, const struct sf_request *r,
                          struct sf_grant *out, struct sf_why *why)
{
    struct sf_buf room = {.max = SF_LIMIT_HEADER_LEN};
    enum sf_err err = SF_ERR_NOT_FOUND;
    sf_str token;
    if (!auth_is_asked(s)) {
        out->scopes = SF_MAY_READ | SF_MAY_WRITE | SF_MAY_ADMIN | SF_MAY_CONTROL;
        out->name[0] = '-';
        return SF_OK;
    }
    if (sf_auth_is_signed_in(s, r))
        return grant_user(s, r, out, why);
    if (!s->auth.token)
        err = sf_fail(why, err, "not signed in: use the address of the proxy that signs users in");
    else if (!auth_token(r, s->auth.header, &room, &token))
        err = sf_fail(why, err, "a token is needed: send Authorization: Bearer TOKEN");
    else
        err = s->auth.token(s->auth.token_arg, token, out) ? SF_OK
                                                           : sf_fail(why, err, "unknown token");
    sf_buf_done(&room);
    return err;
}

bool sf_auth_has_tenants(const struct sf_grant *g, sf_str header)
{
    sf_str name;
    if (g->tenants.len == 0)
        return true;
    while (sf_str_split_next(&header, '|', &name)) {
        sf_str rest = sf_buf_str(&g->tenants), one;
        bool is_in = false;
        while (!is_in && sf_str_split_next(&rest, ',', &one))
            is_in = sf_str_eq(one, name);
        if (!is_in)
            return false;
    }
    return true;
}
