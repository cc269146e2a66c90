/* call.h - one request on its way through a handler. Lives in its exchange. */
#pragma once
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
    SF_CLASS_QUERY,   /* any other question: needs a query thread and a store */
    SF_CLASS_CONTROL, /* its own thread: must answer when everything else is busy */
};

struct sf_route {
    enum sf_method method; /* POST for gRPC */
    const char *path;      /* "/api/traces/{}": {} is one segment, given as call->arg; {*} may
                            * hold slashes, as names of attributes do */
    unsigned scope;        /* SF_MAY_ bit; 0: anybody */
    enum sf_route_class class;
    bool is_grpc;
    bool is_otlp; /* errors as google.rpc.Status; protobuf and JSON bodies only */
    bool has_tenant;
    /* True: the answer is filled. False: sf_call_finish() was or will be called by the handler. */
    bool (*handle)(struct sf_call *call, struct sf_worker *worker);
    /* Query parameters it knows, blanks between them, a star behind those that may come several
     * times, "=json|text" behind those with few values. NULL: a call of a compatible API, which
     * decides itself. */
    const char *params;
    /* POINT: is this a query about many things after all? May be NULL. */
    bool (*is_wide)(const struct sf_call *call);
    /* Of a call in the shape of others: the parameters it reads, as above; what else is there is
     * passed over and counted. NULL: every name may be one. */
    const char *reads;
    /* Of such a call: parameters that change the answer where they are known, and are not here. */
    const char *refuses;
    bool is_loose;   /* parameters that are unknown or empty are passed over: what people copied
                      * from elsewhere works */
    bool needs_json; /* wants application/json, which no form of a page can send */
};

struct sf_call {
    struct sf_service *service;
    struct sf_exchange *ex;
    const struct sf_request *request;
    struct sf_response *response;
    const struct sf_route *route;             /* NULL: none matched */
    sf_str arg;                               /* what {} matched; borrowed from the request */
    sf_str tenant;                            /* checked header; "single-tenant" without tenancy */
    char own_tenant[SF_LIMIT_TENANT_LEN + 1]; /* the caller's only one, when they named none */
    char caller[66];                          /* whose word it is, for the log */
    enum sf_error_form form;
    int64_t started_ns; /* monotonic */
    int64_t whole_ns;   /* likewise: when all of the body had come */
    uint64_t n_spans;   /* of an export, for the counters when it is durable */
    struct sf_ticket ticket;
    bool has_large_turn;          /* see serve/large_turn.h */
    bool has_query_place;         /* among its tenant's queries: see intake/quota.h */
    struct sf_call *next_parked;  /* guarded by the turns' mutex */
    int64_t answer_until_ns;      /* see serve/long_answer.h */
    bool is_answer_begun;         /* its first piece is on its way */
    struct sf_lane_client client; /* for its share of a lane */
    struct sf_call *next_in_lane; /* guarded by the lane's lock */
    struct sf_naming naming;      /* code without names in the answer */
    struct sf_unread unread;      /* what could not be read for it */
    uint64_t capture;             /* see serve/own/control.h; 0: none was begun */
};
_Static_assert(sizeof(struct sf_call) <= SF_EXCHANGE_USER_LEN, "a call fits its exchange");

/* Counts the request and hands the exchange back. Nothing of it may be touched afterwards. */
void sf_call_finish(struct sf_call *call);
/* Tells what could not be read, before the answer is on its way. */
void sf_call_say_unread(const struct sf_call *call);
/* Fills the answer with an error and counts why. Returns true, so that a handler may end with
 * `return sf_call_fail(...)`. */
bool sf_call_fail(struct sf_call *call, enum sf_err err, const struct sf_why *why);
bool sf_call_refuse(struct sf_call *call, enum sf_count reason, struct sf_outcome status,
                    const char *sentence);
/* 200 with that type; the body is the caller's to write. */
void sf_call_ok(struct sf_call *call, const char *content_type);
/* When a search returns as many traces as the limit (given or default), a header reports that older
 * ones may match. */
void sf_call_note_limit(struct sf_call *call, uint64_t limit, uint32_t n_traces);
/* The body of a call that takes a few kilobytes of text, as it came. UNSUPPORTED: it is compressed;
 * LIMIT: it is longer than `max_len`, and `what` is the sentence's subject. */
enum sf_err sf_call_body(struct sf_call *call, size_t max_len, const char *what, sf_str *out,
                         struct sf_why *why);
/* What the store needs to know of this call. `tenants` has space for SF_TENANTS_MAX. LIMIT, NOMEM
 * or whatever finding the tenants gave. */
enum sf_err sf_call_query(struct sf_call *call, struct sf_worker *worker, uint32_t *tenants,
                          struct sf_query_ctx *out, struct sf_why *why);
/* The same without a call: for the server's own queries, whose time begins now. */
enum sf_err sf_call_query_own(struct sf_service *s, sf_str tenant, const atomic_bool *cancel,
                              struct sf_worker *worker, uint32_t *tenants, struct sf_query_ctx *out,
                              struct sf_why *why);
/* NOT_FOUND: none of the call's tenants has ever sent anything. */
enum sf_err sf_call_check_data(const struct sf_query_ctx *q, struct sf_why *why);
