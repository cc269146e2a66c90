/* status.h - error responses: HTTP status, gRPC status, retry delay, and the body in the caller's
 * format; all in one table. */
#pragma once
#include "base/err.h"
#include "http/request.h"

enum sf_error_form {
    SF_FORM_TEXT,      /* plain text, one sentence */
    SF_FORM_OTLP_PB,   /* google.rpc.Status */
    SF_FORM_OTLP_JSON, /* {"code":3,"message":"…"} */
    SF_FORM_GRPC,      /* trailers */
    SF_FORM_GRPC_WEB,  /* trailers in the body */
    SF_FORM_PYROSCOPE, /* {"code":"invalid_argument","message":"…"} */
    SF_FORM_CONNECT    /* the same, with the HTTP status that the protocol defines for the code */
};

struct sf_outcome {
    int http, grpc;
    unsigned retry_after_s; /* 0: retrying does not help */
};

/* The default status of an error. */
struct sf_outcome sf_status_of(enum sf_err err);
extern const struct sf_outcome sf_status_unauthenticated, sf_status_denied, sf_status_misdirected,
    sf_status_no_route, sf_status_bad_method, sf_status_content_type, sf_status_overloaded,
    sf_status_quota, sf_status_unavailable;

/* Fills the answer and discards its previous content. */
void sf_status_answer(struct sf_response *r, enum sf_error_form form, struct sf_outcome status,
                      const char *sentence);
void sf_status_fail(struct sf_response *r, enum sf_error_form form, enum sf_err err,
                    const struct sf_why *why);
