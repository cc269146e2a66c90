/* span_block_verify.c - reads a whole block and checks that its parts are consistent.
 *
 * Checksums prove that bytes are as they were written; this proves that they were written
 * correctly: rows against counts, zone maps, filters, indexes and tables. Each finding is one
 * sentence, and one damaged granule does not hide the next. */
#include <stdio.h>

#include "base/time_unit.h"
#include "block/format/encoding.h"
#include "block/format/fuse.h"
#include "block/span/reader.h"

struct verify {
    const struct sf_span_block_reader *r;
    struct sf_arena scratch; /* for data needed until the end; granules use a copy */
    void (*say)(void *arg, const char *sentence);
    void *arg;
    uint64_t n_faults;
    enum sf_err err;  /* an error other than damage: the check cannot continue */
    sf_bytes traces;  /* content of TFLT; empty when it cannot be read */
    uint32_t *halves; /* per trace: high half of its hash */
    uint64_t n_spans, n_errors, n_entries;
};

__attribute__((format(printf, 2, 3))) static void span_block_verify_find(struct verify *v,
                                                                         const char *format, ...)
{
    char sentence[320];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    v->n_faults++;
    if (v->say)
        v->say(v->arg, sentence);
}

/* True when the call succeeded; damage is a finding, a lack of memory ends the check. */
static bool went_well(struct verify *v, enum sf_err err, const struct sf_why *why)
{
    if (err == SF_ERR_LIMIT || err == SF_ERR_NOMEM)
        v->err = err;
    else if (err)
        span_block_verify_find(v, "%s", why->text);
    return !err;
}

/* ---- sections ---- */

static void check_sections(struct verify *v)
{
    const struct sf_span_block_reader *r = v->r;

    for (uint16_t id = 1; id < SF_SECTIONS && !v->err; id++) {
        const struct sf_section *s = &r->sections[id];
        struct sf_arena tmp = v->scratch;
        struct sf_why why = {""};
        const uint8_t *p;
        if (!s->id)
            continue;
        if (!went_well(v,
                       sf_span_block_reader_bytes(r, s->off, (size_t)s->stored_len, &tmp, &p, &why),
                       &why))
            continue;
        if (sf_hash(p, (size_t)s->stored_len) != s->checksum)
            span_block_verify_find(v, "section %s: checksum differs", sf_section_name(id));
    }
}

/* Loads the content of a paged section, or a part of it, into the arena. */
static sf_bytes load_paged(struct verify *v, uint16_t id, uint64_t off, uint64_t len,
                           struct sf_arena *req)
{
    struct sf_why why = {""};
    uint8_t *p;

    if (off > v->r->sections[id].raw_len || len > v->r->sections[id].raw_len - off) {
        span_block_verify_find(v, "section %s: a filter lies outside it", sf_section_name(id));
        return SF_BYTES_NONE;
    }
    p = sf_arena_raw(req, (size_t)len, 16);
    if (!p) {
        v->err = SF_ERR_LIMIT;
        return SF_BYTES_NONE;
    }
    if (!went_well(v, sf_span_block_reader_paged(v->r, id, off, p, (size_t)len, *req, &why), &why))
        return SF_BYTES_NONE;
    return (sf_bytes){p, (size_t)len};
}

static void check_trace_index(struct verify *v)
{
    uint64_t n = v->r->info.n_traces;
    struct sf_arena tmp = v->scratch;
    sf_bytes raw = load_paged(v, SF_SECTION_TIDX, 0, v->r->sections[SF_SECTION_TIDX].raw_len, &tmp);
    uint8_t *seen = sf_arena_new(&tmp, (size_t)n + 1);
    uint32_t before = 0;

    if (!seen)
        v->err = SF_ERR_LIMIT;
    if (v->err || (!raw.p && n))
        return;
    if (raw.len != n * 8) {
        span_block_verify_find(v, "section TIDX: %zu entries for %llu traces", raw.len / 8,
                               (unsigned long long)n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint32_t half = sf_load_u32le(raw.p + i * 8), trace = sf_load_u32le(raw.p + i * 8 + 4);
        if (trace >= n || seen[trace]++) {
            span_block_verify_find(
                v, "section TIDX: entry %llu names a trace that is not there or twice",
                (unsigned long long)i);
            return;
        }
        if (half < before || half != v->halves[trace]) {
            span_block_verify_find(v, "section TIDX: entry %llu does not fit trace %u",
                                   (unsigned long long)i, trace);
            return;
        }
        before = half;
    }
}

/* ---- one granule ---- */

static void span_block_verify_check_chunks(struct verify *v, uint32_t granule)
{
    const struct sf_granule_place *p = &v->r->places[granule];

    for (uint32_t i = 0; i < p->n_chunks && !v->err; i++) {
        struct sf_chunk_desc d = sf_span_block_reader_desc(v->r, p->first_chunk + i);
        struct sf_arena tmp = v->scratch;
        struct sf_why why = {""};
        sf_bytes raw;
        went_well(v, sf_span_block_reader_chunk(v->r, granule, &d, &tmp, &raw, &why), &why);
    }
}

static bool is_in_runs(const struct verify *v, uint32_t granule, uint32_t resource)
{
    const struct sf_granule_place *p = &v->r->places[granule];
    for (uint32_t i = 0; i < p->n_runs; i++) {
        const uint8_t *run = v->r->runs + (size_t)(p->first_run + i) * 8;
        if (resource - sf_load_u32le(run) < sf_load_u32le(run + 4))
            return true;
    }
    return false;
}

static const char *row_fault(const struct verify *v, uint32_t granule,
                             const struct sf_span_rows *rows, uint32_t i, int64_t index_ns)
{
    const struct sf_granule_info *g = &v->r->granules[granule];
    struct sf_span s = sf_span_rows_get(rows, i);
    uint64_t duration = sf_span_duration_ns(&s);
    int64_t end = sf_add_sat_i64(index_ns, duration > INT64_MAX ? INT64_MAX : (int64_t)duration);
    int64_t limit = sf_add_sat_i64(v->r->info.created_ns, SF_NS_PER_HOUR);

    if (index_ns < g->ts_min_ns || index_ns > g->ts_max_ns ||
        (end > g->ts_max_ns && (v->r->info.created_ns <= 0 || end <= limit)))
        return "lies outside the granule's time";
    if (duration < g->dur_min_ns || duration > g->dur_max_ns)
        return "lasts longer or shorter than the granule says";
    if (!(g->statuses & 1u << (s.status < 7 ? s.status : 7)) ||
        !(g->kinds & 1u << (s.kind < 7 ? s.kind : 7)))
        return "has a status or kind the granule does not name";
    if (v->r->resource_tenants[s.resource] != g->tenant)
        return "has a resource of another tenant";
    if (!is_in_runs(v, granule, s.resource))
        return "has a resource the granule does not name";
    return NULL;
}

struct loaded_filter { /* of a granule's group */
    struct sf_filter_group group;
    sf_bytes bytes; /* empty: there is none, or it could not be read */
};

static bool excludes(const struct loaded_filter *f, uint64_t hash)
{
    return f->bytes.p && !sf_filter_probe_group_has(&f->group, f->bytes, hash);
}

static struct loaded_filter load_group(struct verify *v, uint16_t section, uint32_t granule,
                                       struct sf_arena *req)
{
    struct sf_why why = {""};
    struct loaded_filter out = {0};
    uint32_t n;

    if (!v->r->sections[section].id ||
        !went_well(v, sf_filter_probe_groups(v->r, section, granule, *req, &out.group, 1, &n, &why),
                   &why))
        return out;
    if (out.group.len == 0)
        span_block_verify_find(v, "section %s: no filter for granule %u", sf_section_name(section),
                               granule);
    else
        went_well(v, sf_filter_probe_load(v->r, section, &out.group, req, &out.bytes, &why), &why);
    return out;
}

static void check_traces(struct verify *v, uint32_t granule, const struct sf_span_rows *rows)
{
    const struct sf_granule_info *g = &v->r->granules[granule];
    uint64_t trace = g->first_trace;
    uint32_t n = 0;

    for (uint32_t i = 0; i < rows->n_rows; i++) {
        uint64_t hash;
        if (i && sf_trace_id_eq(rows->trace_id[i], rows->trace_id[i - 1]))
            continue;
        hash = sf_trace_id_hash(rows->trace_id[i], rows->tenant);
        if (n == 0 && g->is_continuation) {
            if (v->halves[trace] != hash >> 32)
                span_block_verify_find(
                    v, "granule %u goes on with another trace than granule %u ended with", granule,
                    granule - 1);
        } else if (n < g->n_traces) {
            v->halves[trace + n] = (uint32_t)(hash >> 32);
        }
        n++;
        if (v->traces.p && !sf_fuse_has(v->traces, hash))
            span_block_verify_find(v, "section TFLT: a trace of granule %u is missing", granule);
    }
    if (n > g->n_traces)
        span_block_verify_find(v, "granule %u has %u traces, not %u", granule, n, g->n_traces);
}

/* Checks that searches find every text of a column by its hashes or the filter. */
static void check_text(struct verify *v, uint32_t granule, uint32_t column, uint64_t key_hash,
                       const struct loaded_filter *filter, sf_str text)
{
    uint32_t n;
    const uint8_t *hashes = sf_granule_match_hashes(v->r, granule, column, &n);
    uint64_t hash = sf_hash_str(text), probe = sf_hash_mix(key_hash, hash);

    if (hashes ? !sf_granule_match_hashes_have(hashes, n, hash)
               : excludes(filter, probe ? probe : 1))
        span_block_verify_find(
            v, "granule %u: a value of column %u is not in the hashes or the filter", granule,
            column);
}

static void check_keys(struct verify *v, uint32_t granule, const struct loaded_filter *filter,
                       struct sf_arena tmp)
{
    const struct sf_granule_info *g = &v->r->granules[granule];
    struct sf_why why = {""};
    struct sf_granule_ctx c = {v->r, granule, g->n_rows, g->tenant, &tmp, &why};
    struct sf_shape_column shapes;
    uint32_t *counts;

    if (!went_well(v,
                   sf_granule_column_shapes(&c, SF_BLOCK_SHAPE, SF_SCOPE_SPAN, g->n_rows, &shapes),
                   &why) ||
        !went_well(v, sf_granule_column_count_shapes(&c, &shapes, &tmp, &counts), &why))
        return;
    for (uint32_t k = 0; k < v->r->n_typed && !v->err; k++) {
        const struct sf_typed_key *key = &v->r->typed[k];
        uint64_t key_hash = sf_block_key_hash(key->tenant, key->scope, key->type, key->name);
        struct sf_arena inner = tmp;
        struct sf_values vals;
        c.req = &inner;
        if (counts[k] == 0 || key->type != SF_VALUE_STR ||
            !went_well(v, sf_granule_column_values(&c, k, counts[k], &vals), &why))
            continue;
        for (uint32_t i = 0; i < vals.n_vals; i++)
            check_text(v, granule, SF_BLOCK_FIRST_KEY + k, key_hash, filter, vals.vals[i].str);
    }
}

static void check_values(struct verify *v, uint32_t granule, const struct sf_span_rows *rows,
                         struct sf_arena tmp)
{
    struct loaded_filter filter = load_group(v, SF_SECTION_AFLT, granule, &tmp);
    uint64_t key_hash = sf_block_key_hash(rows->tenant, SF_SCOPE_INTRINSIC, SF_VALUE_STR,
                                          SF_STR("name"));

    for (uint32_t i = 0; i < rows->name.n_dict; i++)
        check_text(v, granule, SF_BLOCK_NAME, key_hash, &filter, rows->name.dict[i]);
    check_keys(v, granule, &filter, tmp);
}

static void check_granule(struct verify *v, uint32_t granule)
{
    struct sf_arena tmp = v->scratch;
    struct sf_span_rows rows;
    struct sf_why why = {""};
    const int64_t *index;

    span_block_verify_check_chunks(v, granule);
    if (v->err)
        return;
    if (!went_well(v, sf_granule_view_read(v->r, granule, SF_COL_ALL, NULL, 0, &tmp, &rows, &why),
                   &why) ||
        !went_well(v, sf_granule_view_index_times(v->r, granule, &tmp, &index, &why), &why))
        return;
    for (uint32_t i = 0; i < rows.n_rows; i++) {
        const char *fault = row_fault(v, granule, &rows, i, index[i]);
        v->n_errors += rows.status[i] == SF_STATUS_ERROR;
        v->n_entries += sf_span_is_entry(rows.kind[i], rows.parent_id[i] == 0, rows.spans[i].flags);
        if (fault) {
            span_block_verify_find(v, "granule %u: row %u %s", granule, i, fault);
            break;
        }
    }
    v->n_spans += rows.n_rows;
    check_traces(v, granule, &rows);
    check_values(v, granule, &rows, tmp);
}

/* ---- the block ---- */

static void check_totals(struct verify *v)
{
    const struct sf_span_block_reader *r = v->r;
    uint64_t n_spans = 0, n_errors = 0, n_entries = 0;
    int64_t ts_min = INT64_MAX, ts_max = INT64_MIN;

    for (uint32_t i = 0; i < r->n_ops; i++) {
        n_spans += r->ops[i].all.n_spans;
        n_errors += r->ops[i].all.n_errors;
    }
    for (uint32_t i = 0; i < r->n_entries; i++)
        n_entries += r->entries[i].count.n_spans;
    if (r->sections[SF_SECTION_ENTRY].id && n_entries != v->n_entries)
        span_block_verify_find(v, "section ENTRY: counts %llu spans, the rows have %llu",
                               (unsigned long long)n_entries, (unsigned long long)v->n_entries);
    if (n_spans != v->n_spans || n_errors != v->n_errors)
        span_block_verify_find(
            v, "section SVC: counts %llu spans and %llu errors, the rows are %llu and %llu",
            (unsigned long long)n_spans, (unsigned long long)n_errors,
            (unsigned long long)v->n_spans, (unsigned long long)v->n_errors);
    for (uint32_t g = 0; g < r->n_granules; g++) {
        const struct sf_granule_info *info = &r->granules[g];
        ts_min = info->ts_min_ns < ts_min ? info->ts_min_ns : ts_min;
        ts_max = info->ts_max_ns > ts_max ? info->ts_max_ns : ts_max;
        if (r->info.tenant && info->tenant != r->info.tenant)
            span_block_verify_find(v, "granule %u is of tenant %u, the block of %u", g,
                                   info->tenant, r->info.tenant);
    }
    if (r->n_granules && (ts_min != r->info.ts_min_ns || ts_max != r->info.ts_max_ns))
        span_block_verify_find(v, "header: times differ from those of the granules");
}

enum sf_err sf_span_block_verify(const struct sf_span_block_reader *r, struct sf_arena scratch,
                                 void (*say)(void *arg, const char *sentence), void *arg,
                                 uint64_t *out_n_faults, struct sf_why *why)
{
    struct verify v = {.r = r, .scratch = scratch, .say = say, .arg = arg};

    check_sections(&v);
    if (v.err)
        return sf_span_block_reader_limit(why);
    v.halves = sf_arena_new_n(&v.scratch, (size_t)r->info.n_traces + 1, sizeof(*v.halves));
    if (!v.halves)
        return sf_span_block_reader_limit(why);
    v.traces = load_paged(&v, SF_SECTION_TFLT, 0, r->sections[SF_SECTION_TFLT].raw_len, &v.scratch);
    for (uint32_t g = 0; g < r->n_granules && !v.err; g++)
        check_granule(&v, g);
    if (!v.err && v.n_faults == 0) { /* after damage, wrong sums would only repeat it */
        check_totals(&v);
        check_trace_index(&v);
    }
    if (v.err)
        return sf_span_block_reader_limit(why);
    *out_n_faults = v.n_faults;
    return SF_OK;
}
