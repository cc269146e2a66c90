/* keep_state.h - what became of the samples of a trace, as JSON and in words. */
#pragma once
#include "model/keep_state.h"
#include "wire/json_write.h"

/* "keep": {...}. Nothing where everything is there. */
void sf_keep_state_json(const struct sf_keep_state *s, struct sf_json_writer *w);
/* The same also where everything is there. */
void sf_keep_state_json_always(const struct sf_keep_state *s, struct sf_json_writer *w);
void sf_keep_state_text(const struct sf_keep_state *s, struct sf_buf *out);
