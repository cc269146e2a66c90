#include "wal/wal_follow.h"

#include "base/heap.h"
#include "wal/wal_scan.h"
#include "wal/wal_state.h"

struct sf_wal_follow {
    struct sf_wal *w;
    uint64_t next_lsn;
    uint64_t sequence;  /* of the segment that is open; 0: none */
    uint64_t whole_lsn; /* `whole_lsn` when the scan's window was read: pages with later records may
                           be outdated in it */
    struct sf_file file;
    struct sf_wal_scan scan;
};

struct place { /* the slot and segment of the next record */
    uint32_t number;
    uint64_t len;
    struct sf_wal_segment segment; /* sequence 0: no segment has it */
    uint64_t limit_lsn;            /* the first LSN of the next segment */
};

static bool has_records(const struct sf_wal_slot *slot)
{
    return slot->segment.first_lsn &&
           (slot->state == SF_WAL_SLOT_ACTIVE || slot->state == SF_WAL_SLOT_HELD ||
            slot->state == SF_WAL_SLOT_BAD);
}

/* The newest segment that begins at or before the LSN. An older segment with the same LSN is in a
 * slot whose write failed; its records were written again. */
static struct place wal_follow_find(struct sf_wal_slots *s, uint64_t lsn)
{
    struct place p = {.limit_lsn = UINT64_MAX};
    sf_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_slots; i++) {
        const struct sf_wal_slot *slot = &s->slots[i];
        if (has_records(slot) && slot->segment.first_lsn <= lsn &&
            slot->segment.sequence > p.segment.sequence) {
            p.segment = slot->segment;
            p.number = slot->number;
            p.len = slot->len;
        }
    }
    for (size_t i = 0; i < s->n_slots; i++) {
        const struct sf_wal_slot *slot = &s->slots[i];
        if (has_records(slot) && slot->segment.first_lsn > lsn &&
            slot->segment.sequence > p.segment.sequence && slot->segment.first_lsn < p.limit_lsn)
            p.limit_lsn = slot->segment.first_lsn;
    }
    sf_mutex_unlock(&s->lock);
    return p;
}

static void wal_follow_leave(struct sf_wal_follow *f)
{
    sf_wal_scan_done(&f->scan);
    sf_file_close(&f->file);
    f->sequence = 0;
}

static enum sf_err wal_follow_enter(struct sf_wal_follow *f, const struct place *p,
                                    struct sf_why *why)
{
    char name[SF_WAL_NAME_LEN];
    enum sf_err err;
    if (f->sequence == p->segment.sequence)
        return SF_OK;
    wal_follow_leave(f);
    sf_wal_slots_name(p->number, name);
    err = sf_dir_open_read(f->w->config.dir, name, &f->file, why);
    if (err)
        return err == SF_ERR_NOT_FOUND ? SF_ERR_IO : err;
    sf_wal_scan_init(&f->scan, &f->file, p->len, &p->segment, UINT64_MAX);
    f->sequence = p->segment.sequence;
    return SF_OK;
}

/* Reads the record `next_lsn`, or the first one after it, from the open segment. False: none
 * left. */
static bool wal_follow_read_on(struct sf_wal_follow *f, uint64_t limit_lsn,
                               struct sf_wal_record *out)
{
    uint64_t n_lost;
    f->scan.limit_lsn = limit_lsn;
    f->scan.is_done = false;
    while (f->scan.next_lsn < limit_lsn && sf_wal_scan_next(&f->scan, out, &n_lost)) {
        if (out->lsn >= f->next_lsn)
            return true;
    }
    return false;
}

enum sf_err sf_wal_follow_next(struct sf_wal_follow *f, struct sf_wal_followed_piece *out,
                               struct sf_why *why)
{
    uint64_t whole_lsn = sf_wal_whole_lsn(f->w), n_lost = 0;
    if (whole_lsn != f->whole_lsn)
        f->scan.window_len = 0;
    f->whole_lsn = whole_lsn;
    while (f->next_lsn <= whole_lsn) {
        struct place p = wal_follow_find(&f->w->slots, f->next_lsn);
        struct sf_wal_record record;
        uint64_t limit_lsn = p.limit_lsn <= whole_lsn ? p.limit_lsn : whole_lsn + 1;
        enum sf_err err = p.segment.sequence ? wal_follow_enter(f, &p, why) : SF_OK;
        if (err)
            return err;
        if (p.segment.sequence && wal_follow_read_on(f, limit_lsn, &record)) {
            *out = (struct sf_wal_followed_piece){.lsn = record.lsn,
                                                  .logged = record.logged,
                                                  .n_lost = n_lost + (record.lsn - f->next_lsn)};
            f->next_lsn = record.lsn + 1;
            return SF_OK;
        }
        if (f->scan.err) {
            err = f->scan.err;
            wal_follow_leave(f);
            return sf_fail(why, err, "wal: no memory to read a segment");
        }
        n_lost += limit_lsn - f->next_lsn;
        f->next_lsn = limit_lsn;
    }
    *out = (struct sf_wal_followed_piece){.n_lost = n_lost};
    return SF_ERR_NOT_FOUND;
}

enum sf_err sf_wal_follow_open(struct sf_wal *w, uint64_t after_lsn, struct sf_wal_follow **out,
                               struct sf_why *why)
{
    struct sf_wal_follow *f = sf_heap_new(sizeof(*f));
    if (!f)
        return sf_no_memory(why, "a reader of the log");
    f->w = w;
    f->next_lsn = after_lsn + 1;
    f->file = (struct sf_file)SF_FILE_NONE;
    *out = f;
    return SF_OK;
}

void sf_wal_follow_close(struct sf_wal_follow *f)
{
    if (!f)
        return;
    wal_follow_leave(f);
    sf_heap_free(f);
}
