/* tags_ask.h - reads a request for attribute names or values from query parameters or a message. */
#pragma once
#include "base/buf.h"
#include "exec/tags.h"
#include "http/request.h"
#include "render/tags_result.h"

struct sf_tags_ask { /* initialise `form`, zero the rest */
    enum sf_tags_form form;
    enum sf_attr_scope scope;  /* for a list of names */
    struct sf_query_attr attr; /* for a list of values */
    struct sf_tags tags;       /* complete except for its scratch memory */
    uint64_t n_unknown;        /* unknown fields of the message */
};

bool sf_tags_ask_is_names(enum sf_tags_form form);
/* `tag` is the attribute in the path; empty for names. Texts are in `req`. Fails with INPUT, worded
 * as Tempo does. */
enum sf_err sf_tags_ask_params(const struct sf_request *r, sf_str tag, struct sf_arena *req,
                               struct sf_tags_ask *out, struct sf_why *why);
/* Reads a SearchTagsRequest or SearchTagValuesRequest, depending on the form. `message` must
 * outlive the query. */
enum sf_err sf_tags_ask_message(sf_bytes message, struct sf_arena *req, struct sf_tags_ask *out,
                                struct sf_why *why);
