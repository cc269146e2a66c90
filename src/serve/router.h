/* router.h - from a request to its handler: one table, every call on every address.
 *
 * Headers come first: path, method, content type, token, tenant and whether there is space for the
 * work are all settled before a body is read. Then the whole request goes to the thread its class
 * names. */
#pragma once
#include "listen/listener.h"
#include "serve/call.h"

/* Settles everything that needs no body. True: continue. False: the answer is filled. Looks at
 * nothing but the request; `call` must be zeroed. */
bool sf_router_admit(struct sf_service *service, const struct sf_request *request,
                     struct sf_response *response, struct sf_call *call);

/* The listener's hooks; `arg` is the service. */
bool sf_router_on_headers(void *arg, struct sf_exchange *ex);
/* Bodies are as long as limits.body says, but for debug files. */
uint64_t sf_router_max_body(void *arg, const struct sf_request *request);
void sf_router_on_request(void *arg, struct sf_exchange *ex);
void sf_router_on_fault(void *arg, enum sf_listen_fault kind, const char *reason, const char *peer);
void sf_router_on_refuse(void *arg, const struct sf_request *request, struct sf_response *response,
                         const char *reason);
/* A thread's work: one exchange taken from a queue, to its end. */
void sf_router_run(struct sf_exchange *ex, struct sf_worker *worker);
/* The same for the next call of a lane, which it waits for; false: the lane is closed. */
bool sf_router_run_next(struct sf_lane *lane, struct sf_worker *worker);

unsigned sf_router_place(const struct sf_route *route); /* for the counters; 0: no route */
const char *sf_router_label(const struct sf_route *route);
int sf_router_http_of_grpc(int grpc_status);
