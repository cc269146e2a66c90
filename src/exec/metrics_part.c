#include "exec/metrics_part.h"

#include <string.h>

#include "exec/metrics_partial.h"

void sf_metrics_part_init(struct sf_metrics_part *p, const struct sf_metrics_count *whole)
{
    *p = (struct sf_metrics_part){.count = {.query = whole->query,
                                            .window = &p->window,
                                            .eval = whole->eval,
                                            .q = whole->q,
                                            .scratch = whole->scratch,
                                            .exemplars = whole->exemplars}};
    memcpy(p->count.by_keys, whole->by_keys, sizeof(whole->by_keys));
}

void sf_metrics_part_done(struct sf_metrics_part *p)
{
    sf_arena_done(&p->room);
    sf_buf_done(&p->count.key);
}

bool sf_metrics_part_begin(struct sf_metrics_part *p, const struct sf_metrics_count *whole,
                           int64_t min_ns, int64_t max_ns)
{
    if (!sf_metrics_partial_window(whole->window, min_ns, max_ns, &p->window))
        return false;
    if (!p->room.base && !sf_arena_init(&p->room, whole->q->req->cap / 2))
        return false;
    sf_arena_reset(&p->room);
    p->count.table = (struct sf_metrics_table){.req = &p->room};
    p->count.n_counted = 0;
    p->count.err = SF_OK;
    return sf_exemplars_init_part(&p->count.exemplars, &whole->exemplars, &p->window, &p->room);
}
