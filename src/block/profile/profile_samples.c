/* profile_samples.c - samples of a profile block: chunks of summed entries, granules of
 * detail rows (whole, or single columns for scans), and the indexes from span and trace ids to
 * granules. Everything read is checked; blocks of format 1 hold in one section what later formats
 * hold in two. */
#include "base/time_unit.h"
#include "block/profile/profile_reader.h"

int64_t sf_profile_samples_next_value(struct sf_cursor *c, uint64_t divisor)
{
    int64_t value;
    if (__builtin_mul_overflow(sf_profile_next_signed(c), (int64_t)divisor, &value)) {
        c->is_bad = true;
        return 0;
    }
    return value;
}

uint64_t sf_profile_samples_next_divisor(struct sf_cursor *c)
{
    uint64_t divisor = sf_cursor_varint(c);
    if (divisor == 0 || divisor > INT64_MAX) {
        c->is_bad = true;
        return 1;
    }
    return divisor;
}

/* ---- chunks ---- */

static void profile_samples_decode_nodes(struct sf_cursor *c, const struct sf_profile_chunk *chunk,
                                         uint32_t n_nodes, struct sf_profile_entry *e, size_t n)
{
    uint64_t node = 0;
    for (size_t i = 0; i < n && !c->is_bad;) {
        uint64_t step = sf_cursor_varint(c), count = chunk->is_rollup ? 1 : sf_cursor_varint(c);
        /* Nodes increase; only the first may be the root, with a step of 0. */
        if (step >= n_nodes - node || (step == 0 && i) || count == 0 || count > n - i) {
            c->is_bad = true;
            return;
        }
        node += step;
        for (; count; count--)
            e[i++].node = (uint32_t)node;
    }
}

static void decode_rows(struct sf_cursor *c, const struct sf_profile_chunk *chunk,
                        struct sf_profile_entry *e, size_t n)
{
    for (size_t i = 0; i < n && !c->is_bad; i++) {
        bool is_first = i == 0 || e[i].node != e[i - 1].node;
        uint64_t before = is_first ? chunk->first_row : e[i - 1].row;
        uint64_t step = sf_cursor_varint(c);
        if (step >= chunk->first_row + (uint64_t)chunk->n_rows - before ||
            (!is_first && step == 0)) {
            c->is_bad = true;
            return;
        }
        e[i].row = (uint32_t)(before + step);
    }
}

enum sf_err sf_profile_samples_hold(const struct sf_profile_block_reader *r, uint32_t section,
                                    struct sf_profile_held *held, struct sf_arena *a,
                                    struct sf_why *why)
{
    enum sf_err err;
    if (held->is_held && held->section == section)
        return SF_OK;
    if (held->mark)
        a->at = held->mark;
    held->mark = a->at;
    err = sf_profile_block_reader_section(r, SF_PROFILE_CHK, section, a, &held->raw, why);
    held->section = section;
    held->is_held = !err;
    return err;
}

enum sf_err sf_profile_samples_chunk(const struct sf_profile_block_reader *r, uint32_t service,
                                     const struct sf_profile_chunk *chunk,
                                     const struct sf_profile_held *held, struct sf_arena *req,
                                     const struct sf_profile_entry **out, size_t *out_n,
                                     struct sf_why *why)
{
    struct sf_profile_entry *e;
    struct sf_cursor c;
    sf_bytes raw;
    uint64_t n, divisor;
    enum sf_err err = SF_OK;
    if (held && held->is_held && held->section == chunk->section)
        raw = held->raw;
    else
        err = sf_profile_block_reader_section(r, SF_PROFILE_CHK, chunk->section, req, &raw, why);
    if (err)
        return err;
    if (chunk->off > raw.len || chunk->len > raw.len - chunk->off)
        return sf_profile_block_reader_damaged(r, SF_PROFILE_CHK, why);
    c = sf_cursor_of((sf_bytes){raw.p + chunk->off, (size_t)chunk->len});
    n = sf_cursor_varint(&c);
    divisor = sf_profile_samples_next_divisor(&c);
    if (n != chunk->n_entries || n > sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_CHK, why);
    /* Not zeroed: every field is set below, or the chunk is damaged. n is at most the number of its
     * bytes. */
    e = sf_arena_raw(req, ((size_t)n + 1) * sizeof(*e), sizeof(int64_t));
    if (!e)
        return sf_profile_block_reader_no_room(why);
    profile_samples_decode_nodes(&c, chunk, r->services[service].n_nodes, e, (size_t)n);
    if (!chunk->is_rollup)
        decode_rows(&c, chunk, e, (size_t)n);
    for (size_t i = 0; i < n; i++) {
        if (chunk->is_rollup)
            e[i].row = chunk->first_row;
        e[i].value = sf_profile_samples_next_value(&c, divisor);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_CHK, why);
    *out = e;
    *out_n = (size_t)n;
    return SF_OK;
}

/* ---- details ---- */

/* Reads the next run of rows with the same ids, of at most `left` rows; `run` is the previous
 * one. */
static bool profile_samples_next_run(struct sf_cursor *c, uint32_t left, struct sf_profile_run *run)
{
    uint64_t head = sf_cursor_varint(c), count = head >> 1;
    run->span_id = sf_cursor_u64(c);
    const uint8_t *id = head & 1 ? NULL : sf_cursor_take(c, 16);
    if (id)
        memcpy(run->trace_id.b, id, 16);
    c->is_bad = c->is_bad || count == 0 || count > left;
    run->n = c->is_bad ? 0 : (uint32_t)count;
    return !c->is_bad;
}

static void decode_ids(struct sf_cursor *c, struct sf_profile_detail *d, uint32_t n)
{
    uint64_t n_ids = sf_cursor_varint(c);
    uint32_t at = 0;
    struct sf_profile_run run = {0};
    for (uint64_t i = 0; i < n_ids && profile_samples_next_run(c, n - at, &run); i++) {
        for (uint32_t end = at + run.n; at < end; at++) {
            d[at].span_id = run.span_id;
            d[at].trace_id = run.trace_id;
        }
    }
    c->is_bad = c->is_bad || at != n;
}

static void decode_threads(struct sf_cursor *c, struct sf_profile_detail *d, uint32_t n,
                           uint32_t n_processes)
{
    for (uint32_t at = 0; at < n && !c->is_bad;) {
        uint64_t count = sf_cursor_varint(c), process = sf_cursor_varint(c);
        uint64_t thread = sf_cursor_u64(c);
        if (count == 0 || count > n - at || process > n_processes) {
            c->is_bad = true;
            return;
        }
        for (; count; count--, at++) {
            d[at].process = process ? (uint32_t)(process - 1) : SF_NONE;
            d[at].thread = thread;
        }
    }
}

static void decode_times(struct sf_cursor *c, struct sf_profile_detail *d, uint32_t n)
{
    int64_t ms = 0;
    for (uint32_t i = 0; i < n; i++) {
        ms = sf_add_sat_i64(ms, sf_profile_next_signed(c));
        if (__builtin_mul_overflow(ms, SF_NS_PER_MS, &d[i].start_ns))
            c->is_bad = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t length = sf_cursor_varint(c);
        if (length > INT64_MAX / SF_NS_PER_MS) {
            c->is_bad = true;
            length = 0;
        }
        d[i].length_ns = (int64_t)length * SF_NS_PER_MS;
        d[i].is_coarse = true;
    }
}

static void decode_states(struct sf_cursor *c, struct sf_profile_detail *d, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t state = sf_cursor_u8(c);
        d[i].has_time = state & 1;
        d[i].is_lent = state & SF_PROFILE_LENT;
        d[i].state = (state & ~SF_PROFILE_LENT) >> 1;
        c->is_bad = c->is_bad || d[i].state >= SF_STATES;
    }
}

/* Decodes the columns that are in STX since format 2. */
static void decode_rest(struct sf_cursor *c, struct sf_profile_detail *d, uint32_t n,
                        const struct sf_profile_service *me)
{
    uint64_t divisor;
    for (uint32_t i = 0; i < n; i++) {
        d[i].series = sf_cursor_varint32(c);
        c->is_bad = c->is_bad || d[i].series >= me->n_series;
    }
    for (uint32_t i = 0; i < n; i++) {
        d[i].node = sf_cursor_varint32(c);
        c->is_bad = c->is_bad || d[i].node >= me->n_nodes;
    }
    divisor = sf_profile_samples_next_divisor(c);
    for (uint32_t i = 0; i < n; i++)
        d[i].value = sf_profile_samples_next_value(c, divisor);
}

/* Reads STX; `tmp` is for columns. */
static enum sf_err profile_samples_read_rows(const struct sf_profile_block_reader *r,
                                             uint32_t service, uint32_t owner,
                                             struct sf_profile_detail *d, uint32_t n,
                                             struct sf_profile_groups *groups, struct sf_arena tmp,
                                             struct sf_why *why)
{
    struct sf_profile_run *runs = sf_arena_raw(&tmp, n * sizeof(*runs), 16);
    uint32_t *nodes = sf_arena_raw(&tmp, n * sizeof(*nodes), 16), n_marked, n_runs, at = 0;
    uint32_t *node = sf_arena_raw(&tmp, n * sizeof(*node), 16);
    uint32_t *series = sf_arena_raw(&tmp, n * sizeof(*series), 16);
    int64_t *value = sf_arena_raw(&tmp, n * sizeof(*value), 16);
    struct sf_profile_stacks s;
    sf_bytes raw;
    if (!runs || !nodes || !node || !series || !value)
        return sf_profile_block_reader_no_room(why);
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_STX, owner, &tmp, &raw, why);
    if (err)
        return err;
    if (!sf_profile_stacks_decode_open(r, service, raw, n, NULL, nodes, NULL, &n_marked, &s) ||
        !sf_profile_stacks_decode_columns(&s, nodes, node, series, value, groups) ||
        !sf_profile_stacks_decode_runs(&s, runs, &n_runs))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_STX, why);
    for (uint32_t i = 0; i < n_runs; i++) {
        for (uint32_t end = at + runs[i].n; at < end; at++) {
            d[at].span_id = runs[i].span_id;
            d[at].trace_id = runs[i].trace_id;
            d[at].node = node[at];
            d[at].series = series[at];
            d[at].value = value[at];
        }
    }
    return SF_OK;
}

/* Reads DET, since format 2. */
static enum sf_err profile_samples_read_times(const struct sf_profile_block_reader *r,
                                              uint32_t service, sf_bytes raw,
                                              const struct sf_profile_groups *groups,
                                              struct sf_profile_detail *d, struct sf_arena tmp,
                                              struct sf_why *why)
{
    struct sf_profile_times *t = sf_arena_raw(&tmp, sizeof(*t), 16);
    int64_t *values = sf_arena_raw(&tmp, groups->n_rows * sizeof(*values), 16);
    if (!t || !values)
        return sf_profile_block_reader_no_room(why);
    for (uint32_t i = 0; i < groups->n_rows; i++)
        values[i] = d[i].value;
    return sf_profile_times_decode(r->info.format, raw, r->services[service].n_processes, groups,
                                   values, t) &&
                   sf_profile_times_decode_rows(t, d)
               ? SF_OK
               : sf_profile_block_reader_damaged(r, SF_PROFILE_DET, why);
}

enum sf_err sf_profile_samples_granule(const struct sf_profile_block_reader *r, uint32_t service,
                                       const struct sf_profile_places *places, uint32_t granule,
                                       struct sf_arena *req, const struct sf_profile_detail **out,
                                       uint32_t *out_n, struct sf_why *why)
{
    const struct sf_profile_service *me = &r->services[service];
    uint32_t n = places->granules[granule].n_rows, owner = places->first_granule + granule;
    bool has_stacks = sf_profile_block_reader_has_section(r, SF_PROFILE_STX, owner);
    struct sf_profile_detail *d = sf_arena_new_n(req, n, sizeof(*d));
    struct sf_profile_groups groups;
    struct sf_arena tmp = *req;
    struct sf_cursor c;
    sf_bytes raw;
    enum sf_err err = SF_OK;
    if (!d)
        return sf_profile_block_reader_no_room(why);
    if (has_stacks)
        err = profile_samples_read_rows(r, service, owner, d, n, &groups, tmp, why);
    if (!err)
        err = sf_profile_block_reader_section(r, SF_PROFILE_DET, owner, &tmp, &raw, why);
    if (err)
        return err;
    if (r->info.format > 1) {
        *out = d;
        *out_n = n;
        return has_stacks ? profile_samples_read_times(r, service, raw, &groups, d, tmp, why)
                          : sf_profile_block_reader_damaged(r, SF_PROFILE_DET, why);
    }
    c = sf_cursor_of(raw);
    if (!has_stacks)
        decode_ids(&c, d, n);
    decode_threads(&c, d, n, me->n_processes);
    decode_times(&c, d, n);
    decode_states(&c, d, n);
    if (!has_stacks)
        decode_rest(&c, d, n, me);
    if (c.is_bad || sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_DET, why);
    *out = d;
    *out_n = n;
    return SF_OK;
}

/* ---- details by column ---- */

/* Reads starts and flags, since format 2; discards the other columns. */
static enum sf_err read_starts(const struct sf_profile_block_reader *r, uint32_t service,
                               sf_bytes raw, const struct sf_profile_groups *groups,
                               const int64_t *values, int64_t *start_ns, struct sf_arena *req,
                               const uint8_t **out_flags, const uint64_t **out_threads,
                               struct sf_why *why)
{
    uint8_t *flags = sf_arena_raw(req, groups->n_rows, 16);
    uint64_t *threads = sf_arena_raw(req, groups->n_rows * sizeof(*threads), 16);
    struct sf_arena tmp = *req;
    struct sf_profile_times *t = sf_arena_raw(&tmp, sizeof(*t), 16);
    if (!flags || !threads || !t)
        return sf_profile_block_reader_no_room(why);
    if (!sf_profile_times_decode(r->info.format, raw, r->services[service].n_processes, groups,
                                 values, t) ||
        !sf_profile_times_decode_threads(t, threads))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_DET, why);
    memcpy(start_ns, t->start_ns, groups->n_rows * sizeof(*start_ns));
    memcpy(flags, t->flags, groups->n_rows);
    *out_flags = flags;
    *out_threads = threads;
    return SF_OK;
}

/* There are at most as many runs as rows. */
static uint32_t decode_runs(struct sf_cursor *c, struct sf_profile_run *runs, uint32_t n)
{
    uint64_t n_ids = sf_cursor_varint(c);
    uint32_t at = 0, n_runs = 0;
    struct sf_profile_run run = {0};
    for (uint64_t i = 0; i < n_ids && profile_samples_next_run(c, n - at, &run); i++) {
        runs[n_runs++] = run;
        at += run.n;
    }
    c->is_bad = c->is_bad || at != n;
    return n_runs;
}

static void skip_threads(struct sf_cursor *c, uint32_t n)
{
    for (uint32_t at = 0; at < n && !c->is_bad;) {
        uint64_t count = sf_cursor_varint(c);
        sf_cursor_varint(c);
        sf_cursor_u64(c);
        c->is_bad = c->is_bad || count == 0 || count > n - at;
        at += c->is_bad ? 0 : (uint32_t)count;
    }
}

/* A number ends at a byte whose highest bit is 0: eight bytes are processed at once as long as more
 * numbers follow. */
static void skip_numbers(struct sf_cursor *c, uint32_t n)
{
    while (n > 0 && sf_cursor_left(c) >= 8) {
        uint64_t ends = ~sf_load_u64le(c->at) & UINT64_C(0x8080808080808080);
        uint32_t n_ends = (uint32_t)__builtin_popcountll(ends);
        if (n_ends >= n)
            break;
        n -= n_ends;
        c->at += 8;
    }
    while (n > 0 && !c->is_bad)
        n -= sf_cursor_u8(c) < 128;
}

static void decode_starts(struct sf_cursor *c, int64_t *start_ns, uint32_t n)
{
    int64_t ms = 0;
    for (uint32_t i = 0; i < n; i++) {
        ms = sf_add_sat_i64(ms, sf_profile_next_signed(c));
        if (__builtin_mul_overflow(ms, SF_NS_PER_MS, &start_ns[i]))
            c->is_bad = true;
    }
}

static void decode_places(struct sf_cursor *c, uint32_t *places, uint32_t n, uint32_t below)
{
    for (uint32_t i = 0; i < n; i++) {
        places[i] = sf_cursor_varint32(c);
        c->is_bad = c->is_bad || places[i] >= below;
    }
}

static bool profile_samples_has_any(const uint32_t *nodes, uint32_t n, const bool *is_node)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_node[nodes[i]])
            return true;
    return false;
}

struct columns { /* columns to fill */
    struct sf_profile_run *runs;
    int64_t *start_ns, *value;
    uint32_t *series, *node;
    uint32_t n_runs;
    bool is_empty; /* no row has a node that is requested */
};

/* Reads the columns of STX. */
static enum sf_err profile_samples_read_stacks(const struct sf_profile_block_reader *r,
                                               uint32_t service, uint32_t owner, uint32_t n,
                                               const bool *is_node, struct sf_arena tmp,
                                               struct columns *to, struct sf_profile_groups *groups,
                                               struct sf_why *why)
{
    uint32_t nodes[SF_PROFILE_GRANULE_ROWS], n_marked;
    bool is_code[SF_PROFILE_GRANULE_ROWS];
    struct sf_profile_stacks s;
    sf_bytes raw;
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_STX, owner, &tmp, &raw, why);
    if (err)
        return err;
    if (!sf_profile_stacks_decode_open(r, service, raw, n, is_node, nodes, is_node ? is_code : NULL,
                                       &n_marked, &s))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_STX, why);
    to->is_empty = is_node && n_marked == 0;
    if (to->is_empty)
        return SF_OK;
    return sf_profile_stacks_decode_columns(&s, nodes, to->node, to->series, to->value, groups) &&
                   sf_profile_stacks_decode_runs(&s, to->runs, &to->n_runs)
               ? SF_OK
               : sf_profile_block_reader_damaged(r, SF_PROFILE_STX, why);
}

/* Decodes DET, which has all columns in older blocks. */
static void decode_all(struct sf_cursor *c, uint32_t n, const struct sf_profile_service *me,
                       const bool *is_node, struct columns *to, const uint8_t **out_flags)
{
    struct sf_cursor starts, series;
    to->n_runs = decode_runs(c, to->runs, n);
    skip_threads(c, n);
    starts = *c;
    skip_numbers(c, n);
    skip_numbers(c, n); /* lengths */
    *out_flags = sf_cursor_take(c, n);
    series = *c;
    skip_numbers(c, n);
    decode_places(c, to->node, n, me->n_nodes);
    to->is_empty = !c->is_bad && is_node && !profile_samples_has_any(to->node, n, is_node);
    if (to->is_empty)
        return;
    decode_starts(&starts, to->start_ns, n);
    decode_places(&series, to->series, n, me->n_series);
    uint64_t divisor = sf_profile_samples_next_divisor(c);
    for (uint32_t i = 0; i < n; i++)
        to->value[i] = sf_profile_samples_next_value(c, divisor);
    c->is_bad = c->is_bad || starts.is_bad || series.is_bad || sf_cursor_left(c) > 0;
}

static void decode_times_only(struct sf_cursor *c, uint32_t n, struct columns *to,
                              const uint8_t **out_flags)
{
    skip_threads(c, n);
    decode_starts(c, to->start_ns, n);
    skip_numbers(c, n); /* lengths */
    *out_flags = sf_cursor_take(c, n);
    c->is_bad = c->is_bad || sf_cursor_left(c) > 0;
}

enum sf_err sf_profile_samples_columns(const struct sf_profile_block_reader *r, uint32_t service,
                                       const struct sf_profile_places *places, uint32_t granule,
                                       const bool *is_node, struct sf_arena *req,
                                       struct sf_profile_columns *out, struct sf_why *why)
{
    const struct sf_profile_service *me = &r->services[service];
    uint32_t n = places->granules[granule].n_rows, owner = places->first_granule + granule;
    bool has_stacks = sf_profile_block_reader_has_section(r, SF_PROFILE_STX, owner);
    /* Not zeroed: all is set below, or the granule is damaged. */
    struct columns to = {.runs = sf_arena_raw(req, (size_t)n * sizeof(*to.runs), 16),
                         .start_ns = sf_arena_raw(req, (size_t)n * sizeof(*to.start_ns), 16),
                         .value = sf_arena_raw(req, (size_t)n * sizeof(*to.value), 16),
                         .series = sf_arena_raw(req, (size_t)n * sizeof(*to.series), 16),
                         .node = sf_arena_raw(req, (size_t)n * sizeof(*to.node), 16)};
    const uint8_t *flags = NULL;
    const uint64_t *threads = NULL;
    struct sf_profile_groups groups;
    enum sf_err err = SF_OK;
    sf_bytes raw;
    if (!to.runs || !to.start_ns || !to.value || !to.series || !to.node)
        return sf_profile_block_reader_no_room(why);
    if (has_stacks)
        err = profile_samples_read_stacks(r, service, owner, n, is_node, *req, &to, &groups, why);
    if (!err && !to.is_empty)
        err = sf_profile_block_reader_section(r, SF_PROFILE_DET, owner, req, &raw, why);
    if (!err && !to.is_empty && r->info.format > 1) {
        err = has_stacks ? read_starts(r, service, raw, &groups, to.value, to.start_ns, req, &flags,
                                       &threads, why)
                         : sf_profile_block_reader_damaged(r, SF_PROFILE_DET, why);
    } else if (!err && !to.is_empty) {
        struct sf_cursor c = sf_cursor_of(raw);
        if (has_stacks)
            decode_times_only(&c, n, &to, &flags);
        else
            decode_all(&c, n, me, is_node, &to, &flags);
        if (c.is_bad)
            err = sf_profile_block_reader_damaged(r, SF_PROFILE_DET, why);
    }
    if (err)
        return err;
    *out = (struct sf_profile_columns){0};
    if (!to.is_empty)
        *out = (struct sf_profile_columns){to.runs,   to.n_runs, n,     to.start_ns, to.value,
                                           to.series, to.node,   flags, threads};
    return SF_OK;
}

/* ---- indexes ---- */

struct ids { /* which index */
    uint16_t section;
    size_t id_len;
    const struct sf_profile_piece *pieces;
    uint32_t n_pieces, first, n_granules;
};

static int profile_samples_compare(const struct ids *x, const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, x->id_len);
}

/* The last piece that begins at or before `id`; SF_NONE: none. */
static uint32_t profile_samples_find_piece(const struct ids *x, const uint8_t *id)
{
    uint32_t low = 0, high = x->n_pieces;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (profile_samples_compare(x, x->pieces[mid].first.b, id) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : SF_NONE;
}

static enum sf_err profile_samples_read_piece(const struct sf_profile_block_reader *r,
                                              const struct ids *x, uint32_t piece,
                                              struct sf_arena *req, sf_bytes *out,
                                              struct sf_why *why)
{
    enum sf_err err = sf_profile_block_reader_section(r, x->section, x->first + piece, req, out,
                                                      why);
    if (!err && x->pieces[piece].n > out->len / (x->id_len + 1))
        err = sf_profile_block_reader_damaged(r, x->section, why);
    return err;
}

/* The first index in the piece whose id is not below `id`. */
static uint32_t profile_samples_find_place(const struct ids *x, sf_bytes raw, uint32_t n,
                                           const uint8_t *id)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (profile_samples_compare(x, raw.p + mid * x->id_len, id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static enum sf_err profile_samples_read_granules(const struct sf_profile_block_reader *r,
                                                 const struct ids *x, sf_bytes raw, uint32_t n,
                                                 uint32_t place, struct sf_arena *req,
                                                 const uint32_t **out, uint32_t *out_n,
                                                 struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of((sf_bytes){raw.p + n * x->id_len, raw.len - n * x->id_len});
    uint32_t *list = NULL;
    uint64_t n_list = 0, at = 0;
    for (uint32_t i = 0; i <= place && !c.is_bad; i++) {
        n_list = sf_cursor_varint(&c);
        if (n_list == 0 || n_list > sf_cursor_left(&c))
            c.is_bad = true;
        for (uint64_t k = 0; i < place && k < n_list && !c.is_bad; k++)
            sf_cursor_varint(&c);
    }
    if (c.is_bad || n_list > x->n_granules)
        return sf_profile_block_reader_damaged(r, x->section, why);
    list = sf_arena_new_n(req, (size_t)n_list, sizeof(*list));
    if (!list)
        return sf_profile_block_reader_no_room(why);
    for (uint64_t k = 0; k < n_list; k++) {
        uint64_t step = sf_cursor_varint(&c);
        if (c.is_bad || step >= x->n_granules - at || (k && step == 0))
            return sf_profile_block_reader_damaged(r, x->section, why);
        at += step;
        list[k] = (uint32_t)at;
    }
    *out = list;
    *out_n = (uint32_t)n_list;
    return SF_OK;
}

static enum sf_err profile_samples_find_id(const struct sf_profile_block_reader *r,
                                           const struct ids *x, const uint8_t *id,
                                           struct sf_arena *req, const uint32_t **out,
                                           uint32_t *out_n, struct sf_why *why)
{
    uint32_t piece = profile_samples_find_piece(x, id), place;
    sf_bytes raw;
    enum sf_err err;
    *out = NULL;
    *out_n = 0;
    if (piece == SF_NONE)
        return SF_OK;
    err = profile_samples_read_piece(r, x, piece, req, &raw, why);
    if (err)
        return err;
    place = profile_samples_find_place(x, raw, x->pieces[piece].n, id);
    if (place == x->pieces[piece].n ||
        profile_samples_compare(x, raw.p + place * x->id_len, id) != 0)
        return SF_OK;
    return profile_samples_read_granules(r, x, raw, x->pieces[piece].n, place, req, out, out_n,
                                         why);
}

/* Marks the granules that one piece lists for those of `ids` that are in it: both are sorted, so
 * one pass over the piece is enough. */
static bool mark_piece(const struct ids *x, sf_bytes raw, uint32_t n, const uint8_t *ids,
                       size_t n_ids, bool *is_marked)
{
    struct sf_cursor c = sf_cursor_of((sf_bytes){raw.p + n * x->id_len, raw.len - n * x->id_len});
    uint32_t i = 0;
    for (size_t k = 0; k < n_ids; k++) {
        const uint8_t *id = ids + k * x->id_len;
        uint32_t place = profile_samples_find_place(x, raw, n, id);
        if (place < i || place == n ||
            profile_samples_compare(x, raw.p + place * x->id_len, id) != 0)
            continue; /* already processed, or not in this piece */
        for (; i <= place; i++) {
            uint64_t n_list = sf_cursor_varint(&c), at = 0;
            if (n_list == 0 || n_list > sf_cursor_left(&c))
                return false;
            for (uint64_t m = 0; m < n_list; m++) {
                uint64_t step = sf_cursor_varint(&c);
                if (c.is_bad || step >= x->n_granules - at || (m && step == 0))
                    return false;
                at += step;
                is_marked[at] = is_marked[at] || i == place;
            }
        }
    }
    return !c.is_bad;
}

/* `ids` are `n` keys of x->id_len bytes, in increasing order. */
static enum sf_err profile_samples_mark_ids(const struct sf_profile_block_reader *r,
                                            const struct ids *x, const uint8_t *ids, size_t n,
                                            struct sf_arena scratch, bool *is_marked,
                                            struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t at = 0, end; !err && at < n; at = end) {
        uint32_t piece = profile_samples_find_piece(x, ids + at * x->id_len);
        struct sf_arena tmp = scratch;
        sf_bytes raw;
        end = at + 1;
        if (piece == SF_NONE)
            continue;
        while (end < n && (piece + 1 == x->n_pieces ||
                           profile_samples_compare(x, ids + end * x->id_len,
                                                   x->pieces[piece + 1].first.b) < 0))
            end++;
        err = profile_samples_read_piece(r, x, piece, &tmp, &raw, why);
        if (!err &&
            !mark_piece(x, raw, x->pieces[piece].n, ids + at * x->id_len, end - at, is_marked))
            err = sf_profile_block_reader_damaged(r, x->section, why);
    }
    return err;
}

static struct ids profile_samples_spans_of(const struct sf_profile_places *p)
{
    return (struct ids){SF_PROFILE_SPX, 8, p->spans, p->n_spans, p->first_span, p->n_granules};
}

enum sf_err sf_profile_samples_find_span(const struct sf_profile_block_reader *r,
                                         const struct sf_profile_places *places, sf_span_id id,
                                         struct sf_arena *req, const uint32_t **out,
                                         uint32_t *out_n, struct sf_why *why)
{
    struct ids x = profile_samples_spans_of(places);
    uint8_t key[8];
    sf_store_u64be(key, id);
    return profile_samples_find_id(r, &x, key, req, out, out_n, why);
}

static struct ids traces_of(const struct sf_profile_places *p)
{
    return (struct ids){SF_PROFILE_TRX, 16, p->traces, p->n_traces, p->first_trace, p->n_granules};
}

enum sf_err sf_profile_samples_find_trace(const struct sf_profile_block_reader *r,
                                          const struct sf_profile_places *places, sf_trace_id id,
                                          struct sf_arena *req, const uint32_t **out,
                                          uint32_t *out_n, struct sf_why *why)
{
    struct ids x = traces_of(places);
    return profile_samples_find_id(r, &x, id.b, req, out, out_n, why);
}

enum sf_err sf_profile_samples_mark_spans(const struct sf_profile_block_reader *r,
                                          const struct sf_profile_places *places,
                                          const sf_span_id *ids, size_t n, struct sf_arena scratch,
                                          bool *is_marked, struct sf_why *why)
{
    struct ids x = profile_samples_spans_of(places);
    uint8_t *keys = sf_arena_new_n(&scratch, n + 1, 8);
    if (!keys)
        return sf_profile_block_reader_no_room(why);
    for (size_t i = 0; i < n; i++)
        sf_store_u64be(keys + i * 8, ids[i]);
    return profile_samples_mark_ids(r, &x, keys, n, scratch, is_marked, why);
}

enum sf_err sf_profile_samples_mark_traces(const struct sf_profile_block_reader *r,
                                           const struct sf_profile_places *places,
                                           const sf_trace_id *ids, size_t n,
                                           struct sf_arena scratch, bool *is_marked,
                                           struct sf_why *why)
{
    struct ids x = traces_of(places);
    return profile_samples_mark_ids(r, &x, ids->b, n, scratch, is_marked, why);
}

enum sf_err sf_profile_samples_spans_between(const struct sf_profile_block_reader *r,
                                             const struct sf_profile_places *places, sf_span_id low,
                                             sf_span_id high, struct sf_arena scratch,
                                             sf_span_id *out, size_t cap, size_t *out_n,
                                             struct sf_why *why)
{
    struct ids x = profile_samples_spans_of(places);
    uint8_t key[8];
    uint32_t piece;
    size_t n = 0;
    bool is_past = false;
    sf_store_u64be(key, low);
    piece = profile_samples_find_piece(&x, key);
    for (piece = piece == SF_NONE ? 0 : piece; piece < x.n_pieces && !is_past && n < cap; piece++) {
        struct sf_arena tmp = scratch;
        sf_bytes raw;
        enum sf_err err = profile_samples_read_piece(r, &x, piece, &tmp, &raw, why);
        if (err)
            return err;
        for (uint32_t i = profile_samples_find_place(&x, raw, x.pieces[piece].n, key);
             i < x.pieces[piece].n && n < cap && !is_past; i++) {
            sf_span_id id = sf_load_u64be(raw.p + i * 8);
            is_past = id > high;
            if (!is_past)
                out[n++] = id;
        }
    }
    *out_n = n;
    return SF_OK;
}
