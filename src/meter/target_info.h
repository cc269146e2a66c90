/* target_info.h - one gauge per resource that sends spans, with its attributes as labels, so that a
 * query can join span metrics with them by job and instance.
 *
 * Two steps, as with the other metrics from spans: an ingest thread collects the resources of a
 * request in its arena, and adds them once the store has the spans. Any thread. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "meter/exposition.h"
#include "model/span.h"

struct sf_target {
    uint64_t hash;
    sf_str labels; /* names and values alternately, each followed by a zero byte */
    struct sf_target *next;
};

struct sf_target_tally { /* zeroed before the first batch of a request */
    struct sf_target *first;
    uint32_t n;
    uint64_t n_over; /* resources left out: too many in one request */
};

struct sf_target_info;

struct sf_target_info *sf_target_info_new(uint32_t max_targets); /* 0: SF_LIMIT_METER_TARGETS */
void sf_target_info_free(struct sf_target_info *t);              /* NULL is fine */
/* False when the arena is full: then `tally` must not be used. */
bool sf_target_info_tally_add(struct sf_target_tally *tally, const struct sf_span_batch *batch,
                              int64_t now_ns, struct sf_arena *req);
void sf_target_info_add(struct sf_target_info *t, sf_str tenant,
                        const struct sf_target_tally *tally, int64_t now_ns);
/* Drops resources not seen for 15 minutes, then writes the rest. */
void sf_target_info_render(struct sf_target_info *t, int64_t now_ns, struct sf_exposition *e);

/* The values of job ("namespace/name", or the name) and instance, each with a zero byte. */
void sf_target_info_add_names(struct sf_buf *out, struct sf_attrs resource);
