/* label_selector.h - {service_name="x", env=~"prod|test"}: which series are meant. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/select.h"

struct sf_label_selector {
    struct sf_matcher *list;
    size_t n, cap;
};

/* Adds the matchers of `text` to `io`; empty text is {}. A name in front is a matcher of __name__,
 * or of __profile_type__ when it has four colons. Lists and unescaped values in `req`. INPUT with
 * the place, LIMIT. */
enum sf_err sf_label_selector_parse(sf_str text, struct sf_arena *req, struct sf_label_selector *io,
                                    struct sf_why *why);
