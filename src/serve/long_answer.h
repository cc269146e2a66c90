/* long_answer.h - an answer that is sent while it is written.
 *
 * A trace of a hundred thousand spans is 80 MB of JSON. Of such an answer only the beginning is
 * kept in memory: from some length on it is sent piece by piece, compressed if the client accepts
 * that. Parts that the client does not read at once wait in a file. Only when these files hold too
 * much does the thread wait; a client that then reads nothing for a while, or is not done within
 * the request's time limit, is given up, and the answer is aborted (HTTP/2: the stream, else the
 * connection), so that it does not look complete. */
#pragma once
#include "serve/call.h"

/* To be called before the body is written; status, type and headers must be set. `q` is the
 * call's. */
void sf_long_answer_begin(struct sf_call *call, const struct sf_query_ctx *q);
/* To be called after it: sends the rest. Returns true, so that a handler may end with it. */
bool sf_long_answer_end(struct sf_call *call);
/* For an answer that was written as a whole: if it is long, what the client does not read at once
 * waits in a file instead of in memory. Does not wait: an answer for which the files have no room
 * is aborted. */
void sf_long_answer_move(struct sf_call *call);
