/* split.h - reads the quantile that separates slow spans from the others: "p95". */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* "p95" is 0.95. INPUT: it is not a quantile. */
enum sf_err sf_split_read(sf_str text, double *out, struct sf_why *why);
