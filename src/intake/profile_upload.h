/* profile_upload.h - the profiles of one request, from bytes to what the store takes.
 *
 * Each profile is unwrapped, decoded and finished by intake; together they are one chain of pieces,
 * logged and kept all or none. What was added borrows from the bytes and the hint until the chain
 * was given to the store. */
#pragma once
#include "decode/profile_format.h"
#include "intake/intake_profiles.h"

struct sf_intake_config;

struct sf_profile_upload {
    const struct sf_intake_config *config;
    struct sf_intake_tools *tools; /* of the calling thread */
    struct sf_series_cap *cap;
    struct sf_quota *quota; /* NULL: no limits of tenants */
    sf_str tenant_name;
    struct sf_shed_detail shed;
    bool is_over_series; /* a profile was refused with BUSY for this */
    uint32_t tenant;
    int64_t recv_ns;
    size_t max_len;                /* of one profile, inflated */
    uint64_t dup_hash;             /* of the request; 0: never taken for a repeat */
    struct sf_batch *first, *last; /* owned until taken */
    uint32_t n;
    struct sf_intake_profiles_result sum;
    struct sf_profile_drops drops; /* of all profiles, the first sentence of them */
};

/* One profile in any known format, plain or in one layer of gzip or zstd. INPUT, LIMIT,
 * UNSUPPORTED, NOMEM: the upload stays as it was. */
enum sf_err sf_profile_upload_add(struct sf_profile_upload *u, sf_str bytes,
                                  const struct sf_profile_hint *hint, struct sf_why *why);
struct sf_batch *sf_profile_upload_take(struct sf_profile_upload *u); /* NULL: nothing to keep */
void sf_profile_upload_done(struct sf_profile_upload *u);
/* Do repeats of these bytes mean the same profile again? Formats with a time of their own do. */
bool sf_profile_upload_is_dated(sf_str bytes);
