/* head.h - collects the head of one request, line by line or field by field.
 *
 * HTTP/1.1 and HTTP/2 both provide a method, a target and fields. They are validated here; the
 * first error is kept as the status to answer and a message. Views of the finished request borrow
 * from the head until it is reset. */
#pragma once
#include "http/request.h"

struct sf_head {
    struct sf_buf text;    /* all names and values, and the target */
    struct sf_buf places;  /* their offsets in it, while text may still be reallocated */
    struct sf_buf headers; /* struct sf_header, set at the end */
    size_t len, len_max;   /* bytes of fields so far, and maximum; 0: SF_LIMIT_HEADER_LEN */
    uint32_t n_fields;
    uint32_t method_off, method_len, target_off, target_len, authority_off, authority_len;
    int status; /* 0, or the status to answer */
    const char *reason;
};

void sf_head_done(struct sf_head *h);
void sf_head_reset(struct sf_head *h);                                /* keeps memory and len_max */
size_t sf_head_cap(const struct sf_head *h);                          /* memory held */
bool sf_head_fail(struct sf_head *h, int status, const char *reason); /* false, always */
bool sf_head_method(struct sf_head *h, sf_str method);
bool sf_head_target(struct sf_head *h, sf_str target); /* origin or absolute form, or "*" */
bool sf_head_authority(struct sf_head *h, sf_str authority);
/* Checks and adds one field; the name becomes lower case, the value is trimmed. */
bool sf_head_field(struct sf_head *h, sf_str name, sf_str val);
/* Checks a field that is not kept (trailers). */
bool sf_head_check_field(struct sf_head *h, sf_str name, sf_str val);
/* To be called when all is added: fills the parts of `out` that come from the head. */
bool sf_head_finish(struct sf_head *h, struct sf_request *out);

/* Whether a comma-separated list such as Connection's contains that (lower-case) word. */
bool sf_head_list_has(sf_str list, sf_str word);
