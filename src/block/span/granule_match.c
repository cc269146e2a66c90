/* granule_match.c - can a granule contain a row for which the conditions are true?
 *
 * False must be certain, so everything that cannot be decided is true: regular expressions,
 * negations, arrays (a comparison may search in them), intrinsics that are not a column. */
#include "block/format/encoding.h"
#include "block/span/reader.h"

enum { FEW_SEARCHES = 4 }; /* are made in any case */

struct match_ctx {
    const struct sf_span_block_reader *r;
    struct sf_match_memo *memo;
    uint32_t granule, tenant;
    struct sf_arena scratch;
    struct sf_why *why;
};

/* ---- one value against one condition ---- */

static bool granule_match_is_number(const struct sf_value *v)
{
    return v->type == SF_VALUE_INT || v->type == SF_VALUE_DOUBLE;
}

static double granule_match_number_of(const struct sf_value *v)
{
    return v->type == SF_VALUE_INT ? (double)v->i64 : v->f64;
}

/* May `have` satisfy = `want`? Exact for texts and booleans; may return true wrongly for others. */
static bool may_equal(const struct sf_value *have, const struct sf_value *want)
{
    if (have->type == SF_VALUE_ARRAY || have->type == SF_VALUE_KVLIST ||
        have->type == SF_VALUE_BYTES || have->type == SF_VALUE_EMPTY)
        return true;
    if (granule_match_is_number(have) && granule_match_is_number(want))
        return (have->type == SF_VALUE_INT && want->type == SF_VALUE_INT)
                   ? have->i64 == want->i64
                   : !(granule_match_number_of(have) < granule_match_number_of(want)) &&
                         !(granule_match_number_of(have) > granule_match_number_of(want));
    return have->type == want->type && sf_value_eq(*have, *want);
}

static bool is_known_want(const struct sf_value *v)
{
    return v->type == SF_VALUE_STR || v->type == SF_VALUE_BOOL || granule_match_is_number(v);
}

static bool value_may_match(const struct sf_value *have, const struct sf_cond *c)
{
    if (have->type == SF_VALUE_NONE)
        return false;
    if (c->op != SF_OP_EQ)
        return true;
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (!is_known_want(&c->vals[i]) || may_equal(have, &c->vals[i]))
            return true;
    }
    return false;
}

/* Does the operation require the attribute to exist? */
static bool needs_presence(enum sf_op op)
{
    switch (op) {
    case SF_OP_EQ:
    case SF_OP_LT:
    case SF_OP_LE:
    case SF_OP_GT:
    case SF_OP_GE:
    case SF_OP_MATCH:
    case SF_OP_EXISTS: return true;
    default: return false;
    }
}

static bool granule_match_wants_nothing(const struct sf_cond *c)
{
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (c->vals[i].type == SF_VALUE_NONE || c->vals[i].type == SF_VALUE_EMPTY)
            return true; /* "= nil" is true if the attribute is missing */
    }
    return false;
}

/* ---- attributes in columns ---- */

const uint8_t *sf_granule_match_hashes(const struct sf_span_block_reader *r, uint32_t granule,
                                       uint32_t column, uint32_t *out_n)
{
    struct sf_chunk_desc d[2];
    uint32_t first;
    unsigned n = sf_span_block_reader_find_chunk(r, granule, column, &first, d);

    *out_n = n ? sf_span_block_reader_n_hashes(&d[n - 1])
               : 0; /* codes have no hashes, their dictionary has */
    return *out_n ? r->hashes + (size_t)r->hash_places[first + n - 1] * 4 : NULL;
}

bool sf_granule_match_hashes_have(const uint8_t *hashes, uint32_t n, uint64_t hash)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sf_load_u32le(hashes + (size_t)i * 4) == (uint32_t)hash)
            return true;
    }
    return false;
}

/* The bits of a number if it were stored in a column of `type`; false: it cannot be there. */
static bool granule_match_bits_of(const struct sf_value *want, uint8_t type, uint64_t *out,
                                  bool *out_unsure)
{
    double f;

    *out_unsure = false;
    if (type == SF_VALUE_BOOL) {
        *out = want->type == SF_VALUE_BOOL && want->is_true;
        return want->type == SF_VALUE_BOOL;
    }
    if (!granule_match_is_number(want))
        return false;
    if (type == want->type && type == SF_VALUE_INT) {
        memcpy(out, &want->i64, sizeof(*out));
        return true;
    }
    f = granule_match_number_of(want);
    /* Zero has two signs and large numbers several forms: undecided, read the rows. */
    *out_unsure = f == 0 || !(f > -9e15 && f < 9e15);
    if (*out_unsure)
        return true;
    if (type == SF_VALUE_INT) {
        int64_t i = (int64_t)f;
        memcpy(out, &i, sizeof(*out));
        return (double)i == f;
    }
    memcpy(out, &f, sizeof(*out));
    return true;
}

static bool is_in_hand(const struct match_ctx *m)
{
    const struct sf_match_memo *memo = m->memo;
    return memo->at < memo->n_groups &&
           m->granule - memo->groups[memo->at].first < memo->groups[memo->at].n;
}

/* Finds the group of the granule. Granules are mostly queried in order, so it is the next one. */
static enum sf_err granule_match_find_group(struct match_ctx *m)
{
    struct sf_match_memo *memo = m->memo;
    enum sf_err err;
    if (is_in_hand(m))
        return SF_OK;
    memo->n_asked = 0;
    while (++memo->at < memo->n_groups) {
        if (is_in_hand(m))
            return SF_OK;
    }
    memo->at = memo->n_groups = 0;
    err = sf_filter_probe_groups(m->r, SF_SECTION_AFLT, m->granule, m->scratch, memo->groups,
                                 SF_MATCH_GROUPS, &memo->n_groups, m->why);
    memo->n_groups = err ? 0 : memo->n_groups;
    return err;
}

/* Granules of a group share a filter: its result is cached until the next group. */
static enum sf_err ask_filter(struct match_ctx *m, uint64_t probe, bool *out)
{
    struct sf_match_memo *memo = m->memo;
    const struct sf_filter_group *group;
    enum sf_err err = granule_match_find_group(m);

    if (err)
        return err;
    group = &memo->groups[memo->at];
    for (uint32_t i = 0; i < memo->n_asked; i++) {
        if (memo->asked[i].probe == probe) {
            *out = memo->asked[i].is_yes;
            return SF_OK;
        }
    }
    *out = true;
    if (group->len)
        err = sf_filter_probe_group(m->r, SF_SECTION_AFLT, group, probe, m->scratch, out, m->why);
    if (err) {
        memo->n_groups = memo->n_asked = 0;
    } else if (memo->n_asked < SF_MATCH_ASKED) {
        memo->asked[memo->n_asked].probe = probe;
        memo->asked[memo->n_asked++].is_yes = *out;
    }
    return err;
}

/* A filter that says yes covers several granules, and is wrong once in some hundred cases: searches
 * the text in the granule's encoded values, which is much faster than evaluating its rows. */
static enum sf_err search_column(struct match_ctx *m, uint32_t column, sf_str want, bool *out)
{
    struct sf_chunk_desc d[2];
    unsigned n = sf_span_block_reader_descs(m->r, m->granule, column, d);
    struct sf_arena tmp = m->scratch;
    sf_bytes raw;
    enum sf_err err;

    *out = true;
    if (n == 0)
        return SF_OK;
    err = sf_span_block_reader_chunk(m->r, m->granule, &d[n - 1], &tmp, &raw, m->why);
    if (!err)
        *out = sf_encoding_strings_may_have(d[n - 1].encoding, raw, d[n - 1].n_values, want);
    return err;
}

/* Searches the part of a text that a pattern requires in the encoded values, before rows are
 * decoded. Where most searches find it, decoding follows anyway, and they are stopped. */
static enum sf_err texts_may_contain(struct match_ctx *m, uint32_t column, sf_str part, bool *out)
{
    struct sf_match_memo *memo = m->memo;
    struct sf_chunk_desc d[2];
    unsigned n = sf_span_block_reader_descs(m->r, m->granule, column, d);
    struct sf_arena tmp = m->scratch;
    sf_bytes raw;
    enum sf_err err;

    *out = true;
    if (n == 0 || d[n - 1].encoding != SF_ENC_STR ||
        memo->n_contained > memo->n_searched / 4 + FEW_SEARCHES)
        return SF_OK;
    err = sf_span_block_reader_chunk(m->r, m->granule, &d[n - 1], &tmp, &raw, m->why);
    if (!err)
        *out = sf_encoding_strings_may_contain(d[n - 1].encoding, raw, d[n - 1].n_values, part);
    memo->n_searched++;
    memo->n_contained += *out;
    return err;
}

static enum sf_err text_may_be(struct match_ctx *m, uint32_t column, uint64_t key_hash, sf_str want,
                               bool *out)
{
    uint32_t n;
    const uint8_t *hashes = sf_granule_match_hashes(m->r, m->granule, column, &n);
    uint64_t hash = sf_hash_str(want), probe = sf_hash_mix(key_hash, hash);
    enum sf_err err;

    if (hashes) {
        *out = sf_granule_match_hashes_have(hashes, n, hash);
        return SF_OK;
    }
    err = ask_filter(m, probe ? probe : 1, out);
    return !err && *out ? search_column(m, column, want, out) : err;
}

static enum sf_err column_may_be(struct match_ctx *m, uint32_t key, const struct sf_value *want,
                                 bool *out)
{
    const struct sf_typed_key *k = &m->r->typed[key];
    uint32_t column = SF_BLOCK_FIRST_KEY + key, n;
    const uint8_t *hashes;
    uint64_t bits;
    bool is_unsure;

    *out = true;
    if (k->type == SF_VALUE_STR) {
        if (want->type == SF_VALUE_STR)
            return text_may_be(m, column, sf_block_key_hash(k->tenant, k->scope, k->type, k->name),
                               want->str, out);
        *out = false;
        return SF_OK;
    }
    if (k->type != SF_VALUE_INT && k->type != SF_VALUE_DOUBLE && k->type != SF_VALUE_BOOL)
        return SF_OK;
    if (!granule_match_bits_of(want, k->type, &bits, &is_unsure)) {
        *out = false;
        return SF_OK;
    }
    hashes = sf_granule_match_hashes(m->r, m->granule, column, &n);
    *out = is_unsure || !hashes ||
           sf_granule_match_hashes_have(hashes, n, sf_block_number_hash(bits));
    return SF_OK;
}

/* An attribute of spans, events or links. */
static enum sf_err columns_may_match(struct match_ctx *m, uint8_t scope, const struct sf_cond *c,
                                     bool *out)
{
    uint32_t first, n;
    struct sf_chunk_desc d[2];
    enum sf_err err = SF_OK;

    *out = false;
    /* Attributes without their own column may have any value. */
    sf_table_decode_find_keys(m->r, m->tenant, scope, SF_STR_NONE, &first, &n);
    for (uint32_t i = 0; i < n && !*out; i++) {
        uint32_t key = m->r->by_name[first + i];
        *out = m->r->typed[key].type == SF_VALUE_NONE &&
               sf_span_block_reader_descs(m->r, m->granule, SF_BLOCK_FIRST_KEY + key, d) > 0;
    }
    sf_table_decode_find_keys(m->r, m->tenant, scope, c->key, &first, &n);
    for (uint32_t i = 0; i < n && !*out && !err; i++) {
        uint32_t key = m->r->by_name[first + i];
        if (sf_span_block_reader_descs(m->r, m->granule, SF_BLOCK_FIRST_KEY + key, d) == 0)
            continue;
        *out = c->op != SF_OP_EQ;
        if (c->op == SF_OP_EXISTS && c->part.len && m->r->typed[key].type == SF_VALUE_STR)
            err = texts_may_contain(m, SF_BLOCK_FIRST_KEY + key, c->part, out);
        for (uint32_t v = 0; v < c->n_vals && !*out && !err; v++) {
            if (!is_known_want(&c->vals[v]))
                *out = true;
            else
                err = column_may_be(m, key, &c->vals[v], out);
        }
    }
    return err;
}

/* ---- attributes in tables ---- */

static bool resources_may_match(const struct match_ctx *m, const struct sf_cond *c)
{
    const struct sf_granule_place *p = &m->r->places[m->granule];

    for (uint32_t i = 0; i < p->n_runs; i++) {
        const uint8_t *run = m->r->runs + (size_t)(p->first_run + i) * 8;
        uint32_t first = sf_load_u32le(run), n = sf_load_u32le(run + 4);
        for (uint32_t k = first; k < first + n; k++) {
            const struct sf_resource *res = &m->r->resources[k];
            struct sf_value v = sf_attrs_get(res->attrs, c->key);
            struct sf_value service = {.type = SF_VALUE_STR, .str = res->service};
            if (value_may_match(&v, c))
                return true;
            /* A resource without service.name has an assigned service name. */
            if (sf_str_eq(c->key, SF_STR("service.name")) && value_may_match(&service, c))
                return true;
        }
    }
    return false;
}

static bool scopes_may_match(const struct match_ctx *m, const struct sf_cond *c)
{
    if (sf_str_eq(c->key, SF_STR("name")) || sf_str_eq(c->key, SF_STR("version")))
        return true; /* may be the scope's own name */
    for (uint32_t i = 0; i < m->r->n_scopes; i++) {
        struct sf_value v = sf_attrs_get(m->r->scopes[i].attrs, c->key);
        if (value_may_match(&v, c))
            return true;
    }
    return false;
}

/* ---- intrinsics ---- */

static bool range_may_match(enum sf_op op, double low, double high, const struct sf_value *v)
{
    double want;

    if (!granule_match_is_number(v))
        return true;
    want = granule_match_number_of(v);
    switch (op) {
    case SF_OP_EQ: return !(want < low) && !(want > high);
    case SF_OP_LT: return !(low >= want);
    case SF_OP_LE: return !(low > want);
    case SF_OP_GT: return !(high <= want);
    case SF_OP_GE: return !(high < want);
    default: return true;
    }
}

/* Compares durations as doubles: beyond 2^53 ns (104 days) the bounds are widened. */
static bool duration_may_match(const struct sf_granule_info *g, const struct sf_cond *c)
{
    double low = (double)g->dur_min_ns * 0.999999999999, high = (double)g->dur_max_ns;

    high = high * 1.000000000001 + 1;
    if (g->dur_max_ns < (uint64_t)1 << 53) {
        low = (double)g->dur_min_ns;
        high = (double)g->dur_max_ns;
    }
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (range_may_match(c->op, low, high, &c->vals[i]))
            return true;
    }
    return c->n_vals == 0;
}

/* The number of a name such as "error" or "server"; false: unknown. */
static bool enum_of(const struct sf_value *v, const char *const *names, int n, uint64_t *out)
{
    if (v->type == SF_VALUE_INT && v->i64 >= 0 && v->i64 < n) {
        *out = (uint64_t)v->i64;
        return true;
    }
    for (int i = 0; v->type == SF_VALUE_STR && i < n; i++) {
        if (sf_str_eq(v->str, sf_str_from(names[i]))) {
            *out = (uint64_t)i;
            return true;
        }
    }
    return false;
}

static bool set_may_match(uint8_t set, const char *const *names, int n, const struct sf_cond *c)
{
    if (c->op != SF_OP_EQ || c->n_vals == 0)
        return true;
    for (uint32_t i = 0; i < c->n_vals; i++) {
        uint64_t v;
        if (!enum_of(&c->vals[i], names, n, &v) || set & (1u << v))
            return true;
    }
    return false;
}

static enum sf_err text_column_may_match(struct match_ctx *m, uint32_t column, sf_str intrinsic,
                                         const struct sf_cond *c, bool *out)
{
    struct sf_chunk_desc d[2];
    uint64_t key_hash = sf_block_key_hash(m->tenant, SF_SCOPE_INTRINSIC, SF_VALUE_STR, intrinsic);
    enum sf_err err = SF_OK;

    *out = c->op != SF_OP_EQ || c->n_vals == 0;
    for (uint32_t i = 0; i < c->n_vals && !*out && !err; i++) {
        if (c->vals[i].type != SF_VALUE_STR)
            *out = true;
        else if (sf_span_block_reader_descs(m->r, m->granule, column, d) == 0)
            *out = c->vals[i].str.len == 0; /* all empty */
        else
            err = text_may_be(m, column, key_hash, c->vals[i].str, out);
    }
    return err;
}

static enum sf_err intrinsic_may_match(struct match_ctx *m, const struct sf_cond *c, bool *out)
{
    static const char *const STATUSES[] = {"unset", "ok", "error"};
    static const char *const KINDS[] = {"unspecified", "internal", "server",
                                        "client",      "producer", "consumer"};
    const struct sf_granule_info *g = &m->r->granules[m->granule];

    *out = true;
    if (sf_str_eq(c->key, SF_STR("name")))
        return text_column_may_match(m, SF_BLOCK_NAME, c->key, c, out);
    if (sf_str_eq(c->key, SF_STR("statusMessage")))
        return text_column_may_match(m, SF_BLOCK_STATUS_MSG, c->key, c, out);
    if (sf_str_eq(c->key, SF_STR("duration")))
        *out = duration_may_match(g, c);
    else if (sf_str_eq(c->key, SF_STR("status")))
        *out = set_may_match(g->statuses, STATUSES, 3, c);
    else if (sf_str_eq(c->key, SF_STR("kind")))
        *out = set_may_match(g->kinds, KINDS, 6, c);
    return SF_OK;
}

/* ---- all of it ---- */

static bool is_item_intrinsic(sf_str key)
{
    return sf_str_eq(key, SF_STR("name")) || sf_str_eq(key, SF_STR("timeSinceStart")) ||
           sf_str_eq(key, SF_STR("traceID")) || sf_str_eq(key, SF_STR("spanID"));
}

static enum sf_err cond_may_match(struct match_ctx *m, const struct sf_cond *c, bool *out)
{
    enum sf_err err = SF_OK;

    *out = true;
    if (c->scope == SF_SCOPE_INTRINSIC)
        return intrinsic_may_match(m, c, out);
    if (!needs_presence(c->op) || granule_match_wants_nothing(c) ||
        (c->n_vals == 0 && c->op != SF_OP_EXISTS))
        return SF_OK;
    switch (c->scope) {
    case SF_SCOPE_RESOURCE: *out = resources_may_match(m, c); break;
    case SF_SCOPE_INSTRUMENTATION: *out = scopes_may_match(m, c); break;
    case SF_SCOPE_EVENT:
    case SF_SCOPE_LINK:
        if (!is_item_intrinsic(c->key))
            err = columns_may_match(m, (uint8_t)c->scope, c, out);
        break;
    case SF_SCOPE_SPAN: err = columns_may_match(m, SF_SCOPE_SPAN, c, out); break;
    case SF_SCOPE_ANY:
        err = columns_may_match(m, SF_SCOPE_SPAN, c, out);
        if (!err && !*out)
            *out = resources_may_match(m, c);
        break;
    default: break;
    }
    return err;
}

enum sf_err sf_granule_match_may_hold(const struct sf_span_block_reader *r, uint32_t granule,
                                      uint32_t tenant, const struct sf_cond *conds, size_t n_conds,
                                      struct sf_match_memo *memo, struct sf_arena scratch,
                                      bool *out, struct sf_why *why)
{
    struct sf_match_memo own = {0};
    struct match_ctx m = {r, memo ? memo : &own, granule, tenant, scratch, why};
    bool may = true;
    enum sf_err err = SF_OK;

    SF_ASSERT(granule < r->n_granules);
    if (r->granules[granule].tenant != tenant)
        may = false;
    for (size_t i = 0; i < n_conds && may && !err; i++)
        err = cond_may_match(&m, &conds[i], &may);
    if (!err)
        *out = may;
    return err;
}
