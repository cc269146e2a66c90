#include "store/clickhouse/trace_set.h"

#include "base/heap.h"
#include "base/list.h"

enum sf_err sf_trace_set_add(struct sf_trace_set *s, sf_trace_id id, struct sf_why *why)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&s->at) || !sf_list_room(&s->ids, s->n, &s->cap, 256))
        return sf_no_memory(why, "the traces of a query");
    lookup = sf_table_lookup(&s->at, sf_trace_id_key(id, 0));
    while (sf_table_next(&lookup, &at)) {
        if (sf_trace_id_eq(s->ids[at], id))
            return SF_OK;
    }
    if (s->n == SF_TRACE_SET_MOST)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d traces to read", SF_TRACE_SET_MOST);
    sf_table_keep(&s->at, &lookup, s->n);
    s->ids[s->n++] = id;
    return SF_OK;
}

void sf_trace_set_done(struct sf_trace_set *s)
{
    sf_table_done(&s->at);
    sf_heap_free(s->ids);
    *s = (struct sf_trace_set){0};
}
