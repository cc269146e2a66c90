/* batch_tree.h - the profile types in a decoded batch, and one of them as a tree. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "flame/owned.h"
#include "model/answer/profile_view.h"
#include "model/tree.h"

struct sf_batch_type { /* all series of one type together, regardless of labels */
    struct sf_profile_type type;
    int64_t total;
    uint64_t n_samples;
    int64_t duration_ns; /* of the longest series */
    int64_t time_ns;     /* earliest; 0: unknown */
    int64_t period;
};

/* The types of a batch in the order of its series; in `req`. */
enum sf_err sf_batch_tree_types(const struct sf_profile_batch *batch, struct sf_arena *req,
                                const struct sf_batch_type **out, uint32_t *out_n,
                                struct sf_why *why);
/* The type that `text` refers to: a whole id, its first three parts, "name:sample_type", a sample
 * type ("inuse_space") or a family (cpu, wall, heap, alloc, goroutine, block, mutex, offcpu).
 * Empty: a default, time before memory before counts. NOT_FOUND lists the types. */
enum sf_err sf_batch_tree_choose(const struct sf_batch_type *types, uint32_t n, sf_str text,
                                 uint32_t *out, struct sf_why *why);
/* Merges all samples of that type, with lines and files. In `req`; strings are borrowed from the
 * batch. */
enum sf_err sf_batch_tree(const struct sf_profile_batch *batch, const struct sf_profile_type *type,
                          struct sf_arena *req, struct sf_tree *out, struct sf_why *why);

/* The same, and the parts of each node that belong to spans, sorted by node; in `req`. */
enum sf_err sf_batch_tree_owned(const struct sf_profile_batch *batch,
                                const struct sf_profile_type *type, struct sf_arena *req,
                                struct sf_tree *out, struct sf_owned *out_owned,
                                struct sf_why *why);

bool sf_batch_tree_type_eq(const struct sf_profile_type *a, const struct sf_profile_type *b);
/* "process_cpu:cpu:nanoseconds:cpu:nanoseconds" */
void sf_batch_tree_type_add(struct sf_buf *out, const struct sf_profile_type *type);
/* The same in `req`. False: it is full. */
bool sf_batch_tree_type_print(const struct sf_profile_type *type, struct sf_arena *req,
                              sf_str *out);
