/* profile_times_decode.c - decodes and checks times and threads of the rows of a granule, since
 * format 2. */
#include "block/profile/profile_reader.h"

struct run { /* rows of one thread, in the order of their starts */
    uint32_t n, process;
    uint64_t thread;
    int64_t first_us;
};

static bool profile_times_decode_next_run(struct sf_cursor *c, uint32_t left, uint32_t n_processes,
                                          struct run *run)
{
    uint64_t n = sf_cursor_varint(c), process = sf_cursor_varint(c);
    run->thread = sf_cursor_varint(c);
    run->first_us = sf_add_sat_i64(run->first_us, sf_profile_next_signed(c));
    run->n = (uint32_t)n;
    run->process = process ? (uint32_t)(process - 1) : SF_NONE;
    return !c->is_bad && n > 0 && n <= left && process <= n_processes;
}

/* Checks that the runs cover exactly all rows. Leaves the cursor after them. */
static bool check_runs(struct sf_cursor *c, uint32_t n_rows, uint32_t n_processes)
{
    struct run run = {0};
    for (uint32_t at = 0; at < n_rows; at += run.n)
        if (!profile_times_decode_next_run(c, n_rows - at, n_processes, &run))
            return false;
    return true;
}

/* Computes starts from steps and lengths (in microseconds; results in nanoseconds). Steps are
 * relative to the start or the end of the previous row; the first row of a run has none. */
static bool profile_times_decode_add_steps(struct sf_profile_times *t, const int64_t *steps,
                                           bool is_from_end)
{
    struct sf_cursor c = t->runs;
    struct run run = {0};
    int64_t us = 0;
    for (uint32_t i = 0, end = 0; i < t->n_rows; i++) {
        if (i == end) {
            if (!profile_times_decode_next_run(&c, t->n_rows - i, UINT32_MAX, &run))
                return false;
            end += run.n;
            us = run.first_us;
        } else if (__builtin_add_overflow(us, steps[i], &us) ||
                   (is_from_end && __builtin_add_overflow(us, t->length_ns[i - 1] / 1000, &us)))
            return false;
        if (t->length_ns[i] < 0 || t->length_ns[i] > INT64_MAX / 1000 ||
            __builtin_mul_overflow(us, INT64_C(1000), &t->start_ns[i]))
            return false;
        t->length_ns[i] *= 1000;
    }
    return true;
}

static bool has_states(const struct sf_profile_times *t)
{
    bool is_bad = false;
    for (uint32_t i = 0; i < t->n_rows; i++)
        is_bad |= (t->flags[i] & ~(SF_PROFILE_LENT | SF_PROFILE_COARSE)) >> 1 >= SF_STATES;
    return !is_bad;
}

static int64_t value_us(int64_t value)
{
    return value / 1000 - (value % 1000 < 0);
}

/* ---- format 2 ---- */

static bool next_planes(struct sf_cursor *c, uint32_t n, uint64_t *out)
{
    sf_bytes left = {c->at, sf_cursor_left(c)};
    struct sf_planes p;
    if (!sf_planes_parse(&left, n, &p))
        return false;
    c->at = left.p;
    sf_planes_decode(&p, n, out);
    return true;
}

static bool decode_planes(sf_bytes raw, uint32_t n_processes, const int64_t *values,
                          struct sf_profile_times *t)
{
    uint64_t steps[SF_PROFILE_GRANULE_ROWS], lengths[SF_PROFILE_GRANULE_ROWS];
    bool is_waits = raw.len > 0 && raw.p[0] == SF_PROFILE_WAITS_MARK, is_bad = false;
    struct sf_cursor c;
    if (is_waits) {
        (void)sf_cursor_u8(&t->runs);
        if (sf_cursor_u8(&t->runs) != SF_PROFILE_WAITS)
            return false;
    }
    c = t->runs;
    if (!check_runs(&c, t->n_rows, n_processes) || !next_planes(&c, t->n_rows, steps) ||
        (!is_waits && !next_planes(&c, t->n_rows, lengths)))
        return false;
    const uint8_t *flags = sf_cursor_take(&c, t->n_rows);
    if (!flags || sf_cursor_left(&c))
        return false;
    memcpy(t->flags, flags, t->n_rows);
    for (uint32_t i = 0; i < t->n_rows; i++) {
        t->length_ns[i] = is_waits ? value_us(values[i]) : (int64_t)lengths[i];
        is_bad |= !is_waits && steps[i] > INT64_MAX;
    }
    return !is_bad && profile_times_decode_add_steps(t, (const int64_t *)steps, is_waits);
}

/* ---- format 3 ---- */

static bool next_lengths(struct sf_cursor *c, const struct sf_profile_groups *g, uint32_t group,
                         const int64_t *values, int64_t *lengths)
{
    uint8_t how = sf_cursor_u8(c);
    bool is_bad = how > SF_PROFILE_LENGTHS_OF_VALUES;
    if (is_bad || !sf_profile_groups_read(g, group, c, lengths))
        return false;
    for (uint32_t i = 0; how == SF_PROFILE_LENGTHS_OF_VALUES && i < g->n_rows; i++)
        if (sf_profile_groups_has(g, group, i))
            is_bad |= __builtin_add_overflow(lengths[i], value_us(values[i]), &lengths[i]);
    return !is_bad;
}

static bool next_flags(struct sf_cursor *c, const struct sf_profile_groups *g, uint32_t group,
                       uint8_t *flags)
{
    int64_t column[SF_PROFILE_GRANULE_ROWS];
    uint8_t last[SF_PROFILE_GRANULE_ROWS] = {0}, how = sf_cursor_u8(c);
    bool is_bad = how > SF_PROFILE_FLAGS_OF_NODES;
    if (is_bad || !sf_profile_groups_read(g, group, c, column))
        return false;
    for (uint32_t i = 0; i < g->n_rows; i++) {
        if (!sf_profile_groups_has(g, group, i))
            continue;
        is_bad |= column[i] < 0 || column[i] > UINT8_MAX;
        flags[i] = (uint8_t)column[i];
        if (how == SF_PROFILE_FLAGS_OF_NODES) {
            flags[i] ^= last[g->codes[i]];
            last[g->codes[i]] = flags[i];
        }
    }
    return !is_bad;
}

static bool decode_bins(sf_bytes raw, uint32_t n_processes, const struct sf_profile_groups *g,
                        const int64_t *values, struct sf_profile_times *t)
{
    int64_t steps[SF_PROFILE_GRANULE_ROWS];
    struct sf_cursor c = sf_cursor_of(raw);
    if (!check_runs(&c, t->n_rows, n_processes))
        return false;
    for (uint32_t group = 0; group < g->n; group++)
        if (!next_lengths(&c, g, group, values, t->length_ns) ||
            !sf_profile_groups_read(g, group, &c, steps) || !next_flags(&c, g, group, t->flags))
            return false;
    return sf_cursor_left(&c) == 0 && profile_times_decode_add_steps(t, steps, true);
}

bool sf_profile_times_decode(uint16_t format, sf_bytes raw, uint32_t n_processes,
                             const struct sf_profile_groups *g, const int64_t *values,
                             struct sf_profile_times *out)
{
    out->runs = sf_cursor_of(raw);
    out->n_rows = g->n_rows;
    return g->n_rows <= SF_PROFILE_GRANULE_ROWS &&
           (format > 2 ? decode_bins(raw, n_processes, g, values, out)
                       : decode_planes(raw, n_processes, values, out)) &&
           has_states(out);
}

bool sf_profile_times_decode_threads(const struct sf_profile_times *t, uint64_t *out)
{
    struct sf_cursor c = t->runs;
    struct run run = {0};
    for (uint32_t i = 0, end = 0; i < t->n_rows;) {
        if (!profile_times_decode_next_run(&c, t->n_rows - i, UINT32_MAX, &run))
            return false;
        for (end += run.n; i < end; i++)
            out[i] = run.thread;
    }
    return true;
}

bool sf_profile_times_decode_rows(const struct sf_profile_times *t, struct sf_profile_detail *d)
{
    struct sf_cursor c = t->runs;
    struct run run = {0};
    for (uint32_t i = 0, end = 0; i < t->n_rows; i++) {
        uint8_t flags = t->flags[i];
        if (i == end) {
            if (!profile_times_decode_next_run(&c, t->n_rows - i, UINT32_MAX, &run))
                return false;
            end += run.n;
        }
        d[i].process = run.process;
        d[i].thread = run.thread;
        d[i].start_ns = t->start_ns[i];
        d[i].length_ns = t->length_ns[i];
        d[i].has_time = flags & 1;
        d[i].is_coarse = flags & SF_PROFILE_COARSE;
        d[i].is_lent = flags & SF_PROFILE_LENT;
        d[i].state = (flags & ~(SF_PROFILE_LENT | SF_PROFILE_COARSE)) >> 1;
    }
    return true;
}
