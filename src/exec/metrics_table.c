#include "exec/metrics_table.h"

#include <string.h>

#include "base/key.h"
#include "base/list.h"

enum { PAGE_CELLS = 16, FIRST_SLOTS = 256 };

struct sf_table_slot {
    uint64_t key; /* series << 32 | page */
    struct sf_metrics_cell *page;
};

/* ---- series by key ---- */

static bool grow_index(struct sf_metrics_table *t)
{
    uint32_t n = t->n_index ? t->n_index * 2 : FIRST_SLOTS;
    uint32_t *index;
    if ((uint64_t)t->n_series * 2 < t->n_index)
        return true;
    index = sf_arena_new_n(t->req, n, sizeof(*index));
    if (!index)
        return false;
    for (uint32_t i = 0; i < t->n_series; i++) {
        uint32_t at = (uint32_t)t->series[i]->hash & (n - 1);
        while (index[at])
            at = (at + 1) & (n - 1);
        index[at] = i + 1;
    }
    t->index = index;
    t->n_index = n;
    return true;
}

static struct sf_table_series *add_series(struct sf_metrics_table *t, sf_str key, uint64_t hash)
{
    struct sf_table_series *s;
    uint32_t at;
    if (t->is_full)
        return NULL;
    s = sf_arena_new(t->req, sizeof(*s));
    if (!s || !sf_arena_copy(t->req, key, &s->key) ||
        !sf_list_room_in(t->req, &t->series, t->n_series, &t->cap_series, 64) || !grow_index(t)) {
        t->is_full = true;
        return NULL;
    }
    s->hash = hash;
    s->number = t->n_series;
    t->series[t->n_series++] = s;
    at = (uint32_t)hash & (t->n_index - 1);
    while (t->index[at])
        at = (at + 1) & (t->n_index - 1);
    t->index[at] = s->number + 1;
    return s;
}

static struct sf_table_series *find_series(const struct sf_metrics_table *t, sf_str key,
                                           uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (t->n_index - 1);
    while (t->n_index && t->index[at]) {
        struct sf_table_series *s = t->series[t->index[at] - 1];
        if (s->hash == hash && sf_str_eq(s->key, key))
            return s;
        at = (at + 1) & (t->n_index - 1);
    }
    return NULL;
}

struct sf_table_series *sf_metrics_table_find(const struct sf_metrics_table *t, sf_str key)
{
    return find_series(t, key, sf_key_str(key));
}

struct sf_table_series *sf_metrics_table_series(struct sf_metrics_table *t, sf_str key)
{
    uint64_t hash = sf_key_str(key);
    struct sf_table_series *s = find_series(t, key, hash);
    return s ? s : add_series(t, key, hash);
}

/* ---- cells ---- */

static uint64_t page_key(const struct sf_table_series *s, uint32_t page_no)
{
    return (uint64_t)s->number << 32 | page_no;
}

static uint32_t find_page(const struct sf_table_slot *pages, uint32_t cap, uint64_t key)
{
    uint32_t at = (uint32_t)sf_key_u64(key) & (cap - 1);
    while (pages[at].page && pages[at].key != key)
        at = (at + 1) & (cap - 1);
    return at;
}

static bool grow_pages(struct sf_metrics_table *t)
{
    uint32_t cap = t->cap_pages ? t->cap_pages * 2 : FIRST_SLOTS;
    struct sf_table_slot *pages;
    if ((uint64_t)t->n_pages * 2 < t->cap_pages)
        return true;
    pages = sf_arena_new_n(t->req, cap, sizeof(*pages));
    if (!pages)
        return false;
    for (uint32_t i = 0; i < t->cap_pages; i++) {
        if (t->pages[i].page)
            pages[find_page(pages, cap, t->pages[i].key)] = t->pages[i];
    }
    t->pages = pages;
    t->cap_pages = cap;
    return true;
}

struct sf_metrics_cell *sf_metrics_table_cell(struct sf_metrics_table *t, struct sf_table_series *s,
                                              uint32_t step)
{
    uint32_t page_no = step / PAGE_CELLS, at;
    if (!s->page || s->page_no != page_no) {
        struct sf_metrics_cell *page;
        if (!grow_pages(t)) {
            t->is_full = true;
            return NULL;
        }
        at = find_page(t->pages, t->cap_pages, page_key(s, page_no));
        page = t->pages[at].page;
        if (!page) {
            page = sf_arena_new_n(t->req, PAGE_CELLS, sizeof(*page));
            if (!page) {
                t->is_full = true;
                return NULL;
            }
            t->pages[at] = (struct sf_table_slot){page_key(s, page_no), page};
            t->n_pages++;
        }
        s->page = page;
        s->page_no = page_no;
    }
    return &s->page[step % PAGE_CELLS];
}

struct sf_metrics_cell sf_metrics_table_get(const struct sf_metrics_table *t,
                                            const struct sf_table_series *s, uint32_t step)
{
    struct sf_table_slot slot;
    if (!t->cap_pages)
        return (struct sf_metrics_cell){0};
    slot = t->pages[find_page(t->pages, t->cap_pages, page_key(s, step / PAGE_CELLS))];
    return slot.page ? slot.page[step % PAGE_CELLS] : (struct sf_metrics_cell){0};
}

struct sf_table_series **sf_metrics_table_list(const struct sf_metrics_table *t,
                                               struct sf_arena *req)
{
    struct sf_table_series **list = sf_arena_new_n(req, (size_t)t->n_series + 1, sizeof(*list));
    if (list && t->n_series)
        memcpy(list, t->series, t->n_series * sizeof(*list));
    return list;
}
