/* block_file.h - writes one span block as a file: under tmp/, synced, then renamed into its day.
 *
 * The caller commits it to the catalogue. On failure nothing is left behind. */
#pragma once
#include "store/local/engine.h"

struct sf_span_block_writer;

struct sf_block_file {
    /* Input: id, tenant, level, day, LSNs and flush number; the rest is output. */
    struct sf_block_row row;
    uint16_t n_siblings, sibling;
    const uint64_t *dup_hashes, *source_ids;
    size_t n_dup_hashes, n_source_ids;
    /* Adds the rows, and extends the block's time range by theirs. */
    enum sf_err (*fill)(void *arg, struct sf_span_block_writer *w, struct sf_block_row *row,
                        struct sf_why *why);
    void *arg;
};

enum sf_err sf_block_file_write(struct sf_local *l, struct sf_block_file *f, struct sf_why *why);
/* Renames a finished file from tmp/ into its day's folder, which is created if necessary. */
enum sf_err sf_block_file_publish(struct sf_local *l, const struct sf_block_row *row,
                                  const char *tmp, struct sf_why *why);
