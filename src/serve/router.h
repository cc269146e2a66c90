/* router.h - finds the handler of a request; every call is served on every address.
 *
 * Path, method, content type, token, tenant and load are all checked before the body is read. Then
 * the whole request goes to a thread of the route's class. */
#pragma once
#include "listen/listener.h"
#include "serve/call.h"

/* Makes all checks that need no body. True: continue. False: the answer is filled. Uses the request
 * only; `call` must be zeroed. */
bool sf_router_admit(struct sf_service *service, const struct sf_request *request,
                     struct sf_response *response, struct sf_call *call);

/* The listener's hooks; `arg` is the service. */
bool sf_router_on_headers(void *arg, struct sf_exchange *ex);
/* The limit is limits.body, except for debug files. */
uint64_t sf_router_max_body(void *arg, const struct sf_request *request);
void sf_router_on_request(void *arg, struct sf_exchange *ex);
void sf_router_on_fault(void *arg, enum sf_listen_fault kind, const char *reason, const char *peer);
void sf_router_on_refuse(void *arg, const struct sf_request *request, struct sf_response *response,
                         const char *reason);
/* Work of a thread: processes one exchange taken from a queue. */
void sf_router_run(struct sf_exchange *ex, struct sf_worker *worker);
/* Waits for the next call of a lane and processes it; false: the lane is closed. */
bool sf_router_run_next(struct sf_lane *lane, struct sf_worker *worker);

unsigned sf_router_place(const struct sf_route *route); /* index for the counters; 0: no route */
const char *sf_router_label(const struct sf_route *route);
int sf_router_http_of_grpc(int grpc_status);
