/* profile_answer.h - profiles and samples that shards answered, as a batch of profiles again: the
 * way back of profile_rows.c.
 *
 * Entries of the dictionaries first, then the rows that name them by id. Strings borrow from the
 * answers, lists are in the arena. Bytes from a shard are bytes from outside: all is checked, what
 * does not fit together is CORRUPT; an entry that never came is an empty one. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"
#include "model/profile.h"

/* Entries: series, stacks, frames, processes, all as rows of
 *     UInt8 what, UInt64 id, String a, String b, Array(String) k, v, w, Array(UInt64) n,
 *     Array(UInt32) lines, starts, UInt64 address, UInt8 kind */
enum sf_profile_entry_kind {
    SF_ENTRY_SERIES, /* a service, b type, k and v labels */
    SF_ENTRY_STACK,  /* n frames */
    SF_ENTRY_FRAME,  /* a module, b build id, k functions, v system names, w files, lines, starts */
    SF_ENTRY_PROCESS, /* a key, kind: it is a guess */
    SF_ENTRY_KINDS
};

/* What to select for each sort of row, in the order in which it is read. */
extern const char sf_profile_answer_profiles[], sf_profile_answer_stacks[],
    sf_profile_answer_details[];

struct sf_answer_ids { /* of entries of one kind, by place */
    uint64_t *list;
    uint32_t n, cap;
    struct sf_table at;
};

struct sf_profile_answer {
    struct sf_arena *req;
    struct sf_answer_ids ids[SF_ENTRY_KINDS];
    struct sf_series *kinds; /* by place of their entry; without times */
    uint32_t kinds_cap;
    struct sf_stack *stacks; /* of frames by place */
    uint32_t stacks_cap;
    struct sf_location *locations;
    uint32_t locations_cap;
    struct sf_process *processes;
    uint32_t processes_cap;
    struct sf_mapping *mappings;
    struct sf_function *functions;
    uint32_t n_mappings, mappings_cap, n_functions, functions_cap;
    struct sf_series *profiles; /* what was profiled when, */
    uint32_t n_profiles, profiles_cap;
    uint64_t *profile_keys; /* and the hash of what tells them apart */
    uint32_t profile_keys_cap;
    struct sf_table profile_at;
    struct sf_sample *samples;
    uint32_t n_samples, samples_cap;
};

void sf_profile_answer_done(struct sf_profile_answer *a); /* its tables; a zeroed one is fine */

/* `in` stays until the answer is done with. CORRUPT, LIMIT (the arena). */
enum sf_err sf_profile_answer_add_entries(struct sf_profile_answer *a, sf_bytes in,
                                          struct sf_why *why);
/* Rows of `profiles`. `has_totals`: each has one sample without a stack, of all its value. */
enum sf_err sf_profile_answer_add_profiles(struct sf_profile_answer *a, sf_bytes in,
                                           bool has_totals, struct sf_why *why);
/* Rows of `aggregates`. */
enum sf_err sf_profile_answer_add_stacks(struct sf_profile_answer *a, sf_bytes in,
                                         struct sf_why *why);
/* Rows of `details`. */
enum sf_err sf_profile_answer_add_details(struct sf_profile_answer *a, sf_bytes in,
                                          struct sf_why *why);
struct sf_profile_batch sf_profile_answer_batch(const struct sf_profile_answer *a);
