/* wal_verify.c - verification of the log for fsck: reports everything replay would detect, without
 * changing anything.
 */
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "wal/wal.h"
#include "wal/wal_scan.h"
#include "wal/wal_slots.h"
#include "wal/wal_tail.h"

struct verify {
    struct sf_dir *dir;
    uint64_t ckpt_lsn, next_lsn, n_faults;
    void (*say)(void *arg, const char *sentence);
    void *arg;
};

static void __attribute__((format(printf, 3, 4)))
wal_verify_find(struct verify *v, bool is_fault, const char *format, ...)
{
    struct sf_why text;
    va_list args;
    va_start(args, format);
    (void)sf_fail_va(&text, SF_OK, format, args);
    va_end(args);
    v->n_faults += is_fault;
    if (v->say)
        v->say(v->arg, text.text);
}

static void find_gap(struct verify *v, const char *name, uint64_t from, uint64_t to)
{
    if (from <= v->ckpt_lsn)
        from = v->ckpt_lsn + 1;
    if (from < to)
        wal_verify_find(v, true, "%s: records %llu to %llu are missing", name,
                        (unsigned long long)from, (unsigned long long)(to - 1));
}

static bool has_segment(const struct sf_wal_found *f)
{
    return sf_wal_segment_is_known(f->state);
}

static enum sf_err scan_records(struct verify *v, const char *name, struct sf_wal_scan *scan,
                                bool is_last)
{
    struct sf_wal_record record;
    uint64_t n_lost;
    bool is_open = false; /* inside a batch of several records */
    while (sf_wal_scan_next(scan, &record, &n_lost)) {
        if (n_lost)
            find_gap(v, name, record.lsn - n_lost, record.lsn);
        is_open = !(record.flags & SF_WAL_LAST);
    }
    if (scan->err)
        return scan->err;
    if (scan->n_bad_pages)
        wal_verify_find(v, true, "%s: %llu pages cannot be read", name,
                        (unsigned long long)scan->n_bad_pages);
    if (is_last && scan->is_torn)
        wal_verify_find(v, false,
                        "%s: ends in an invalid record, %llu: a write that a crash interrupted, "
                        "or damage to the last one",
                        name, (unsigned long long)scan->next_lsn);
    if (is_last && is_open)
        wal_verify_find(v, false, "%s: ends inside a batch, which replay will drop", name);
    return SF_OK;
}

static enum sf_err verify_segment(struct verify *v, const struct sf_wal_found *f,
                                  uint64_t limit_lsn, bool is_last, struct sf_why *why)
{
    char name[SF_WAL_NAME_LEN];
    struct sf_file file = SF_FILE_NONE;
    struct sf_wal_scan scan = {0};
    struct sf_why text;
    enum sf_err err;

    sf_wal_slots_name(f->number, name);
    if (f->state == SF_WAL_SEGMENT_REPAIRED)
        wal_verify_find(
            v, true, "%s: one of the two copies of its header is damaged; the other is used", name);
    /* All its records are in blocks or in a later segment: its content does not matter. */
    if (f->segment.first_lsn >= limit_lsn || (!is_last && limit_lsn - 1 <= v->ckpt_lsn))
        return SF_OK;
    if (f->segment.first_lsn > v->next_lsn)
        find_gap(v, name, v->next_lsn, f->segment.first_lsn);
    if (sf_dir_open_read(v->dir, name, &file, &text)) {
        wal_verify_find(v, true, "%s: %s", name, text.text);
        return SF_OK;
    }
    sf_wal_scan_init(&scan, &file, f->len, &f->segment, limit_lsn);
    err = scan_records(v, name, &scan, is_last);
    if (err)
        (void)sf_fail(why, err, "wal: no memory to read %s", name);
    if (scan.next_lsn > v->next_lsn)
        v->next_lsn = scan.next_lsn;
    sf_wal_scan_done(&scan);
    sf_file_close(&file);
    return err;
}

static enum sf_err verify_found(struct verify *v, const struct sf_wal_found *found, size_t n,
                                struct sf_why *why)
{
    const uint8_t *uuid = NULL;
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < n && !err; i++) {
        const struct sf_wal_found *f = &found[i];
        uint64_t limit_lsn = UINT64_MAX;
        bool is_last = true;
        char name[SF_WAL_NAME_LEN];
        sf_wal_slots_name(f->number, name);
        if (f->state == SF_WAL_SEGMENT_DAMAGED)
            wal_verify_find(v, true, "%s: %s", name,
                            f->err ? "cannot be read"
                                   : "the header is damaged, its records are lost");
        if (f->is_cut && !f->err)
            wal_verify_find(v, true, "%s: was cut to %llu bytes", name, (unsigned long long)f->len);
        if (!has_segment(f))
            continue;
        if (uuid && memcmp(uuid, f->segment.store_uuid, 16) != 0)
            wal_verify_find(v, true, "%s: belongs to another store than the other slots", name);
        uuid = f->segment.store_uuid;
        for (size_t j = i + 1; j < n; j++) {
            if (!has_segment(&found[j]))
                continue;
            is_last = false;
            if (found[j].segment.first_lsn < limit_lsn)
                limit_lsn = found[j].segment.first_lsn;
        }
        err = verify_segment(v, f, limit_lsn, is_last, why);
    }
    return err;
}

static void wal_verify_tell_tail(void *arg, enum sf_wal_tail_finding what, uint32_t slot,
                                 uint64_t from, uint64_t to)
{
    char name[SF_WAL_NAME_LEN];
    sf_wal_slots_name(slot, name);
    if (what == SF_WAL_TAIL_RESTORED)
        wal_verify_find(arg, true,
                        "%s: its header is lost; the one in " SF_WAL_TAIL_NAME " is used", name);
    else
        wal_verify_find(arg, true, "%s: is missing; it held records %llu to %llu", name,
                        (unsigned long long)from, (unsigned long long)(to - 1));
}

/* Does wal.tail belong to the same store as the slots? It may not after a folder was copied. */
static bool is_of_slots(const struct sf_wal_tail *t, const struct sf_wal_found *found, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (has_segment(&found[i]))
            return memcmp(t->store_uuid, found[i].segment.store_uuid, 16) == 0;
    }
    return true;
}

static bool wal_verify_read_tail(struct verify *v, struct sf_wal_tail *t,
                                 struct sf_wal_found *found, size_t n)
{
    struct sf_why why;
    enum sf_err err = sf_wal_tail_read(v->dir, t, &why);
    if (err == SF_ERR_NOT_FOUND) {
        sf_wal_slots_suspect(v->dir, found, n);
        return false;
    }
    if (err) {
        wal_verify_find(v, true, "%s", why.text);
        return false;
    }
    if (!is_of_slots(t, found, n)) {
        wal_verify_find(v, true, SF_WAL_TAIL_NAME ": belongs to another store than the slots");
        return false;
    }
    sf_wal_tail_compare(t, v->ckpt_lsn, found, n, wal_verify_tell_tail, v);
    return true;
}

/* The name of the last segment, where the log must end. */
static const char *wal_verify_last_name(const struct sf_wal_found *found, size_t n,
                                        char out[SF_WAL_NAME_LEN])
{
    memcpy(out, "wal", 4);
    for (size_t i = n; i > 0; i--) {
        if (has_segment(&found[i - 1])) {
            sf_wal_slots_name(found[i - 1].number, out);
            break;
        }
    }
    return out;
}

/* Compares with what the catalogue stores about the log; see wal_replay.c. */
static void wal_verify_check_known(struct verify *v, const struct sf_wal_known *known,
                                   const struct sf_wal_tail *tail, const struct sf_wal_found *found,
                                   size_t n)
{
    bool is_older = tail && sf_wal_tail_is_older(tail, known, v->ckpt_lsn, found, n);
    if (!known->sequence || (tail && !is_older))
        return;
    wal_verify_find(v, true,
                    is_older ? SF_WAL_TAIL_NAME ": this and the log are older than the catalogue"
                             : SF_WAL_TAIL_NAME
                        ": is missing or damaged; it is unknown whether the log is complete");
    if (sf_wal_tail_has(known->sequence, found, n))
        return;
    wal_verify_find(v, true,
                    "wal: segment %llu is missing; what was acknowledged after record %llu is lost",
                    (unsigned long long)known->sequence, (unsigned long long)(v->next_lsn - 1));
}

enum sf_err sf_wal_verify(struct sf_dir *dir, const struct sf_wal_known *known,
                          void (*say)(void *arg, const char *sentence), void *arg,
                          uint64_t *out_n_faults, struct sf_why *why)
{
    struct verify v = {.dir = dir,
                       .ckpt_lsn = known->ckpt_lsn,
                       .next_lsn = known->ckpt_lsn + 1,
                       .say = say,
                       .arg = arg};
    struct sf_wal_found *found = NULL;
    struct sf_wal_tail tail;
    char name[SF_WAL_NAME_LEN];
    size_t n = 0;
    bool has_tail = false;
    enum sf_err err = sf_wal_slots_find(dir, &found, &n, why);
    if (!err)
        has_tail = wal_verify_read_tail(&v, &tail, found, n);
    if (!err)
        err = verify_found(&v, found, n, why);
    if (!err && has_tail && tail.synced_lsn >= v.next_lsn)
        find_gap(&v, wal_verify_last_name(found, n, name), v.next_lsn, tail.synced_lsn + 1);
    if (!err)
        wal_verify_check_known(&v, known, has_tail ? &tail : NULL, found, n);
    if (!err)
        *out_n_faults = v.n_faults;
    sf_heap_free(found);
    return err;
}

bool sf_wal_verify_find_uuid(struct sf_dir *dir, uint8_t out[16])
{
    struct sf_wal_found *found = NULL;
    size_t n = 0;
    bool is_found = false;
    if (sf_wal_slots_find(dir, &found, &n, NULL))
        return false;
    for (size_t i = n; i > 0 && !is_found; i--) { /* the newest segment first */
        is_found = has_segment(&found[i - 1]);
        if (is_found)
            memcpy(out, found[i - 1].segment.store_uuid, 16);
    }
    sf_heap_free(found);
    return is_found;
}
