/* call.h - one request on its way through a handler. Lives in its exchange. */
#pragma once
#include "intake/shed_detail.h"
#include "listen/exchange.h"
#include "serve/lane.h"
#include "serve/service.h"
#include "serve/status.h"

struct sf_call;

enum sf_route_class {
    SF_CLASS_INLINE,  /* answered on the loop: no waiting, no store */
    SF_CLASS_INGEST,  /* needs an ingest thread and a store that takes writes */
    SF_CLASS_DISCARD, /* needs an ingest thread to read the body, and no store */
    SF_CLASS_POINT,   /* a query about one thing: needs a point thread and a store */
    SF_CLASS_QUERY,   /* any other query: needs a query thread and a store */
    SF_CLASS_CONTROL, /* runs on its own thread, so that it is answered when all others are busy */
};

struct sf_route {
    enum sf_method method; /* POST for gRPC */
    const char *path;      /* "/api/traces/{}": {} is one segment, given as call->arg; {*} may
                            * hold slashes, as names of attributes do */
    unsigned scope;        /* SF_MAY_ bit; 0: no permission needed */
    enum sf_route_class class;
    bool is_grpc;
    bool is_otlp; /* errors as google.rpc.Status; protobuf and JSON bodies only */
    bool has_tenant;
    /* True: the answer is filled. False: sf_call_finish() was or will be called by the handler. */
    bool (*handle)(struct sf_call *call, struct sf_worker *worker);
    /* Known query parameters, separated by blanks; a star marks one that may be repeated,
     * "=json|text" lists the allowed values. NULL: a call of a compatible API, which checks its
     * parameters itself. */
    const char *params;
    /* POINT: does this query read much data, so that it belongs on a query thread? May be NULL. */
    bool (*is_wide)(const struct sf_call *call);
    /* For a call of a compatible API: the parameters it reads, as above; others are ignored and
     * counted. NULL: any name is accepted. */
    const char *reads;
    /* For such a call: parameters that would change the answer of the original server and are not
     * supported here. */
    const char *refuses;
    bool is_loose;   /* ignores unknown and empty parameters, so that links copied from elsewhere
                      * work */
    bool needs_json; /* requires application/json, which an HTML form cannot send */
};

struct sf_call {
    struct sf_service *service;
    struct sf_exchange *ex;
    const struct sf_request *request;
    struct sf_response *response;
    const struct sf_route *route;             /* NULL: none matched */
    sf_str arg;                               /* what {} matched; borrowed from the request */
    sf_str tenant;                            /* checked header; "single-tenant" without tenancy */
    char own_tenant[SF_LIMIT_TENANT_LEN + 1]; /* the caller's only tenant, when the request named
                                               * none */
    char caller[66];                          /* name of the caller, for the log */
    enum sf_error_form form;
    int64_t started_ns;         /* monotonic */
    int64_t whole_ns;           /* monotonic time when the body was complete */
    uint64_t n_spans;           /* of an export: counted when it is durable */
    struct sf_shed_counts shed; /* of a profile: counted and reported when it is durable */
    struct sf_ticket ticket;
    bool has_large_turn;          /* see serve/large_turn.h */
    bool has_query_place;         /* counted in its tenant's running queries: see intake/quota.h */
    struct sf_call *next_parked;  /* guarded by the turns' mutex */
    int64_t answer_until_ns;      /* see serve/long_answer.h */
    bool is_answer_begun;         /* the first part of the answer was sent */
    struct sf_lane_client client; /* identifies the client for its share of a lane */
    struct sf_call *next_in_lane; /* guarded by the lane's lock */
    struct sf_naming naming;      /* counts the frames of the answer that came without names */
    struct sf_unread unread;      /* data that could not be read for the answer */
    uint64_t capture;             /* see serve/own/control.h; 0: no capture was started */
};
_Static_assert(sizeof(struct sf_call) <= SF_EXCHANGE_USER_LEN, "a call fits its exchange");

/* Counts the request and gives the exchange back. The call must not be used afterwards. */
void sf_call_finish(struct sf_call *call);
/* Adds headers that say which data could not be read; before the answer is sent. */
void sf_call_say_unread(const struct sf_call *call);
/* Fills the answer with an error and counts why. Returns true, so that a handler may end with
 * `return sf_call_fail(...)`. */
bool sf_call_fail(struct sf_call *call, enum sf_err err, const struct sf_why *why);
/* What was not found may be on a shard that did not answer: then NOT_FOUND becomes IO, which is
 * 503, and `why` (not NULL) says so. Other errors are returned unchanged. sf_call_fail() does the
 * same. */
enum sf_err sf_call_unknown(const struct sf_call *call, enum sf_err err, struct sf_why *why);
bool sf_call_refuse(struct sf_call *call, enum sf_count reason, struct sf_outcome status,
                    const char *sentence);
/* Sets 200 and the content type; the caller writes the body. */
void sf_call_ok(struct sf_call *call, const char *content_type);
/* When a search returns as many traces as the limit (given or default), a header reports that older
 * ones may match. */
void sf_call_note_limit(struct sf_call *call, uint64_t limit, uint32_t n_traces);
/* The body of a call that takes a few kilobytes of text, unchanged. UNSUPPORTED: it is compressed;
 * LIMIT: it is longer than `max_len`. `what` is the subject of the error message. */
enum sf_err sf_call_body(struct sf_call *call, size_t max_len, const char *what, sf_str *out,
                         struct sf_why *why);
/* Fills the query context for the store. `tenants` has space for SF_TENANTS_MAX. Fails with LIMIT,
 * NOMEM or the error of the tenant lookup. */
enum sf_err sf_call_query(struct sf_call *call, struct sf_worker *worker, uint32_t *tenants,
                          struct sf_query_ctx *out, struct sf_why *why);
/* The same without a call: for the server's own queries, whose time limit begins now. */
enum sf_err sf_call_query_own(struct sf_service *s, sf_str tenant, const atomic_bool *cancel,
                              struct sf_worker *worker, uint32_t *tenants, struct sf_query_ctx *out,
                              struct sf_why *why);
/* NOT_FOUND: none of the call's tenants has ever sent anything. */
enum sf_err sf_call_check_data(const struct sf_query_ctx *q, struct sf_why *why);
