#include "collect/lib/profile_table.h"

#include <string.h>

#include "base/heap.h"

void sf_profile_table_done(struct sf_profile_table *t)
{
    sf_buf_done(&t->rows);
    sf_buf_done(&t->frames);
    sf_heap_free(t->slots);
    *t = (struct sf_profile_table){0};
}

uint32_t sf_profile_table_n(const struct sf_profile_table *t)
{
    return (uint32_t)(t->rows.len / sizeof(struct sf_profile_row));
}

static struct sf_profile_row *row_at(const struct sf_profile_table *t, uint32_t i)
{
    return (struct sf_profile_row *)(void *)t->rows.p + i;
}

const struct sf_profile_row *sf_profile_table_row(const struct sf_profile_table *t, uint32_t i)
{
    return row_at(t, i);
}

const uint64_t *sf_profile_table_frames(const struct sf_profile_table *t,
                                        const struct sf_profile_row *row)
{
    return (const uint64_t *)(const void *)t->frames.p + row->frames_at;
}

/* The instruction a frame stands at: for callers the call, not what follows it. */
static uint64_t frame_of(const struct sf_sample *s, uint32_t i)
{
    return i ? s->frames[i] - 1 : s->frames[0];
}

static uint32_t hash_of(const struct sf_sample *s, uint32_t thread)
{
    uint64_t h = thread * 0x9e3779b97f4a7c15u, id;
    memcpy(&id, s->span_id, 8);
    h = (h ^ id) * 0xd6e8feb86659fd93u;
    for (uint32_t i = 0; i < s->n_frames; i++) {
        h = (h ^ frame_of(s, i)) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    return (uint32_t)(h >> 16);
}

static bool is_same(const struct sf_profile_table *t, const struct sf_profile_row *row,
                    const struct sf_sample *s, uint32_t thread)
{
    const uint64_t *frames = sf_profile_table_frames(t, row);
    if (row->n_frames != s->n_frames || row->thread != thread ||
        memcmp(row->span_id, s->span_id, 8) != 0 || memcmp(row->trace_id, s->trace_id, 16) != 0)
        return false;
    for (uint32_t i = 0; i < s->n_frames; i++) {
        if (frames[i] != frame_of(s, i))
            return false;
    }
    return true;
}

static bool append(struct sf_profile_table *t, const struct sf_sample *s, uint32_t thread,
                   uint32_t *slot)
{
    struct sf_profile_row row = {
        (uint32_t)(t->frames.len / 8), s->n_frames, thread, *slot, s->weight, {0}, {0}, s->end};
    size_t rows_len = t->rows.len, frames_len = t->frames.len;
    memcpy(row.trace_id, s->trace_id, 16);
    memcpy(row.span_id, s->span_id, 8);
    for (uint32_t i = 0; i < s->n_frames; i++)
        sf_buf_add_u64le(&t->frames, frame_of(s, i));
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

void sf_profile_table_add(struct sf_profile_table *t, const struct sf_sample *s, uint32_t thread)
{
    enum { SLOTS = 16384 };
    uint32_t *slot;

    t->weight += s->weight;
    if (!t->slots) {
        t->slots = sf_heap_new_n(SLOTS, sizeof(*t->slots));
        t->n_slots = SLOTS;
        t->rows.max = t->frames.max = SF_PROFILE_MEMORY / 2;
    }
    if (!t->slots) {
        t->lost += s->weight;
        return;
    }
    slot = &t->slots[hash_of(s, thread) % t->n_slots];
    for (uint32_t at = *slot; at; at = row_at(t, at - 1)->next) {
        if (is_same(t, row_at(t, at - 1), s, thread)) {
            row_at(t, at - 1)->weight += s->weight;
            return;
        }
    }
    if (!append(t, s, thread, slot))
        t->lost += s->weight;
}
