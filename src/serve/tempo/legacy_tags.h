/* legacy_tags.h - searching as it was before TraceQL: `tags=service.name=shop error=true` with
 * minDuration and maxDuration, written as the TraceQL query that says the same.
 *
 * Every pair must hold somewhere in the trace, so each becomes a spanset of its own. Names that had
 * a column of their own are searched for as a part of the value, the others as the whole of it. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "http/request.h"

struct sf_legacy_tags {  /* a zeroed one is empty */
    struct sf_buf query; /* spansets so far */
    struct sf_buf keys;  /* of the pairs, each ended by a zero byte */
    uint32_t n_pairs;
    int64_t min_ns, max_ns; /* of the trace; 0: none */
};

/* INPUT: a key twice, a value its key cannot have, too many pairs. */
enum sf_err sf_legacy_tags_add(struct sf_legacy_tags *t, sf_str key, sf_str val,
                               struct sf_why *why);
/* Pairs in logfmt: k=v k2="v 2". */
enum sf_err sf_legacy_tags_parse(struct sf_legacy_tags *t, sf_str text, struct sf_why *why);
/* The oldest form: unknown parameters are pairs. */
enum sf_err sf_legacy_tags_params(struct sf_legacy_tags *t, const struct sf_request *r,
                                  struct sf_why *why);
/* Appends the query; "{}" without conditions. */
void sf_legacy_tags_query(const struct sf_legacy_tags *t, struct sf_buf *out);
void sf_legacy_tags_done(struct sf_legacy_tags *t);
