/* intake_profiles.h - the last place where a profile is refused, cut, labelled or redacted.
 *
 * A batch with decoded profiles goes in and comes out ready for the store: function names, files
 * and labels redacted, label sets under their cap, times that can be, and the normalised form that
 * the log keeps. Profiles are logged in that form whatever they came as: most formats carry more
 * than is kept (environments, command lines), and none of that may reach the disk. */
#pragma once
#include "base/err.h"
#include "intake/shed_detail.h"
#include "model/batch.h"

struct sf_intake_tools; /* intake/intake.h */
struct sf_redactor;     /* intake/redact.h */
struct sf_series_cap;   /* intake/series_cap.h */
struct sf_quota;        /* intake/quota.h */

struct sf_intake_profiles {
    const struct sf_redactor *redactor; /* NULL: nothing is redacted */
    struct sf_series_cap *cap;          /* NULL: no cap */
    struct sf_quota *quota;             /* limits of tenants and services; NULL: there are none */
    sf_str tenant_name;                 /* for the quota */
    struct sf_intake_tools *tools;      /* of the calling thread; NULL: made for the call */
    uint32_t tenant;
    int64_t recv_ns;
    uint64_t dup_hash; /* of the request; 0: never taken for a repeat */
    struct sf_shed_detail shed;
};

struct sf_intake_profiles_result {
    uint64_t n_samples, n_series;
    uint64_t n_redacted;
    uint64_t n_folded;  /* series whose labels went over the cap */
    uint64_t n_retimed; /* profiles and samples from the future */
    uint64_t n_cut_labels;
    struct sf_shed_counts shed;
    bool is_over_series; /* with BUSY: why; the rest is set with OK only */
};

/* Finishes `b`, whose `profiles` and what they point into live in its arena and `plain`. A batch
 * longer than a log record comes out in pieces. LIMIT (memory, a single profile too long), NOMEM,
 * BUSY (a new service, and the tenant has its series: sf_series_cap_wait_s). */
enum sf_err sf_intake_profiles(const struct sf_intake_profiles *how, struct sf_batch *b,
                               struct sf_intake_profiles_result *out, struct sf_why *why);
/* What a request is recognised by when it is repeated. */
uint64_t sf_intake_profiles_hash(uint32_t tenant, sf_str parameters, sf_bytes body);
