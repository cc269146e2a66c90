/* profile_upload.h - converts the profiles of one request to batches for the store.
 *
 * Each profile is decompressed, decoded and completed by intake; together they are one chain of
 * pieces, which is logged and stored completely or not at all. Profiles borrow from the bytes and
 * the hint until the chain was given to the store. */
#pragma once
#include "decode/profile_format.h"
#include "intake/intake_profiles.h"

struct sf_intake_config;

struct sf_profile_upload {
    const struct sf_intake_config *config;
    struct sf_intake_tools *tools; /* of the calling thread */
    struct sf_series_cap *cap;
    struct sf_quota *quota; /* NULL: no limits for tenants */
    sf_str tenant_name;
    struct sf_shed_detail shed;
    bool is_over_series; /* a profile was refused with BUSY for this reason */
    uint32_t tenant;
    int64_t recv_ns;
    size_t max_len;                /* maximum length of one decompressed profile */
    uint64_t dup_hash;             /* hash of the request; 0: never treated as a repeat */
    struct sf_batch *first, *last; /* owned until taken */
    uint32_t n;
    struct sf_intake_profiles_result sum;
    struct sf_profile_drops drops; /* of all profiles, with the first message */
};

/* Adds one profile in any known format, uncompressed or in one layer of gzip or zstd. INPUT, LIMIT,
 * UNSUPPORTED, NOMEM: the upload is unchanged. */
enum sf_err sf_profile_upload_add(struct sf_profile_upload *u, sf_str bytes,
                                  const struct sf_profile_hint *hint, struct sf_why *why);
struct sf_batch *sf_profile_upload_take(struct sf_profile_upload *u); /* NULL: nothing to store */
void sf_profile_upload_done(struct sf_profile_upload *u);
/* Whether the same bytes again are the same profile, as in formats that contain a time. */
bool sf_profile_upload_is_dated(sf_str bytes);
