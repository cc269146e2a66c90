/* trace_flame.h - makes the flame graph of a whole trace from the store. */
#pragma once
#include "join/link_set.h"
#include "model/answer/trace_flame.h"

enum sf_trace_flame_by {
    SF_TRACE_FLAME_SAMPLES,
    SF_TRACE_FLAME_WALL,    /* each span's own time */
    SF_TRACE_FLAME_CRITICAL /* each span's own time on the critical path */
};

/* "samples", "wall", "critical-path"; empty is samples. INPUT lists these words. */
enum sf_err sf_trace_flame_parse(sf_str word, enum sf_trace_flame_by *out, struct sf_why *why);

/* The result is in q->req. NOT_FOUND: no such trace or type. */
enum sf_err sf_trace_flame_make(struct sf_store *store, sf_trace_id trace, sf_str type,
                                enum sf_trace_flame_by by, struct sf_query_ctx *q,
                                struct sf_trace_flame_view *out, struct sf_why *why);
/* The same with the waits as frames (join/trace_time.h), from all types of profiles. INPUT: by
 * samples. */
enum sf_err sf_trace_flame_make_time(struct sf_store *store, sf_trace_id trace,
                                     enum sf_trace_flame_by by, struct sf_query_ctx *q,
                                     struct sf_trace_flame_view *out, struct sf_why *why);
