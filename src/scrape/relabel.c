/* relabel.c - Prometheus relabelling rules. A rule is set field by field, checked (its pattern
 * compiles, the fields its action needs are set), then applied to a list of labels; a target that a
 * rule drops is reported as not kept. */
#include "scrape/relabel.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/buf.h"

static const char *const action_names[] = {"replace",   "keep",      "drop",      "keepequal",
                                           "dropequal", "labelmap",  "labeldrop", "labelkeep",
                                           "lowercase", "uppercase", "hashmod"};
enum { N_ACTIONS = sizeof(action_names) / sizeof(action_names[0]) };

/* ---- a rule ---- */

static enum sf_err set_sources(struct sf_relabel *r, sf_str val, struct sf_why *why)
{
    sf_str one;
    while (sf_str_split_next(&val, ',', &one)) {
        one = sf_str_trim(one);
        if (!one.len)
            continue;
        if (r->n_sources == SF_LIMIT_SCRAPE_SOURCES)
            return sf_fail(why, SF_ERR_LIMIT, "more than %d source_labels",
                           SF_LIMIT_SCRAPE_SOURCES);
        r->sources[r->n_sources++] = one;
    }
    return SF_OK;
}

static enum sf_err set_action(struct sf_relabel *r, sf_str val, struct sf_why *why)
{
    for (size_t i = 0; i < N_ACTIONS; i++) {
        if (sf_str_eq(val, sf_str_from(action_names[i]))) {
            r->action = (enum sf_relabel_action)i;
            return SF_OK;
        }
    }
    return sf_fail(why, SF_ERR_INPUT,
                   "no action \"%.*s\": replace, keep, drop, keepequal, dropequal, labelmap, "
                   "labeldrop, labelkeep, lowercase, uppercase, hashmod",
                   SF_STR_ARG(sf_str_part(val, 0, 40)));
}

enum sf_err sf_relabel_set(struct sf_relabel *r, sf_str key, sf_str val, struct sf_why *why)
{
    if (sf_str_eq(key, SF_STR("source_labels")))
        return set_sources(r, val, why);
    if (sf_str_eq(key, SF_STR("separator"))) {
        r->separator = val;
        r->has_separator = true;
    } else if (sf_str_eq(key, SF_STR("regex"))) {
        r->pattern = val;
    } else if (sf_str_eq(key, SF_STR("target_label"))) {
        r->target = val;
    } else if (sf_str_eq(key, SF_STR("replacement"))) {
        r->replacement = val;
        r->has_replacement = true;
    } else if (sf_str_eq(key, SF_STR("modulus"))) {
        if (!sf_str_to_u64(val, &r->modulus) || r->modulus == 0)
            return sf_fail(why, SF_ERR_INPUT, "relabel: modulus is a number above 0");
    } else if (sf_str_eq(key, SF_STR("action"))) {
        return set_action(r, val, why);
    } else {
        return sf_fail(why, SF_ERR_INPUT,
                       "relabel has no %.*s: source_labels, separator, regex, target_label, "
                       "replacement, modulus, action",
                       SF_STR_ARG(sf_str_part(key, 0, 40)));
    }
    return SF_OK;
}

static bool relabel_is_label_name(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i && c >= '0' && c <= '9')))
            return false;
    }
    return s.len > 0 && s.len <= 128;
}

enum sf_err sf_relabel_check(struct sf_relabel *r, struct sf_why *why)
{
    bool writes = r->action == SF_RELABEL_REPLACE || r->action >= SF_RELABEL_LOWER ||
                  r->action == SF_RELABEL_KEEP_EQUAL || r->action == SF_RELABEL_DROP_EQUAL;
    enum sf_err err;
    if (!r->has_separator)
        r->separator = SF_STR(";");
    if (!r->pattern.len)
        r->pattern = SF_STR("(.*)");
    if (!r->has_replacement)
        r->replacement = SF_STR("$1");
    if (writes && !r->target.len)
        return sf_fail(why, SF_ERR_INPUT, "relabel: %s expects a target_label",
                       action_names[r->action]);
    if (r->action == SF_RELABEL_KEEP_EQUAL || r->action == SF_RELABEL_DROP_EQUAL ||
        r->action >= SF_RELABEL_LOWER) {
        if (!relabel_is_label_name(r->target))
            return sf_fail(why, SF_ERR_INPUT, "relabel: \"%.*s\" is not a valid label name",
                           SF_STR_ARG(sf_str_part(r->target, 0, 60)));
    }
    if ((r->action == SF_RELABEL_HASH_MOD) != (r->modulus > 0))
        return sf_fail(why, SF_ERR_INPUT,
                       "relabel: hashmod expects a modulus, and nothing else does");
    err = sf_regex_new_grouped(r->pattern, &r->re, why);
    if (err)
        sf_why_prefix(why, "relabel: regex");
    return err;
}

void sf_relabel_done(struct sf_relabel *r)
{
    sf_regex_free(r->re);
    r->re = NULL;
}

/* ---- labels ---- */

static size_t relabel_place_of(const struct sf_label_set *s, sf_str key)
{
    size_t i = 0;
    while (i < s->n && !sf_str_eq(s->list[i].key, key))
        i++;
    return i;
}

sf_str sf_relabel_label_get(const struct sf_label_set *s, sf_str key)
{
    size_t i = relabel_place_of(s, key);
    return i < s->n ? s->list[i].val : SF_STR_NONE;
}

static void relabel_drop(struct sf_label_set *s, size_t i)
{
    memmove(&s->list[i], &s->list[i + 1], (s->n - i - 1) * sizeof(s->list[0]));
    s->n--;
}

enum sf_err sf_relabel_label_put(struct sf_label_set *s, sf_str key, sf_str val, struct sf_why *why)
{
    size_t i = relabel_place_of(s, key);
    if (!val.len) {
        if (i < s->n)
            relabel_drop(s, i);
        return SF_OK;
    }
    if (key.len > SF_LIMIT_SCRAPE_TEXT_LEN || val.len > SF_LIMIT_SCRAPE_TEXT_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "a label of more than %d bytes",
                       SF_LIMIT_SCRAPE_TEXT_LEN);
    if (i == SF_LIMIT_SCRAPE_LABELS)
        return sf_fail(why, SF_ERR_LIMIT, "a target with more than %d labels",
                       SF_LIMIT_SCRAPE_LABELS);
    s->list[i] = (struct sf_label){key, val};
    s->n = i == s->n ? s->n + 1 : s->n;
    return SF_OK;
}

/* ---- rules ---- */

/* "$1", "${1}" and "$$"; any other dollar sign is literal. */
static enum sf_err expand(sf_str text, const sf_str groups[SF_REGEX_GROUPS], struct sf_arena *req,
                          sf_str *out, struct sf_why *why)
{
    struct sf_buf to = {.max = SF_LIMIT_SCRAPE_TEXT_LEN};
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < text.len; i++) {
        size_t at = i + 1;
        bool has_brace = at < text.len && text.p[i] == '$' && text.p[at] == '{';
        at += has_brace;
        if (text.p[i] == '$' && at < text.len && text.p[at] >= '0' && text.p[at] <= '9' &&
            (!has_brace || (at + 1 < text.len && text.p[at + 1] == '}'))) {
            sf_buf_add_str(&to, groups[text.p[at] - '0']);
            i = at + has_brace;
        } else if (text.p[i] == '$' && at < text.len && text.p[at] == '$') {
            sf_buf_add_u8(&to, '$');
            i = at;
        } else {
            sf_buf_add_u8(&to, (uint8_t)text.p[i]);
        }
    }
    if (!sf_buf_ok(&to))
        err = sf_fail(why, SF_ERR_LIMIT, "relabel: a text of more than %d bytes",
                      SF_LIMIT_SCRAPE_TEXT_LEN);
    else if (!sf_arena_copy(req, sf_buf_str(&to), out))
        err = sf_no_room(why, "labels");
    sf_buf_done(&to);
    return err;
}

static enum sf_err relabel_join(const struct sf_relabel *r, const struct sf_label_set *s,
                                struct sf_arena *req, sf_str *out, struct sf_why *why)
{
    struct sf_buf to = {.max = SF_LIMIT_SCRAPE_SOURCES * (SF_LIMIT_SCRAPE_TEXT_LEN + 16)};
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < r->n_sources; i++) {
        if (i)
            sf_buf_add_str(&to, r->separator);
        sf_buf_add_str(&to, sf_relabel_label_get(s, r->sources[i]));
    }
    if (!sf_buf_ok(&to) || !sf_arena_copy(req, sf_buf_str(&to), out))
        err = sf_no_room(why, "labels");
    sf_buf_done(&to);
    return err;
}

static enum sf_err relabel_replace(const struct sf_relabel *r, const sf_str groups[SF_REGEX_GROUPS],
                                   struct sf_label_set *io, struct sf_arena *req,
                                   struct sf_why *why)
{
    sf_str key, val;
    enum sf_err err = expand(r->target, groups, req, &key, why);
    if (!err)
        err = expand(r->replacement, groups, req, &val, why);
    if (err || !relabel_is_label_name(key)) /* an invalid label name changes nothing */
        return err;
    return sf_relabel_label_put(io, key, val, why);
}

static enum sf_err fold_case(const struct sf_relabel *r, sf_str text, struct sf_label_set *io,
                             struct sf_arena *req, struct sf_why *why)
{
    char *copy = sf_arena_new_n(req, text.len + 1, 1);
    if (!copy)
        return sf_no_room(why, "labels");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        bool is_lower = c >= 'a' && c <= 'z', is_upper = c >= 'A' && c <= 'Z';
        copy[i] = r->action == SF_RELABEL_LOWER && is_upper   ? (char)(c + 32)
                  : r->action == SF_RELABEL_UPPER && is_lower ? (char)(c - 32)
                                                              : c;
    }
    return sf_relabel_label_put(io, r->target, (sf_str){copy, text.len}, why);
}

/* Computed as in Prometheus, so that targets are divided the same way: the last eight bytes of the
 * MD5, most significant first. */
static enum sf_err hash_mod(const struct sf_relabel *r, sf_str text, struct sf_label_set *io,
                            struct sf_arena *req, struct sf_why *why)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    uint64_t number = 0;
    sf_str val;
    if (!EVP_Digest(text.p, text.len, sum, &len, EVP_md5(), NULL) || len != 16)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "relabel: this OpenSSL has no MD5 for hashmod");
    for (unsigned i = 8; i < 16; i++)
        number = number << 8 | sum[i];
    if (!sf_arena_print(req, &val, "%llu", (unsigned long long)(number % r->modulus)))
        return sf_no_room(why, "labels");
    return sf_relabel_label_put(io, r->target, val, why);
}

static enum sf_err relabel_by_name(const struct sf_relabel *r, struct sf_label_set *io,
                                   struct sf_arena *req, struct sf_regex_scratch *scratch,
                                   struct sf_why *why)
{
    struct sf_label_set was = *io;
    for (size_t i = 0; i < was.n; i++) {
        sf_str groups[SF_REGEX_GROUPS], name;
        enum sf_regex_result found = sf_regex_groups(r->re, was.list[i].key, scratch, groups);
        enum sf_err err = SF_OK;
        if (found == SF_REGEX_GAVE_UP)
            return sf_fail(why, SF_ERR_LIMIT, "relabel: the pattern takes too long");
        if (r->action == SF_RELABEL_MAP && found == SF_REGEX_FOUND) {
            err = expand(r->replacement, groups, req, &name, why);
            if (!err && relabel_is_label_name(name))
                err = sf_relabel_label_put(io, name, was.list[i].val, why);
        } else if ((r->action == SF_RELABEL_DROP_LABEL && found == SF_REGEX_FOUND) ||
                   (r->action == SF_RELABEL_KEEP_LABEL && found == SF_REGEX_NONE)) {
            err = sf_relabel_label_put(io, was.list[i].key, SF_STR_NONE, why);
        }
        if (err)
            return err;
    }
    return SF_OK;
}

static enum sf_err run_one(const struct sf_relabel *r, struct sf_label_set *io,
                           struct sf_arena *req, struct sf_regex_scratch *scratch, bool *out_keeps,
                           struct sf_why *why)
{
    sf_str groups[SF_REGEX_GROUPS], text;
    enum sf_regex_result found;
    enum sf_err err;
    if (r->action == SF_RELABEL_MAP || r->action == SF_RELABEL_DROP_LABEL ||
        r->action == SF_RELABEL_KEEP_LABEL)
        return relabel_by_name(r, io, req, scratch, why);
    err = relabel_join(r, io, req, &text, why);
    if (err)
        return err;
    if (r->action == SF_RELABEL_HASH_MOD)
        return hash_mod(r, text, io, req, why);
    if (r->action >= SF_RELABEL_LOWER)
        return fold_case(r, text, io, req, why);
    if (r->action == SF_RELABEL_KEEP_EQUAL || r->action == SF_RELABEL_DROP_EQUAL) {
        bool is_equal = sf_str_eq(text, sf_relabel_label_get(io, r->target));
        *out_keeps = is_equal == (r->action == SF_RELABEL_KEEP_EQUAL);
        return SF_OK;
    }
    found = sf_regex_groups(r->re, text, scratch, groups);
    if (found == SF_REGEX_GAVE_UP)
        return sf_fail(why, SF_ERR_LIMIT, "relabel: the pattern takes too long");
    if (r->action == SF_RELABEL_REPLACE)
        return found == SF_REGEX_FOUND ? relabel_replace(r, groups, io, req, why) : SF_OK;
    *out_keeps = (found == SF_REGEX_FOUND) == (r->action == SF_RELABEL_KEEP);
    return SF_OK;
}

enum sf_err sf_relabel_run(const struct sf_relabel *rules, size_t n, struct sf_label_set *io,
                           struct sf_arena *req, struct sf_regex_scratch *scratch, bool *out_keeps,
                           struct sf_why *why)
{
    enum sf_err err = SF_OK;
    *out_keeps = true;
    for (size_t i = 0; !err && *out_keeps && i < n; i++)
        err = run_one(&rules[i], io, req, scratch, out_keeps, why);
    return err;
}
