#include "collect/lib/profile_table.h"

#include <string.h>

#include "base/heap.h"
#include "collect/lib/secret.h"

void sf_profile_table_done(struct sf_profile_table *t)
{
    sf_buf_done(&t->rows);
    sf_buf_done(&t->frames);
    sf_buf_done(&t->moments);
    sf_heap_free(t->slots);
    *t = (struct sf_profile_table){0};
}

uint32_t sf_profile_table_n(const struct sf_profile_table *t)
{
    return (uint32_t)(t->rows.len / sizeof(struct sf_profile_stack_row));
}

uint32_t sf_profile_table_n_moments(const struct sf_profile_table *t)
{
    return (uint32_t)(t->moments.len / sizeof(struct sf_moment));
}

static size_t profile_table_share(const struct sf_profile_table *t)
{
    return (t->max ? t->max : SF_PROFILE_MEMORY) / (t->has_moments ? 3 : 2);
}

bool sf_profile_table_is_filling(const struct sf_profile_table *t)
{
    size_t half = profile_table_share(t) / 2;
    return t->rows.len > half || t->frames.len > half || t->moments.len > half;
}

const struct sf_moment *sf_profile_table_moment(const struct sf_profile_table *t, uint32_t i)
{
    return (const struct sf_moment *)(const void *)t->moments.p + i;
}

static struct sf_profile_stack_row *row_at(const struct sf_profile_table *t, uint32_t i)
{
    return (struct sf_profile_stack_row *)(void *)t->rows.p + i;
}

const struct sf_profile_stack_row *sf_profile_table_row(const struct sf_profile_table *t,
                                                        uint32_t i)
{
    return row_at(t, i);
}

const uint64_t *sf_profile_table_frames(const struct sf_profile_table *t,
                                        const struct sf_profile_stack_row *row)
{
    /* `frames` is NULL when no row has a frame, as in a profile of a pause. */
    return t->frames.p ? (const uint64_t *)(const void *)t->frames.p + row->frames_at : NULL;
}

/* The address of a frame: for callers that of the call, not the return address. */
static uint64_t profile_table_frame_of(const struct sf_raw_sample *s, uint32_t i)
{
    return i ? s->frames[i] - 1 : s->frames[0];
}

static bool profile_table_is_timed(const struct sf_profile_table *t, const struct sf_raw_sample *s)
{
    return t->has_moments && s->time_ns;
}

static uint32_t profile_table_hash_of(const struct sf_raw_sample *s)
{
    uint64_t h = sf_secret_mix(sf_secret(), s->thread + ((uint64_t)s->wait << 32)), id;
    memcpy(&id, s->span_id, 8);
    h = sf_secret_mix(h, id);
    for (uint32_t i = 0; i < s->n_frames; i++) {
        h = (h ^ profile_table_frame_of(s, i)) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    return (uint32_t)(h >> 16);
}

static bool profile_table_is_same(const struct sf_profile_table *t,
                                  const struct sf_profile_stack_row *row,
                                  const struct sf_raw_sample *s)
{
    const uint64_t *frames = sf_profile_table_frames(t, row);
    if (row->n_frames != s->n_frames || row->thread != s->thread || row->wait != s->wait ||
        row->end != s->end || row->is_timed != profile_table_is_timed(t, s) ||
        memcmp(row->span_id, s->span_id, 8) != 0 || memcmp(row->trace_id, s->trace_id, 16) != 0)
        return false;
    for (uint32_t i = 0; i < s->n_frames; i++) {
        if (frames[i] != profile_table_frame_of(s, i))
            return false;
    }
    return true;
}

static bool profile_table_append(struct sf_profile_table *t, const struct sf_raw_sample *s,
                                 uint32_t *slot)
{
    struct sf_profile_stack_row row = {.frames_at = (uint32_t)(t->frames.len / 8),
                                       .n_frames = s->n_frames,
                                       .thread = s->thread,
                                       .next = *slot,
                                       .end = s->end,
                                       .wait = s->wait,
                                       .is_timed = profile_table_is_timed(t, s)};
    size_t rows_len = t->rows.len, frames_len = t->frames.len;
    memcpy(row.trace_id, s->trace_id, 16);
    memcpy(row.span_id, s->span_id, 8);
    for (uint32_t i = 0; i < s->n_frames; i++)
        sf_buf_add_u64le(&t->frames, profile_table_frame_of(s, i));
    sf_buf_add(&t->rows, &row, sizeof(row));
    if (sf_buf_ok(&t->rows) && sf_buf_ok(&t->frames)) {
        *slot = sf_profile_table_n(t);
        return true;
    }
    t->rows.len = rows_len;
    t->frames.len = frames_len;
    t->rows.err = t->frames.err = SF_OK;
    return false;
}

static bool profile_table_add_moment(struct sf_profile_table *t, const struct sf_raw_sample *s,
                                     uint32_t row)
{
    struct sf_moment m = {row, row_at(t, row)->moments, s->time_ns, {s->values[0], s->values[1]}};
    sf_buf_add(&t->moments, &m, sizeof(m));
    if (!sf_buf_ok(&t->moments)) {
        t->moments.err = SF_OK;
        return false;
    }
    row_at(t, row)->moments = sf_profile_table_n_moments(t);
    return true;
}

/* Index of the sample's row; false: no space. */
static bool profile_table_find_row(struct sf_profile_table *t, const struct sf_raw_sample *s,
                                   uint32_t *out)
{
    enum { SLOTS = 16384 };
    uint32_t *slot;
    if (!t->slots) {
        t->slots = sf_heap_new_n(SLOTS, sizeof(*t->slots));
        t->n_slots = SLOTS;
        t->rows.max = t->frames.max = t->moments.max = profile_table_share(t);
    }
    if (!t->slots)
        return false;
    slot = &t->slots[profile_table_hash_of(s) % t->n_slots];
    for (uint32_t at = *slot; at; at = row_at(t, at - 1)->next) {
        *out = at - 1;
        if (profile_table_is_same(t, row_at(t, at - 1), s))
            return true;
    }
    *out = sf_profile_table_n(t);
    return profile_table_append(t, s, slot);
}

void sf_profile_table_add(struct sf_profile_table *t, const struct sf_raw_sample *s)
{
    uint32_t row;
    t->values[0] += s->values[0];
    t->values[1] += s->values[1];
    if (!profile_table_find_row(t, s, &row) ||
        (profile_table_is_timed(t, s) && !profile_table_add_moment(t, s, row))) {
        t->lost += s->values[0];
        return;
    }
    row_at(t, row)->values[0] += s->values[0];
    row_at(t, row)->values[1] += s->values[1];
}
