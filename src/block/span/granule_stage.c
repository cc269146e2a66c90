/* granule_stage.c - allocates the columns of the open granule. */
#include "base/heap.h"
#include "block/span/writer.h"

enum {
    ROWS = SF_LIMIT_GRANULE_ROWS,
};

/* Takes an array from the one allocation for a granule; only used pages cost memory. */
static void *granule_stage_cut(uint8_t **at, size_t n, size_t size)
{
    void *p = *at;
    *at += n * size;
    return p;
}

bool sf_granule_stage_init(struct sf_granule_stage *g)
{
    uint8_t *at = sf_heap_new_n(ROWS, 16 + 8 + 4 * 8 + 13 * 4 + 3);
    if (!at)
        return false;
    g->memory = at;
    g->trace_ids = granule_stage_cut(&at, ROWS, 16);
    g->trace_starts = granule_stage_cut(&at, ROWS, 8);
    g->span_ids = granule_stage_cut(&at, ROWS, 8);
    g->starts = granule_stage_cut(&at, ROWS, 8);
    g->durations = granule_stage_cut(&at, ROWS, 8);
    g->index = granule_stage_cut(&at, ROWS, 8);
    g->trace_rows = granule_stage_cut(&at, ROWS, 4);
    g->resources = granule_stage_cut(&at, ROWS, 4);
    g->scopes = granule_stage_cut(&at, ROWS, 4);
    g->names = granule_stage_cut(&at, ROWS, 4);
    g->status_msgs = granule_stage_cut(&at, ROWS, 4);
    g->trace_states = granule_stage_cut(&at, ROWS, 4);
    g->flags = granule_stage_cut(&at, ROWS, 4);
    g->dropped_attrs = granule_stage_cut(&at, ROWS, 4);
    g->dropped_events = granule_stage_cut(&at, ROWS, 4);
    g->dropped_links = granule_stage_cut(&at, ROWS, 4);
    g->shapes = granule_stage_cut(&at, ROWS, 4);
    g->n_events = granule_stage_cut(&at, ROWS, 4);
    g->n_links = granule_stage_cut(&at, ROWS, 4);
    g->kinds_col = granule_stage_cut(&at, ROWS, 1);
    g->status_col = granule_stage_cut(&at, ROWS, 1);
    g->parents = granule_stage_cut(&at, ROWS, 1);
    return sf_table_reset(&g->row_at, ROWS);
}

static void bufs_of(struct sf_granule_stage *g, struct sf_buf *out[12])
{
    struct sf_buf *all[12] = {&g->parent_rows,    &g->parent_ids,    &g->event_times,
                              &g->event_names,    &g->event_shapes,  &g->event_dropped,
                              &g->link_trace_ids, &g->link_span_ids, &g->link_states,
                              &g->link_shapes,    &g->link_dropped,  &g->link_flags};
    memcpy(out, all, sizeof(all));
}

void sf_granule_stage_done(struct sf_granule_stage *g)
{
    struct sf_buf *bufs[12];
    bufs_of(g, bufs);
    for (int i = 0; i < 12; i++)
        sf_buf_done(bufs[i]);
    sf_dict_done(&g->name_dict);
    sf_dict_done(&g->msg_dict);
    sf_dict_done(&g->state_dict);
    sf_dict_done(&g->event_name_dict);
    sf_dict_done(&g->link_state_dict);
    sf_heap_free(g->memory);
    sf_table_done(&g->row_at);
    *g = (struct sf_granule_stage){0};
}

void sf_granule_stage_reset(struct sf_granule_stage *g)
{
    struct sf_buf *bufs[12];
    bufs_of(g, bufs);
    for (int i = 0; i < 12; i++)
        sf_buf_reset(bufs[i]);
    sf_dict_reset(&g->name_dict);
    sf_dict_reset(&g->msg_dict);
    sf_dict_reset(&g->state_dict);
    sf_dict_reset(&g->event_name_dict);
    sf_dict_reset(&g->link_state_dict);
    g->n_rows = g->n_traces = 0;
    g->is_continuation = false;
    g->len = 0;
    g->ts_min_ns = INT64_MAX;
    g->ts_max_ns = INT64_MIN;
    g->dur_min_ns = UINT64_MAX;
    g->dur_max_ns = 0;
    g->statuses = g->kinds = 0;
    g->any_flags = g->any_dropped_attrs = g->any_dropped_events = g->any_dropped_links = 0;
    g->any_high_kind = 0;
    g->has_index = g->has_status_msg = g->has_trace_state = false;
    g->n_events_all = g->any_event_dropped = 0;
    g->n_links_all = g->any_link_dropped = g->any_link_flags = 0;
}

size_t sf_granule_stage_memory(const struct sf_granule_stage *g)
{
    struct sf_granule_stage copy = *g;
    struct sf_buf *bufs[12];
    size_t sum = g->memory ? ROWS * (size_t)(16 + 8 + 4 * 8 + 13 * 4 + 3 + 16) : 0;

    bufs_of(&copy, bufs);
    for (int i = 0; i < 12; i++)
        sum += bufs[i]->cap;
    return sum + sf_dict_memory(&g->name_dict) + sf_dict_memory(&g->msg_dict) +
           sf_dict_memory(&g->state_dict) + sf_dict_memory(&g->event_name_dict) +
           sf_dict_memory(&g->link_state_dict);
}
