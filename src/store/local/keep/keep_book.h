/* keep_book.h - the state of retention by outcome: verdicts by tenant and hour, rule sets by hour,
 * pins. The lists are in memory; the verdicts are in files that are read on request. */
#pragma once
#include "os/dir.h"
#include "os/thread.h"
#include "store/store.h"

struct sf_local;

struct sf_rule_set { /* rules, and the first hour to which they apply */
    uint32_t version;
    int64_t first_hour;
    sf_bytes rules; /* encoded; owned */
};

struct sf_keep_book {
    /* Guards all below. Held while the files of pins and rule sets are replaced, so that changes
     * are written in order; a leaf lock. Verdicts are changed with sf_local.merge_lock held as
     * well, so that a merge sees a consistent state. */
    struct sf_mutex lock;
    struct sf_verdict_head *heads; /* by tenant and hour */
    size_t n_heads, cap_heads;
    struct sf_rule_set *sets; /* by first_hour */
    size_t n_sets, cap_sets;
    struct sf_pin *pins; /* notes are owned */
    size_t n_pins, cap_pins;
    uint64_t pins_version; /* changes with the list */
    uint64_t n_thinned;    /* rows that merges deleted since the start */
};

/* Reads all files. UNSUPPORTED: one is of a later version. Damaged files are moved aside and
 * reported.
 */
enum sf_err sf_keep_book_open(struct sf_local *l, bool is_new, struct sf_why *why);
void sf_keep_book_close(struct sf_local *l);
/* UNSUPPORTED for a directory with files of a later version; changes nothing. */
enum sf_err sf_keep_book_refuse_newer(struct sf_dir *dir, struct sf_why *why);

/* The format of these small files: magic, format, uuid, bytes, checksum. */
void sf_keep_book_file_begin(struct sf_buf *out, const char magic[4], const uint8_t uuid[16]);
enum sf_err sf_keep_book_file_write(struct sf_dir *dir, const char *name, struct sf_buf *bytes,
                                    struct sf_why *why);
/* Returns the content without head and checksum; `whole` owns it. `uuid` NULL: of any store.
 * NOT_FOUND, CORRUPT, UNSUPPORTED. */
enum sf_err sf_keep_book_file_read(struct sf_dir *dir, const char *name, const char magic[4],
                                   const uint8_t uuid[16], struct sf_buf *whole, sf_bytes *out,
                                   struct sf_why *why);
