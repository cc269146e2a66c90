/* time_samples.h - the samples of all profile types that tell where a span's time went.
 *
 * Four kinds of profiles measure time: off-CPU waits with a state, wall clock samples with a state
 * or a stack that implies one, CPU samples, and lock or block profiles. Which of them exist is
 * determined from the samples of a span, not of the service: another process of it, or another
 * hour, may be profiled differently. A wall clock profile covers the same time as all others: it
 * fills what they leave unknown, and adds CPU time only if there is no CPU profile. Waits for locks
 * may be included in the off-CPU waits or not: those that carry a time are matched by time and
 * count once; the others are left out if off-CPU waits or wall clock samples cover them. */
#pragma once
#include "flame/tree_builder.h"
#include "join/link_set.h"
#include "link/claims_by_span.h"
#include "link/ledger.h"

enum sf_time_kind {
    SF_TIME_NONE,
    SF_TIME_CPU,
    SF_TIME_OFF_CPU,
    SF_TIME_LOCK,
    SF_TIME_BLOCK,
    SF_TIME_WALL,
    SF_TIME_KINDS
};

struct sf_time_type { /* one type of profile */
    const struct sf_link_set *set;
    enum sf_time_kind kind;
    struct sf_attribution claims;
    struct sf_claims_by_span by_span;
    const uint8_t *leaves; /* by node: the state that its leaf frame implies */
    const uint32_t *nodes; /* by node: its node in `stacks` */
};

struct sf_time_origin { /* of a sample */
    uint32_t node;      /* in `stacks`; 0 without them */
    uint8_t grade;
    bool is_known; /* certainly the span's: no estimate */
    uint32_t type; /* index in `types` */
};

struct sf_time_samples {
    struct sf_arena *req;
    struct sf_tree_builder *stacks; /* receives the stacks of all types; NULL: not needed */
    struct sf_time_type *types;
    uint32_t n_types, cap_types;
    bool is_known_only;   /* leave out samples whose span is an estimate */
    uint64_t n_estimated; /* number of samples left out for that */
    /* Samples of the last requested span. */
    struct sf_ledger_sample *samples;
    struct sf_time_origin *origins; /* parallel to the samples */
    uint32_t n, cap;
};

/* NONE for types that are not time. `type` is a full id: name:sample_type:unit:... */
enum sf_time_kind sf_time_samples_kind_of(sf_str type);
/* Adds a type; `set` must stay valid. Samples are claimed for spans that are `wanted` (NULL: for
 * all). */
enum sf_err sf_time_samples_add(struct sf_time_samples *t, struct sf_link_set *set,
                                enum sf_time_kind kind, const bool *is_wanted, struct sf_why *why);
/* Finds the samples of one span, replacing those of the last one. The sets must have the same spans
 * in the same order. */
enum sf_err sf_time_samples_of(struct sf_time_samples *t, uint32_t span, struct sf_why *why);
