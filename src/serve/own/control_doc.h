/* control_doc.h - profiling settings for collectors: one document per target, as users write it and
 * as collectors read it. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/json_write.h"

enum sf_control_field { /* the members that a document sets; others come from other documents or the
                         * collector's defaults */
                        SF_CONTROL_ENABLED = 1,
                        SF_CONTROL_CPU = 2,
                        SF_CONTROL_WALL = 4,
                        SF_CONTROL_BUDGET = 8,
                        SF_CONTROL_CONDITIONS = 16
};

/* Members of profiling.conditional: for which requests samples carry span ids. */
enum { SF_CONTROL_N_CONDITIONS = 6, SF_CONTROL_CONDITION_CAP = 24 };

struct sf_control_doc {
    unsigned has; /* bits of enum sf_control_field */
    bool is_enabled;
    uint32_t cpu_hz, wall_hz;
    uint32_t budget_per_10000;
    int64_t cpu_until_ms, wall_until_ms; /* unix time when a rate expires; 0: never */
    /* As written in a configuration, checked; empty: not given. */
    char conditions[SF_CONTROL_N_CONDITIONS][SF_CONTROL_CONDITION_CAP];
};

struct sf_json; /* wire/json.h */
/* Reads the object of conditions; errors name the member. */
void sf_control_doc_read_conditions(struct sf_json *j, struct sf_control_doc *out);
void sf_control_doc_write_conditions(const struct sf_control_doc *d, struct sf_json_writer *j);

/* A document in JSON: enabled, rate {cpu, wall}, budget, for. Rates above the collectors' defaults
 * expire after `for`: ten minutes by default, an hour at most. INPUT names the key. */
enum sf_err sf_control_doc_parse(sf_str json, int64_t now_ms, struct sf_arena *req,
                                 struct sf_control_doc *out, struct sf_why *why);
/* Members set in `over` replace those of `under`. */
void sf_control_doc_put_over(struct sf_control_doc *under, const struct sf_control_doc *over);
void sf_control_doc_end_rates(struct sf_control_doc *d, int64_t now_ms); /* removes the rates that
                                                                          * have expired */
/* When the first of its rates expires, unix time; 0: never. */
int64_t sf_control_doc_next_end(const struct sf_control_doc *d);
/* Writes the members into an open object. */
void sf_control_doc_write(const struct sf_control_doc *d, struct sf_json_writer *j);
/* One line per member, for collectors: "rate.cpu 200". */
void sf_control_doc_print(const struct sf_control_doc *d, struct sf_buf *out);
