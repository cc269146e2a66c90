/* known.h - what of an answer is known, and what is an estimate. */
#pragma once
#include "model/answer/known.h"
#include "wire/json_writer.h"

/* Stands before every figure that is an estimate. */
#define SF_ESTIMATE_MARK "~"

/* "isEstimate" and "known", into an open object. */
void sf_known_json(const struct sf_known_view *k, struct sf_json_writer *w);
