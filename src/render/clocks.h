/* clocks.h - corrections of clocks that contradict each other, as JSON and as text. */
#pragma once
#include "base/buf.h"
#include "model/answer/clocks.h"
#include "wire/json_write.h"

/* Writes "clocks", and "moreClocks" if there are more, into an open object. */
void sf_clocks_json(const struct sf_clocks_view *v, struct sf_json_writer *w);
void sf_clocks_words(const struct sf_clocks_view *v, struct sf_buf *out); /* a line for each */
