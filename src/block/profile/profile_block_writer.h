/* profile_block_writer.h - writes profiles into one immutable block, in memory or in a file.
 *
 * Services are written one after the other, in the order of tenant and name. For each: begin,
 * chunks in the order of series and slot, details in the order of process, thread and start, end.
 * For use by one thread at a time. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "block/profile/profile_block.h"

struct sf_file;
struct sf_profile_block_writer;
struct sf_profile_set; /* block/profile/profile_set.h */

struct sf_profile_block_options {
    struct sf_span_block_info info; /* rows (samples), "traces" (profiles) and times are counted by
                                     * the writer */
    bool is_compressed;             /* zstd 1 */
    const struct sf_file *file;     /* borrowed; NULL: the block is made in memory */
    const uint64_t *dup_hashes;     /* borrowed until finish */
    size_t n_dup_hashes;
    const uint64_t *source_ids; /* blocks this one replaces; borrowed until finish */
    size_t n_source_ids;
};

/* A service without its samples. Rows are sorted by series, then index time. */
struct sf_profile_tables {
    uint32_t tenant;
    sf_str service;
    struct sf_profile_symbols symbols;
    const struct sf_profile_series *series;
    const struct sf_process *processes;
    const struct sf_profile_row *rows;
    const struct sf_profile_thread *threads; /* sorted; those without rows are not written */
    uint32_t n_series, n_processes, n_rows, n_threads;
};

enum sf_err sf_profile_block_writer_new(const struct sf_profile_block_options *options,
                                        struct sf_profile_block_writer **out, struct sf_why *why);
/* `tables` is borrowed until end. */
enum sf_err sf_profile_block_writer_begin(struct sf_profile_block_writer *w,
                                          const struct sf_profile_tables *tables,
                                          struct sf_why *why);
/* The samples of a series' rows [first_row, first_row + n_rows) in one slot: sorted by node, then
 * row; one entry for each pair. `is_rollup`: rows do not matter, one entry per node. */
enum sf_err sf_profile_block_writer_chunk(struct sf_profile_block_writer *w, uint32_t series,
                                          uint32_t first_row, uint32_t n_rows, bool is_rollup,
                                          const struct sf_profile_entry *entries, size_t n,
                                          struct sf_why *why);
/* The same from entries that may repeat a pair; adds a rollup if that is worth its bytes.
 * `is_coarse`: only the sums. Overwrites `e`. */
enum sf_err sf_profile_set_write_slot(struct sf_profile_block_writer *to,
                                      const struct sf_profile_row *rows, uint32_t first_row,
                                      uint32_t n_rows, bool is_coarse, struct sf_profile_entry *e,
                                      size_t n, struct sf_why *why);
/* The end of the rows that share series and slot with `first_row`. */
uint32_t sf_profile_set_write_slot_end(const struct sf_profile_row *rows, uint32_t n_rows,
                                       uint32_t first_row);
int sf_profile_set_write_detail_cmp(const struct sf_profile_detail *x,
                                    const struct sf_profile_detail *y); /* the order of details */
enum sf_err sf_profile_details_encode_row(struct sf_profile_block_writer *w,
                                          const struct sf_profile_detail *rows, size_t n,
                                          struct sf_why *why);
size_t sf_profile_block_writer_memory(const struct sf_profile_block_writer *w);
enum sf_err sf_profile_block_writer_end(struct sf_profile_block_writer *w, struct sf_why *why);
/* Writes the part of a set with index times in [from, to): begin, all samples, end; nothing if it
 * is empty. */
enum sf_err sf_profile_set_write(struct sf_profile_block_writer *to, const struct sf_profile_set *s,
                                 int64_t from_ns, int64_t to_ns, struct sf_why *why);

/* Writes directory, section table and tail (not synced). `out_info` may be NULL; `out_memory` takes
 * the bytes of a block in memory. */
enum sf_err sf_profile_block_writer_finish(struct sf_profile_block_writer *w, uint64_t *out_len,
                                           struct sf_span_block_info *out_info,
                                           struct sf_buf *out_memory, struct sf_why *why);
void sf_profile_block_writer_free(struct sf_profile_block_writer *w); /* NULL is fine */
