/* compare_mix.h - how much of a difference in duration is there because the two sets consist of
 * other spans: with the mean durations of each name unchanged, and only the shares of the names
 * as they are. */
#pragma once
#include "join/span_set.h"
#include "model/answer/comparison.h"

/* `out->ns` is 0 if no name's share differs by more than chance, or names make no difference. */
void sf_compare_mix(const struct sf_span_set *left, const struct sf_span_set *right,
                    struct sf_comparison_mix *out);
