/* label_selector.h - {service_name="x", env=~"prod|test"}: selects series. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/select.h"

struct sf_label_selector {
    struct sf_matcher *list;
    size_t n, cap;
};

/* The form that users type: order-service{env=prod}. The name before the brace is a service (or a
 * type, when it has colons), values need no quotes, names of labels may have dots and dashes.
 * Otherwise as below. */
enum sf_err sf_label_selector_parse_loose(sf_str text, struct sf_arena *req,
                                          struct sf_label_selector *io, struct sf_why *why);
/* Writes {a="b",c=~"d"}, which the strict grammar can parse. */
void sf_label_selector_render(const struct sf_label_selector *s, struct sf_buf *out);
/* Adds the matchers of `text` to `io`; empty text is {}. A name before the brace is a matcher of
 * __name__, or of __profile_type__ when it has four colons. Lists and unescaped values are in
 * `req`. INPUT with the position, LIMIT. */
enum sf_err sf_label_selector_parse(sf_str text, struct sf_arena *req, struct sf_label_selector *io,
                                    struct sf_why *why);
