/* keep_rules.h - which traces keep the samples of their spans when an hour is over, as configured
 * (profiling.conditional). A rule set is written down with every hour that it decided. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum sf_keep_flag { SF_KEEP_FLAG_DEBUG, SF_KEEP_FLAG_SAMPLED }; /* stored: never renumber */

struct sf_keep_rule {
    int64_t slow_ns;             /* slow_request_threshold; 0: none is slow */
    uint32_t cpu_percent;        /* cpu_threshold_percent; 0: none is CPU-heavy */
    bool has_errors;             /* profile_errors */
    uint32_t baseline_per_10000; /* 1 % is 100 */
    int64_t tail_min_ns;         /* shorter requests are never unusual for their operation */
    uint8_t flagged;             /* enum sf_keep_flag: which mark of the sender counts */
};

#define SF_KEEP_TAIL_MIN_NS INT64_C(100000000) /* a tenth of a second */

struct sf_keep_service { /* spans of one service have a rule of their own */
    sf_str service;
    struct sf_keep_rule rule;
};

struct sf_keep_rules {
    bool is_on; /* false: everything is kept until retention.detail */
    struct sf_keep_rule all;
    const struct sf_keep_service *services;
    uint32_t n_services;
};

enum sf_keep_reason {
    SF_KEEP_ERROR,    /* a span failed */
    SF_KEEP_SLOW,     /* a local root took slow_ns or longer */
    SF_KEEP_UNUSUAL,  /* longer than is usual for its operation, and tail_min_ns */
    SF_KEEP_CPU,      /* a local root's samples are more than cpu_percent of its time */
    SF_KEEP_FLAGGED,  /* a span says profile.keep = true, or its sender marked the trace */
    SF_KEEP_BASELINE, /* by a hash of the trace's id, the same everywhere */
    SF_KEEP_PINNED,   /* it was requested by name */
    SF_KEEP_REASONS   /* stored as bits: never renumber */
};

/* Everything but the baseline keeps a trace for what it did, whatever its id is. */
#define SF_KEEP_BY_OUTCOME (((1u << SF_KEEP_REASONS) - 1) & ~(1u << SF_KEEP_BASELINE))

/* The rule for spans of `service`. */
const struct sf_keep_rule *sf_keep_rules_of(const struct sf_keep_rules *r, sf_str service);
/* "slow", "baseline"; one word for each bit of enum sf_keep_reason. */
const char *sf_keep_rules_reason_name(enum sf_keep_reason reason);

/* The same rules give the same bytes. */
void sf_keep_rules_encode(const struct sf_keep_rules *r, struct sf_buf *out);
/* Names are copied into `req`. CORRUPT, LIMIT. */
enum sf_err sf_keep_rules_decode(sf_bytes in, struct sf_arena *req, struct sf_keep_rules *out,
                                 struct sf_why *why);
