/* profile_stacks_decode.c - decodes and checks STX of a granule: the stacks, series, values and ids
 * of its detail rows.
 *
 * It is read in two ways. For all rows: node list, codes, series, values, then the ids as runs. For
 * a search (sf_profile_stacks_decode_costs): the node list is compared with the requested nodes
 * first, and most granules end there; otherwise matching rows are found by their codes, and their
 * values are summed by owner (span and trace) while the runs are read. */
#include "block/profile/profile_reader.h"

/* Decodes steps of nodes into `nodes`, and marks requested ones in `is_code`; either may be
 * NULL. */
static bool profile_stacks_decode_nodes(struct sf_cursor *c, uint32_t n, uint32_t below,
                                        const bool *is_node, uint32_t *nodes, bool *is_code,
                                        uint32_t *out_n_marked)
{
    uint32_t node = 0, n_marked = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t step = sf_cursor_varint(c);
        if (step >= below - node || (i && step == 0))
            return false;
        node += (uint32_t)step;
        if (nodes)
            nodes[i] = node;
        if (is_code) {
            is_code[i] = is_node[node];
            n_marked += is_code[i];
        }
    }
    *out_n_marked = n_marked;
    return !c->is_bad;
}

/* Checks the series of a granule: at least two, increasing. */
static bool check_listed(struct sf_cursor *c, struct sf_profile_stacks *s)
{
    uint64_t n = sf_cursor_varint(c), series = 0;
    if (n < 2 || n > s->n_rows)
        return false;
    s->n_listed = (uint32_t)n;
    s->listed = *c;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t step = sf_cursor_varint(c);
        if (step >= s->n_series - series || (i && step == 0))
            return false;
        series += step;
    }
    return !c->is_bad;
}

static bool decode_codes(struct sf_cursor *c, struct sf_profile_stacks *s)
{
    int64_t codes[SF_PROFILE_GRANULE_ROWS];
    bool is_bad = false;
    if (!sf_bins_decode(c, codes, s->n_rows))
        return false;
    for (uint32_t i = 0; i < s->n_rows; i++) {
        is_bad |= codes[i] < 0 || codes[i] >= s->n_nodes;
        s->codes[i] = (uint16_t)codes[i];
    }
    return !is_bad;
}

bool sf_profile_stacks_decode_open(const struct sf_profile_block_reader *r, uint32_t service,
                                   sf_bytes raw, uint32_t n_rows, const bool *is_node,
                                   uint32_t *nodes, bool *is_code, uint32_t *out_n_marked,
                                   struct sf_profile_stacks *out)
{
    const struct sf_profile_service *me = &r->services[service];
    struct sf_cursor c = sf_cursor_of(raw);
    struct sf_profile_stacks *s = out;
    s->format = r->info.format;
    s->n_rows = n_rows;
    s->n_series = me->n_series;
    s->divisor = 1;
    s->flags = sf_cursor_u8(&c);
    s->n_listed = s->series = 0;
    s->value = 0;
    s->low = s->high = NULL;
    if (n_rows > SF_PROFILE_GRANULE_ROWS || (s->format > 2 && s->flags > SF_PROFILE_STACK_FLAGS))
        return false;
    if (s->flags & SF_PROFILE_ONE_SERIES)
        s->series = sf_cursor_varint32(&c);
    else if (s->format > 2 && !check_listed(&c, s))
        return false;
    if (s->flags & SF_PROFILE_ONE_VALUE)
        s->value = sf_profile_next_signed(&c);
    else if (s->format <= 2)
        s->divisor = sf_profile_samples_next_divisor(&c);
    s->n_nodes = sf_cursor_varint32(&c);
    if (c.is_bad || s->series >= me->n_series || s->n_nodes == 0 || s->n_nodes > n_rows ||
        !profile_stacks_decode_nodes(&c, s->n_nodes, me->n_nodes, is_node, nodes, is_code,
                                     out_n_marked))
        return false;
    s->n_bits = sf_profile_high_bits(s->n_nodes);
    if (s->format > 2 && s->flags & SF_PROFILE_BINNED_CODES) {
        if (!decode_codes(&c, s))
            return false;
    } else {
        s->low = sf_cursor_take(&c, n_rows);
        s->high = sf_cursor_take(&c, (n_rows * s->n_bits + 7u) / 8u);
    }
    s->rest = c;
    return !c.is_bad;
}

static uint32_t profile_stacks_decode_code_of(const struct sf_profile_stacks *s, uint32_t row)
{
    if (!s->low)
        return s->codes[row];
    uint32_t bit = row * s->n_bits;
    uint32_t high = s->n_bits ? s->high[bit / 8] >> bit % 8 & ((1u << s->n_bits) - 1) : 0;
    return high << 8 | s->low[row];
}

/* Since format 3: from indexes of the rows' series in the list. */
static bool decode_listed(struct sf_profile_stacks *s, uint32_t *series,
                          struct sf_profile_groups *g)
{
    uint32_t list[SF_PROFILE_GRANULE_ROWS];
    int64_t places[SF_PROFILE_GRANULE_ROWS];
    struct sf_cursor c = s->listed;
    bool is_bad = false;
    for (uint32_t i = 0; i < s->n_listed; i++)
        list[i] = (i ? list[i - 1] : 0) + (uint32_t)sf_cursor_varint(&c);
    if (!sf_bins_decode(&s->rest, places, s->n_rows))
        return false;
    for (uint32_t i = 0; i < s->n_rows; i++) {
        bool is_none = places[i] < 0 || places[i] >= s->n_listed;
        is_bad |= is_none;
        series[i] = list[is_none ? 0 : places[i]];
    }
    return !is_bad && sf_profile_groups_make(g, places, s->n_rows, s->n_listed);
}

static bool decode_series(struct sf_profile_stacks *s, uint32_t *series,
                          struct sf_profile_groups *g)
{
    bool is_bad = false;
    if (s->n_listed)
        return decode_listed(s, series, g);
    sf_profile_groups_one(g, s->n_rows);
    for (uint32_t i = 0; i < s->n_rows; i++) {
        series[i] = s->flags & SF_PROFILE_ONE_SERIES ? s->series : sf_cursor_varint32(&s->rest);
        is_bad = is_bad || series[i] >= s->n_series;
    }
    return !is_bad && !s->rest.is_bad;
}

static bool decode_values(struct sf_profile_stacks *s, const struct sf_profile_groups *g,
                          int64_t *value)
{
    if (s->format > 2 && !(s->flags & SF_PROFILE_ONE_VALUE)) {
        for (uint32_t group = 0; group < g->n; group++)
            if (!sf_profile_groups_read(g, group, &s->rest, value))
                return false;
        return true;
    }
    for (uint32_t i = 0; i < s->n_rows; i++)
        value[i] = s->flags & SF_PROFILE_ONE_VALUE
                       ? s->value
                       : sf_profile_samples_next_value(&s->rest, s->divisor);
    return !s->rest.is_bad;
}

bool sf_profile_stacks_decode_columns(struct sf_profile_stacks *s, const uint32_t *nodes,
                                      uint32_t *node, uint32_t *series, int64_t *value,
                                      struct sf_profile_groups *groups)
{
    for (uint32_t i = 0; i < s->n_rows; i++) {
        uint32_t code = profile_stacks_decode_code_of(s, i);
        if (code >= s->n_nodes)
            return false;
        node[i] = nodes[code];
        groups->codes[i] = (uint16_t)code;
    }
    return decode_series(s, series, groups) && decode_values(s, groups, value);
}

/* ---- whose they are ---- */

struct owners {
    const uint8_t *spans; /* eight bytes each */
    uint32_t n, n_seen;
    struct sf_cursor c; /* at the runs, later at the traces */
};

static bool open_owners(const struct sf_profile_stacks *s, struct owners *o)
{
    *o = (struct owners){.c = s->rest};
    uint64_t n = sf_cursor_varint(&o->c);
    if (n > s->n_rows)
        return false;
    o->n = (uint32_t)n;
    o->spans = sf_cursor_take(&o->c, o->n * 8u);
    return !o->c.is_bad;
}

/* The next run, of at most `left` rows. Nearly all runs are one byte. */
static inline bool profile_stacks_decode_next_run(struct owners *o, uint32_t left, uint32_t *out_n,
                                                  uint32_t *out_owner)
{
    uint32_t head = sf_cursor_u8(&o->c);
    uint64_t n = head >> 5, back = head & 31;
    if (n == 0)
        n = sf_cursor_varint(&o->c);
    if (back == SF_PROFILE_RUN_BACK)
        back = sf_cursor_varint(&o->c);
    bool is_new = back == 0;
    o->n_seen += is_new;
    if (o->c.is_bad || n - 1 >= left || back > o->n_seen || o->n_seen > o->n)
        return false;
    *out_owner = o->n_seen - (is_new ? 1 : (uint32_t)back);
    *out_n = (uint32_t)n;
    return true;
}

/* Decodes the trace of each owner into its first run: either its bytes, or the distance to an
 * earlier one. */
static bool profile_stacks_decode_traces(struct owners *o, const uint16_t *first,
                                         struct sf_profile_run *runs)
{
    uint16_t given[SF_PROFILE_GRANULE_ROWS];
    uint32_t n_given = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t back = sf_cursor_u8(&o->c);
        if (back > n_given)
            return false;
        const uint8_t *id = back ? runs[given[n_given - back]].trace_id.b
                                 : sf_cursor_take(&o->c, 16);
        if (!id)
            return false;
        memcpy(runs[first[i]].trace_id.b, id, 16);
        if (!back)
            given[n_given++] = first[i];
    }
    return !o->c.is_bad && sf_cursor_left(&o->c) == 0;
}

bool sf_profile_stacks_decode_runs(const struct sf_profile_stacks *s, struct sf_profile_run *runs,
                                   uint32_t *out_n)
{
    uint16_t first[SF_PROFILE_GRANULE_ROWS];
    struct owners o;
    uint32_t n_runs = 0, owner = 0;
    if (!open_owners(s, &o))
        return false;
    for (uint32_t at = 0; at < s->n_rows; at += runs[n_runs++].n) {
        uint32_t n_before = o.n_seen;
        if (!profile_stacks_decode_next_run(&o, s->n_rows - at, &runs[n_runs].n, &owner))
            return false;
        if (o.n_seen > n_before)
            first[owner] = (uint16_t)n_runs;
        runs[n_runs].span_id = owner; /* replaced when the traces are known */
    }
    if (o.n_seen != o.n || !profile_stacks_decode_traces(&o, first, runs))
        return false;
    for (uint32_t i = 0; i < n_runs; i++) {
        owner = (uint32_t)runs[i].span_id;
        if (first[owner] != i)
            runs[i].trace_id = runs[first[owner]].trace_id;
        runs[i].span_id = sf_load_u64le(o.spans + owner * 8u);
    }
    *out_n = n_runs;
    return true;
}

/* ---- of some stacks ---- */

struct found { /* matching rows, in increasing order, and a sentinel */
    uint16_t rows[SF_PROFILE_GRANULE_ROWS + 1];
    uint32_t n;
    const int64_t *values; /* by row, unless all are the same */
    int64_t value;
};

/* Compares the lowest byte of each code; if codes have more bits, checks them for those that match.
 * A row is stored before it is known to match: that is cheaper than a branch. */
static void profile_stacks_decode_find_rows(const struct sf_profile_stacks *s, const bool *is_code,
                                            struct found *f)
{
    uint8_t is_low[256] = {0};
    uint32_t n = 0, n_all;
    if (!s->low) {
        for (uint32_t i = 0; i < s->n_rows; i++) {
            f->rows[n] = (uint16_t)i;
            n += is_code[s->codes[i]];
        }
        f->n = n;
        return;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++)
        is_low[i & 255] |= is_code[i];
    /* Unrolled: most of the time of a search is spent here. */
    for (uint32_t i = 0; i + 4 <= s->n_rows; i += 4) {
        uint32_t codes = sf_load_u32le(s->low + i);
        f->rows[n] = (uint16_t)i;
        n += is_low[codes & 255];
        f->rows[n] = (uint16_t)(i + 1);
        n += is_low[codes >> 8 & 255];
        f->rows[n] = (uint16_t)(i + 2);
        n += is_low[codes >> 16 & 255];
        f->rows[n] = (uint16_t)(i + 3);
        n += is_low[codes >> 24];
    }
    for (uint32_t i = s->n_rows & ~3u; i < s->n_rows; i++) {
        f->rows[n] = (uint16_t)i;
        n += is_low[s->low[i]];
    }
    n_all = n;
    n = s->n_bits ? 0 : n;
    for (uint32_t i = 0; s->n_bits && i < n_all; i++) {
        uint32_t code = profile_stacks_decode_code_of(s, f->rows[i]);
        f->rows[n] = f->rows[i];
        n += code < s->n_nodes && is_code[code];
    }
    f->n = n;
}

/* Keeps only rows of the requested series. */
static void profile_stacks_decode_keep_series(const uint32_t *series, const bool *is_series,
                                              struct found *f)
{
    uint32_t n_all = f->n;
    f->n = 0;
    for (uint32_t i = 0; i < n_all; i++) {
        f->rows[f->n] = f->rows[i];
        f->n += is_series[series[f->rows[i]]];
    }
}

/* Counts the matching rows of each owner, and adds their values if they differ. Nearly all runs are
 * one byte and have no matching row: those are skipped quickly. False: damaged. */
static bool sum_runs(struct owners o, uint32_t n_rows, struct found *f, struct sf_profile_cost *to,
                     uint32_t *n_found)
{
    uint32_t at = 0, n_run, owner, k = 0;
    f->rows[f->n] = UINT16_MAX;
    while (at < n_rows) {
        if (o.c.at<o.c.end && * o.c.at> 31 && (*o.c.at & 31) != SF_PROFILE_RUN_BACK &&
            f->rows[k] >= at + (*o.c.at >> 5)) {
            at += *o.c.at >> 5;
            o.n_seen += (*o.c.at++ & 31) == 0;
            continue;
        }
        if (!profile_stacks_decode_next_run(&o, n_rows - at, &n_run, &owner))
            return false;
        for (at += n_run; f->rows[k] < at; k++) {
            n_found[owner]++;
            if (f->values)
                to[owner].value = sf_add_sat_i64(to[owner].value, f->values[f->rows[k]]);
        }
    }
    return at == n_rows && o.n_seen == o.n;
}

/* Returns the number of owners with matching rows; SF_NONE: damaged. Both lists are zeroed. */
static uint32_t sum_owners(const struct owners *o, uint32_t n_rows, struct found *f,
                           struct sf_profile_cost *to, uint32_t *n_found)
{
    uint32_t n = 0;
    if (!sum_runs(*o, n_rows, f, to, n_found))
        return SF_NONE;
    for (uint32_t i = 0; i < o->n; i++) {
        sf_span_id id = sf_load_u64le(o->spans + i * 8u);
        if (n_found[i] == 0 || id == 0)
            continue;
        to[n] = (struct sf_profile_cost){id, f->values ? to[i].value
                                                       : sf_mul_sat_i64(f->value, n_found[i])};
        n++;
    }
    return n;
}

/* Decodes the columns that a search needs, if rows differ in them. False: damaged. */
static bool profile_stacks_decode_search(struct sf_profile_stacks *s, const bool *is_code,
                                         const bool *is_series, uint32_t *series, int64_t *values,
                                         struct found *f)
{
    struct sf_profile_groups groups;
    profile_stacks_decode_find_rows(s, is_code, f);
    sf_profile_groups_one(&groups, s->n_rows);
    if (!(s->flags & SF_PROFILE_ONE_SERIES)) {
        if (!decode_series(s, series, &groups))
            return false;
        profile_stacks_decode_keep_series(series, is_series, f);
    }
    if (!(s->flags & SF_PROFILE_ONE_VALUE)) {
        if (!decode_values(s, &groups, values))
            return false;
        f->values = values;
    }
    f->value = s->value;
    return true;
}

enum sf_err sf_profile_stacks_decode_costs(const struct sf_profile_block_reader *r,
                                           uint32_t service, const struct sf_profile_places *places,
                                           uint32_t granule, const bool *is_node,
                                           const bool *is_series, struct sf_arena *req,
                                           const struct sf_profile_cost **out, uint32_t *out_n,
                                           bool *out_is_told, struct sf_why *why)
{
    uint32_t n_rows = places->granules[granule].n_rows, owner = places->first_granule + granule;
    uint32_t series[SF_PROFILE_GRANULE_ROWS], *n_found, n_marked, n;
    int64_t values[SF_PROFILE_GRANULE_ROWS];
    bool is_code[SF_PROFILE_GRANULE_ROWS];
    struct sf_profile_cost *list;
    struct sf_profile_stacks s;
    struct owners o;
    struct found f;
    sf_bytes raw;
    enum sf_err err;
    *out = NULL;
    *out_n = 0;
    *out_is_told = sf_profile_block_reader_has_section(r, SF_PROFILE_STX, owner);
    if (!*out_is_told)
        return SF_OK;
    err = sf_profile_block_reader_section(r, SF_PROFILE_STX, owner, req, &raw, why);
    if (err)
        return err;
    if (!sf_profile_stacks_decode_open(r, service, raw, n_rows, is_node, NULL, is_code, &n_marked,
                                       &s))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_STX, why);
    if (n_marked == 0 || (s.flags & SF_PROFILE_ONE_SERIES && !is_series[s.series]))
        return SF_OK;
    *out_is_told = !(s.flags & SF_PROFILE_ANY_LENT);
    if (!*out_is_told)
        return SF_OK;
    f.values = NULL;
    if (!profile_stacks_decode_search(&s, is_code, is_series, series, values, &f) ||
        !open_owners(&s, &o))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_STX, why);
    list = sf_arena_new_n(req, o.n + 1u, sizeof(*list));
    n_found = sf_arena_new_n(req, o.n + 1u, sizeof(*n_found));
    if (!list || !n_found)
        return sf_profile_block_reader_no_room(why);
    n = sum_owners(&o, n_rows, &f, list, n_found);
    if (n == SF_NONE)
        return sf_profile_block_reader_damaged(r, SF_PROFILE_STX, why);
    *out = list;
    *out_n = n;
    return SF_OK;
}
