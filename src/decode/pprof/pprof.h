/* pprof.h - one pprof being read; shared by the files that read its parts. Private to this module.
 */
#pragma once
#include "base/limits.h"
#include "decode/id_map.h"
#include "decode/pprof/pprof_delta.h"
#include "decode/profile_build.h"
#include "wire/pb.h"

enum { SF_PPROF_ROLES = 16 };

struct sf_pprof_value_type {
    int64_t type, unit; /* string numbers */
};

enum { SF_PPROF_FIELDS = 14 }; /* numbers of top-level fields that are walked are below it */

struct sf_pprof {
    struct sf_profile_build *b;
    sf_bytes body;
    sf_bytes parts[SF_PPROF_FIELDS]; /* by field: from its first element to its last */
    uint32_t n_strings, n_mappings, n_functions, n_locations, n_samples, n_times;
    sf_str *strings;
    bool *seen;      /* per string: it is in the batch unchanged, or in the list of unseen texts */
    uint32_t *told;  /* per string: the key it was listed with as a label's value, plus one */
    bool has_hidden; /* a numeric field held text, or a text had to be cleaned */
    struct sf_pprof_value_type types[SF_LIMIT_SAMPLE_TYPES], period_type;
    sf_str type_names[SF_LIMIT_SAMPLE_TYPES], type_units[SF_LIMIT_SAMPLE_TYPES];
    uint32_t n_types;
    int64_t time_ns, duration_ns, period;
    sf_str period_name, period_unit;

    struct sf_id_map mappings, functions, locations;
    sf_str *mapping_files;     /* beside mappings */
    uint64_t *mapping_bias;    /* for each mapping: what to subtract from an address */
    enum sf_frame_kind *kinds; /* for each function */
    bool has_function_ids;     /* false: written by .NET's old client, which gives no ids */
    enum sf_frame_kind spy_kind;

    uint32_t whats[SF_LIMIT_SAMPLE_TYPES];
    uint32_t derived; /* index of the derived CPU time type, or SF_NONE */
    int64_t derived_ns;
    uint32_t count_type;          /* index of the type that counts events, or SF_NONE */
    struct sf_profile_list stack; /* of the current sample */
    /* Caches: which types are times, roles of labels by the index of their key, the set without
     * labels of samples, and the series of the last set. */
    bool is_time[SF_LIMIT_SAMPLE_TYPES];
    struct {
        int64_t key;
        enum sf_label_role role;
    } roles[SF_PPROF_ROLES];
    uint32_t bare_set, last_set, last_series[SF_LIMIT_SAMPLE_TYPES];
    /* For a pair of dumps: where cumulative values are collected (NULL: no pair), the index of each
     * sample type in the later dump, and whether this is the earlier one. */
    struct sf_pprof_delta *delta;
    uint32_t delta_types[SF_LIMIT_SAMPLE_TYPES];
    bool is_before;
};

/* The part of the message that has the elements of a field; there may be others in it. */
static inline struct sf_pb sf_pprof_part(const struct sf_pprof *p, uint32_t field)
{
    return sf_pb_part(p->body, p->parts[field]);
}
/* Whether it certainly is a pprof: its top level has no other fields. */
bool sf_pprof_is_whole(sf_str bytes);
/* String number `at`; if out of range, it is counted and "(unknown)" is returned. */
sf_str sf_pprof_str(struct sf_pprof *p, int64_t at, uint64_t *counter, const char *what);

/* Marks string number `at` as stored unchanged in the batch. */
static inline void sf_pprof_note(struct sf_pprof *p, int64_t at)
{
    if (at > 0 && at < p->n_strings)
        p->seen[at] = true;
}
/* Adds a label that the batch may not contain to the list of unseen texts, which intake scans for
 * secrets. */
void sf_pprof_tell(struct sf_pprof *p, int64_t key, int64_t val);
/* Call before reading a numeric field: if the field holds bytes instead, they are never scanned,
 * and the profile must not be logged as received. */
static inline void sf_pprof_expect_number(struct sf_pprof *p, const struct sf_pb *pb)
{
    p->has_hidden |= (pb->tag & 7) == SF_PB_LEN;
}

/* To be called after the strings; each reports what is malformed. A full arena is reported at the
 * end. */
enum sf_err sf_pprof_tables_read_functions(struct sf_pprof *p); /* and mappings */
enum sf_err sf_pprof_tables_read_locations(struct sf_pprof *p);
enum sf_err sf_pprof_samples_read(struct sf_pprof *p);
