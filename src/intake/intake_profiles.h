/* intake_profiles.h - the last module that refuses, truncates, labels or redacts profiles.
 *
 * It completes a batch of decoded profiles for the store: function names, files and labels are
 * redacted, label sets limited, impossible times corrected, and the form for the log is chosen.
 * That is the normalised form for most formats: they contain more than is stored (environment
 * variables, command lines), and none of that may reach the disk. A pprof or an OTLP body of which
 * every text was scanned and in which nothing had to change is logged as it was received. */
#pragma once
#include "base/err.h"
#include "intake/shed_detail.h"
#include "model/batch.h"

struct sf_intake_tools; /* intake/intake.h */
struct sf_profile_hint; /* decode/profile_format.h */
struct sf_redactor;     /* intake/redact.h */
struct sf_series_cap;   /* intake/series_cap.h */
struct sf_quota;        /* intake/quota.h */

struct sf_intake_profiles {
    const struct sf_redactor *redactor; /* NULL: nothing is redacted */
    struct sf_series_cap *cap;          /* NULL: no cap */
    struct sf_quota *quota;             /* limits of tenants and services; NULL: none */
    sf_str tenant_name;                 /* for the quota */
    struct sf_intake_tools *tools;      /* of the calling thread; NULL: created for the call */
    uint32_t tenant;
    int64_t recv_ns;
    uint64_t dup_hash; /* hash of the request; 0: never treated as a repeat */
    struct sf_shed_detail shed;
    /* The request's parameters and the bytes that the batch was decoded from; NULL if not
     * available. */
    const struct sf_profile_hint *hint;
    sf_str bytes;
};

struct sf_intake_profiles_result {
    uint64_t n_samples, n_series;
    uint64_t n_redacted;
    uint64_t n_folded;  /* series whose labels exceeded the limit */
    uint64_t n_retimed; /* profiles and samples with times in the future */
    uint64_t n_cut_labels;
    struct sf_shed_counts shed;
    bool is_over_series; /* with BUSY: this is the reason; the rest is set with OK only */
};

/* Completes `b`, whose `profiles` are in its arena and `plain`. A batch longer than a log record is
 * split into pieces. LIMIT (memory, a single profile too long), NOMEM, BUSY (a new service of a
 * tenant that has reached its limit of series: sf_series_cap_wait_s). */
enum sf_err sf_intake_profiles(const struct sf_intake_profiles *how, struct sf_batch *b,
                               struct sf_intake_profiles_result *out, struct sf_why *why);
/* The same for a batch that replay decoded from a record of kind SF_LOG_PROFILE_SENT. */
enum sf_err sf_intake_profiles_again(struct sf_batch *b, int64_t recv_ns, struct sf_why *why);
/* The hash by which a repeated request is recognised. */
uint64_t sf_intake_profiles_hash(uint32_t tenant, sf_str parameters, sf_bytes body);
