/* profile_form.h - the forms in which a profile is given out: drawings, files, JSON. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/answer/profile_view.h"

struct sf_profile_form {
    const char *name, *content_type;
    int as;          /* the writer's business */
    bool is_grouped; /* by function */
    bool is_packed;  /* compressed already */
};

/* A browser (is_page) gets "flamegraph" as a drawing of its own. INPUT names the forms there are.
 */
enum sf_err sf_profile_form_find(sf_str name, bool is_page, const struct sf_profile_form **out,
                                 struct sf_why *why);
/* May group the view's tree in place. LIMIT or NOMEM. */
enum sf_err sf_profile_form_render(const struct sf_profile_form *form, struct sf_profile_view *v,
                                   struct sf_arena *req, struct sf_buf *out, struct sf_why *why);
