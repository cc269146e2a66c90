/* querier_question.h - writes requests to Pyroscope's API in JSON, from a selector as users type it
 * and a time range. */
#pragma once
#include "cli/client.h"
#include "query/label_selector.h"
#include "wire/json_write.h"

struct sf_querier_question {
    const struct sf_client *client;
    const char *selector;      /* as typed; NULL: all */
    const char *range;         /* as for sf_profile_source_time_range() */
    int64_t from_ns, until_ns; /* set by begin unless given */
    struct sf_label_selector labels;
    struct sf_buf body;
    struct sf_json_writer w;
};

/* Opens the object and writes start and end. INPUT. */
enum sf_err sf_querier_question_begin(struct sf_querier_question *q, struct sf_arena *req,
                                      struct sf_why *why);
/* Writes the selector in Pyroscope's strict syntax. */
void sf_querier_question_selector(struct sf_querier_question *q, const char *key, bool is_list);
/* Calls `method` of the querier; frees the question, `out` is the caller's. */
enum sf_err sf_querier_question_ask(struct sf_querier_question *q, const char *method,
                                    struct sf_buf *out, struct sf_why *why);
