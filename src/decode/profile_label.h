/* profile_label.h - the role of a label or attribute of a sample.
 *
 * Ids, threads and times belong to the sample; as labels of a series they would make one series per
 * request. All others are labels of the series. */
#pragma once
#include "model/profile.h"

enum sf_label_role {
    SF_LABEL_SERIES,
    SF_LABEL_SPAN_ID,
    SF_LABEL_ROOT_SPAN_ID, /* used when there is no span id */
    SF_LABEL_TRACE_ID,
    SF_LABEL_THREAD_ID,
    SF_LABEL_THREAD_NAME,
    SF_LABEL_STATE,  /* what the thread did or waited for; also a label of the series */
    SF_LABEL_END_NS, /* Unix time in ns at which the sample ended */
    SF_LABEL_HIDDEN  /* high cardinality, and stored elsewhere: not a label */
};

struct sf_profile_ids { /* the values from the labels of one sample */
    sf_trace_id trace_id;
    sf_span_id span_id;
    sf_span_id root_span_id;
    uint64_t thread;
    uint64_t runtime_thread;
    sf_str thread_name;
    int64_t end_ns;
    uint8_t state; /* enum sf_sample_state */
    bool is_kernel_thread;
};

/* Text: 16 and 32 hexadecimal digits, or a decimal number under Datadog's keys; anything else means
 * no id. False: it is a label of the series. */
bool sf_profile_label_ids_take_str(struct sf_profile_ids *ids, sf_str key, sf_str val);
/* The same for a key whose role is known. */
enum sf_label_role sf_profile_label_role(sf_str key);
bool sf_profile_label_ids_take_role(struct sf_profile_ids *ids, enum sf_label_role role, sf_str key,
                                    sf_str val);
/* False: the key is not a known number. */
bool sf_profile_label_ids_take_num(struct sf_profile_ids *ids, sf_str key, int64_t val);
/* Stores them in a sample; zeros leave its values unchanged. */
void sf_profile_label_ids_put(const struct sf_profile_ids *ids, struct sf_sample *s);

static inline bool sf_profile_ids_has(const struct sf_profile_ids *ids) /* a request's */
{
    return ids->span_id || ids->root_span_id || !sf_trace_id_is_zero(ids->trace_id);
}

/* Sorts by key; of equal keys the last one is kept. Returns how many are left. */
uint32_t sf_profile_label_sort(struct sf_label *labels, uint32_t n);
