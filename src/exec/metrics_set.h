/* metrics_set.h - finished series, and what may still be done to them: second stages, arithmetic.
 *
 * Values that are not there are NaN; a series without any disappears. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/metrics_result.h"
#include "query/ast.h"

struct sf_metrics_set {
    struct sf_arena *req;
    uint32_t n_steps;
    struct sf_metric_series *list;
    uint32_t n, cap;
    bool is_number; /* of arithmetic: represents every series */
    double number;
    bool is_cut; /* `req` was full: series are missing */
};

/* A new series with these labels and up to one more (key empty: none), all copied; no values yet.
 * NULL, and is_cut, when there is no space. */
struct sf_metric_series *sf_metrics_set_add(struct sf_metrics_set *set, struct sf_attrs labels,
                                            struct sf_attr more);
void sf_metrics_set_drop_empty(struct sf_metrics_set *set);
/* By number of labels, then label by label: name, value. */
void sf_metrics_set_sort(struct sf_metrics_set *set);
int sf_metrics_set_labels_compare(struct sf_attrs x, struct sf_attrs y);
enum sf_err sf_metrics_set_second(struct sf_metrics_set *set, const struct sf_second *s,
                                  struct sf_why *why);
/* Series are paired by their labels; `l` and `r` are used up. */
enum sf_err sf_metrics_set_combine(enum sf_expr_op op, struct sf_metrics_set *l,
                                   struct sf_metrics_set *r, struct sf_metrics_set *out,
                                   struct sf_why *why);
