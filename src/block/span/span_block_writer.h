/* span_block_writer.h - writes spans into one immutable columnar block, in memory (a part) or in a
 * file.
 *
 * Traces must be added in order (by tenant, then first start); granules end at trace boundaries.
 * Add, finish, free. For use by one thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "block/span/span_block.h"

struct sf_file;
struct sf_block_codes; /* granule_carry.h */
struct sf_span_block_reader;
struct sf_span_block_writer;

enum { SF_BLOCK_MAX_OPS = 4096 }; /* operations of a block that are counted by name */

struct sf_span_block_options {
    struct sf_span_block_info info; /* rows, traces and times are counted by the writer */
    bool is_compressed;             /* with zstd 1; false for a part in memory */
    /* Borrowed; written as granules fill; NULL: the block is made in memory. */
    const struct sf_file *file;
    size_t granule_len;         /* estimated size of a decoded granule; 0: the default */
    uint32_t max_ops;           /* at most SF_BLOCK_MAX_OPS, as with 0 */
    const uint64_t *dup_hashes; /* section DUP; borrowed until finish */
    size_t n_dup_hashes;
    const uint64_t *source_ids; /* section SRC: blocks this one replaces; borrowed until finish */
    size_t n_source_ids;
};

enum sf_err sf_span_block_writer_new(const struct sf_span_block_options *options,
                                     struct sf_span_block_writer **out, struct sf_why *why);
/* Interns a resource or scope of a tenant and returns its code in this block; equal ones share it.
 * Content is copied. */
enum sf_err sf_span_block_writer_resource(struct sf_span_block_writer *w, uint32_t tenant,
                                          const struct sf_resource *r, uint32_t *out_code,
                                          struct sf_why *why);
enum sf_err sf_span_block_writer_scope(struct sf_span_block_writer *w, uint32_t tenant,
                                       const struct sf_scope *s, uint32_t *out_code,
                                       struct sf_why *why);
/* Adds one trace, or a further slice of the last one (at most SF_LIMIT_GRANULE_ROWS rows per call).
 * `spans[i].resource` and `.scope` are codes of this block; all trace ids are equal; content is
 * copied. `index_ns[i]` is the index time of span i. */
enum sf_err sf_span_block_writer_trace(struct sf_span_block_writer *w, uint32_t tenant,
                                       const struct sf_span *spans, const int64_t *index_ns,
                                       uint32_t n_spans, struct sf_why *why);
/* Copies a granule of another block, for which sf_granule_carry_can() is true, as it is stored,
 * without decoding its rows. None of its traces may also be added from elsewhere. On failure the
 * block cannot be continued; CORRUPT refers to the other block. */
enum sf_err sf_span_block_writer_granule(struct sf_span_block_writer *w,
                                         const struct sf_span_block_reader *r, uint32_t granule,
                                         const struct sf_block_codes *codes,
                                         struct sf_arena scratch, struct sf_why *why);
/* Writes sections and tail (not synced). `out_len` is the block's size; `out_info` the final header
 * (may be NULL). For a block in memory `out_memory` receives its bytes; otherwise NULL. */
enum sf_err sf_span_block_writer_finish(struct sf_span_block_writer *w, uint64_t *out_len,
                                        struct sf_span_block_info *out_info,
                                        struct sf_buf *out_memory, struct sf_why *why);
size_t sf_span_block_writer_memory(const struct sf_span_block_writer *w); /* bytes held now */
void sf_span_block_writer_free(struct sf_span_block_writer *w);           /* NULL is fine */
