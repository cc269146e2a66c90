/* label_selector.h - {service_name="x", env=~"prod|test"}: which series are meant. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/select.h"

struct sf_label_selector {
    struct sf_matcher *list;
    size_t n, cap;
};

/* What people type: order-service{env=prod}. The name in front is a service (or a type, when it has
 * colons), values need no quotes, names of labels may have dots and dashes. Otherwise as below. */
enum sf_err sf_label_selector_parse_loose(sf_str text, struct sf_arena *req,
                                          struct sf_label_selector *io, struct sf_why *why);
/* {a="b",c=~"d"}: what the strict grammar reads back. */
void sf_label_selector_render(const struct sf_label_selector *s, struct sf_buf *out);
/* Adds the matchers of `text` to `io`; empty text is {}. A name in front is a matcher of __name__,
 * or of __profile_type__ when it has four colons. Lists and unescaped values in `req`. INPUT with
 * the place, LIMIT. */
enum sf_err sf_label_selector_parse(sf_str text, struct sf_arena *req, struct sf_label_selector *io,
                                    struct sf_why *why);
