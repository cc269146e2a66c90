/* profile_block_verify.c - reads all of a block of profiles and compares redundant information. */
#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "block/profile/profile_reader.h"

struct check {
    const struct sf_profile_block_reader *r;
    void (*say)(void *arg, const char *sentence);
    void *arg;
    uint64_t n_faults;
    uint64_t n_entries, n_rows;
};

static void profile_block_verify_fault(struct check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void profile_block_verify_fault(struct check *c, const char *format, ...)
{
    char line[300];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    c->n_faults++;
    c->say(c->arg, line);
}

/* Totals of profiles are stored separately from their samples: both must agree. */
static enum sf_err profile_block_verify_check_chunks(struct check *c, uint32_t service,
                                                     const struct sf_profile_places *places,
                                                     const struct sf_profile_row *rows,
                                                     struct sf_arena scratch, struct sf_why *why)
{
    const struct sf_profile_service *me = &c->r->services[service];
    int64_t *sums = sf_arena_new_n(&scratch, (size_t)me->n_rows + 1, sizeof(*sums));
    bool *has_chunk = sf_arena_new_n(&scratch, (size_t)me->n_rows + 1, sizeof(*has_chunk));
    uint64_t n_entries = 0;
    if (!sums || !has_chunk)
        return sf_profile_block_reader_no_room(why);
    for (uint32_t i = 0; i < places->n_chunks; i++) {
        const struct sf_profile_chunk *chunk = &places->chunks[i];
        const struct sf_profile_entry *e;
        struct sf_arena tmp = scratch;
        int64_t all = 0, said = 0;
        bool is_over = false; /* saturated sums cannot be compared */
        size_t n;
        enum sf_err err = sf_profile_samples_chunk(c->r, service, chunk, NULL, &tmp, &e, &n, why);
        if (err)
            return err;
        for (size_t k = 0; k < n; k++) {
            is_over = __builtin_add_overflow(all, e[k].value, &all) || is_over ||
                      e[k].value == INT64_MAX || e[k].value == INT64_MIN;
            if (!chunk->is_rollup)
                sums[e[k].row] = sf_add_sat_i64(sums[e[k].row], e[k].value);
        }
        for (uint32_t k = 0; k < chunk->n_rows; k++) {
            int64_t total = rows[chunk->first_row + k].total;
            is_over = __builtin_add_overflow(said, total, &said) || is_over || total == INT64_MAX ||
                      total == INT64_MIN;
            has_chunk[chunk->first_row + k] |= !chunk->is_rollup;
            if (rows[chunk->first_row + k].series != chunk->series)
                profile_block_verify_fault(c,
                                           "service %.*s: a chunk's profile is of another series",
                                           SF_STR_ARG(me->name));
        }
        if (chunk->is_rollup && !is_over && all != said)
            profile_block_verify_fault(c,
                                       "service %.*s: a rollup's sum is not that of its profiles",
                                       SF_STR_ARG(me->name));
        n_entries += chunk->is_rollup && !sf_profile_chunk_is_alone(places, i) ? 0 : n;
    }
    for (uint32_t i = 0; i < me->n_rows; i++) {
        bool is_over = rows[i].total == INT64_MAX || rows[i].total == INT64_MIN ||
                       sums[i] == INT64_MAX || sums[i] == INT64_MIN;
        if (has_chunk[i] && !is_over && sums[i] != rows[i].total)
            profile_block_verify_fault(
                c, "service %.*s: profile %u holds %" PRId64 ", its samples %" PRId64,
                SF_STR_ARG(me->name), i, rows[i].total, sums[i]);
    }
    if (n_entries != me->n_entries)
        profile_block_verify_fault(
            c, "service %.*s has %" PRIu64 " samples, the directory says %" PRIu64,
            SF_STR_ARG(me->name), n_entries, me->n_entries);
    c->n_entries += n_entries;
    c->n_rows += me->n_rows;
    return SF_OK;
}

static bool has_granule(const uint32_t *list, uint32_t n, uint32_t granule)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == granule)
            return true;
    }
    return false;
}

/* Checks that the index leads from every id of a row back to its granule. */
static enum sf_err check_ids(struct check *c, const struct sf_profile_places *places,
                             uint32_t granule, const struct sf_profile_detail *d, uint32_t n,
                             struct sf_arena scratch, struct sf_why *why)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sf_arena tmp = scratch;
        const uint32_t *list;
        uint32_t n_list;
        enum sf_err err = SF_OK;
        if (d[i].span_id && (i == 0 || d[i].span_id != d[i - 1].span_id)) {
            err = sf_profile_samples_find_span(c->r, places, d[i].span_id, &tmp, &list, &n_list,
                                               why);
            if (!err && !has_granule(list, n_list, granule))
                profile_block_verify_fault(c, "granule %u: span %016" PRIx64 " is not in the index",
                                           granule, d[i].span_id);
        }
        if (!err && !sf_trace_id_is_zero(d[i].trace_id) &&
            (i == 0 || !sf_trace_id_eq(d[i].trace_id, d[i - 1].trace_id))) {
            err = sf_profile_samples_find_trace(c->r, places, d[i].trace_id, &tmp, &list, &n_list,
                                                why);
            if (!err && !has_granule(list, n_list, granule))
                profile_block_verify_fault(c, "granule %u: a trace is not in the index", granule);
        }
        if (err)
            return err;
    }
    return SF_OK;
}

static enum sf_err check_details(struct check *c, uint32_t service,
                                 const struct sf_profile_places *places, struct sf_arena scratch,
                                 struct sf_why *why)
{
    const struct sf_profile_service *me = &c->r->services[service];
    uint64_t n_details = 0;
    for (uint32_t g = 0; g < places->n_granules; g++) {
        const struct sf_profile_detail *d;
        struct sf_arena tmp = scratch;
        uint32_t n;
        enum sf_err err = sf_profile_samples_granule(c->r, service, places, g, &tmp, &d, &n, why);
        if (!err)
            err = check_ids(c, places, g, d, n, tmp, why);
        if (err)
            return err;
        n_details += n;
    }
    if (n_details != me->n_details)
        profile_block_verify_fault(
            c, "service %.*s has %" PRIu64 " detail rows, the directory says %" PRIu64,
            SF_STR_ARG(me->name), n_details, me->n_details);
    return SF_OK;
}

static enum sf_err check_service(struct check *c, uint32_t service, struct sf_arena scratch,
                                 struct sf_why *why)
{
    struct sf_profile_symbols symbols;
    const struct sf_profile_series *series;
    const struct sf_profile_thread *threads;
    const struct sf_profile_row *rows;
    struct sf_profile_places places;
    struct sf_arena tmp = scratch;
    uint32_t n_threads;
    enum sf_err err = sf_profile_tables_decode_symbols(c->r, service, &tmp, &symbols, why);
    tmp = scratch;
    if (!err)
        err = sf_profile_tables_decode_series(c->r, service, &tmp, &series, NULL, why);
    tmp = scratch;
    if (!err)
        err = sf_profile_tables_decode_threads(c->r, service, &tmp, &threads, &n_threads, why);
    tmp = scratch;
    if (!err)
        err = sf_profile_tables_decode_rows(c->r, service, &tmp, &rows, why);
    if (!err)
        err = sf_profile_tables_decode_places(c->r, service, &tmp, &places, why);
    if (!err)
        err = profile_block_verify_check_chunks(c, service, &places, rows, tmp, why);
    if (!err)
        err = check_details(c, service, &places, tmp, why);
    return err;
}

enum sf_err sf_profile_block_verify(const struct sf_profile_block_reader *r,
                                    struct sf_arena scratch,
                                    void (*say)(void *arg, const char *sentence), void *arg,
                                    uint64_t *out_n_faults, struct sf_why *why)
{
    struct check c = {.r = r, .say = say, .arg = arg};
    for (uint32_t i = 0; i < r->n_sections; i++) { /* also sections that nothing below reads */
        struct sf_arena tmp = scratch;
        sf_bytes raw;
        enum sf_err err = sf_profile_block_reader_section(r, r->sections[i].id,
                                                          r->sections[i].owner, &tmp, &raw, why);
        if (err)
            return err;
    }
    for (uint32_t i = 0; i < r->n_services; i++) {
        const struct sf_profile_service *me = &r->services[i];
        enum sf_err err;
        if (i && (me[-1].tenant > me->tenant ||
                  (me[-1].tenant == me->tenant && sf_str_cmp(me[-1].name, me->name) >= 0)))
            profile_block_verify_fault(&c, "service %.*s is out of order", SF_STR_ARG(me->name));
        err = check_service(&c, i, scratch, why);
        if (err)
            return err;
    }
    if (c.n_entries != r->info.n_rows || c.n_rows != r->info.n_traces)
        profile_block_verify_fault(&c,
                                   "the header says %" PRIu64 " samples of %" PRIu64
                                   " profiles, there are %" PRIu64 " of %" PRIu64,
                                   r->info.n_rows, r->info.n_traces, c.n_entries, c.n_rows);
    *out_n_faults = c.n_faults;
    return SF_OK;
}
