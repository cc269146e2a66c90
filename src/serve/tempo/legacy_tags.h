/* legacy_tags.h - Tempo's search parameters from before TraceQL (`tags=service.name=shop
 * error=true`, minDuration, maxDuration), translated into an equivalent TraceQL query.
 *
 * Every pair must match some span of the trace, so each becomes a spanset of its own. For names
 * that have a column of their own in Tempo the value is searched as a substring, for others it must
 * be equal. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "http/request.h"

struct sf_legacy_tags {  /* a zeroed struct is empty */
    struct sf_buf query; /* spansets so far */
    struct sf_buf keys;  /* keys of the pairs, each terminated by a zero byte */
    uint32_t n_pairs;
    int64_t min_ns, max_ns; /* duration of the trace; 0: no limit */
};

/* INPUT: a repeated key, an invalid value, too many pairs. */
enum sf_err sf_legacy_tags_add(struct sf_legacy_tags *t, sf_str key, sf_str val,
                               struct sf_why *why);
/* Pairs in logfmt: k=v k2="v 2". */
enum sf_err sf_legacy_tags_parse(struct sf_legacy_tags *t, sf_str text, struct sf_why *why);
/* The oldest form: every unknown parameter is a pair. */
enum sf_err sf_legacy_tags_params(struct sf_legacy_tags *t, const struct sf_request *r,
                                  struct sf_why *why);
/* Appends the query; "{}" without conditions. */
void sf_legacy_tags_query(const struct sf_legacy_tags *t, struct sf_buf *out);
void sf_legacy_tags_done(struct sf_legacy_tags *t);
