/* keep_rules.h - the rules that decide which traces keep their samples after an hour is over
 * (profiling.conditional). Each decided hour is stored with its rule set. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum sf_keep_flag { SF_KEEP_FLAG_DEBUG, SF_KEEP_FLAG_SAMPLED }; /* stored: never renumber */

struct sf_keep_rule {
    int64_t slow_ns;             /* slow_request_threshold; 0: no request counts as slow */
    uint32_t cpu_percent;        /* cpu_threshold_percent; 0: no request counts as CPU-heavy */
    bool has_errors;             /* profile_errors */
    uint32_t baseline_per_10000; /* 1 % is 100 */
    int64_t tail_min_ns;         /* shorter requests never count as unusual for their operation */
    uint8_t flagged;             /* enum sf_keep_flag: which mark set by the sender counts */
};

#define SF_KEEP_TAIL_MIN_NS INT64_C(100000000) /* a tenth of a second */

struct sf_keep_service { /* a separate rule for the spans of one service */
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
    SF_KEEP_FLAGGED,  /* a span has profile.keep = true, or its sender marked the trace */
    SF_KEEP_BASELINE, /* selected by a hash of the trace id, the same in all processes */
    SF_KEEP_PINNED,   /* pinned by a user or an alert */
    SF_KEEP_REASONS   /* stored as bits: never renumber */
};

/* All reasons but the baseline keep a trace because of its outcome, independent of its id. */
#define SF_KEEP_BY_OUTCOME (((1u << SF_KEEP_REASONS) - 1) & ~(1u << SF_KEEP_BASELINE))

/* The rule for spans of `service`. */
const struct sf_keep_rule *sf_keep_rules_of(const struct sf_keep_rules *r, sf_str service);
/* "slow", "baseline"; one name for each value of enum sf_keep_reason. */
const char *sf_keep_rules_reason_name(enum sf_keep_reason reason);

/* Equal rules give equal bytes. */
void sf_keep_rules_encode(const struct sf_keep_rules *r, struct sf_buf *out);
/* Names are copied into `req`. CORRUPT, LIMIT. */
enum sf_err sf_keep_rules_decode(sf_bytes in, struct sf_arena *req, struct sf_keep_rules *out,
                                 struct sf_why *why);
