/* granule_spans.c - assembles whole rows of a granule: attributes, events and links.
 *
 * A row refers to a shape, which lists its keys, and each key has a column with the values of the
 * rows that have it. So one cursor per key is advanced while the shapes of the requested rows are
 * read in order. Events and links work in the same way, with a column of their number per row. */
#include "block/format/encoding.h"
#include "block/span/reader.h"

struct key_cursor { /* steps through the values of one key */
    sf_str name;
    struct sf_values vals;
    uint32_t at;
};

/* Attribute lists of items [from, to) of one kind, contiguous; item i ends at ends[i - from]. */
struct attr_lists {
    const struct sf_attr *all;
    const uint32_t *ends;
};

static void granule_spans_put_attrs(const struct sf_shape_column *s, struct key_cursor *cursors,
                                    const uint32_t *slots, uint32_t from, uint32_t to,
                                    struct sf_attr *attrs, uint32_t *ends)
{
    uint32_t n = 0;

    for (uint32_t i = from; i < to; i++) {
        uint32_t shape = s->code ? s->code[i] : 0;
        uint32_t end = s->n_shapes ? s->ends[shape] : 0;
        for (uint32_t k = s->n_shapes ? sf_shape_start(s, shape) : 0; k < end; k++) {
            struct key_cursor *c = &cursors[slots[s->keys[k]]];
            uint32_t at = sf_values_at(&c->vals, c->at++);
            if (c->vals.packed)
                attrs[n++] = c->vals.packed[at];
            else
                attrs[n++] = (struct sf_attr){c->name, c->vals.vals[at]};
        }
        ends[i - from] = n;
    }
}

/* Counts how often each key occurs in items [from, to). */
static enum sf_err granule_spans_count_keys(struct sf_granule_ctx *c,
                                            const struct sf_shape_column *shapes, uint32_t from,
                                            uint32_t to, uint32_t **out)
{
    struct sf_shape_column part = *shapes;

    part.n_items = to - from;
    if (part.code)
        part.code += from;
    return sf_granule_column_count_shapes(c, &part, c->req, out);
}

/* Skips the values of items before the first one; keys that no requested item has are not read. */
static enum sf_err open_cursors(struct sf_granule_ctx *c, const uint32_t *counts,
                                const uint32_t *before, const uint32_t *inside, uint32_t *slots,
                                struct key_cursor *cursors)
{
    uint32_t n = 0;
    enum sf_err err = SF_OK;

    for (uint32_t k = 0; k < c->r->n_typed && !err; k++) {
        if (inside[k] == 0)
            continue;
        slots[k] = n;
        cursors[n].name = c->r->typed[k].name;
        cursors[n].at = before[k];
        err = sf_granule_column_values(c, k, counts[k], &cursors[n++].vals);
    }
    return err;
}

static enum sf_err granule_spans_read_attrs(struct sf_granule_ctx *c, uint32_t column,
                                            uint8_t scope, uint32_t n_items, uint32_t from,
                                            uint32_t to, struct attr_lists *out)
{
    struct sf_shape_column shapes;
    struct key_cursor *cursors;
    struct sf_attr *attrs;
    uint32_t *counts, *before, *inside, *slots, *ends, n_cursors = 0;
    size_t n_attrs = 0;
    enum sf_err err = sf_granule_column_shapes(c, column, scope, n_items, &shapes);

    if (!err)
        err = sf_granule_column_count_shapes(c, &shapes, c->req, &counts);
    if (!err)
        err = granule_spans_count_keys(c, &shapes, 0, from, &before);
    if (!err)
        err = granule_spans_count_keys(c, &shapes, from, to, &inside);
    if (err)
        return err;
    slots = sf_arena_new_n(c->req, c->r->n_typed, sizeof(*slots));
    ends = sf_arena_raw(c->req, (size_t)(to - from) * sizeof(*ends), 16);
    for (uint32_t k = 0; k < c->r->n_typed; k++) {
        n_cursors += inside[k] != 0;
        n_attrs += inside[k];
    }
    cursors = sf_arena_new_n(c->req, n_cursors, sizeof(*cursors));
    if (!slots || !ends || !cursors)
        return sf_span_block_reader_limit(c->why);
    err = open_cursors(c, counts, before, inside, slots, cursors);
    if (err)
        return err;
    attrs = sf_arena_raw(c->req, n_attrs * sizeof(*attrs), 16);
    if (!attrs)
        return sf_span_block_reader_limit(c->why);
    granule_spans_put_attrs(&shapes, cursors, slots, from, to, attrs, ends);
    *out = (struct attr_lists){attrs, ends};
    return SF_OK;
}

static struct sf_attrs granule_spans_list_of(const struct attr_lists *lists, uint32_t i)
{
    uint32_t start = i ? lists->ends[i - 1] : 0;
    return (struct sf_attrs){lists->all + start, lists->ends[i] - start};
}

struct part { /* the requested rows, and the range of their events or links */
    uint32_t from, to;
    uint32_t first, n;
};

/* The number of items of each row; the columns of the items must have as many entries as the
 * sum. */
static enum sf_err granule_spans_read_counts(struct sf_granule_ctx *c, uint32_t column,
                                             const uint32_t **out, uint32_t *out_sum,
                                             struct part *part)
{
    uint64_t sum = 0;
    enum sf_err err = sf_granule_column_u32s(c, column, c->n_rows, UINT32_MAX, out);

    if (err)
        return err;
    part->first = part->n = 0;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        sum += (*out)[i];
        part->first += i < part->from ? (*out)[i] : 0;
        part->n += i >= part->from && i < part->to ? (*out)[i] : 0;
    }
    if (sum > 1u << 30)
        return sf_span_block_reader_corrupt(c->r, c->granule, column, c->why);
    *out_sum = (uint32_t)sum;
    return SF_OK;
}

static enum sf_err granule_spans_add_events(struct sf_granule_ctx *c, const uint64_t *start_ns,
                                            struct part part, struct sf_span *spans)
{
    const uint32_t *counts, *dropped;
    const uint64_t *times;
    struct sf_str_column names;
    struct attr_lists attrs;
    struct sf_event *events;
    uint32_t n = 0, at = 0;
    enum sf_err err = granule_spans_read_counts(c, SF_BLOCK_EVENTS, &counts, &n, &part);

    if (err || part.n == 0)
        return err;
    err = sf_granule_column_numbers(c, SF_BLOCK_EVENT_TIME, n, &times);
    if (!err && !times)
        err = sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_EVENT_TIME, c->why);
    if (!err)
        err = sf_granule_column_texts(c, SF_BLOCK_EVENT_NAME, n, &names);
    if (!err)
        err = sf_granule_column_u32s(c, SF_BLOCK_EVENT_DROPPED, n, UINT32_MAX, &dropped);
    if (!err)
        err = granule_spans_read_attrs(c, SF_BLOCK_EVENT_SHAPE, SF_SCOPE_EVENT, n, part.first,
                                       part.first + part.n, &attrs);
    if (err)
        return err;
    events = sf_arena_raw(c->req, (size_t)part.n * sizeof(*events), 16);
    if (!events)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t row = part.from; row < part.to; row++) {
        struct sf_span *s = &spans[row - part.from];
        s->n_events = counts[row];
        if (counts[row])
            s->events = events + at;
        for (uint32_t i = 0; i < counts[row]; i++, at++) {
            uint32_t item = part.first + at;
            events[at] = (struct sf_event){.time_ns = start_ns[row] + times[item],
                                           .name = names.dict[names.code[item]],
                                           .attrs = granule_spans_list_of(&attrs, at),
                                           .dropped_attrs = dropped[item]};
        }
    }
    return SF_OK;
}

struct link_columns {
    const uint8_t *trace_ids, *span_ids;
    const uint32_t *dropped, *flags;
    struct sf_str_column states;
    struct attr_lists attrs;
};

static enum sf_err granule_spans_read_links(struct sf_granule_ctx *c, uint32_t n, struct part part,
                                            struct link_columns *out)
{
    enum sf_err err = sf_granule_column_fixed(c, SF_BLOCK_LINK_TRACE_ID, SF_ENC_FIX16, n,
                                              &out->trace_ids);
    if (!err)
        err = sf_granule_column_fixed(c, SF_BLOCK_LINK_SPAN_ID, SF_ENC_FIX8, n, &out->span_ids);
    if (!err)
        err = sf_granule_column_texts(c, SF_BLOCK_LINK_STATE, n, &out->states);
    if (!err)
        err = sf_granule_column_u32s(c, SF_BLOCK_LINK_DROPPED, n, UINT32_MAX, &out->dropped);
    if (!err)
        err = sf_granule_column_u32s(c, SF_BLOCK_LINK_FLAGS, n, UINT32_MAX, &out->flags);
    return err ? err
               : granule_spans_read_attrs(c, SF_BLOCK_LINK_SHAPE, SF_SCOPE_LINK, n, part.first,
                                          part.first + part.n, &out->attrs);
}

static enum sf_err granule_spans_add_links(struct sf_granule_ctx *c, struct part part,
                                           struct sf_span *spans)
{
    struct link_columns cols;
    struct sf_link *links;
    const uint32_t *counts;
    uint32_t n = 0, at = 0;
    enum sf_err err = granule_spans_read_counts(c, SF_BLOCK_LINKS, &counts, &n, &part);

    if (err || part.n == 0)
        return err;
    err = granule_spans_read_links(c, n, part, &cols);
    if (err)
        return err;
    links = sf_arena_raw(c->req, (size_t)part.n * sizeof(*links), 16);
    if (!links)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t row = part.from; row < part.to; row++) {
        struct sf_span *s = &spans[row - part.from];
        s->n_links = counts[row];
        if (counts[row])
            s->links = links + at;
        for (uint32_t i = 0; i < counts[row]; i++, at++) {
            struct sf_link *l = &links[at];
            uint32_t item = part.first + at;
            *l = (struct sf_link){.span_id = sf_load_u64le(cols.span_ids + (size_t)item * 8),
                                  .trace_state = cols.states.dict[cols.states.code[item]],
                                  .attrs = granule_spans_list_of(&cols.attrs, at),
                                  .dropped_attrs = cols.dropped[item],
                                  .flags = cols.flags[item]};
            memcpy(l->trace_id.b, cols.trace_ids + (size_t)item * 16, 16);
        }
    }
    return SF_OK;
}

static enum sf_err granule_spans_add_attrs(struct sf_granule_ctx *c, struct part part,
                                           struct sf_span *spans)
{
    struct attr_lists attrs;
    enum sf_err err = granule_spans_read_attrs(c, SF_BLOCK_SHAPE, SF_SCOPE_SPAN, c->n_rows,
                                               part.from, part.to, &attrs);
    for (uint32_t i = 0; !err && i < part.to - part.from; i++)
        spans[i].attrs = granule_spans_list_of(&attrs, i);
    return err;
}

static enum sf_err granule_spans_add_rest(struct sf_granule_ctx *c, struct part part,
                                          struct sf_span *spans)
{
    static const uint32_t COLUMNS[4] = {SF_BLOCK_FLAGS, SF_BLOCK_DROPPED_ATTRS,
                                        SF_BLOCK_DROPPED_EVENTS, SF_BLOCK_DROPPED_LINKS};
    struct sf_str_column states;
    struct sf_chunk_desc d[2];
    enum sf_err err = sf_granule_column_texts(c, SF_BLOCK_TRACE_STATE, c->n_rows, &states);

    if (err)
        return err;
    for (uint32_t i = part.from; i < part.to; i++)
        spans[i - part.from].trace_state = states.dict[states.code[i]];
    for (int k = 0; k < 4; k++) {
        const uint32_t *vals;
        if (sf_span_block_reader_descs(c->r, c->granule, COLUMNS[k], d) == 0)
            continue;
        err = sf_granule_column_u32s(c, COLUMNS[k], c->n_rows, UINT32_MAX, &vals);
        if (err)
            return err;
        for (uint32_t i = part.from; i < part.to; i++) {
            struct sf_span *s = &spans[i - part.from];
            uint32_t *to[4] = {&s->flags, &s->dropped_attrs, &s->dropped_events, &s->dropped_links};
            *to[k] = vals[i];
        }
    }
    return SF_OK;
}

enum sf_err sf_granule_spans(struct sf_granule_ctx *c, uint32_t columns, const uint64_t *start_ns,
                             uint32_t from, uint32_t to, const struct sf_span **out)
{
    struct sf_span *spans = sf_arena_new_n(c->req, to - from, sizeof(*spans));
    struct part part = {.from = from, .to = to};
    enum sf_err err = spans ? SF_OK : sf_span_block_reader_limit(c->why);

    if (!err && columns & SF_COL_ATTRS)
        err = granule_spans_add_attrs(c, part, spans);
    if (!err && columns & SF_COL_EVENTS)
        err = granule_spans_add_events(c, start_ns, part, spans);
    if (!err && columns & SF_COL_LINKS)
        err = granule_spans_add_links(c, part, spans);
    if (!err && columns & SF_COL_REST)
        err = granule_spans_add_rest(c, part, spans);
    *out = spans;
    return err;
}
