/* wal_slots.c - the slot files of the log. At start the directory is read and headers decide which
 * slots hold records. A table under a mutex tracks the state of each slot; a thread prepares new
 * ones with zeros ahead of need. Taking, sealing and freeing slots only change the table. */
#include "wal/wal_slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/num.h"
#include "base/str.h"
#include "base/time_unit.h"
#include "os/clock.h"

/* Free slots beyond these are deleted: a burst must not keep its disk space for ever. Five cover
 * the 256 MiB between two checkpoints. */
enum { MAX_FREE = 5 };
/* Zeros go out in pieces with a sync each, so that the committer's own syncs do not queue behind
 * 64 MiB of them. */
enum { ZEROS_LEN = 1 << 16, N_ZEROS = 16, SYNC_EVERY = 8 };
static const uint8_t zeros[ZEROS_LEN] __attribute__((aligned(4096)));

void sf_wal_slots_name(uint32_t number, char out[SF_WAL_NAME_LEN])
{
    snprintf(out, SF_WAL_NAME_LEN, "wal/%04u.wal", number);
}

static void name_with(uint32_t number, const char *ending, char out[SF_WAL_NAME_LEN])
{
    snprintf(out, SF_WAL_NAME_LEN, "wal/%04u.%s", number, ending);
}

/* --- what is on disk --- */

struct finding {
    struct sf_wal_found *found;
    size_t n, cap;
    enum sf_err err;
};

static bool wal_slots_note_name(void *arg, const char *entry, bool is_dir)
{
    struct finding *f = arg;
    sf_str name = sf_str_from(entry), digits;
    uint64_t number;
    if (is_dir || !sf_str_ends(name, SF_STR(".wal")))
        return true;
    digits = sf_str_part(name, 0, name.len - 4);
    /* "0001" and "01" would be one number with two names. */
    if (digits.len < 4 || (digits.len > 4 && digits.p[0] == '0') ||
        !sf_str_to_u64(digits, &number) || number > 99999999)
        return true;
    if (!sf_list_room(&f->found, f->n, &f->cap, 16)) {
        f->err = SF_ERR_NOMEM;
        return false;
    }
    f->found[f->n++] = (struct sf_wal_found){.number = (uint32_t)number};
    return true;
}

static enum sf_err try_header(struct sf_dir *dir, struct sf_wal_found *f)
{
    uint8_t page[SF_WAL_PAGE] = {0};
    char name[SF_WAL_NAME_LEN];
    struct sf_file file = SF_FILE_NONE;
    size_t got = 0;
    enum sf_err err;

    sf_wal_slots_name(f->number, name);
    err = sf_dir_open_read(dir, name, &file, NULL);
    if (!err)
        err = sf_file_len(&file, &f->len, NULL);
    if (!err)
        err = sf_file_read_some(&file, 0, page, sizeof(page), &got, NULL);
    if (!err) {
        f->state = sf_wal_segment_decode(page, &f->segment);
        f->is_cut = f->len < 2 * SF_WAL_PAGE || f->len / SF_WAL_PAGE < f->segment.n_pages;
    }
    sf_file_close(&file);
    return err;
}

/* Retries: if the header of a slot cannot be read, its records are lost, and one transient error of
 * the device must not cause that. */
static void wal_slots_read_header(struct sf_dir *dir, struct sf_wal_found *f)
{
    f->state = SF_WAL_SEGMENT_DAMAGED;
    for (unsigned n_tries = 0; n_tries < 3; n_tries++) {
        f->err = try_header(dir, f);
        if (!f->err || f->err == SF_ERR_NOT_FOUND)
            return;
        sf_clock_sleep_ms(10);
    }
}

enum sf_err sf_wal_slots_set_aside(struct sf_dir *dir, uint32_t number)
{
    char from[SF_WAL_NAME_LEN], to[SF_WAL_NAME_LEN];
    sf_wal_slots_name(number, from);
    name_with(number, "bad", to);
    return sf_dir_rename(dir, from, to, NULL);
}

struct leftovers {
    uint32_t numbers[16];
    size_t n;
};

static bool note_leftover(void *arg, const char *entry, bool is_dir)
{
    struct leftovers *left = arg;
    sf_str name = sf_str_from(entry);
    uint64_t number;
    if (!is_dir && sf_str_ends(name, SF_STR(".new")) &&
        sf_str_to_u64(sf_str_part(name, 0, name.len - 4), &number) && number <= 99999999)
        left->numbers[left->n++] = (uint32_t)number;
    return left->n < sizeof(left->numbers) / sizeof(left->numbers[0]);
}

void sf_wal_slots_tidy(struct sf_dir *dir)
{
    struct leftovers left = {0};
    (void)sf_dir_list(dir, "wal", note_leftover, &left, NULL);
    for (size_t i = 0; i < left.n; i++) {
        char name[SF_WAL_NAME_LEN];
        name_with(left.numbers[i], "new", name);
        (void)sf_dir_unlink(dir, name, NULL);
    }
}

static int by_sequence(const void *a, const void *b)
{
    const struct sf_wal_found *x = a, *y = b;
    if (x->segment.sequence != y->segment.sequence)
        return x->segment.sequence < y->segment.sequence ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void sf_wal_slots_suspect(struct sf_dir *dir, struct sf_wal_found *found, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t page[SF_WAL_PAGE] = {0};
        char name[SF_WAL_NAME_LEN];
        struct sf_file file = SF_FILE_NONE;
        size_t got = 0;
        if (found[i].state != SF_WAL_SEGMENT_EMPTY || found[i].is_cut)
            continue;
        sf_wal_slots_name(found[i].number, name);
        if (!sf_dir_open_read(dir, name, &file, NULL) &&
            !sf_file_read_some(&file, SF_WAL_PAGE, page, sizeof(page), &got, NULL) &&
            memcmp(page, zeros, sizeof(page)) != 0)
            found[i].state = SF_WAL_SEGMENT_DAMAGED;
        sf_file_close(&file);
    }
}

void sf_wal_slots_found_sort(struct sf_wal_found *found, size_t n)
{
    if (n)
        qsort(found, n, sizeof(*found), by_sequence);
}

enum sf_err sf_wal_slots_find(struct sf_dir *dir, struct sf_wal_found **out, size_t *out_n,
                              struct sf_why *why)
{
    struct finding f = {0};
    enum sf_err err = sf_dir_list(dir, "wal", wal_slots_note_name, &f, why);
    if (err == SF_ERR_NOT_FOUND)
        err = SF_OK;
    if (!err && f.err)
        err = sf_fail(why, f.err, "wal: no memory for the list of slots");
    if (err) {
        sf_heap_free(f.found);
        return err;
    }
    for (size_t i = 0; i < f.n; i++)
        wal_slots_read_header(dir, &f.found[i]);
    sf_wal_slots_found_sort(f.found, f.n);
    *out = f.found;
    *out_n = f.n;
    return SF_OK;
}

/* --- the table --- */

enum sf_err sf_wal_slots_init(struct sf_wal_slots *s, struct sf_dir *dir, uint64_t segment_len,
                              uint64_t ckpt_lsn, struct sf_why *why)
{
    struct sf_wal_slot *slots = sf_heap_new_n(SF_WAL_MAX_SLOTS, sizeof(*slots));
    if (!slots)
        return sf_fail(why, SF_ERR_NOMEM, "wal: no memory for the table of slots");
    *s = (struct sf_wal_slots){.dir = dir,
                               .segment_len = segment_len,
                               .ckpt_lsn = ckpt_lsn,
                               .next_sequence = 1,
                               .slots = slots};
    sf_mutex_init(&s->lock, SF_LOCK_WAL_SLOTS);
    sf_condvar_init(&s->changed);
    return SF_OK;
}

static struct sf_wal_slot *entry_for(struct sf_wal_slots *s)
{
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].state == SF_WAL_SLOT_GONE)
            return &s->slots[i];
    }
    return s->n_slots < SF_WAL_MAX_SLOTS ? &s->slots[s->n_slots++] : NULL;
}

struct sf_wal_slot *sf_wal_slots_add(struct sf_wal_slots *s, const struct sf_wal_found *found,
                                     enum sf_wal_slot_state state, uint64_t last_lsn)
{
    struct sf_wal_slot *slot = entry_for(s);
    bool has_segment = found->segment.sequence != 0;
    if (!slot)
        return NULL;
    /* A free slot with another configured size cannot be reused. */
    if (state == SF_WAL_SLOT_FREE && found->len < s->segment_len)
        state = SF_WAL_SLOT_TRASH;
    *slot = (struct sf_wal_slot){.state = state,
                                 .number = found->number,
                                 .len = found->len / SF_WAL_PAGE * SF_WAL_PAGE,
                                 .segment = found->segment,
                                 .last_lsn = last_lsn,
                                 .oldest_lsn = has_segment ? 0 : UINT64_MAX,
                                 .is_unreadable = state == SF_WAL_SLOT_BAD};
    if (found->segment.sequence >= s->next_sequence)
        s->next_sequence = found->segment.sequence + 1;
    return slot;
}

static struct sf_wal_slot *find_state(struct sf_wal_slots *s, enum sf_wal_slot_state state)
{
    struct sf_wal_slot *best = NULL;
    for (size_t i = 0; i < s->n_slots; i++) {
        struct sf_wal_slot *slot = &s->slots[i];
        /* Prefer slots with only zeros: old records in an ACTIVE slot cannot be scrubbed. */
        if (slot->state == state && (!best || slot->oldest_lsn > best->oldest_lsn))
            best = slot;
    }
    return best;
}

static uint32_t unused_number(const struct sf_wal_slots *s)
{
    for (uint32_t number = 0;; number++) {
        bool is_used = false;
        for (size_t i = 0; i < s->n_slots && !is_used; i++)
            is_used = s->slots[i].state != SF_WAL_SLOT_GONE && s->slots[i].number == number;
        if (!is_used)
            return number;
    }
}

/* --- preparing --- */

static enum sf_err put_zeros(const struct sf_file *file, uint64_t len, struct sf_why *why)
{
    struct sf_iov pieces[N_ZEROS];
    unsigned n_writes = 0;
    enum sf_err err = SF_OK;
    for (uint64_t off = 0; off < len && !err;) {
        uint64_t some = 0;
        size_t n = 0;
        while (n < N_ZEROS && off + some < len) {
            uint64_t left = len - off - some;
            pieces[n] = (struct sf_iov){zeros, left < ZEROS_LEN ? (size_t)left : ZEROS_LEN};
            some += pieces[n++].len;
        }
        err = sf_file_writev_at(file, off, pieces, n, why);
        if (!err && ++n_writes % SYNC_EVERY == 0)
            err = sf_file_sync(file, why);
        off += some;
    }
    return err ? err : sf_file_sync(file, why);
}

/* Bypasses the page cache where possible: copying zeros into it cost up to a tenth of the CPU time
 * that a span needs, and evicted useful pages. The log writes whole pages, so it never has to read
 * a page first. */
static enum sf_err write_zeros(const struct sf_file *file, uint64_t len, struct sf_why *why)
{
    enum sf_err err = SF_ERR_UNSUPPORTED;
    if (len % 4096 == 0 && sf_file_set_direct(file, true)) {
        err = put_zeros(file, len, why);
        (void)sf_file_set_direct(file, false);
    }
    return err ? put_zeros(file, len, why) : SF_OK;
}

static enum sf_err prepare_file(struct sf_wal_slots *s, uint32_t number, struct sf_why *why)
{
    char name[SF_WAL_NAME_LEN], new_name[SF_WAL_NAME_LEN];
    struct sf_file file = SF_FILE_NONE;
    uint64_t free_len = 0, all_len = 0;
    enum sf_err err = sf_dir_free_len(s->dir, &free_len, &all_len, why);

    sf_wal_slots_name(number, name);
    name_with(number, "new", new_name);
    if (!err && free_len < s->segment_len)
        return sf_fail(why, SF_ERR_FULL,
                       "no room for a log slot of %llu bytes: %llu bytes are free",
                       (unsigned long long)s->segment_len, (unsigned long long)free_len);
    if (!err)
        err = sf_dir_create(s->dir, new_name, &file, why);
    if (!err)
        err = write_zeros(&file, s->segment_len, why);
    sf_file_close(&file);
    if (!err)
        err = sf_dir_rename(s->dir, new_name, name, why);
    if (err) {
        (void)sf_dir_unlink(s->dir, new_name, NULL); /* free its space */
        return err;
    }
    err = sf_dir_sync(s->dir, "wal", why); /* otherwise the name may be lost in a power cut */
    if (err)
        (void)sf_dir_unlink(s->dir, name, NULL);
    return err;
}

static void delete_slot(struct sf_wal_slots *s, struct sf_wal_slot *slot)
{
    char name[SF_WAL_NAME_LEN];
    enum sf_err err;
    sf_wal_slots_name(slot->number, name);
    sf_mutex_unlock(&s->lock);
    err = sf_dir_unlink(s->dir, name, NULL);
    if (!err) /* otherwise erased records may reappear after a power cut */
        err = sf_dir_sync(s->dir, "wal", NULL);
    sf_mutex_lock(&s->lock);
    /* A slot that cannot be deleted is not used any more; replay ignores it. */
    slot->state = err ? SF_WAL_SLOT_BAD : SF_WAL_SLOT_GONE;
    slot->is_unreadable = err != SF_OK;
    sf_condvar_wake_all(&s->changed);
}

static void prepare_slot(struct sf_wal_slots *s)
{
    struct sf_wal_slot *slot = entry_for(s);
    uint64_t asked = s->n_asked;
    struct sf_why why = {0};
    enum sf_err err;

    if (slot) {
        /* Reset all fields: the file now contains only zeros. */
        *slot = (struct sf_wal_slot){
            .state = SF_WAL_SLOT_BUSY, .number = unused_number(s), .oldest_lsn = UINT64_MAX};
        sf_mutex_unlock(&s->lock);
        err = prepare_file(s, slot->number, &why);
        sf_mutex_lock(&s->lock);
        *slot = (struct sf_wal_slot){.state = err ? SF_WAL_SLOT_GONE : SF_WAL_SLOT_FREE,
                                     .number = slot->number,
                                     .len = s->segment_len,
                                     .oldest_lsn = UINT64_MAX};
    } else {
        err = sf_fail(&why, SF_ERR_FULL, "the log has %d slots and none is free", SF_WAL_MAX_SLOTS);
    }
    s->try_err = err;
    s->try_why = why;
    s->n_tried = asked > s->n_tried ? asked : s->n_tried;
    sf_condvar_wake_all(&s->changed);
}

static void prepare_loop(void *arg)
{
    struct sf_wal_slots *s = arg;
    int64_t retry_ns = 0;
    sf_mutex_lock(&s->lock);
    while (!s->is_stopping) {
        struct sf_wal_slot *trash = find_state(s, SF_WAL_SLOT_TRASH);
        bool has_spare = find_state(s, SF_WAL_SLOT_FREE) != NULL;
        bool is_asked = s->n_asked > s->n_tried;
        if (trash) {
            delete_slot(s, trash);
        } else if (has_spare) {
            s->n_tried = s->n_asked;
            sf_condvar_wake_all(&s->changed);
            sf_condvar_wait(&s->changed, &s->lock);
        } else if (is_asked || sf_clock_mono_ns() >= retry_ns) {
            prepare_slot(s);
            if (s->try_err)
                retry_ns = sf_clock_mono_ns() + SF_NS_PER_S;
        } else {
            sf_condvar_wait_until(&s->changed, &s->lock, retry_ns);
        }
    }
    sf_mutex_unlock(&s->lock);
}

enum sf_err sf_wal_slots_start(struct sf_wal_slots *s, struct sf_why *why)
{
    return sf_thread_start(&s->thread, "wal-spare", 0, prepare_loop, s, why);
}

void sf_wal_slots_done(struct sf_wal_slots *s)
{
    if (!s->slots)
        return;
    sf_mutex_lock(&s->lock);
    s->is_stopping = true;
    sf_condvar_wake_all(&s->changed);
    sf_mutex_unlock(&s->lock);
    sf_thread_join(&s->thread);
    for (size_t i = 0; i < s->n_slots; i++)
        sf_file_close(&s->slots[i].file);
    sf_heap_free(s->slots);
    sf_condvar_done(&s->changed);
    sf_mutex_done(&s->lock);
    *s = (struct sf_wal_slots){0};
}

/* --- taking and giving back --- */

/* Makes a FREE slot ACTIVE; NULL if none is free and preparing one failed. */
static struct sf_wal_slot *wait_for_free(struct sf_wal_slots *s)
{
    struct sf_wal_slot *slot = find_state(s, SF_WAL_SLOT_FREE);
    while (!slot) {
        uint64_t ticket = ++s->n_asked;
        sf_condvar_wake_all(&s->changed);
        while (s->n_tried < ticket && !s->is_stopping)
            sf_condvar_wait(&s->changed, &s->lock);
        slot = find_state(s, SF_WAL_SLOT_FREE);
        if (!slot && (s->try_err || s->is_stopping))
            return NULL;
    }
    slot->state = SF_WAL_SLOT_ACTIVE;
    slot->segment = (struct sf_wal_segment){.sequence = s->next_sequence++};
    sf_condvar_wake_all(&s->changed); /* the preparing thread makes a new spare */
    return slot;
}

enum sf_err sf_wal_slots_take(struct sf_wal_slots *s, struct sf_wal_slot **out, struct sf_why *why)
{
    struct sf_wal_slot *slot;
    char name[SF_WAL_NAME_LEN];
    enum sf_err err = SF_OK;

    sf_mutex_lock(&s->lock);
    slot = wait_for_free(s);
    if (!slot)
        err = sf_fail(why, s->try_err ? s->try_err : SF_ERR_CANCELLED, "%s",
                      s->try_err ? s->try_why.text : "the log is closing");
    sf_mutex_unlock(&s->lock);
    if (err)
        return err;

    sf_wal_slots_name(slot->number, name);
    err = sf_dir_open_write(s->dir, name, &slot->file, why);
    if (err) {
        sf_wal_slots_quarantine(s, slot, 0);
        return err == SF_ERR_NOT_FOUND || err == SF_ERR_DENIED ? SF_ERR_IO : err;
    }
    *out = slot;
    return SF_OK;
}

void sf_wal_slots_begin(struct sf_wal_slots *s, struct sf_wal_slot *slot, uint64_t first_lsn,
                        const uint8_t store_uuid[16], uint8_t page[SF_WAL_PAGE])
{
    sf_mutex_lock(&s->lock);
    slot->segment.first_lsn = first_lsn;
    slot->segment.created_ns = sf_clock_wall_ns();
    slot->segment.n_pages = sf_u32(slot->len / SF_WAL_PAGE);
    memcpy(slot->segment.store_uuid, store_uuid, 16);
    sf_wal_segment_encode(&slot->segment, page);
    sf_mutex_unlock(&s->lock);
}

/* Keeps at most MAX_FREE slots; the others are deleted as the checkpoint passes them. */
static void make_free(struct sf_wal_slots *s, struct sf_wal_slot *slot)
{
    size_t n_free = 0;
    for (size_t i = 0; i < s->n_slots; i++)
        n_free += s->slots[i].state == SF_WAL_SLOT_FREE;
    slot->state = n_free >= MAX_FREE || slot->len < s->segment_len ? SF_WAL_SLOT_TRASH
                                                                   : SF_WAL_SLOT_FREE;
}

static void wal_slots_let_go(struct sf_wal_slots *s, struct sf_wal_slot *slot)
{
    if (slot->last_lsn > s->ckpt_lsn)
        return;
    if (slot->state == SF_WAL_SLOT_HELD)
        make_free(s, slot);
    else if (slot->state == SF_WAL_SLOT_BAD && !slot->is_unreadable)
        slot->state = SF_WAL_SLOT_TRASH;
}

static void wal_slots_give_back(struct sf_wal_slots *s, struct sf_wal_slot *slot,
                                enum sf_wal_slot_state state, uint64_t last_lsn)
{
    sf_file_close(&slot->file);
    sf_mutex_lock(&s->lock);
    SF_ASSERT(slot->state == SF_WAL_SLOT_ACTIVE);
    if (slot->segment.first_lsn && slot->segment.first_lsn < slot->oldest_lsn)
        slot->oldest_lsn = slot->segment.first_lsn;
    slot->state = state;
    slot->last_lsn = last_lsn;
    if (state != SF_WAL_SLOT_FREE)
        wal_slots_let_go(s, slot);
    sf_condvar_wake_all(&s->changed);
    sf_mutex_unlock(&s->lock);
}

void sf_wal_slots_return(struct sf_wal_slots *s, struct sf_wal_slot *slot)
{
    wal_slots_give_back(s, slot, SF_WAL_SLOT_FREE, 0);
}

void sf_wal_slots_seal(struct sf_wal_slots *s, struct sf_wal_slot *slot, uint64_t last_lsn)
{
    wal_slots_give_back(s, slot, SF_WAL_SLOT_HELD, last_lsn);
}

void sf_wal_slots_quarantine(struct sf_wal_slots *s, struct sf_wal_slot *slot, uint64_t last_lsn)
{
    /* If no record of the slot was acknowledged, nothing in it has to be kept. */
    bool is_needed = slot->segment.first_lsn && last_lsn >= slot->segment.first_lsn;
    wal_slots_give_back(s, slot, SF_WAL_SLOT_BAD, is_needed ? last_lsn : 0);
}

void sf_wal_slots_checkpoint(struct sf_wal_slots *s, uint64_t lsn)
{
    sf_mutex_lock(&s->lock);
    if (lsn > s->ckpt_lsn)
        s->ckpt_lsn = lsn;
    for (size_t i = 0; i < s->n_slots; i++)
        wal_slots_let_go(s, &s->slots[i]);
    sf_condvar_wake_all(&s->changed);
    sf_mutex_unlock(&s->lock);
}

/* --- erasure --- */

static enum sf_err scrub_slot(struct sf_wal_slots *s, struct sf_wal_slot *slot, struct sf_why *why)
{
    char name[SF_WAL_NAME_LEN];
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err;
    sf_wal_slots_name(slot->number, name);
    err = sf_dir_open_write(s->dir, name, &file, why);
    if (!err)
        err = write_zeros(&file, slot->len, why);
    sf_file_close(&file);
    return err;
}

enum sf_err sf_wal_slots_scrub(struct sf_wal_slots *s, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_slots && !err; i++) {
        struct sf_wal_slot *slot = &s->slots[i];
        if (slot->state != SF_WAL_SLOT_FREE || slot->oldest_lsn == UINT64_MAX)
            continue;
        slot->state = SF_WAL_SLOT_BUSY;
        sf_mutex_unlock(&s->lock);
        err = scrub_slot(s, slot, why);
        sf_mutex_lock(&s->lock);
        slot->state = err ? SF_WAL_SLOT_TRASH : SF_WAL_SLOT_FREE;
        if (!err)
            slot->oldest_lsn = UINT64_MAX;
        sf_condvar_wake_all(&s->changed);
    }
    /* Slots to be deleted still contain records: wait until they are gone. */
    while (!err && find_state(s, SF_WAL_SLOT_TRASH) && s->thread.is_running && !s->is_stopping)
        sf_condvar_wait(&s->changed, &s->lock);
    sf_mutex_unlock(&s->lock);
    return err;
}

uint64_t sf_wal_slots_oldest_lsn(struct sf_wal_slots *s)
{
    uint64_t oldest = UINT64_MAX;
    sf_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_slots; i++) {
        const struct sf_wal_slot *slot = &s->slots[i];
        uint64_t first = slot->segment.first_lsn;
        if (slot->state == SF_WAL_SLOT_GONE)
            continue;
        if (slot->state != SF_WAL_SLOT_FREE && first && first < oldest)
            oldest = first;
        if (slot->oldest_lsn < oldest)
            oldest = slot->oldest_lsn;
    }
    sf_mutex_unlock(&s->lock);
    return oldest;
}

uint64_t sf_wal_slots_len_above(struct sf_wal_slots *s, uint64_t lsn)
{
    uint64_t len = 0;
    sf_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_slots; i++) {
        const struct sf_wal_slot *slot = &s->slots[i];
        if (slot->state == SF_WAL_SLOT_HELD && slot->last_lsn > lsn)
            len += slot->len;
    }
    sf_mutex_unlock(&s->lock);
    return len;
}

static bool is_needed(const struct sf_wal_slots *s, const struct sf_wal_slot *slot)
{
    if (slot->state == SF_WAL_SLOT_HELD || slot->state == SF_WAL_SLOT_BAD)
        return slot->segment.first_lsn && slot->last_lsn > s->ckpt_lsn;
    return slot->state == SF_WAL_SLOT_ACTIVE && slot->segment.first_lsn;
}

size_t sf_wal_slots_needed(struct sf_wal_slots *s, const struct sf_wal_slot **out, size_t cap)
{
    size_t n = 0;
    sf_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_slots; i++) {
        const struct sf_wal_slot *slot = &s->slots[i];
        size_t at = n;
        if (!is_needed(s, slot))
            continue;
        for (; at > 0 && out[at - 1]->segment.sequence > slot->segment.sequence; at--) {
            /* find its position */
        }
        if (n == cap) { /* drop the oldest */
            if (at == 0)
                continue;
            memmove(out, out + 1, --at * sizeof(*out));
        } else {
            memmove(out + at + 1, out + at, (n++ - at) * sizeof(*out));
        }
        out[at] = slot;
    }
    sf_mutex_unlock(&s->lock);
    return n;
}

void sf_wal_slots_count(struct sf_wal_slots *s, uint64_t *out_len, uint64_t *out_n_used,
                        uint64_t *out_n_free)
{
    uint64_t len = 0, n_used = 0, n_free = 0;
    sf_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_slots; i++) {
        const struct sf_wal_slot *slot = &s->slots[i];
        if (slot->state == SF_WAL_SLOT_GONE)
            continue;
        len += slot->len;
        n_free += slot->state == SF_WAL_SLOT_FREE;
        n_used += slot->state != SF_WAL_SLOT_FREE;
    }
    sf_mutex_unlock(&s->lock);
    *out_len = len;
    *out_n_used = n_used;
    *out_n_free = n_free;
}
