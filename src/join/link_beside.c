/* link_beside.c - samples without an id, of a process that also has samples with span ids. */
#include "join/link_beside.h"
#include "base/list.h"
#include "join/profile_names.h"

#include <stdlib.h>

bool sf_link_beside_name(struct sf_link_beside *b, sf_span_id id)
{
    if (b->n > 0 && b->names[b->n - 1] == id)
        return true;
    if (!sf_list_room_in(b->req, &b->names, b->n, &b->cap, 64))
        return false;
    b->names[b->n++] = id;
    return true;
}

bool sf_link_beside_takes(const struct sf_link_sample *s)
{
    return s->span_id == 0 && sf_trace_id_is_zero(s->trace_id) && s->has_time && s->thread != 0 &&
           !s->is_lent;
}

static int link_beside_order_ids(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return (x > y) - (x < y);
}

static bool link_beside_has_id(const sf_span_id *ids, uint32_t n, sf_span_id id)
{
    return id != 0 && n > 0 && bsearch(&id, ids, n, sizeof(*ids), link_beside_order_ids);
}

/* The ids of a process's spans, sorted; NULL: no space. */
static sf_span_id *ids_of(const struct sf_link_spans *l, uint32_t n_spans, uint64_t process,
                          struct sf_arena *req, uint32_t *out_n)
{
    sf_span_id *ids = sf_arena_new_n(req, n_spans + 1u, sizeof(*ids));
    uint32_t n = 0;
    for (uint32_t i = 0; ids && i < n_spans; i++)
        if (l->origins[i].process == process)
            ids[n++] = l->spans[i].span_id;
    if (n > 0)
        qsort(ids, n, sizeof(*ids), link_beside_order_ids);
    *out_n = n;
    return ids;
}

/* If memory is short, returns true: then samples without ids are not attributed. */
bool sf_link_beside_names_below(struct sf_link_beside *b, const struct sf_link_spans *l,
                                uint32_t n_spans, uint64_t process)
{
    uint32_t n_ids;
    const sf_span_id *ids = ids_of(l, n_spans, process, b->req, &n_ids);
    if (!ids)
        return true;
    if (b->n > 0)
        qsort(b->names, b->n, sizeof(*b->names), link_beside_order_ids);
    for (uint32_t i = 0; i < n_spans; i++)
        if (l->origins[i].process == process &&
            link_beside_has_id(b->names, b->n, l->spans[i].span_id) &&
            link_beside_has_id(ids, n_ids, l->spans[i].parent_id))
            return true;
    return false;
}

bool sf_link_beside_says_all(const struct sf_link_spans *l, uint64_t process, struct sf_arena *req)
{
    uint32_t n_ids;
    const sf_span_id *ids = ids_of(l, l->n, process, req, &n_ids);
    for (uint32_t i = 0; ids && i < l->n; i++)
        if (l->origins[i].process == process &&
            (l->tags[i] == SF_SPAN_TAGS_ALL ||
             (l->tags[i] == SF_SPAN_TAGS_SELF &&
              link_beside_has_id(ids, n_ids, l->spans[i].parent_id))))
            return true;
    return !ids;
}
