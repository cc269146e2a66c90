/* profile_form.h - the output formats of a profile: drawings, files, JSON. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/answer/profile_view.h"

struct sf_profile_form {
    const char *name, *content_type;
    int as;          /* for the writer only */
    bool is_grouped; /* by function */
    bool is_packed;  /* compressed already */
};

/* Finds a format by name. A browser (is_page) gets "flamegraph" as an SVG. INPUT lists the
 * formats. */
enum sf_err sf_profile_form_find(sf_str name, bool is_page, const struct sf_profile_form **out,
                                 struct sf_why *why);
/* May group the view's tree in place. LIMIT or NOMEM. */
enum sf_err sf_profile_form_render(const struct sf_profile_form *form, struct sf_profile_view *v,
                                   struct sf_arena *req, struct sf_buf *out, struct sf_why *why);
