/* querier_work.h - the state of one call to querier.v1.QuerierService. Shared by the files of its
 * methods and used by no others. */
#pragma once
#include "serve/pyroscope/querier_ask.h"
#include "wire/message.h"

struct sf_querier_work {
    struct sf_call *call;
    struct sf_arena *req;
    struct sf_store *store;
    struct sf_querier_ask *ask;
    struct sf_query_ctx q;
    struct sf_prof_query query; /* the query for the store */
    struct sf_message m;        /* the answer */
    bool is_estimate;           /* spans were requested that share samples with other spans */
    struct sf_why why;
};

typedef enum sf_err sf_querier_fn(struct sf_querier_work *x);

enum sf_querier_times {
    SF_QUERIER_TIMES_NONE,     /* the method has no times, or each side has its own */
    SF_QUERIER_TIMES_OPTIONAL, /* default: the last hour */
    SF_QUERIER_TIMES_REQUIRED
};

/* Does all the work of a handler: reads the request in any encoding, lets `answer` write the
 * message, and sends it or the error. */
bool sf_querier_work_run(struct sf_call *call, struct sf_worker *worker,
                         enum sf_querier_method method, enum sf_querier_times times,
                         sf_querier_fn *answer);

/* The query for the store, with times and ids. INPUT. */
enum sf_err sf_querier_work_query(struct sf_querier_ask *ask, enum sf_querier_times times,
                                  struct sf_prof_query *out, struct sf_why *why);

/* The filter for the requested stacks; NULL: all. The caller frees it after the query. INPUT. */
enum sf_err sf_querier_work_stacks(const struct sf_querier_ask *ask, struct sf_stack_filter **out,
                                   struct sf_why *why);

/* A label's value, also of labels derived from the profile type; empty: none. False: no memory. */
bool sf_querier_work_label(struct sf_arena *req, const struct sf_series *s, sf_str key,
                           sf_str *out);
/* The names of labels derived from the profile type. */
extern const sf_str sf_querier_own_names[];
enum { SF_QUERIER_OWN_NAMES = 7 };
/* Writes a set of labels as a list in that field. */
void sf_querier_work_write_labels(struct sf_message *m, uint32_t field,
                                  const struct sf_label_sets *sets, uint32_t set);

struct sf_querier_group { /* one series of an answer: a range of its points or dots */
    uint32_t number;      /* number of its label set */
    size_t first, n;
    double total;
};
/* Adds the next point to the last group, or begins another. */
void sf_querier_work_group_add(struct sf_querier_group *groups, size_t *n, uint32_t number,
                               size_t at, double value);
/* Sorts by total, largest first; ties by labels. Returns how many of `n` remain under `limit` (0:
 * all). */
size_t sf_querier_work_group_sort(struct sf_querier_group *groups, size_t n, int64_t limit);
/* Writes one element of a list of labels. */
void sf_querier_work_write_label(struct sf_message *m, uint32_t field, sf_str key, sf_str val);
