/* long_answer.h - an answer that goes out while it is written.
 *
 * A trace of a hundred thousand spans is 80 MB of JSON. Of such an answer only the beginning is
 * kept in memory: from some length on it is sent piece by piece, compressed if the client queried
 * for that. What a client does not read at once waits in a file. Only when files hold too much the
 * thread waits: then a client that reads nothing for a while, or does not come to the end in the
 * request's time, is given up, and the answer ends broken instead of short. */
#pragma once
#include "serve/call.h"

/* Before the body is written; status, type and headers must be set. `q` is the call's. */
void sf_long_answer_begin(struct sf_call *call, const struct sf_query_ctx *q);
/* After it: whatever is left goes out. True, as handlers end. */
bool sf_long_answer_end(struct sf_call *call);
