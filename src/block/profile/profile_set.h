/* profile_set.h - the profiles of one service in memory: received since the last flush, or
 * collected by a merge.
 *
 * Strings, functions, modules, locations, stacks, series and processes are interned; samples are
 * appended. Profiles and samples added after a mark can be undone; symbols interned for them
 * remain, which is harmless. For use by one thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "block/format/dict.h"
#include "block/profile/profile_block.h"
#include "block/profile/stack_tree.h"

struct sf_profile_set_thread {
    uint64_t thread, runtime_id;
    uint32_t process, name; /* or SF_NONE; a string */
    bool is_kernel;
};

struct sf_profile_set_ids { /* what a sample belongs to */
    sf_trace_id trace_id;
    sf_span_id span_id;
    uint64_t thread;
};

/* A detail row in 12 bytes, or 28: how many samples fit in memory decides how often it is flushed,
 * and each flush writes all symbols again. The rest is in its entry and in the entry's row. */
struct sf_profile_set_detail {
    uint32_t entry, ids, time; /* indexes; SF_NONE: it has the time of its profile, and no state */
};

struct sf_profile_set_time {
    int64_t start_us; /* of a row without a time of its own: its profile's */
    uint64_t length_us : 54, state : 8, has_time : 1, is_lent : 1;
};

struct sf_profile_set {
    uint32_t tenant;
    sf_str service;
    struct sf_dict strings, modules, series, processes; /* the first string is the empty one */
    struct sf_table function_at, location_at, thread_at;
    struct sf_profile_set_thread *threads; /* threads of details, in the order of arrival */
    uint32_t n_threads, cap_threads, last_thread;
    struct sf_stack_tree tree;
    struct sf_profile_function *functions;
    struct sf_profile_location *locations;
    struct sf_line *lines;
    uint32_t n_functions, cap_functions, n_locations, cap_locations, n_lines, cap_lines;
    struct sf_profile_row *rows;
    struct sf_profile_entry *entries;
    struct sf_profile_set_detail *details;
    struct sf_profile_set_time *times;
    struct sf_profile_set_ids *ids; /* of details; the same ids may be there twice */
    uint32_t n_rows, cap_rows;
    uint32_t n_entries, cap_entries, n_details, cap_details, n_ids, cap_ids;
    uint32_t n_times, cap_times;
    int64_t ts_min_ns, ts_max_ns; /* of index times and ends; not undone */
    size_t counted_len;           /* used by the owner: bytes counted in its budget */
};

struct sf_profile_mark {
    uint32_t n_rows, n_entries, n_details, n_ids, n_times;
};

struct sf_profile_set *sf_profile_set_new(uint32_t tenant, sf_str service); /* NULL: no memory */
/* How much a set holds, to give another one that will hold about the same its space at once. */
struct sf_profile_set_sizes {
    uint32_t n_nodes, n_strings, n_functions, n_locations;
};
struct sf_profile_set_sizes sf_profile_set_sizes(const struct sf_profile_set *s);
void sf_profile_set_reserve(struct sf_profile_set *s, struct sf_profile_set_sizes sizes);
void sf_profile_set_free(struct sf_profile_set *s); /* NULL is fine */
size_t sf_profile_set_memory(const struct sf_profile_set *s);

/* Maps indexes in the batch's tables to indexes in a set. One object for all services of a
 * batch. */
enum { SF_PROFILE_MAP_FILES = 256, SF_PROFILE_MAP_IDS = 512 };
struct sf_profile_map_file {
    sf_str text;
    uint32_t code, stamp;
};
struct sf_profile_map_place { /* valid if the stamp is the map's */
    uint32_t stamp, place;
};
struct sf_profile_map {
    struct sf_profile_map_place *places[4]; /* functions, mappings, locations, stacks */
    uint32_t stamp;
    struct sf_profile_map_file files[SF_PROFILE_MAP_FILES]; /* cache of file names, by address */
    struct sf_profile_map_place ids[SF_PROFILE_MAP_IDS];    /* cache of ids, by their hash */
};
bool sf_profile_set_map_init(struct sf_profile_map *m, const struct sf_profile_batch *b,
                             struct sf_arena *scratch); /* false: no space */

struct sf_profile_index { /* inputs for a profile's index time */
    int64_t recv_ns, retention_ns;
};

/* Adds the part of the batch that belongs to this set's service. On failure (NOMEM, LIMIT) the
 * caller undoes it with its mark. */
enum sf_err sf_profile_set_add(struct sf_profile_set *s, struct sf_profile_map *map,
                               const struct sf_profile_batch *b,
                               const struct sf_profile_index *index, struct sf_arena scratch,
                               struct sf_why *why);
struct sf_profile_mark sf_profile_set_mark(const struct sf_profile_set *s);
void sf_profile_set_undo(struct sf_profile_set *s, struct sf_profile_mark mark);
struct sf_profile_detail sf_profile_set_detail(const struct sf_profile_set *s, uint32_t i);
struct sf_profile_set_time sf_profile_set_time(const struct sf_profile_set *s, uint32_t detail);

/* The tables as lists; strings and lists are in `req` or borrow from the set until it grows. False:
 * `req` is full. */
bool sf_profile_set_tables_symbols(const struct sf_profile_set *s, struct sf_arena *req,
                                   struct sf_profile_symbols *out);
bool sf_profile_set_tables_series(const struct sf_profile_set *s, struct sf_arena *req,
                                  const struct sf_profile_series **out, uint32_t *out_n);
bool sf_profile_set_tables_processes(const struct sf_profile_set *s, struct sf_arena *req,
                                     const struct sf_process **out, uint32_t *out_n);
/* Sorted by process (none first) and thread. */
bool sf_profile_threads_list(const struct sf_profile_set *s, struct sf_arena *req,
                             const struct sf_profile_thread **out, uint32_t *out_n);

/* ---- merging: what another set's tables are here ---- */

/* out_nodes has space for all nodes of `from`; likewise the other arrays. NOMEM. */
enum sf_err sf_profile_set_tables_join_symbols(struct sf_profile_set *s,
                                               const struct sf_profile_symbols *from,
                                               uint32_t *out_nodes, struct sf_arena scratch,
                                               struct sf_why *why);
enum sf_err sf_profile_set_tables_join_series(struct sf_profile_set *s,
                                              const struct sf_profile_series *from, uint32_t n,
                                              uint32_t *out, struct sf_why *why);
enum sf_err sf_profile_set_tables_join_processes(struct sf_profile_set *s,
                                                 const struct sf_process *from, uint32_t n,
                                                 uint32_t *out, struct sf_why *why);
/* `processes` maps their process numbers to numbers in this set. */
enum sf_err sf_profile_threads_join(struct sf_profile_set *s, const struct sf_profile_thread *from,
                                    uint32_t n, const uint32_t *processes, struct sf_why *why);
