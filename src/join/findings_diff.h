/* findings_diff.h - describes in sentences what one side does more of than the other. */
#pragma once
#include "join/findings.h"

struct sf_findings_diff {
    struct sf_finding_list list;
    struct sf_profile_type type;
    sf_str of, reason, note;
    uint64_t n_samples, n_estimated; /* of both sides: samples examined; left out */
};

/* Two queries: per span; only functions that differ significantly. In q->req. */
enum sf_err sf_findings_diff_queries(struct sf_store *store, const struct sf_findings_want *want,
                                     struct sf_query_ctx *q, struct sf_findings_diff *out,
                                     struct sf_why *why);
/* Two selectors: by shares of each side, since the profiles may cover different lengths of time. */
enum sf_err sf_findings_diff_selectors(struct sf_store *store, const struct sf_findings_want *want,
                                       struct sf_query_ctx *q, struct sf_findings_diff *out,
                                       struct sf_why *why);
/* "CPU time", "bytes": what a profile of this type counts. */
const char *sf_findings_diff_kind_of_time(const struct sf_profile_type *type);
