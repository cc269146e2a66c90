/* multipart.h - iterates over the parts of a multipart/form-data body, as views into it.
 *
 * Lenient where clients differ (a preamble, LF for CRLF in headers), strict where data could be
 * lost: a part without its closing boundary is an error. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct sf_multipart {
    sf_str rest;
    sf_str boundary; /* without the leading "--" */
    bool is_begun;
    enum sf_err err;
    struct sf_why why;
};

struct sf_multipart_part {
    sf_str name, file_name; /* file_name.p is NULL: none was given */
    sf_str content;
};

/* `content_type` with its parameters. INPUT: no usable boundary. */
enum sf_err sf_multipart_init(struct sf_multipart *m, sf_str content_type, sf_str body,
                              struct sf_why *why);
/* False at the end and on an error; `err` says which. */
bool sf_multipart_next(struct sf_multipart *m, struct sf_multipart_part *out);
