/* retention.h - how long what is kept. 0 means without limit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Which traces keep their detail rows. The store keeps the rows of all yet; what a rule would keep
 * is told (link/keep_verdict.h). */
struct sf_keep_rule {
    int64_t slow_ns;             /* slow_request_threshold */
    uint32_t cpu_percent;        /* cpu_threshold_percent */
    bool has_errors;             /* profile_errors */
    uint32_t baseline_per_10000; /* 1 % is 100 */
    int64_t tail_delay_ns, tail_min_ns;
};

struct sf_retention {
    int64_t spans_ns, profiles_ns, full_resolution_ns, detail_ns;
    uint64_t max_len;      /* bytes of blocks and log */
    uint64_t min_free_len; /* refuse writes below this much free space; 0: max(2 GB, 5 %) */
    struct sf_keep_rule keep;
};
