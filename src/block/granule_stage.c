/* granule_stage.c - spans copied into the columns of the open granule. */
#include "base/heap.h"
#include "block/writer.h"

enum {
    ROWS = SF_LIMIT_GRANULE_ROWS,
    PARENT_SLOTS = 4 * ROWS, /* at most a quarter full */
    ROW_LEN = 256,           /* what a row, an event or a link takes when decoded, about */
};
static const int64_t HOUR_NS = 3600 * (int64_t)1000000000;

/* The arrays of a granule are cut from one allocation, which costs what is touched. */
static void *cut(uint8_t **at, size_t n, size_t size)
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
    g->trace_ids = cut(&at, ROWS, 16);
    g->trace_starts = cut(&at, ROWS, 8);
    g->span_ids = cut(&at, ROWS, 8);
    g->starts = cut(&at, ROWS, 8);
    g->durations = cut(&at, ROWS, 8);
    g->index = cut(&at, ROWS, 8);
    g->trace_rows = cut(&at, ROWS, 4);
    g->resources = cut(&at, ROWS, 4);
    g->scopes = cut(&at, ROWS, 4);
    g->names = cut(&at, ROWS, 4);
    g->status_msgs = cut(&at, ROWS, 4);
    g->trace_states = cut(&at, ROWS, 4);
    g->flags = cut(&at, ROWS, 4);
    g->dropped_attrs = cut(&at, ROWS, 4);
    g->dropped_events = cut(&at, ROWS, 4);
    g->dropped_links = cut(&at, ROWS, 4);
    g->shapes = cut(&at, ROWS, 4);
    g->n_events = cut(&at, ROWS, 4);
    g->n_links = cut(&at, ROWS, 4);
    g->kinds_col = cut(&at, ROWS, 1);
    g->status_col = cut(&at, ROWS, 1);
    g->parents = cut(&at, ROWS, 1);
    g->parent_slots = sf_heap_new_n(PARENT_SLOTS, sizeof(*g->parent_slots));
    return g->parent_slots != NULL;
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
    sf_heap_free(g->parent_slots);
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

/* ---- one span ---- */

static bool add_events(struct sf_span_block_writer *w, const struct sf_span *s)
{
    struct sf_granule_stage *g = &w->g;
    for (uint32_t i = 0; i < s->n_events; i++) {
        const struct sf_event *e = &s->events[i];
        uint32_t name, shape;
        if (!sf_dict_add(&g->event_name_dict, e->name, &name))
            return sf_writer_fail(w, SF_ERR_NOMEM);
        if (!sf_writer_attrs(w, g->tenant, SF_ROOT_EVENT, e->attrs, &shape))
            return false;
        sf_buf_add_u64le(&g->event_times, e->time_ns - s->start_ns);
        sf_buf_add_u32le(&g->event_names, name);
        sf_buf_add_u32le(&g->event_shapes, shape);
        sf_buf_add_u32le(&g->event_dropped, e->dropped_attrs);
        g->any_event_dropped |= e->dropped_attrs;
        g->len += ROW_LEN + e->name.len;
    }
    g->n_events_all += s->n_events;
    return true;
}

static bool add_links(struct sf_span_block_writer *w, const struct sf_span *s)
{
    struct sf_granule_stage *g = &w->g;
    for (uint32_t i = 0; i < s->n_links; i++) {
        const struct sf_link *l = &s->links[i];
        uint32_t state, shape;
        if (!sf_dict_add(&g->link_state_dict, l->trace_state, &state))
            return sf_writer_fail(w, SF_ERR_NOMEM);
        if (!sf_writer_attrs(w, g->tenant, SF_ROOT_LINK, l->attrs, &shape))
            return false;
        sf_buf_add(&g->link_trace_ids, l->trace_id.b, 16);
        sf_buf_add_u64le(&g->link_span_ids, l->span_id);
        sf_buf_add_u32le(&g->link_states, state);
        sf_buf_add_u32le(&g->link_shapes, shape);
        sf_buf_add_u32le(&g->link_dropped, l->dropped_attrs);
        sf_buf_add_u32le(&g->link_flags, l->flags);
        g->any_link_dropped |= l->dropped_attrs;
        g->any_link_flags |= l->flags;
        g->len += ROW_LEN + l->trace_state.len;
    }
    g->n_links_all += s->n_links;
    return true;
}

/* The largest end, for retention: one that lies more than an hour in the future of the block is an
 * absurd clock and must not keep the block for ever. */
static int64_t end_of(const struct sf_span_block_writer *w, int64_t index_ns, uint64_t duration)
{
    int64_t end = sf_add_sat_i64(index_ns, duration > INT64_MAX ? INT64_MAX : (int64_t)duration);
    int64_t limit = sf_add_sat_i64(w->info.created_ns, HOUR_NS);
    if (w->info.created_ns <= 0 || end <= limit)
        return end;
    return index_ns > limit ? index_ns : limit;
}

static void widen_zone(struct sf_span_block_writer *w, const struct sf_span *s, int64_t index_ns)
{
    struct sf_granule_stage *g = &w->g;
    uint64_t duration = sf_span_duration_ns(s);
    int64_t end_ns = end_of(w, index_ns, duration);

    g->ts_min_ns = index_ns < g->ts_min_ns ? index_ns : g->ts_min_ns;
    g->ts_max_ns = end_ns > g->ts_max_ns ? end_ns : g->ts_max_ns;
    g->dur_min_ns = duration < g->dur_min_ns ? duration : g->dur_min_ns;
    g->dur_max_ns = duration > g->dur_max_ns ? duration : g->dur_max_ns;
    g->statuses |= (uint8_t)(1u << (s->status < 7 ? s->status : 7));
    g->kinds |= (uint8_t)(1u << (s->kind < 7 ? s->kind : 7));
    g->any_high_kind |= (uint8_t)((s->kind | s->status) & 0xf0);
}

static bool add_text(struct sf_span_block_writer *w, struct sf_dict *d, sf_str s, uint32_t *out)
{
    uint32_t n = d->n;
    if (s.len == 0 && n && d->ends[0] == 0) { /* empty, as nearly every message is */
        *out = 0;
        return true;
    }
    if (!sf_dict_add(d, s, out))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    if (d->n != n)
        w->g.len += s.len;
    return true;
}

static bool add_span(struct sf_span_block_writer *w, const struct sf_span *s, int64_t index_ns)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t row = g->n_rows;

    g->span_ids[row] = s->span_id;
    g->starts[row] = s->start_ns;
    g->durations[row] = s->end_ns - s->start_ns;
    g->index[row] = (uint64_t)index_ns - s->start_ns;
    g->has_index |= g->index[row] != 0;
    g->resources[row] = s->resource;
    g->scopes[row] = s->scope;
    g->kinds_col[row] = s->kind;
    g->status_col[row] = s->status;
    g->flags[row] = s->flags;
    g->any_flags |= s->flags;
    g->dropped_attrs[row] = s->dropped_attrs;
    g->any_dropped_attrs |= s->dropped_attrs;
    g->dropped_events[row] = s->dropped_events;
    g->any_dropped_events |= s->dropped_events;
    g->dropped_links[row] = s->dropped_links;
    g->any_dropped_links |= s->dropped_links;
    g->n_events[row] = s->n_events;
    g->n_links[row] = s->n_links;
    g->has_status_msg |= s->status_msg.len != 0;
    g->has_trace_state |= s->trace_state.len != 0;
    g->len += ROW_LEN;
    w->resource_stages[s->resource].n_spans++;
    w->scope_stages[s->scope].n_spans++;
    widen_zone(w, s, index_ns);
    if (!add_text(w, &g->name_dict, s->name, &g->names[row]) ||
        !add_text(w, &g->msg_dict, s->status_msg, &g->status_msgs[row]) ||
        !add_text(w, &g->state_dict, s->trace_state, &g->trace_states[row]))
        return false;
    if (!sf_writer_attrs(w, g->tenant, SF_ROOT_SPAN, s->attrs, &g->shapes[row]))
        return false;
    if (s->n_events && !add_events(w, s))
        return false;
    if (s->n_links && !add_links(w, s))
        return false;
    g->n_rows++;
    return true;
}

/* ---- parents ---- */

static uint32_t find_slot(const struct sf_granule_stage *g, uint32_t mask, uint64_t id)
{
    uint32_t at = (uint32_t)(id * 0x9e3779b97f4a7c15u >> 40) & mask;
    while (g->parent_slots[at] && g->span_ids[g->parent_slots[at] - 1] != id)
        at = (at + 1) & mask;
    return at;
}

/* Parents of rows [first, n_rows) as row numbers of their trace in this granule, which starts at
 * row `start`. A parent that is not here yet, or in another granule, is kept by its id. */
static bool link_parents(struct sf_granule_stage *g, uint32_t start, uint32_t first,
                         const struct sf_span *spans)
{
    uint32_t n = g->n_rows - start, mask = 15;

    while (mask < 2 * n)
        mask = mask * 2 + 1;
    memset(g->parent_slots, 0, (mask + 1) * sizeof(*g->parent_slots));
    for (uint32_t row = start; row < g->n_rows; row++) {
        uint32_t at = find_slot(g, mask, g->span_ids[row]);
        if (!g->parent_slots[at])
            g->parent_slots[at] = row + 1;
    }
    for (uint32_t row = first; row < g->n_rows; row++) {
        sf_span_id parent = spans[row - first].parent_id;
        uint32_t slot = parent ? g->parent_slots[find_slot(g, mask, parent)] : 0;
        if (!parent) {
            g->parents[row] = 0;
        } else if (!slot) {
            g->parents[row] = SF_BLOCK_PARENT_FOREIGN;
            sf_buf_add_u64le(&g->parent_ids, parent);
        } else if (slot - start <= SF_BLOCK_PARENT_MAX) {
            g->parents[row] = (uint8_t)(slot - start);
        } else {
            g->parents[row] = SF_BLOCK_PARENT_WIDE;
            sf_buf_add_u32le(&g->parent_rows, slot - start - 1);
        }
    }
    return sf_buf_ok(&g->parent_ids) && sf_buf_ok(&g->parent_rows);
}

bool sf_granule_stage_trace(struct sf_span_block_writer *w, uint32_t tenant, bool is_new,
                            const struct sf_span *spans, const int64_t *index_ns, uint32_t n_spans,
                            uint32_t *out_taken)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t first = g->n_rows, start, taken = 0;

    if (is_new || g->n_traces == 0) {
        g->is_continuation = !is_new;
        g->tenant = tenant;
        g->trace_ids[g->n_traces] = spans[0].trace_id;
        g->trace_rows[g->n_traces++] = 0;
    }
    start = first - g->trace_rows[g->n_traces - 1];
    while (taken < n_spans && g->n_rows < ROWS && (taken == 0 || g->len < SF_GRANULE_MAX_LEN)) {
        if (!add_span(w, &spans[taken], index_ns[taken]))
            return false;
        taken++;
    }
    g->trace_rows[g->n_traces - 1] += taken;
    if (!link_parents(g, start, first, spans))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    *out_taken = taken;
    return true;
}
