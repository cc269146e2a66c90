/* profile_walk.h - reads everything of a block of profiles that may hold anything. */
#pragma once
#include <stdlib.h>

#include "base/invariant.h"
#include "block/profile/profile_block_reader.h"
#include "block/profile/profile_reader.h"

static inline void walk_say(void *arg, const char *sentence)
{
    (void)arg, (void)sentence;
}

static inline void walk_symbols(const struct sf_profile_symbols *y)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < y->n_nodes; i++) {
        SF_ASSERT(i == 0 || (y->nodes[i].parent < i && y->nodes[i].location < y->n_locations));
    }
    for (uint32_t i = 0; i < y->n_locations; i++) {
        SF_ASSERT(y->locations[i].first_line + y->locations[i].n_lines <= y->n_lines);
        SF_ASSERT(y->locations[i].module == SF_NONE || y->locations[i].module < y->n_modules);
    }
    for (uint32_t i = 0; i < y->n_lines; i++)
        SF_ASSERT(y->lines[i].function < y->n_functions);
    for (uint32_t i = 0; i < y->n_functions; i++)
        SF_ASSERT(y->functions[i].name < y->n_strings && y->functions[i].file < y->n_strings);
    for (uint32_t i = 0; i < y->n_strings; i++) /* every byte is readable */
        sum += y->strings[i].len ? (uint8_t)y->strings[i].p[y->strings[i].len - 1] : 0;
    SF_ASSERT(sum != UINT64_MAX);
}

/* Of every other node, whatever the rest says. */
static inline void walk_costs(const struct sf_profile_block_reader *r, uint32_t service,
                              const struct sf_profile_places *p, uint32_t granule,
                              struct sf_arena a)
{
    uint32_t n_services, n;
    const struct sf_profile_service *me = &sf_profile_block_reader_services(r,
                                                                            &n_services)[service];
    bool *is_node = sf_arena_new_n(&a, me->n_nodes + 1u, sizeof(*is_node)), is_told;
    bool *is_series = sf_arena_new_n(&a, me->n_series + 1u, sizeof(*is_series));
    const struct sf_profile_cost *costs;
    struct sf_why why;
    if (!is_node || !is_series) /* a directory may say any number */
        return;
    for (uint32_t i = 0; i < me->n_nodes; i += 2)
        is_node[i] = true;
    for (uint32_t i = 0; i < me->n_series; i++)
        is_series[i] = i % 3 != 1;
    if (sf_profile_stacks_decode_costs(r, service, p, granule, is_node, is_series, &a, &costs, &n,
                                       &is_told, &why))
        return;
    SF_ASSERT(n <= p->granules[granule].n_rows);
    for (uint32_t i = 0; i < n; i++)
        SF_ASSERT(costs[i].span_id != 0);
}

static inline void walk_samples(const struct sf_profile_block_reader *r, uint32_t service,
                                const struct sf_profile_places *p, struct sf_arena scratch)
{
    uint32_t n_services;
    const struct sf_profile_service *me = &sf_profile_block_reader_services(r,
                                                                            &n_services)[service];
    struct sf_why why;
    sf_span_id ids[16];
    size_t n_ids;
    for (uint32_t i = 0; i < p->n_chunks && i < 64; i++) {
        struct sf_arena a = scratch;
        const struct sf_profile_entry *e;
        size_t n;
        if (sf_profile_samples_chunk(r, service, &p->chunks[i], NULL, &a, &e, &n, &why))
            continue;
        for (size_t k = 0; k < n; k++)
            SF_ASSERT(e[k].node < me->n_nodes && e[k].row < me->n_rows);
    }
    for (uint32_t i = 0; i < p->n_granules && i < 64; i++) {
        struct sf_arena a = scratch;
        const struct sf_profile_detail *d;
        struct sf_profile_columns c;
        uint32_t n, n_run = 0;
        if (!sf_profile_samples_columns(r, service, p, i, NULL, &a, &c, &why)) {
            for (uint32_t k = 0; k < c.n; k++)
                SF_ASSERT(c.node[k] < me->n_nodes && c.series[k] < me->n_series);
            for (uint32_t k = 0; k < c.n_runs; k++)
                n_run += c.runs[k].n;
            SF_ASSERT(n_run == c.n);
        }
        walk_costs(r, service, p, i, a);
        if (sf_profile_samples_granule(r, service, p, i, &a, &d, &n, &why))
            continue;
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t *list;
            uint32_t n_list;
            SF_ASSERT(d[k].node < me->n_nodes && d[k].series < me->n_series);
            SF_ASSERT(d[k].process == SF_NONE || d[k].process < me->n_processes);
            SF_ASSERT(d[k].state < SF_STATES);
            if (k < 8 &&
                !sf_profile_samples_find_trace(r, p, d[k].trace_id, &a, &list, &n_list, &why))
                SF_ASSERT(n_list == 0 || list[n_list - 1] < p->n_granules);
        }
    }
    if (!sf_profile_samples_spans_between(r, p, 0, UINT64_MAX, scratch, ids, 16, &n_ids, &why)) {
        for (size_t i = 0; i < n_ids; i++) {
            struct sf_arena a = scratch;
            const uint32_t *list;
            uint32_t n_list;
            if (!sf_profile_samples_find_span(r, p, ids[i], &a, &list, &n_list, &why))
                SF_ASSERT(n_list == 0 || list[n_list - 1] < p->n_granules);
        }
    }
}

/* Takes the bytes. True: it is whole. */
static inline bool walk_profile_block(struct sf_buf *bytes)
{
    struct sf_profile_block_reader *r;
    struct sf_arena scratch;
    struct sf_why why;
    uint32_t n;
    uint64_t n_faults = 1;
    bool is_whole;
    if (sf_profile_block_reader_open_trusted(bytes, &r, &why)) {
        sf_buf_done(bytes);
        return false;
    }
    if (!sf_arena_init(&scratch, 64 << 20))
        abort();
    sf_profile_block_reader_services(r, &n);
    for (uint32_t i = 0; i < n && i < 16; i++) {
        struct sf_arena a = scratch;
        struct sf_profile_symbols symbols;
        const struct sf_profile_series *series;
        const struct sf_process *processes;
        const struct sf_profile_row *rows;
        struct sf_profile_places places;
        const struct sf_profile_service *me = &sf_profile_block_reader_services(r, &n)[i];
        if (!sf_profile_tables_decode_symbols(r, i, &a, &symbols, &why))
            walk_symbols(&symbols);
        a = scratch;
        (void)sf_profile_tables_decode_series(r, i, &a, &series, &processes, &why);
        a = scratch;
        if (!sf_profile_tables_decode_rows(r, i, &a, &rows, &why)) {
            for (uint32_t k = 0; k < me->n_rows; k++)
                SF_ASSERT(rows[k].series < me->n_series && rows[k].duration_ns >= 0);
        }
        if (!sf_profile_tables_decode_places(r, i, &a, &places, &why))
            walk_samples(r, i, &places, a);
    }
    is_whole = !sf_profile_block_verify(r, scratch, walk_say, NULL, &n_faults, &why) &&
               n_faults == 0;
    sf_arena_done(&scratch);
    sf_profile_block_reader_close(r);
    return is_whole;
}
