/* querier_question.h - queries of the command line to Pyroscope's calls: a selector as people
 * type it and a time, in JSON. */
#pragma once
#include "cli/client.h"
#include "query/label_selector.h"
#include "wire/json_write.h"

struct sf_querier_question {
    const struct sf_client *client;
    const char *selector;      /* as typed; NULL: all */
    const char *range;         /* as for sf_profile_source_time_range() */
    int64_t from_ns, until_ns; /* filled by begin, unless given */
    struct sf_label_selector labels;
    struct sf_buf body;
    struct sf_json_writer w;
};

/* Opens the object and writes start and end. INPUT. */
enum sf_err sf_querier_question_begin(struct sf_querier_question *q, struct sf_arena *req,
                                      struct sf_why *why);
/* The selector as the strict grammar has it. */
void sf_querier_question_selector(struct sf_querier_question *q, const char *key, bool is_list);
/* Asks `method` of the querier; the query is done afterwards, `out` is the caller's. */
enum sf_err sf_querier_question_ask(struct sf_querier_question *q, const char *method,
                                    struct sf_buf *out, struct sf_why *why);
