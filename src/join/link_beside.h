/* link_beside.h - samples without an id, of a process of which others name spans.
 *
 * Either the process tags every span, and samples without an id belong to no request; or its
 * profiler tags the first span of a request and loses the tag while the request runs. Which of the
 * two is seen from the samples that do name a span: one that names a span below another of its
 * process is the former's. */
#pragma once
#include "join/link_spans.h"
#include "link/attribution.h"

struct sf_link_beside {
    struct sf_arena *req;
    sf_span_id *names; /* of spans that samples name, of all requests meanwhile */
    uint32_t n, cap;
    bool is_of_several; /* processes that profiles do not tell apart ran meanwhile */
};

/* False: no space. Rows of a span follow each other. */
bool sf_link_beside_name(struct sf_link_beside *b, sf_span_id id);
/* Does it say when and on which thread, and nothing of a request? */
bool sf_link_beside_takes(const struct sf_link_sample *s);
/* Is one of the names that of a span below another of its process? Sorts the names. */
bool sf_link_beside_names_below(struct sf_link_beside *b, const struct sf_link_spans *l,
                                uint32_t n_spans, uint64_t process);
/* Do spans of the process say that every one's samples carry its id? `req` is used up a little. */
bool sf_link_beside_says_all(const struct sf_link_spans *l, uint64_t process, struct sf_arena *req);
