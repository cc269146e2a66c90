/* link_beside.h - samples without an id, of a process that also has samples with span ids.
 *
 * Either the process tags every span, and samples without an id belong to no request; or its
 * profiler tags only the first span of a request and loses the tag while the request runs. The
 * samples with a span id tell which: if one names a span below another span of its process, every
 * span is tagged. */
#pragma once
#include "join/link_spans.h"
#include "link/attribution.h"

struct sf_link_beside {
    struct sf_arena *req;
    sf_span_id *names; /* ids of spans that samples name, of all requests at that time */
    uint32_t n, cap;
    bool is_of_several; /* several processes that profiles do not distinguish ran at that time */
};

/* Adds a name. False: no space. Rows of a span are adjacent. */
bool sf_link_beside_name(struct sf_link_beside *b, sf_span_id id);
/* Does the sample have a time and a thread, but no id of a request? */
bool sf_link_beside_takes(const struct sf_link_sample *s);
/* Is one of the named spans below another span of its process? Sorts the names. */
bool sf_link_beside_names_below(struct sf_link_beside *b, const struct sf_link_spans *l,
                                uint32_t n_spans, uint64_t process);
/* Do attributes of the process's spans say that every span's samples carry its id? Uses a little of
 * `req`. */
bool sf_link_beside_says_all(const struct sf_link_spans *l, uint64_t process, struct sf_arena *req);
