/* retention.h - how long each kind of data is kept. 0 means without limit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "model/keep_rules.h"

/* Values that differ for one tenant. */
struct sf_tenant_rule {
    int64_t spans_ns, profiles_ns; /* 0: never */
    uint64_t max_len;              /* bytes of its blocks; 0: no limit of its own */
};

struct sf_retention {
    int64_t spans_ns, profiles_ns, full_resolution_ns, detail_ns;
    uint64_t max_len;      /* bytes of blocks and log */
    uint64_t min_free_len; /* refuse writes below this much free space; 0: max(2 GB, 5 %) */
    /* Retention by outcome: an hour is processed when it and its last samples are this old. The
     * list of services is borrowed until the store is closed. */
    int64_t tail_delay_ns;
    struct sf_keep_rules keep;
    /* How long spans of traces that the rules keep are stored, if longer than spans_ns. */
    int64_t spans_by_outcome_ns;
};
