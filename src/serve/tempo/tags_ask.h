/* tags_ask.h - what completion requests, out of query parameters or a message. */
#pragma once
#include "base/buf.h"
#include "exec/tags.h"
#include "http/request.h"
#include "render/tags_result.h"

struct sf_tags_ask { /* `form` set, the rest zero */
    enum sf_tags_form form;
    enum sf_attr_scope scope;  /* of names */
    struct sf_query_attr attr; /* of values */
    struct sf_tags tags;       /* all but its scratch */
    uint64_t n_unknown;        /* fields of the message that are not known here */
};

bool sf_tags_ask_is_names(enum sf_tags_form form);
/* `tag` is the attribute that a path names; empty for names. What was read lives in `req`. INPUT
 * with a sentence clients know. */
enum sf_err sf_tags_ask_params(const struct sf_request *r, sf_str tag, struct sf_arena *req,
                               struct sf_tags_ask *out, struct sf_why *why);
/* SearchTagsRequest or SearchTagValuesRequest, by the form. `message` outlives the query. */
enum sf_err sf_tags_ask_message(sf_bytes message, struct sf_arena *req, struct sf_tags_ask *out,
                                struct sf_why *why);
