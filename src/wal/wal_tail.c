#include "wal/wal_tail.h"

#include <string.h>

#include "base/hash.h"
#include "base/num.h"

enum { HEADER_LEN = 64, ENTRY_LEN = 8 + HEADER_LEN, FIRST_OFF = 56 };
static const uint8_t magic[8] = "SFTAIL\0";

_Static_assert(FIRST_OFF + SF_WAL_TAIL_SEGMENTS * ENTRY_LEN <= SF_WAL_PAGE,
               "a page holds them all");

static void encode(const struct sf_wal_tail *t, uint8_t page[SF_WAL_PAGE])
{
    memset(page, 0, SF_WAL_PAGE);
    memcpy(page, magic, sizeof(magic));
    sf_store_u64le(page + 8, t->number);
    sf_store_u64le(page + 16, t->synced_lsn);
    memcpy(page + 24, t->store_uuid, sizeof(t->store_uuid));
    sf_store_u32le(page + 40, t->n_segments);
    sf_store_u32le(page + 44, SF_WAL_TAIL_FORMAT);
    for (uint32_t i = 0; i < t->n_segments; i++) {
        uint8_t *at = page + FIRST_OFF + (size_t)i * ENTRY_LEN;
        sf_store_u32le(at, t->segments[i].number);
        sf_wal_segment_encode_header(&t->segments[i].segment, at + 8);
    }
    sf_store_u64le(page + 48, sf_hash(page, SF_WAL_PAGE));
}

static bool wal_tail_decode(uint8_t page[SF_WAL_PAGE], struct sf_wal_tail *out)
{
    uint64_t sum = sf_load_u64le(page + 48);
    memset(page + 48, 0, 8);
    *out = (struct sf_wal_tail){.number = sf_load_u64le(page + 8),
                                .synced_lsn = sf_load_u64le(page + 16),
                                .n_segments = sf_load_u32le(page + 40)};
    if (memcmp(page, magic, sizeof(magic)) != 0 || sum != sf_hash(page, SF_WAL_PAGE) ||
        sf_load_u32le(page + 44) != SF_WAL_TAIL_FORMAT || out->n_segments > SF_WAL_TAIL_SEGMENTS)
        return false;
    memcpy(out->store_uuid, page + 24, sizeof(out->store_uuid));
    for (uint32_t i = 0; i < out->n_segments; i++) {
        const uint8_t *at = page + FIRST_OFF + (size_t)i * ENTRY_LEN;
        out->segments[i].number = sf_load_u32le(at);
        if (!sf_wal_segment_decode_header(at + 8, &out->segments[i].segment))
            return false;
    }
    return true;
}

enum sf_err sf_wal_tail_read(struct sf_dir *dir, struct sf_wal_tail *out, struct sf_why *why)
{
    uint8_t pages[2][SF_WAL_PAGE] = {{0}};
    struct sf_wal_tail second;
    struct sf_file file = SF_FILE_NONE;
    size_t got = 0;
    bool has_first, has_second;
    enum sf_err err = sf_dir_open_read(dir, SF_WAL_TAIL_NAME, &file, why);
    if (err)
        return err;
    err = sf_file_read_some(&file, 0, pages, sizeof(pages), &got, why);
    sf_file_close(&file);
    if (err)
        return err;
    if (got == 0) /* created but never written */
        return sf_fail(why, SF_ERR_NOT_FOUND, SF_WAL_TAIL_NAME " is empty");
    has_first = wal_tail_decode(pages[0], out);
    has_second = wal_tail_decode(pages[1], &second);
    if (has_second && (!has_first || second.number > out->number))
        *out = second;
    if (!has_first && !has_second)
        return sf_fail(why, SF_ERR_CORRUPT, SF_WAL_TAIL_NAME ": neither page checks out");
    return SF_OK;
}

enum sf_err sf_wal_tail_open(struct sf_wal_tail *t, struct sf_dir *dir, struct sf_why *why)
{
    enum sf_err err = sf_dir_open_write(dir, SF_WAL_TAIL_NAME, &t->file, why);
    if (err != SF_ERR_NOT_FOUND)
        return err;
    err = sf_dir_create(dir, SF_WAL_TAIL_NAME, &t->file, why);
    return err ? err : sf_dir_sync(dir, ".", why);
}

enum sf_err sf_wal_tail_write(struct sf_wal_tail *t, bool is_synced, struct sf_why *why)
{
    uint8_t page[SF_WAL_PAGE];
    enum sf_err err;
    t->number++;
    encode(t, page);
    err = sf_file_write_at(&t->file, t->number % 2 * SF_WAL_PAGE, page, sizeof(page), why);
    return err || !is_synced ? err : sf_file_sync(&t->file, why);
}

void sf_wal_tail_close(struct sf_wal_tail *t)
{
    sf_file_close(&t->file);
}

/* The records above the checkpoint that segment `i` must hold: [*out_from, *out_to). False:
 * none. */
static bool wal_tail_find_range(const struct sf_wal_tail *t, uint32_t i, uint64_t ckpt_lsn,
                                uint64_t *out_from, uint64_t *out_to)
{
    uint64_t from = t->segments[i].segment.first_lsn, to = t->synced_lsn + 1;
    for (uint32_t k = i + 1; k < t->n_segments; k++) {
        if (t->segments[k].segment.first_lsn < to)
            to = t->segments[k].segment.first_lsn;
    }
    if (from <= ckpt_lsn)
        from = ckpt_lsn + 1;
    *out_from = from;
    *out_to = to;
    return from < to;
}

static struct sf_wal_found *wal_tail_find_slot(struct sf_wal_found *found, size_t n,
                                               uint32_t number)
{
    for (size_t i = 0; i < n; i++) {
        if (found[i].number == number)
            return &found[i];
    }
    return NULL;
}

void sf_wal_tail_compare(const struct sf_wal_tail *t, uint64_t ckpt_lsn, struct sf_wal_found *found,
                         size_t n_found,
                         void (*say)(void *arg, enum sf_wal_tail_finding what, uint32_t slot,
                                     uint64_t from, uint64_t to),
                         void *arg)
{
    for (uint32_t i = 0; i < t->n_segments; i++) {
        const struct sf_wal_tail_segment *want = &t->segments[i];
        struct sf_wal_found *f = wal_tail_find_slot(found, n_found, want->number);
        uint64_t from, to;
        if (!wal_tail_find_range(t, i, ckpt_lsn, &from, &to) || (f && f->err))
            continue;
        if (f && (f->state == SF_WAL_SEGMENT_EMPTY || f->state == SF_WAL_SEGMENT_DAMAGED)) {
            f->segment = want->segment;
            f->state = SF_WAL_SEGMENT_RESTORED;
            f->is_cut = f->len < 2 * SF_WAL_PAGE || f->len / SF_WAL_PAGE < f->segment.n_pages;
            say(arg, SF_WAL_TAIL_RESTORED, want->number, from, to);
        } else if (!f || f->segment.sequence != want->segment.sequence) {
            say(arg, SF_WAL_TAIL_MISSING, want->number, from, to);
        }
    }
    sf_wal_slots_found_sort(found, n_found);
}

bool sf_wal_tail_is_older(const struct sf_wal_tail *t, const struct sf_wal_known *known,
                          uint64_t ckpt_lsn, const struct sf_wal_found *found, size_t n_found)
{
    return known->sequence && ckpt_lsn >= known->first_lsn && t->synced_lsn < known->first_lsn &&
           !sf_wal_tail_has(known->sequence, found, n_found);
}

bool sf_wal_tail_has(uint64_t sequence, const struct sf_wal_found *found, size_t n_found)
{
    for (size_t i = 0; i < n_found; i++) {
        if (found[i].err ||
            (sf_wal_segment_is_known(found[i].state) && found[i].segment.sequence >= sequence))
            return true; /* an unreadable slot is reported separately */
    }
    return false;
}
