/* profile_lines.h - profiles as sorted lines of text with sums: the slow, obvious form in which a
 * batch, a block and an answer are compared. */
#pragma once
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "block/profile/profile_block_reader.h"
#include "model/profile.h"

struct profile_line {
    char *text;
    int64_t sum;
};

struct profile_lines {
    struct profile_line *list;
    size_t n, cap;
};

static inline void profile_lines_add(struct profile_lines *l, const struct sf_buf *text,
                                     int64_t sum)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 1024;
        l->list = realloc(l->list, l->cap * sizeof(*l->list));
        if (!l->list)
            abort();
    }
    l->list[l->n].text = strndup((const char *)text->p, text->len);
    l->list[l->n++].sum = sum;
}

static inline int profile_lines_order(const void *a, const void *b)
{
    return strcmp(((const struct profile_line *)a)->text, ((const struct profile_line *)b)->text);
}

/* Sorts and adds up equal lines. */
static inline void profile_lines_settle(struct profile_lines *l)
{
    size_t n = 0;
    if (l->n)
        qsort(l->list, l->n, sizeof(*l->list), profile_lines_order);
    for (size_t i = 0; i < l->n; i++) {
        if (n && strcmp(l->list[n - 1].text, l->list[i].text) == 0) {
            l->list[n - 1].sum += l->list[i].sum;
            free(l->list[i].text);
        } else {
            l->list[n++] = l->list[i];
        }
    }
    l->n = n;
}

static inline void profile_lines_done(struct profile_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->list[i].text);
    free(l->list);
    *l = (struct profile_lines){0};
}

static inline bool profile_lines_same(const struct profile_lines *a, const struct profile_lines *b)
{
    for (size_t i = 0; i < a->n || i < b->n; i++) {
        const char *x = i < a->n ? a->list[i].text : "(end)",
                   *y = i < b->n ? b->list[i].text : "(end)";
        if (i >= a->n || i >= b->n || strcmp(x, y) != 0 || a->list[i].sum != b->list[i].sum) {
            fprintf(stderr, "# line %zu of %zu and %zu:\n# %s %" PRId64 "\n# %s %" PRId64 "\n", i,
                    a->n, b->n, x, i < a->n ? a->list[i].sum : 0, y, i < b->n ? b->list[i].sum : 0);
            return false;
        }
    }
    return true;
}

static inline void profile_lines_series(struct sf_buf *out, sf_str service,
                                        const struct sf_profile_type *t,
                                        const struct sf_label *labels, uint32_t n)
{
    sf_buf_print(out, "%.*s %.*s:%.*s:%.*s:%.*s:%.*s {", SF_STR_ARG(service), SF_STR_ARG(t->name),
                 SF_STR_ARG(t->sample_type), SF_STR_ARG(t->sample_unit), SF_STR_ARG(t->period_type),
                 SF_STR_ARG(t->period_unit));
    for (uint32_t i = 0; i < n; i++)
        sf_buf_print(out, "%.*s=%.*s,", SF_STR_ARG(labels[i].key), SF_STR_ARG(labels[i].val));
    sf_buf_print(out, "} ");
}

/* Of a batch: one line per sample; with `is_detail` those that are detail rows, ids and times in
 * front. */
static inline void profile_lines_of_batch(struct profile_lines *l, const struct sf_profile_batch *b,
                                          bool is_detail)
{
    struct sf_buf text = {0};
    for (uint32_t i = 0; i < b->n_samples; i++) {
        const struct sf_sample *p = &b->samples[i];
        const struct sf_series *s = &b->series[p->series];
        const struct sf_stack *stack = &b->stacks[p->stack];
        bool has_detail = p->span_id || p->has_time || !sf_trace_id_is_zero(p->trace_id);
        char trace[33];
        if (is_detail && !has_detail)
            continue;
        sf_buf_reset(&text);
        profile_lines_series(&text, s->service, &s->type, s->labels, s->n_labels);
        sf_trace_id_render(p->trace_id, trace);
        if (is_detail)
            sf_buf_print(&text, "%s %" PRIx64 " %" PRIx64 " %" PRId64 " %" PRId64 " %d/%d ", trace,
                         p->span_id, p->thread, (p->has_time ? p->start_ns : s->time_ns) / 1000,
                         (p->has_time ? p->length_ns : s->duration_ns) / 1000, p->state,
                         p->is_lent);
        else
            sf_buf_print(&text, "%" PRId64 "+%" PRId64 " ", s->time_ns, s->duration_ns);
        for (uint32_t k = stack->n; k-- > 0;) {
            const struct sf_location *at = &b->locations[stack->locations[k]];
            for (uint32_t n = at->n_lines; n-- > 0;) {
                const struct sf_function *f = &b->functions[at->lines[n].function];
                sf_buf_print(&text, "%.*s@%.*s:%u;", SF_STR_ARG(f->name), SF_STR_ARG(f->file),
                             at->lines[n].line);
            }
            if (at->n_lines == 0)
                sf_buf_print(&text, "0x%" PRIx64 ";", at->addr);
        }
        profile_lines_add(l, &text, p->value);
    }
    sf_buf_done(&text);
}

static inline void profile_lines_stack(struct sf_buf *out, const struct sf_profile_symbols *y,
                                       uint32_t node)
{
    const struct sf_profile_location *at;
    if (node == 0)
        return;
    profile_lines_stack(out, y, y->nodes[node].parent);
    at = &y->locations[y->nodes[node].location];
    for (uint32_t n = at->n_lines; n-- > 0;) {
        const struct sf_line *line = &y->lines[at->first_line + n];
        const struct sf_profile_function *f = &y->functions[line->function];
        sf_buf_print(out, "%.*s@%.*s:%u;", SF_STR_ARG(y->strings[f->name]),
                     SF_STR_ARG(y->strings[f->file]), line->line);
    }
    if (at->n_lines == 0)
        sf_buf_print(out, "0x%" PRIx64 ";", at->addr);
}

/* Of all services of a block. Aborts at any fault. */
static inline void profile_lines_of_block(struct profile_lines *l,
                                          const struct sf_profile_block_reader *r, bool is_detail,
                                          struct sf_arena scratch)
{
    struct sf_buf text = {0};
    struct sf_why why;
    uint32_t n_services;
    const struct sf_profile_service *services = sf_profile_block_reader_services(r, &n_services);
    for (uint32_t i = 0; i < n_services; i++) {
        struct sf_arena a = scratch;
        struct sf_profile_symbols y;
        const struct sf_profile_series *series;
        const struct sf_profile_row *rows;
        struct sf_profile_places places;
        if (sf_profile_tables_decode_symbols(r, i, &a, &y, &why) ||
            sf_profile_tables_decode_series(r, i, &a, &series, NULL, &why) ||
            sf_profile_tables_decode_rows(r, i, &a, &rows, &why) ||
            sf_profile_tables_decode_places(r, i, &a, &places, &why)) {
            fprintf(stderr, "# %s\n", why.text);
            abort();
        }
        for (uint32_t k = 0; !is_detail && k < places.n_chunks; k++) {
            struct sf_arena tmp = a;
            const struct sf_profile_entry *e;
            size_t n;
            if (places.chunks[k].is_rollup)
                continue;
            if (sf_profile_samples_chunk(r, i, &places.chunks[k], NULL, &tmp, &e, &n, &why))
                abort();
            for (size_t m = 0; m < n; m++) {
                const struct sf_profile_row *row = &rows[e[m].row];
                const struct sf_profile_series *s = &series[row->series];
                sf_buf_reset(&text);
                profile_lines_series(&text, services[i].name, &s->type, s->labels, s->n_labels);
                sf_buf_print(&text, "%" PRId64 "+%" PRId64 " ", row->time_ns, row->duration_ns);
                profile_lines_stack(&text, &y, e[m].node);
                profile_lines_add(l, &text, e[m].value);
            }
        }
        for (uint32_t k = 0; is_detail && k < places.n_granules; k++) {
            struct sf_arena tmp = a;
            const struct sf_profile_detail *d;
            uint32_t n;
            if (sf_profile_samples_granule(r, i, &places, k, &tmp, &d, &n, &why))
                abort();
            for (uint32_t m = 0; m < n; m++) {
                const struct sf_profile_series *s = &series[d[m].series];
                char trace[33];
                sf_buf_reset(&text);
                profile_lines_series(&text, services[i].name, &s->type, s->labels, s->n_labels);
                sf_trace_id_render(d[m].trace_id, trace);
                sf_buf_print(&text, "%s %" PRIx64 " %" PRIx64 " %" PRId64 " %" PRId64 " %d/%d ",
                             trace, d[m].span_id, d[m].thread, d[m].start_ns / 1000,
                             d[m].length_ns / 1000, d[m].state, d[m].is_lent);
                profile_lines_stack(&text, &y, d[m].node);
                profile_lines_add(l, &text, d[m].value);
            }
        }
    }
    sf_buf_done(&text);
}
