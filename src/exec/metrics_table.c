#include "exec/metrics_table.h"

#include <string.h>

#include "base/list.h"

/* ---- series by key ---- */

struct sf_table_series *sf_metrics_table_find(const struct sf_metrics_table *t, sf_str key)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!t->n_series)
        return NULL;
    lookup = sf_table_lookup(&t->series_at, sf_key_str(key));
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(t->series[at]->key, key))
            return t->series[at];
    }
    return NULL;
}

struct sf_table_series *sf_metrics_table_series(struct sf_metrics_table *t, sf_str key)
{
    struct sf_table_series *s = sf_metrics_table_find(t, key);
    if (s || t->is_full)
        return s;
    t->series_at.arena = t->req;
    s = sf_arena_new(t->req, sizeof(*s));
    if (!s || !sf_arena_copy(t->req, key, &s->key) || !sf_table_more(&t->series_at) ||
        !sf_list_room_in(t->req, &t->series, t->n_series, &t->cap_series, 64)) {
        t->is_full = true;
        return NULL;
    }
    s->number = t->n_series;
    sf_table_put(&t->series_at, sf_key_str(key), s->number);
    t->series[t->n_series++] = s;
    return s;
}

/* ---- cells ---- */

static struct sf_metrics_cell *find_page(const struct sf_metrics_table *t, uint64_t key)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!t->n_pages)
        return NULL;
    lookup = sf_table_lookup(&t->page_at, sf_key_u64(key));
    while (sf_table_next(&lookup, &at)) {
        if (t->pages[at].key == key)
            return t->pages[at].cells;
    }
    return NULL;
}

static uint64_t page_key(const struct sf_table_series *s, uint32_t page_no)
{
    return (uint64_t)s->number << 32 | page_no;
}

static struct sf_metrics_cell *page_of(struct sf_metrics_table *t, uint64_t key)
{
    struct sf_metrics_cell *cells = find_page(t, key);
    if (cells)
        return cells;
    t->page_at.arena = t->req;
    cells = sf_arena_new_n(t->req, SF_METRICS_PAGE_CELLS, sizeof(*cells));
    if (!cells || !sf_table_more(&t->page_at) ||
        !sf_list_room_in(t->req, &t->pages, t->n_pages, &t->cap_pages, 128))
        return NULL;
    sf_table_put(&t->page_at, sf_key_u64(key), t->n_pages);
    t->pages[t->n_pages++] = (struct sf_metrics_page){key, cells};
    return cells;
}

struct sf_metrics_cell *sf_metrics_table_cell(struct sf_metrics_table *t, struct sf_table_series *s,
                                              uint32_t step)
{
    uint32_t page_no = step / SF_METRICS_PAGE_CELLS;
    if (!s->page || s->page_no != page_no) {
        struct sf_metrics_cell *page = page_of(t, page_key(s, page_no));
        if (!page) {
            t->is_full = true;
            return NULL;
        }
        s->page = page;
        s->page_no = page_no;
    }
    return &s->page[step % SF_METRICS_PAGE_CELLS];
}

struct sf_metrics_cell sf_metrics_table_get(const struct sf_metrics_table *t,
                                            const struct sf_table_series *s, uint32_t step)
{
    const struct sf_metrics_cell *page = find_page(t, page_key(s, step / SF_METRICS_PAGE_CELLS));
    return page ? page[step % SF_METRICS_PAGE_CELLS] : (struct sf_metrics_cell){0};
}

struct sf_table_series **sf_metrics_table_list(const struct sf_metrics_table *t,
                                               struct sf_arena *req)
{
    struct sf_table_series **list = sf_arena_new_n(req, (size_t)t->n_series + 1, sizeof(*list));
    if (list && t->n_series)
        memcpy(list, t->series, t->n_series * sizeof(*list));
    return list;
}
