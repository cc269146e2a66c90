#include "serve/param_check.h"

#include "base/text.h"

enum { MAX_KNOWN = 64 };

struct known {
    sf_str names[MAX_KNOWN];
    sf_str words[MAX_KNOWN]; /* "json|text": the allowed values; empty: the handler checks them */
    bool can_repeat[MAX_KNOWN];
    size_t n;
};

static void param_check_read_known(const char *text, struct known *out)
{
    sf_str rest = sf_str_from(text), word;
    while (out->n < MAX_KNOWN && sf_str_split_next(&rest, ' ', &word)) {
        size_t at = word.len;
        if (word.len == 0)
            continue;
        (void)sf_str_find_char(word, '=', &at);
        out->words[out->n] = sf_str_from_at(word, at + 1);
        word = sf_str_part(word, 0, at);
        out->can_repeat[out->n] = word.p[word.len - 1] == '*';
        out->names[out->n] = sf_str_part(word, 0, word.len - out->can_repeat[out->n]);
        out->n++;
    }
}

/* Length after decoding: at least 1/3 of the encoded length. */
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
        return sf_fail(why, SF_ERR_INPUT, "unknown parameter %.*s; this endpoint has no parameters",
                       SF_STR_ARG(sf_str_part(name, 0, 60)));
    return sf_fail(why, SF_ERR_INPUT, "unknown parameter %.*s%s%.*s",
                   SF_STR_ARG(sf_str_part(name, 0, 60)), best < known->n ? "; did you mean " : "",
                   SF_STR_ARG(best < known->n ? known->names[best] : SF_STR_NONE));
}

static bool param_check_is_word(sf_str words, sf_str val)
{
    sf_str one;
    while (sf_str_split_next(&words, '|', &one))
        if (sf_str_eq(one, val))
            return true;
    return false;
}

/* Decodes the value into `room`. */
static enum sf_err check_value(const struct known *known, size_t place, sf_str val,
                               struct sf_buf *room, struct sf_why *why)
{
    sf_buf_reset(room);
    if (!sf_request_decode(val, room))
        return sf_fail(why, SF_ERR_INPUT, "the parameter %.*s holds a broken percent escape",
                       SF_STR_ARG(known->names[place]));
    if (known->words[place].len > 0 && !param_check_is_word(known->words[place], sf_buf_str(room)))
        return sf_fail(why, SF_ERR_INPUT, "%.*s=%.*s is not known here; it is one of %.*s",
                       SF_STR_ARG(known->names[place]),
                       SF_STR_ARG(sf_str_part(sf_buf_str(room), 0, 60)),
                       SF_STR_ARG(known->words[place]));
    return SF_OK;
}

static size_t param_check_find_known(const struct known *known, sf_str name)
{
    size_t place = 0;
    while (place < known->n && !sf_str_eq(known->names[place], name))
        place++;
    return place;
}

struct checking {
    const struct sf_route *route;
    struct known known, refused;
    struct sf_buf room;
    uint64_t seen, n_unknown;
};

/* Checks a parameter of a call of a compatible API. */
static enum sf_err check_foreign(struct checking *x, sf_str name, bool is_name, struct sf_why *why)
{
    if (is_name && param_check_find_known(&x->refused, name) < x->refused.n)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "the parameter %.*s is not supported",
                       SF_STR_ARG(sf_str_part(name, 0, 60)));
    x->n_unknown += x->route->reads &&
                    !(is_name && param_check_find_known(&x->known, name) < x->known.n);
    return SF_OK;
}

static enum sf_err check_one(struct checking *x, sf_str pair, struct sf_why *why)
{
    const struct sf_route *route = x->route;
    const struct known *known = &x->known;
    struct sf_buf *room = &x->room;
    size_t at = pair.len, place;
    bool has_value = sf_str_find_char(pair, '=', &at);
    sf_str raw = sf_str_part(pair, 0, at), val = sf_str_from_at(pair, at + 1);
    sf_buf_reset(room);
    bool is_name = sf_request_decode(raw, room);
    sf_str name = is_name ? sf_buf_str(room) : raw;
    if (decoded_len(val) > SF_LIMIT_PARAM_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "the parameter %.*s is longer than %d bytes",
                       SF_STR_ARG(sf_str_part(name, 0, 60)), SF_LIMIT_PARAM_LEN);
    if (!route->params)
        return check_foreign(x, name, is_name, why);
    place = is_name ? param_check_find_known(known, name) : known->n;
    if (place == known->n)
        return route->is_loose ? SF_OK : refuse_unknown(known, name, why);
    if ((x->seen & UINT64_C(1) << place) && !known->can_repeat[place])
        return sf_fail(why, SF_ERR_INPUT, "the parameter %.*s is given more than once",
                       SF_STR_ARG(name));
    x->seen |= UINT64_C(1) << place;
    if (val.len == 0 && !route->is_loose)
        return sf_fail(why, SF_ERR_INPUT, "the parameter %.*s is empty%s; leave it out or set it",
                       SF_STR_ARG(name), has_value ? "" : " (there is no =)");
    return check_value(known, place, val, room, why); /* reuses `room`, so `name` is no longer
                                                       * valid */
}

enum sf_err sf_param_check(const struct sf_request *r, const struct sf_route *route,
                           uint64_t *out_n_unknown, struct sf_why *why)
{
    struct checking x = {.route = route, .room = {.max = SF_LIMIT_TARGET_LEN}};
    enum sf_err err = SF_OK;
    sf_str rest = r->query, pair;
    *out_n_unknown = 0;
    if (r->query.len == 0)
        return SF_OK;
    if (route->params || route->reads)
        param_check_read_known(route->params ? route->params : route->reads, &x.known);
    if (route->refuses)
        param_check_read_known(route->refuses, &x.refused);
    while (!err && sf_str_split_next(&rest, '&', &pair)) {
        if (pair.len)
            err = check_one(&x, pair, why);
    }
    *out_n_unknown = x.n_unknown;
    sf_buf_done(&x.room);
    return err;
}
