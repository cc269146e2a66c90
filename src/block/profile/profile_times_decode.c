/* profile_times_decode.c - when and on which thread the rows of a granule were, since format 2:
 * checked. */
#include "block/profile/profile_reader.h"

struct run { /* rows of one thread, in the order of their starts */
    uint32_t n, process;
    uint64_t thread;
    int64_t first_us;
};

static bool next_run(struct sf_cursor *c, uint32_t left, uint32_t n_processes, struct run *run)
{
    uint64_t n = sf_cursor_varint(c), process = sf_cursor_varint(c);
    run->thread = sf_cursor_varint(c);
    run->first_us = sf_add_sat_i64(run->first_us, sf_profile_next_signed(c));
    run->n = (uint32_t)n;
    run->process = process ? (uint32_t)(process - 1) : SF_NONE;
    return !c->is_bad && n > 0 && n <= left && process <= n_processes;
}

static bool next_planes(struct sf_cursor *c, uint32_t n, struct sf_planes *out)
{
    sf_bytes left = {c->at, sf_cursor_left(c)};
    if (!sf_planes_parse(&left, n, out))
        return false;
    c->at = left.p;
    return true;
}

bool sf_profile_times_open(sf_bytes raw, uint32_t n_rows, uint32_t n_processes,
                           struct sf_profile_times *out)
{
    struct sf_profile_times t = {.runs = sf_cursor_of(raw), .n_rows = n_rows};
    if (raw.len > 0 && raw.p[0] == SF_PROFILE_WAITS_MARK) {
        (void)sf_cursor_u8(&t.runs);
        t.is_waits = sf_cursor_u8(&t.runs) == SF_PROFILE_WAITS;
        if (!t.is_waits)
            return false;
    }
    struct sf_cursor c = t.runs;
    struct run run = {0};
    for (uint32_t at = 0; at < n_rows; at += run.n)
        if (!next_run(&c, n_rows - at, n_processes, &run))
            return false;
    if (n_rows > SF_PROFILE_GRANULE_ROWS || !next_planes(&c, n_rows, &t.steps) ||
        (!t.is_waits && !next_planes(&c, n_rows, &t.lengths)))
        return false;
    t.flags = sf_cursor_take(&c, n_rows);
    *out = t;
    return t.flags && sf_cursor_left(&c) == 0;
}

/* Steps are those from the row before, or from its end: then they may go back. The first of a run
 * has none. */
static bool add_steps(const struct run *run, const uint64_t *steps, const int64_t *values,
                      int64_t *start_ns)
{
    int64_t us = run->first_us;
    for (uint32_t i = 0; i < run->n; i++) {
        if (i && ((!values && steps[i] > INT64_MAX) ||
                  __builtin_add_overflow(us, (int64_t)steps[i], &us) ||
                  (values && __builtin_add_overflow(us, values[i - 1] / 1000, &us))))
            return false;
        if (__builtin_mul_overflow(us, INT64_C(1000), &start_ns[i]))
            return false;
    }
    return true;
}

bool sf_profile_times_starts(const struct sf_profile_times *t, const int64_t *values,
                             int64_t *start_ns)
{
    uint64_t steps[SF_PROFILE_GRANULE_ROWS];
    struct sf_cursor c = t->runs;
    struct run run = {0};
    sf_planes_decode(&t->steps, t->n_rows, steps);
    for (uint32_t at = 0; at < t->n_rows; at += run.n)
        if (!next_run(&c, t->n_rows - at, UINT32_MAX, &run) ||
            !add_steps(&run, steps + at, t->is_waits ? values + at : NULL, start_ns + at))
            return false;
    return true;
}

static bool set_states(const struct sf_profile_times *t, struct sf_profile_detail *d)
{
    for (uint32_t i = 0; i < t->n_rows; i++) {
        uint8_t flags = t->flags[i];
        d[i].has_time = flags & 1;
        d[i].is_coarse = flags & SF_PROFILE_COARSE;
        d[i].is_lent = flags & SF_PROFILE_LENT;
        d[i].state = (flags & ~(SF_PROFILE_LENT | SF_PROFILE_COARSE)) >> 1;
        if (d[i].state >= SF_STATES)
            return false;
    }
    return true;
}

bool sf_profile_times_rows(const struct sf_profile_times *t, struct sf_profile_detail *d)
{
    uint64_t lengths[SF_PROFILE_GRANULE_ROWS];
    int64_t starts[SF_PROFILE_GRANULE_ROWS], values[SF_PROFILE_GRANULE_ROWS];
    struct sf_cursor c = t->runs;
    struct run run = {0};
    for (uint32_t i = 0; i < t->n_rows; i++)
        values[i] = d[i].value;
    if (!sf_profile_times_starts(t, values, starts) || !set_states(t, d))
        return false;
    if (!t->is_waits)
        sf_planes_decode(&t->lengths, t->n_rows, lengths);
    for (uint32_t i = 0; t->is_waits && i < t->n_rows; i++)
        lengths[i] = values[i] < 0 ? UINT64_MAX : (uint64_t)values[i] / 1000;
    for (uint32_t i = 0, end = 0; i < t->n_rows; i++) {
        if (i == end) {
            if (!next_run(&c, t->n_rows - i, UINT32_MAX, &run))
                return false;
            end += run.n;
        }
        if (lengths[i] > INT64_MAX / 1000)
            return false;
        d[i].process = run.process;
        d[i].thread = run.thread;
        d[i].start_ns = starts[i];
        d[i].length_ns = (int64_t)lengths[i] * 1000;
    }
    return true;
}
