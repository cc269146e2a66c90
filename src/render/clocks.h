/* clocks.h - what was done about hosts whose clocks contradict each other, as JSON and in words. */
#pragma once
#include "base/buf.h"
#include "model/answer/clocks.h"
#include "wire/json_write.h"

/* "clocks", and "moreClocks" when there are more, into an open object. */
void sf_clocks_json(const struct sf_clocks_view *v, struct sf_json_writer *w);
void sf_clocks_words(const struct sf_clocks_view *v, struct sf_buf *out); /* a line for each */
