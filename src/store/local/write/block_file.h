/* block_file.h - one span block as a file: written under tmp/, synced, renamed into its day.
 *
 * Making it count is the caller's commit. On failure nothing is left behind. */
#pragma once
#include "store/local/engine.h"

struct sf_span_block_writer;

struct sf_block_file {
    struct sf_block_row row; /* id, tenant, level, day, LSNs and flush number; the rest comes out */
    uint16_t n_siblings, sibling;
    const uint64_t *dup_hashes, *source_ids;
    size_t n_dup_hashes, n_source_ids;
    /* Adds the rows, and widens the row's times by theirs. */
    enum sf_err (*fill)(void *arg, struct sf_span_block_writer *w, struct sf_block_row *row,
                        struct sf_why *why);
    void *arg;
};

enum sf_err sf_block_file_write(struct sf_local *l, struct sf_block_file *f, struct sf_why *why);
/* Renames a finished file from tmp/ into its day's folder, which is made if need be. */
enum sf_err sf_block_file_publish(struct sf_local *l, const struct sf_block_row *row,
                                  const char *tmp, struct sf_why *why);
