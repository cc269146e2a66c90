#include "store/local/profiles/profile_select.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/num.h"
#include "regex/regex.h"

/* Splits "a:b:c" or "a:b:c:d:e" into parts; 0: it is neither. */
static unsigned profile_type_split(sf_str id, sf_str parts[5])
{
    sf_str rest = id, part;
    unsigned n = 0;
    while (sf_str_split_next(&rest, ':', &part)) {
        if (n == 5 && sf_str_eq(part, SF_STR("delta")) && rest.len == 0)
            break; /* suffix of old ids */
        if (n == 5)
            return 0;
        parts[n++] = part;
    }
    /* "a:b:c::" ends with two empty parts; the split omits the last one. */
    while (n > 0 && n < 5 && id.len && id.p[id.len - 1] == ':' && n >= 3)
        parts[n++] = SF_STR_NONE;
    return n == 3 || n == 5 ? n : 0;
}

static bool profile_type_is(const sf_str parts[5], unsigned n, const struct sf_profile_type *type)
{
    const sf_str own[] = {type->name, type->sample_type, type->sample_unit, type->period_type,
                          type->period_unit};
    for (unsigned i = 0; i < n; i++) {
        if (!sf_str_eq(parts[i], own[i]))
            return false;
    }
    return true;
}

static bool is_pattern(const struct sf_matcher *m)
{
    return m->op == SF_OP_MATCH || m->op == SF_OP_NO_MATCH;
}

static bool profile_select_is_service(sf_str key)
{
    return sf_str_eq(key, SF_STR("service_name")) || sf_str_eq(key, SF_STR("__service_name__"));
}

enum sf_err sf_profile_select_init(struct sf_profile_select *s, sf_str type,
                                   const struct sf_matcher *match, size_t n_match,
                                   struct sf_why *why)
{
    enum sf_err err = SF_OK;
    *s = (struct sf_profile_select){.match = match, .n_match = n_match};
    if (type.len) {
        s->n_type = profile_type_split(type, s->type);
        if (!s->n_type)
            return sf_fail(why, SF_ERR_INPUT,
                           "profile type \"%.*s\": three or five parts with colons between",
                           SF_STR_ARG(sf_str_part(type, 0, 80)));
    }
    s->regexes = sf_heap_new_n(n_match + 1, sizeof(struct sf_regex *));
    s->scratch = sf_regex_scratch_new();
    if (!s->regexes || !s->scratch)
        err = sf_fail(why, SF_ERR_NOMEM, "query: no memory for a selector");
    for (size_t i = 0; !err && i < n_match; i++) {
        if (is_pattern(&match[i]))
            err = sf_regex_new_whole(match[i].val, &s->regexes[i], why);
        else if (match[i].op == SF_OP_EQ && profile_select_is_service(match[i].key))
            s->service = match[i].val;
    }
    if (err)
        sf_profile_select_done(s);
    return err;
}

void sf_profile_select_done(struct sf_profile_select *s)
{
    for (size_t i = 0; s->regexes && i < s->n_match; i++)
        sf_regex_free(s->regexes[i]);
    sf_heap_free(s->regexes);
    sf_regex_scratch_free(s->scratch);
    *s = (struct sf_profile_select){0};
}

sf_str sf_profile_select_label(const struct sf_profile_series *series, sf_str key)
{
    const struct {
        sf_str key, val;
    } own[] = {
        {SF_STR("__name__"), series->type.name},
        {SF_STR("__type__"), series->type.sample_type},
        {SF_STR("__unit__"), series->type.sample_unit},
        {SF_STR("__period_type__"), series->type.period_type},
        {SF_STR("__period_unit__"), series->type.period_unit},
    };
    if (sf_str_eq(key, SF_STR("__service_name__")))
        key = SF_STR("service_name");
    for (uint32_t i = 0; i < series->n_labels; i++) {
        if (sf_str_eq(series->labels[i].key, key))
            return series->labels[i].val;
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (sf_str_eq(own[i].key, key))
            return own[i].val;
    }
    return SF_STR_NONE;
}

static bool type_text_is(const struct sf_profile_select *s, size_t i,
                         const struct sf_profile_type *type)
{
    const struct sf_matcher *m = &s->match[i];
    sf_str parts[5];
    char text[512];
    int len;
    if (!is_pattern(m)) {
        unsigned n = profile_type_split(m->val, parts);
        return (n && profile_type_is(parts, n, type)) == (m->op == SF_OP_EQ);
    }
    len = snprintf(text, sizeof(text), "%.*s:%.*s:%.*s:%.*s:%.*s", SF_STR_ARG(type->name),
                   SF_STR_ARG(type->sample_type), SF_STR_ARG(type->sample_unit),
                   SF_STR_ARG(type->period_type), SF_STR_ARG(type->period_unit));
    if (len < 0 || (size_t)len >= sizeof(text))
        return m->op == SF_OP_NO_MATCH;
    return (sf_regex_match(s->regexes[i], (sf_str){text, (size_t)len}, s->scratch) ==
            SF_REGEX_FOUND) == (m->op == SF_OP_MATCH);
}

bool sf_profile_select_is(const struct sf_profile_select *s, const struct sf_profile_series *series)
{
    if (s->n_type && !profile_type_is(s->type, s->n_type, &series->type))
        return false;
    for (size_t i = 0; i < s->n_match; i++) {
        const struct sf_matcher *m = &s->match[i];
        bool is_same;
        sf_str val;
        if (sf_str_eq(m->key, SF_STR("__profile_type__"))) {
            if (!type_text_is(s, i, &series->type))
                return false;
            continue;
        }
        val = sf_profile_select_label(series, m->key);
        is_same = is_pattern(m) ? sf_regex_match(s->regexes[i], val, s->scratch) == SF_REGEX_FOUND
                                : sf_str_eq(val, m->val);
        if (is_same != (m->op == SF_OP_EQ || m->op == SF_OP_MATCH))
            return false;
    }
    return true;
}

bool sf_profile_select_series(const struct sf_profile_select *s,
                              const struct sf_profile_series *series, uint32_t n, bool has_requests,
                              bool *out)
{
    bool has_any = false;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (has_requests || !(series[i].flags & SF_PROFILE_REQUEST)) &&
                 sf_profile_select_is(s, &series[i]);
        has_any = has_any || out[i];
    }
    return has_any;
}

sf_profile_id sf_profile_select_row_id(sf_str service, const struct sf_profile_series *series,
                                       const struct sf_profile_row *row)
{
    static const sf_profile_id NO_ID = {{0}};
    const sf_str parts[] = {series->type.name, series->type.sample_type, series->type.sample_unit,
                            series->type.period_type, series->type.period_unit};
    uint64_t hash = sf_hash_str(service);
    sf_profile_id id;
    if (memcmp(&row->id, &NO_ID, sizeof(NO_ID)) != 0)
        return row->id;
    for (size_t i = 0; i < 5; i++)
        hash = sf_hash_mix(hash, sf_hash_str(parts[i]));
    for (uint32_t i = 0; i < series->n_labels; i++)
        hash = sf_hash_mix(sf_hash_mix(hash, sf_hash_str(series->labels[i].key)),
                           sf_hash_str(series->labels[i].val));
    sf_store_u64be(id.b, hash);
    sf_store_u64be(id.b + 8, (uint64_t)row->time_ns);
    return id;
}
