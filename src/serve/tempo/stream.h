/* stream.h - server-streaming gRPC: a request of one message, an answer of many.
 *
 * While a query runs, its client gets at most two updates a second, and updates that do not fit in
 * the send buffer are dropped: a query never waits for its client. At the end the complete result
 * is sent once more, in messages of about a megabyte, like any other answer after the handler has
 * returned. */
#pragma once
#include "serve/call.h"

enum {
    SF_STREAM_MESSAGE_LEN = 1024 * 1024 /* clients accept 4 MiB; Tempo splits at this length */
};

struct sf_stream { /* initialise `call`, zero the rest */
    struct sf_call *call;
    int64_t next_ns;       /* monotonic: no update before this time */
    struct sf_buf message; /* the next update; owned */
    bool has_told;         /* the answer's headers were sent */
};

/* The message of the request, decompressed if necessary; in `req`. INPUT, LIMIT. */
enum sf_err sf_stream_request(struct sf_call *call, struct sf_arena *req, sf_bytes *out,
                              struct sf_why *why);
/* Sets 200 and application/grpc; updates may be sent from now on. */
void sf_stream_begin(struct sf_stream *s);
bool sf_stream_is_due(struct sf_stream *s); /* half a second has passed since the last update */
/* Sends `message` and empties it. False: the client has not read the last updates yet, or has
 * disconnected. */
bool sf_stream_tell(struct sf_stream *s);
/* Says in a header that a limit truncated the answer. Does nothing when the headers were sent
 * already: then the progress counter that never becomes complete shows it. */
void sf_stream_note_partial(struct sf_stream *s, sf_str note);
/* Adds a message to the last part of the answer and empties it. */
void sf_stream_add_last(struct sf_stream *s, struct sf_buf *message);
/* Ends the answer; returns true, so that a handler may end with it. An answer that outgrew memory
 * becomes an error. */
bool sf_stream_finish(struct sf_stream *s);
