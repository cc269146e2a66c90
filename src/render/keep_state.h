/* keep_state.h - whether the samples of a trace were kept, as JSON and as text. */
#pragma once
#include "model/keep_state.h"
#include "wire/json_write.h"

/* Writes "keep": {...}; nothing if the hour was not evaluated yet, so that all samples are there.
 */
void sf_keep_state_json(const struct sf_keep_state *s, struct sf_json_writer *w);
/* The same, also if the hour was not evaluated yet. */
void sf_keep_state_json_always(const struct sf_keep_state *s, struct sf_json_writer *w);
void sf_keep_state_text(const struct sf_keep_state *s, struct sf_buf *out);
