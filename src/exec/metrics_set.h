/* metrics_set.h - finished series, second stages and arithmetic.
 *
 * Missing values are NaN; a series without values is dropped. */
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
    bool is_number; /* an operand of arithmetic that applies to every series */
    double number;
    bool is_cut; /* `req` was full: series are missing */
};

/* Adds a series with these labels and optionally one more (key empty: none), all copied; without
 * values yet. NULL, with is_cut set, if there is no space. */
struct sf_metric_series *sf_metrics_set_add(struct sf_metrics_set *set, struct sf_attrs labels,
                                            struct sf_attr more);
void sf_metrics_set_drop_empty(struct sf_metrics_set *set);
/* Sorts by number of labels, then label by label: name, value. */
void sf_metrics_set_sort(struct sf_metrics_set *set);
int sf_metrics_set_labels_compare(struct sf_attrs x, struct sf_attrs y);
enum sf_err sf_metrics_set_second(struct sf_metrics_set *set, const struct sf_second *s,
                                  struct sf_why *why);
/* Pairs series by their labels; `l` and `r` cannot be used afterwards. */
enum sf_err sf_metrics_set_combine(enum sf_expr_op op, struct sf_metrics_set *l,
                                   struct sf_metrics_set *r, struct sf_metrics_set *out,
                                   struct sf_why *why);
