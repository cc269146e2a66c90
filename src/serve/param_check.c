#include "serve/param_check.h"

#include "base/text.h"

enum { MAX_KNOWN = 64 };

struct known {
    sf_str names[MAX_KNOWN];
    bool can_repeat[MAX_KNOWN];
    size_t n;
};

static void read_known(const char *text, struct known *out)
{
    sf_str rest = sf_str_from(text), word;
    while (out->n < MAX_KNOWN && sf_str_split_next(&rest, ' ', &word)) {
        if (word.len == 0)
            continue;
        out->can_repeat[out->n] = word.p[word.len - 1] == '*';
        out->names[out->n] = sf_str_part(word, 0, word.len - out->can_repeat[out->n]);
        out->n++;
    }
}

/* Bytes it is decoded to: at least 1/3 of what was sent. */
static size_t decoded_len(sf_str val)
{
    size_t len = val.len;
    for (size_t i = 0; i + 2 < val.len; i++) {
        if (val.p[i] == '%') {
            len -= 2;
            i += 2;
        }
    }
    return len;
}

static enum sf_err refuse_unknown(const struct known *known, sf_str name, struct sf_why *why)
{
    size_t best = known->n, best_distance = 4;
    for (size_t i = 0; i < known->n && name.len <= 64; i++) {
        size_t d = sf_str_distance(name, known->names[i]);
        if (d < best_distance) {
            best = i;
            best_distance = d;
        }
    }
    if (known->n == 0)
        return sf_fail(why, SF_ERR_INPUT, "unknown parameter %.*s; this call takes none",
                       SF_STR_ARG(sf_str_part(name, 0, 60)));
    return sf_fail(why, SF_ERR_INPUT, "unknown parameter %.*s%s%.*s",
                   SF_STR_ARG(sf_str_part(name, 0, 60)), best < known->n ? "; did you mean " : "",
                   SF_STR_ARG(best < known->n ? known->names[best] : SF_STR_NONE));
}

static enum sf_err check_one(const struct sf_route *route, const struct known *known, sf_str pair,
                             struct sf_buf *room, uint64_t *seen, struct sf_why *why)
{
    size_t at = pair.len, place = 0;
    bool has_value = sf_str_find_char(pair, '=', &at);
    sf_str raw = sf_str_part(pair, 0, at), val = sf_str_from_at(pair, at + 1);
    sf_buf_reset(room);
    bool is_name = sf_request_decode(raw, room);
    sf_str name = is_name ? sf_buf_str(room) : raw;
    if (decoded_len(val) > SF_LIMIT_PARAM_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "the parameter %.*s is longer than %d bytes",
                       SF_STR_ARG(sf_str_part(name, 0, 60)), SF_LIMIT_PARAM_LEN);
    if (!route->params)
        return SF_OK;
    while (place < known->n && !(is_name && sf_str_eq(known->names[place], name)))
        place++;
    if (place == known->n)
        return route->is_loose ? SF_OK : refuse_unknown(known, name, why);
    if ((*seen & UINT64_C(1) << place) && !known->can_repeat[place])
        return sf_fail(why, SF_ERR_INPUT, "the parameter %.*s is there more than once",
                       SF_STR_ARG(name));
    *seen |= UINT64_C(1) << place;
    if (val.len == 0 && !route->is_loose)
        return sf_fail(why, SF_ERR_INPUT, "the parameter %.*s is empty%s; leave it out, or give it",
                       SF_STR_ARG(name), has_value ? "" : " (there is no =)");
    sf_buf_reset(room); /* the name is a view of it */
    return sf_request_decode(val, room)
               ? SF_OK
               : sf_fail(why, SF_ERR_INPUT, "the parameter %.*s holds a broken percent escape",
                         SF_STR_ARG(known->names[place]));
}

enum sf_err sf_param_check(const struct sf_request *r, const struct sf_route *route,
                           struct sf_why *why)
{
    struct sf_buf room = {.max = SF_LIMIT_TARGET_LEN};
    struct known known = {.n = 0};
    enum sf_err err = SF_OK;
    sf_str rest = r->query, pair;
    uint64_t seen = 0;
    if (r->query.len == 0)
        return SF_OK;
    if (route->params)
        read_known(route->params, &known);
    while (!err && sf_str_split_next(&rest, '&', &pair)) {
        if (pair.len)
            err = check_one(route, &known, pair, &room, &seen, why);
    }
    sf_buf_done(&room);
    return err;
}
