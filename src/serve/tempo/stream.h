/* stream.h - server-streaming gRPC: a request of one message, an answer of many.
 *
 * While a query runs, its client gets at most one update in half a second, and none that it has no
 * space for: a query never waits for its reader. In the end everything is reported once more,
 * whole, in messages of about a megabyte; that part is sent like any other answer, when the thread
 * is free again. */
#pragma once
#include "serve/call.h"

enum {
    SF_STREAM_MESSAGE_LEN = 1024 * 1024 /* clients take 4 MiB; Tempo cuts here */
};

struct sf_stream { /* `call` set, the rest zero */
    struct sf_call *call;
    int64_t next_ns;       /* monotonic: no update before that */
    struct sf_buf message; /* the next update; owned */
    bool has_told;         /* the answer's headers are out */
};

/* The request's message, inflated if need be; in `req`. INPUT, LIMIT. */
enum sf_err sf_stream_request(struct sf_call *call, struct sf_arena *req, sf_bytes *out,
                              struct sf_why *why);
/* 200, application/grpc; updates may follow from now on. */
void sf_stream_begin(struct sf_stream *s);
bool sf_stream_is_due(struct sf_stream *s); /* half a second has passed */
/* Sends `message` and empties it. False: the client has not read the last ones yet, or is gone. */
bool sf_stream_tell(struct sf_stream *s);
/* Says in a header that a limit cut the answer; nothing when the headers are out already: then the
 * job that never becomes complete says it. */
void sf_stream_note_partial(struct sf_stream *s, sf_str note);
/* Adds a message to the last part of the answer and empties it. */
void sf_stream_add_last(struct sf_stream *s, struct sf_buf *message);
/* The end: true, for handlers. The answer may have outgrown memory; then it is an error. */
bool sf_stream_finish(struct sf_stream *s);
