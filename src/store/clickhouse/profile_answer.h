/* profile_answer.h - profiles and samples from shards' answers, converted back to a batch of
 * profiles: the inverse of profile_rows.c.
 *
 * The entries of the dictionaries are read first, then the rows that refer to them by id. Strings
 * borrow from the answers, lists are in the arena. Answers are untrusted input: everything is
 * checked, and inconsistent answers are CORRUPT. An entry that is missing is treated as empty. */
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
    SF_ENTRY_PROCESS, /* a key; kind: 1 if the process is a guess */
    SF_ENTRY_KINDS
};

/* The columns to select for each kind of row, in the order in which they are read. */
extern const char sf_profile_answer_profiles[], sf_profile_answer_stacks[],
    sf_profile_answer_details[];

struct sf_answer_ids { /* ids of the entries of one kind, by place */
    uint64_t *list;
    uint32_t n, cap;
    struct sf_table at;
};

struct sf_profile_answer {
    struct sf_arena *req;
    struct sf_answer_ids ids[SF_ENTRY_KINDS];
    struct sf_series *kinds; /* by place of their entry; without times */
    uint32_t kinds_cap;
    struct sf_stack *stacks; /* lists of frames, by place */
    uint32_t stacks_cap;
    struct sf_location *locations;
    uint32_t locations_cap;
    struct sf_process *processes;
    uint32_t processes_cap;
    struct sf_mapping *mappings;
    struct sf_function *functions;
    uint32_t n_mappings, mappings_cap, n_functions, functions_cap;
    struct sf_series *profiles; /* one for each profile, */
    uint32_t n_profiles, profiles_cap;
    uint64_t *profile_keys; /* and the hash of what identifies it */
    uint32_t profile_keys_cap;
    struct sf_table profile_at;
    struct sf_sample *samples;
    uint32_t n_samples, samples_cap;
};

/* Frees its tables; a zeroed object is allowed. */
void sf_profile_answer_done(struct sf_profile_answer *a);

/* `in` must stay valid as long as the answer. CORRUPT, LIMIT (the arena). */
enum sf_err sf_profile_answer_add_entries(struct sf_profile_answer *a, sf_bytes in,
                                          struct sf_why *why);
/* Adds rows of `profiles`. `has_totals`: each gets one sample with its total value and no stack. */
enum sf_err sf_profile_answer_add_profiles(struct sf_profile_answer *a, sf_bytes in,
                                           bool has_totals, struct sf_why *why);
/* Adds rows of `aggregates`. */
enum sf_err sf_profile_answer_add_stacks(struct sf_profile_answer *a, sf_bytes in,
                                         struct sf_why *why);
/* Adds rows of `details`. */
enum sf_err sf_profile_answer_add_details(struct sf_profile_answer *a, sf_bytes in,
                                          struct sf_why *why);
struct sf_profile_batch sf_profile_answer_batch(const struct sf_profile_answer *a);
