/* dimension.h - names and values of metric labels made from attributes.
 *
 * Several values are stored as one text, each followed by a zero byte, which values therefore
 * cannot contain. */
#pragma once
#include "base/buf.h"
#include "model/value.h"

enum { SF_DIMENSIONS = 8, SF_DIMENSION_LABEL_LEN = 72 };

/* Appends the text of a value and a zero byte. Lists and bytes are written as empty, like a missing
 * value. Truncated to 2,048 bytes, and at a zero byte. */
void sf_dimension_add(struct sf_buf *out, const struct sf_value *v);
/* "http.route" becomes http_route, preceded by `prefix`; a name that cannot begin a label, or is
 * one of `own` (n_own of them), gets the prefix "__". Truncated to fit. */
void sf_dimension_label(const char *prefix, sf_str key, const char *const *own, size_t n_own,
                        char out[SF_DIMENSION_LABEL_LEN]);
