/* profile_select.h - which series a query selects: a profile type and label matchers. */
#pragma once
#include "block/profile/profile_block.h"
#include "store/store.h"

struct sf_regex;
struct sf_regex_scratch;

struct sf_profile_select {
    sf_str type[5];  /* parts of the id */
    unsigned n_type; /* 0: any; 3: any period */
    const struct sf_matcher *match;
    size_t n_match;
    struct sf_regex **regexes; /* of the matchers that have one */
    struct sf_regex_scratch *scratch;
    sf_str service; /* requested by name; empty: any */
};

/* INPUT: an invalid type or pattern; NOMEM. */
enum sf_err sf_profile_select_init(struct sf_profile_select *s, sf_str type,
                                   const struct sf_matcher *match, size_t n_match,
                                   struct sf_why *why);
void sf_profile_select_done(struct sf_profile_select *s); /* a zeroed one is fine */
bool sf_profile_select_is(const struct sf_profile_select *s,
                          const struct sf_profile_series *series);
/* Marks the series that match; those uploaded for single requests only if requested. False:
 * none. */
bool sf_profile_select_series(const struct sf_profile_select *s,
                              const struct sf_profile_series *series, uint32_t n, bool has_requests,
                              bool *out);
/* The value of a label, including __name__, __type__, __unit__, __period_type__, __period_unit__
 * and __service_name__. Empty: the series does not have it. `__profile_type__` is not one string:
 * see is(). */
sf_str sf_profile_select_label(const struct sf_profile_series *series, sf_str key);
/* The id of a profile; if it has none, one derived from series hash and time. */
sf_profile_id sf_profile_select_row_id(sf_str service, const struct sf_profile_series *series,
                                       const struct sf_profile_row *row);
