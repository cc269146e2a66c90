/* row_stage.c - adds rows of a rowset to the columns of the open granule. Codes of the rowset's
 * dictionaries are mapped to the granule's on first use, so a text is hashed once per granule.
 * Parents are stored as row numbers if the parent is in the same granule. Adding stops before the
 * granule exceeds its memory limit. */
#include "base/list.h"
#include "base/time_unit.h"
#include "block/format/overflow.h"
#include "block/rows/row_maps.h"
#include "block/rows/rowset_words.h"
#include "block/span/writer.h"

enum {
    ROWS = SF_LIMIT_GRANULE_ROWS,
    ROW_LEN = 256, /* estimated decoded size of a row, an event or a link */
    ATTR_LEN = 48, /* estimated size of an attribute, besides a new text */
};

struct stage { /* state while a row is added */
    struct sf_span_block_writer *w;
    struct sf_row_maps *m;
    const struct sf_rowset *r;
    uint64_t stamp;     /* identifies codes of this granule */
    const uint32_t *at; /* next words of the row */
};

/* ---- texts ---- */

/* Maps entry `code` of a rowset's dictionary to a code of a dictionary of the granule. */
static bool map_text(struct stage *s, uint64_t *known, struct sf_dict *to,
                     const struct sf_dict *from, uint32_t code, uint32_t *out)
{
    sf_str text = sf_dict_get(from, code);
    uint32_t n = to->n;

    if (!sf_dict_add_hashed(to, text, from->hashes[code], out))
        return sf_span_block_writer_fail(s->w, SF_ERR_NOMEM);
    if (to->n != n)
        s->w->g.len += text.len;
    *known = s->stamp | *out;
    return true;
}

static inline bool row_stage_add_text(struct stage *s, enum sf_row_text column, struct sf_dict *to,
                                      uint32_t code, uint32_t *out)
{
    uint64_t *known = &s->m->texts[column][code];

    if ((*known ^ s->stamp) >> 32 == 0) {
        *out = (uint32_t)*known;
        return true;
    }
    if (code)
        return map_text(s, known, to, &s->r->texts, code - 1, out);
    if (!sf_dict_add(to, SF_STR_NONE, out))
        return sf_span_block_writer_fail(s->w, SF_ERR_NOMEM);
    *known = s->stamp | *out;
    return true;
}

/* ---- values ---- */

static bool grow_values(struct sf_span_block_writer *w, struct sf_key_stage *k, bool is_text)
{
    bool has_room = is_text ? sf_list_room(&k->codes, k->n, &k->cap, 64)
                            : sf_list_room(&k->nums, k->n, &k->cap, 64);
    return has_room || sf_span_block_writer_fail(w, SF_ERR_NOMEM);
}

/* The block has no column for this key: stores type, name and value as one text. */
static bool add_packed(struct stage *s, struct sf_key_stage *k, const struct sf_row_key *from)
{
    struct sf_span_block_writer *w = s->w;
    struct sf_attr a = {.key = sf_rowset_key_name(s->r, from), .val.type = from->type};
    uint32_t n = k->dict.n;

    if (sf_block_type_is_text(from->type))
        a.val.str = sf_dict_get(&from->texts, *s->at);
    else if (from->type == SF_VALUE_BOOL)
        a.val.is_true = *s->at;
    else if (from->type != SF_VALUE_EMPTY)
        a.val.i64 = (int64_t)sf_words_u64(s->at);
    s->at += sf_value_words(from->type);
    sf_overflow_pack(&w->raw, &a);
    if (!sf_buf_ok(&w->raw) || !sf_dict_add(&k->dict, sf_buf_str(&w->raw), &k->codes[k->n]))
        return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    k->n++;
    if (k->dict.n != n)
        w->g.len += w->raw.len;
    return true;
}

static inline bool row_stage_add_value(struct stage *s, uint32_t place)
{
    struct sf_span_block_writer *w = s->w;
    const struct sf_key_map *map = &s->m->keys[place];
    struct sf_key_stage *k = &w->keys[map->key];

    if (k->n == k->cap && !grow_values(w, k, sf_block_type_is_text(k->type)))
        return false;
    if (k->n == 0)
        w->active_keys[w->n_active++] = map->key;
    if (map->is_packed)
        return add_packed(s, k, &s->r->keys[place]);
    if (map->codes) {
        uint32_t code = *s->at++, *to = &k->codes[k->n++];
        uint64_t *known = &map->codes[code];
        if ((*known ^ s->stamp) >> 32 == 0) {
            *to = (uint32_t)*known;
            return true;
        }
        sf_dict_settle(&k->dict, k->n);
        return map_text(s, known, &k->dict, &s->r->keys[place].texts, code, to);
    }
    switch (k->type) {
    case SF_VALUE_EMPTY: k->nums[k->n++] = 0; break;
    case SF_VALUE_BOOL: k->nums[k->n++] = *s->at++; break;
    default:
        k->nums[k->n++] = sf_words_u64(s->at);
        s->at += 2;
        break;
    }
    return true;
}

/* Adds shape and values. */
static bool row_stage_add_attrs(struct stage *s, uint32_t *out_shape)
{
    const struct sf_shape_map *shape = sf_row_maps_shape(s->m, s->w, *s->at++);

    if (!shape)
        return false;
    for (uint32_t i = 0; i < shape->n; i++) {
        if (!row_stage_add_value(s, shape->keys[i]))
            return false;
    }
    s->w->g.len += shape->n * (size_t)ATTR_LEN;
    *out_shape = shape->node;
    return true;
}

/* ---- one row ---- */

static bool row_stage_add_events(struct stage *s, uint64_t start_ns, uint32_t *out_n)
{
    struct sf_granule_stage *g = &s->w->g;
    uint32_t n = *s->at++;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t time_ns = sf_words_u64(s->at);
        uint32_t dropped = s->at[2], text = s->at[3], name, shape;
        s->at += 4;
        if (!row_stage_add_text(s, SF_TEXT_EVENT_NAME, &g->event_name_dict, text, &name) ||
            !row_stage_add_attrs(s, &shape))
            return false;
        sf_buf_add_u64le(&g->event_times, time_ns - start_ns);
        sf_buf_add_u32le(&g->event_names, name);
        sf_buf_add_u32le(&g->event_shapes, shape);
        sf_buf_add_u32le(&g->event_dropped, dropped);
        g->any_event_dropped |= dropped;
        g->len += ROW_LEN + sf_rowset_text(s->r, text).len;
    }
    g->n_events_all += n;
    *out_n = n;
    return true;
}

static bool row_stage_add_links(struct stage *s, uint32_t *out_n)
{
    struct sf_granule_stage *g = &s->w->g;
    uint32_t n = *s->at++;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *head = s->at;
        uint32_t dropped = head[6], flags = head[7], text = head[8], state, shape;
        s->at += 9;
        if (!row_stage_add_text(s, SF_TEXT_LINK_STATE, &g->link_state_dict, text, &state) ||
            !row_stage_add_attrs(s, &shape))
            return false;
        sf_buf_add(&g->link_trace_ids, head, 16);
        sf_buf_add_u64le(&g->link_span_ids, sf_words_u64(head + 4));
        sf_buf_add_u32le(&g->link_states, state);
        sf_buf_add_u32le(&g->link_shapes, shape);
        sf_buf_add_u32le(&g->link_dropped, dropped);
        sf_buf_add_u32le(&g->link_flags, flags);
        g->any_link_dropped |= dropped;
        g->any_link_flags |= flags;
        g->len += ROW_LEN + sf_rowset_text(s->r, text).len;
    }
    g->n_links_all += n;
    *out_n = n;
    return true;
}

/* The largest end, for retention. An end more than an hour after the block was made comes from a
 * wrong clock and must not keep the block for ever. */
static int64_t row_stage_end_of(const struct sf_span_block_writer *w, int64_t index_ns,
                                uint64_t duration)
{
    int64_t end = sf_add_sat_i64(index_ns, duration > INT64_MAX ? INT64_MAX : (int64_t)duration);
    int64_t limit = sf_add_sat_i64(w->info.created_ns, SF_NS_PER_HOUR);
    if (w->info.created_ns <= 0 || end <= limit)
        return end;
    return index_ns > limit ? index_ns : limit;
}

static void widen_zone(struct sf_span_block_writer *w, const struct sf_mem_row *row)
{
    struct sf_granule_stage *g = &w->g;
    uint64_t duration = row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0;
    int64_t end_ns = row_stage_end_of(w, row->index_ns, duration);

    g->ts_min_ns = row->index_ns < g->ts_min_ns ? row->index_ns : g->ts_min_ns;
    g->ts_max_ns = end_ns > g->ts_max_ns ? end_ns : g->ts_max_ns;
    g->dur_min_ns = duration < g->dur_min_ns ? duration : g->dur_min_ns;
    g->dur_max_ns = duration > g->dur_max_ns ? duration : g->dur_max_ns;
    g->statuses |= (uint8_t)(1u << (row->status < 7 ? row->status : 7));
    g->kinds |= (uint8_t)(1u << (row->kind < 7 ? row->kind : 7));
    g->any_high_kind |= (uint8_t)((row->kind | row->status) & 0xf0);
}

static void add_fixed(struct stage *s, const struct sf_mem_row *from)
{
    struct sf_span_block_writer *w = s->w;
    struct sf_granule_stage *g = &w->g;
    uint32_t row = g->n_rows;

    g->span_ids[row] = from->span_id;
    g->starts[row] = from->start_ns;
    g->durations[row] = from->end_ns - from->start_ns;
    g->index[row] = (uint64_t)from->index_ns - from->start_ns;
    g->has_index |= g->index[row] != 0;
    g->resources[row] = s->m->resources[from->resource];
    g->scopes[row] = s->m->scopes[from->scope];
    g->kinds_col[row] = from->kind;
    g->status_col[row] = from->status;
    g->flags[row] = g->dropped_attrs[row] = g->dropped_events[row] = g->dropped_links[row] = 0;
    g->n_events[row] = g->n_links[row] = 0;
    w->resource_stages[g->resources[row]].n_spans++;
    w->scope_stages[g->scopes[row]].n_spans++;
    widen_zone(w, from);
}

/* Adds flags and counts of dropped items. */
static void add_counts(struct stage *s, uint8_t bits)
{
    struct sf_granule_stage *g = &s->w->g;
    uint32_t row = g->n_rows;

    if (bits & SF_ROW_FLAGS)
        g->any_flags |= g->flags[row] = *s->at++;
    if (bits & SF_ROW_DROPPED) {
        g->any_dropped_attrs |= g->dropped_attrs[row] = *s->at++;
        g->any_dropped_events |= g->dropped_events[row] = *s->at++;
        g->any_dropped_links |= g->dropped_links[row] = *s->at++;
    }
}

static bool row_stage_add_row(struct stage *s, const struct sf_mem_row *from)
{
    struct sf_granule_stage *g = &s->w->g;
    uint32_t row = g->n_rows, msg = 0, state = 0;

    s->at = s->r->words + from->data_off;
    add_fixed(s, from);
    if (!row_stage_add_text(s, SF_TEXT_NAME, &g->name_dict, *s->at++, &g->names[row]) ||
        !row_stage_add_attrs(s, &g->shapes[row]))
        return false;
    if (from->bits & SF_ROW_STATUS_MSG)
        msg = *s->at++;
    if (from->bits & SF_ROW_TRACE_STATE)
        state = *s->at++;
    g->has_status_msg |= msg != 0;
    g->has_trace_state |= state != 0;
    if (!row_stage_add_text(s, SF_TEXT_STATUS_MSG, &g->msg_dict, msg, &g->status_msgs[row]) ||
        !row_stage_add_text(s, SF_TEXT_TRACE_STATE, &g->state_dict, state, &g->trace_states[row]))
        return false;
    add_counts(s, from->bits);
    if (from->bits & SF_ROW_EVENTS && !row_stage_add_events(s, from->start_ns, &g->n_events[row]))
        return false;
    if (from->bits & SF_ROW_LINKS && !row_stage_add_links(s, &g->n_links[row]))
        return false;
    g->len += ROW_LEN;
    g->n_rows++;
    return true;
}

/* ---- parents ---- */

/* The row with a span id, or SF_NONE; `lookup` is the slot for a new one. */
static uint32_t row_stage_find_row(const struct sf_granule_stage *g, uint64_t id,
                                   struct sf_table_lookup *lookup)
{
    uint32_t row;
    *lookup = sf_table_lookup(&g->row_at, sf_key_u64(id));
    while (sf_table_next(lookup, &row)) {
        if (g->span_ids[row] == id)
            return row;
    }
    return SF_NONE;
}

/* Stores parents of rows [first, n_rows) as row numbers of their trace in this granule, which
 * starts at row `start`. A parent that is not here yet, or in another granule, is stored by its
 * id. */
static bool link_parents(struct sf_granule_stage *g, uint32_t start, uint32_t first,
                         const struct sf_row_maps *maps, const uint32_t *rows)
{
    struct sf_table_lookup lookup;

    if (!sf_table_reset(&g->row_at, g->n_rows - start))
        return false;
    for (uint32_t row = start; row < g->n_rows; row++) {
        if (row_stage_find_row(g, g->span_ids[row], &lookup) == SF_NONE)
            sf_table_keep(&g->row_at, &lookup, row);
    }
    for (uint32_t row = first; row < g->n_rows; row++) {
        sf_span_id parent = sf_row_maps_row(maps, rows[row - first])->parent_id;
        uint32_t at = parent ? row_stage_find_row(g, parent, &lookup) : SF_NONE;
        if (!parent) {
            g->parents[row] = 0;
        } else if (at == SF_NONE) {
            g->parents[row] = SF_BLOCK_PARENT_FOREIGN;
            sf_buf_add_u64le(&g->parent_ids, parent);
        } else if (at - start + 1 <= SF_BLOCK_PARENT_MAX) {
            g->parents[row] = (uint8_t)(at - start + 1);
        } else {
            g->parents[row] = SF_BLOCK_PARENT_WIDE;
            sf_buf_add_u32le(&g->parent_rows, at - start);
        }
    }
    return sf_buf_ok(&g->parent_ids) && sf_buf_ok(&g->parent_rows);
}

/* The following rows belong to the set of this map. */
static void enter_set(struct stage *s, struct sf_row_maps *m, uint32_t tenant)
{
    s->m = m;
    s->r = m->r;
    sf_row_maps_begin(m, s->w, tenant);
}

bool sf_row_stage_rows(struct sf_span_block_writer *w, struct sf_row_maps *maps, bool is_new,
                       const uint32_t *rows, uint32_t n, uint32_t *out_taken)
{
    struct sf_granule_stage *g = &w->g;
    struct stage s = {.w = w, .stamp = (uint64_t)(w->stage_no + 1) << 32};
    const struct sf_mem_row *head = sf_row_maps_row(maps, rows[0]);
    uint32_t first = g->n_rows, start, taken = 0;

    if (is_new || g->n_traces == 0) {
        g->is_continuation = !is_new;
        g->tenant = head->tenant;
        g->trace_ids[g->n_traces] = head->trace_id;
        g->trace_rows[g->n_traces++] = 0;
    }
    start = first - g->trace_rows[g->n_traces - 1];
    while (taken < n && g->n_rows < ROWS && (taken == 0 || g->len < w->options.granule_len)) {
        struct sf_row_maps *m = &maps[rows[taken] >> SF_ROW_PLACE_BITS];
        if (m != s.m)
            enter_set(&s, m, head->tenant);
        if (!row_stage_add_row(&s, sf_row_maps_row(maps, rows[taken])))
            return false;
        taken++;
    }
    g->trace_rows[g->n_traces - 1] += taken;
    if (!link_parents(g, start, first, maps, rows))
        return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    *out_taken = taken;
    return true;
}
