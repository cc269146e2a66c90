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

struct sf_pprof {
    struct sf_profile_build *b;
    sf_bytes body;
    uint32_t n_strings, n_mappings, n_functions, n_locations, n_samples, n_times;
    sf_str *strings;
    struct sf_pprof_value_type types[SF_LIMIT_SAMPLE_TYPES], period_type;
    sf_str type_names[SF_LIMIT_SAMPLE_TYPES], type_units[SF_LIMIT_SAMPLE_TYPES];
    uint32_t n_types;
    int64_t time_ns, duration_ns, period;
    sf_str period_name, period_unit;

    struct sf_id_map mappings, functions, locations;
    sf_str *mapping_files;     /* beside mappings */
    uint64_t *mapping_bias;    /* what to subtract from an address, beside mappings */
    enum sf_frame_kind *kinds; /* beside functions */
    bool has_function_ids;     /* false: .NET's old client, which numbered none */
    enum sf_frame_kind spy_kind;

    uint32_t whats[SF_LIMIT_SAMPLE_TYPES];
    uint32_t derived; /* CPU time of a profile that only counts, or SF_NONE */
    int64_t derived_ns;
    uint32_t count_type;          /* the one that counts events, or SF_NONE */
    struct sf_profile_list stack; /* of the sample at hand */
    /* What was found out for samples before: which types are times, roles of labels by the number
     * of their key, and series of the last set of labels, of which the empty one is the first. */
    bool is_time[SF_LIMIT_SAMPLE_TYPES];
    struct {
        int64_t key;
        enum sf_label_role role;
    } roles[SF_PPROF_ROLES];
    uint32_t bare_set, last_set, last_series[SF_LIMIT_SAMPLE_TYPES];
    /* Of a pair: where sums since process start go instead (NULL: no pair), the later one's place
     * of each sample type, and whether this is the earlier one. */
    struct sf_pprof_delta *delta;
    uint32_t delta_types[SF_LIMIT_SAMPLE_TYPES];
    bool is_before;
};

/* The whole message, from its start. */
static inline struct sf_pb sf_pprof_top(const struct sf_pprof *p)
{
    return sf_pb_init(p->body);
}
/* Is it a pprof for sure, without a byte that no pprof has at its top level? */
bool sf_pprof_is_whole(sf_str bytes);
/* String number `at`; one out of range is counted and becomes "(unknown)". */
sf_str sf_pprof_str(struct sf_pprof *p, int64_t at, uint64_t *counter, const char *what);

/* After the strings; each says what is broken. A full arena is left for the end. */
enum sf_err sf_pprof_tables_read_functions(struct sf_pprof *p); /* and mappings */
enum sf_err sf_pprof_tables_read_locations(struct sf_pprof *p);
enum sf_err sf_pprof_samples_read(struct sf_pprof *p);
