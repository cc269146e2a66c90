/* local.h - the embedded store: everything in one data directory, one server at a time. */
#pragma once
#include "store/store.h"

extern const struct sf_store_ops sf_store_local_ops;

/* Reads everything in a data directory without changing anything: catalogue, blocks with every
 * checksum and column, log. `say` gets one plain sentence per finding. Fails only when it cannot
 * look at all; BUSY: a server is using the directory. */
enum sf_err sf_store_local_fsck(struct sf_dir *dir, void (*say)(void *arg, const char *sentence),
                                void *arg, uint64_t *out_n_faults, struct sf_why *why);
