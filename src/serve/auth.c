#include "serve/auth.h"

#include "base/text.h"

/* The token of `Authorization: Bearer`, of HTTP basic (as password) or of the further header; in
 * `room` when it had to be decoded. False: there is none. */
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
    sf_buf_reset(room);
    if (!sf_str_ieq(scheme, SF_STR("basic")) || !sf_base64_decode(room, rest) ||
        !sf_str_find_char(sf_buf_str(room), ':', &at))
        return false;
    *out = sf_str_from_at(sf_buf_str(room), at + 1);
    return out->len > 0;
}

unsigned sf_auth_scopes(const struct sf_service *s, const struct sf_request *r, bool *out_has_token)
{
    struct sf_buf room = {.max = SF_LIMIT_HEADER_LEN};
    sf_str token;
    unsigned scopes = 0;
    *out_has_token = false;
    if (!s->auth.scopes)
        return SF_MAY_READ | SF_MAY_WRITE | SF_MAY_ADMIN;
    if (auth_token(r, s->auth.header, &room, &token)) {
        *out_has_token = true;
        scopes = s->auth.scopes(s->auth.arg, token);
    }
    sf_buf_done(&room);
    return scopes;
}
