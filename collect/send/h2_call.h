/* h2_call.h - one gRPC call after the other over HTTP/2; bytes in, bytes out, no sockets.
 *
 * Only what a client with one unary call at a time needs: prior knowledge, no push, no dynamic
 * header table (we ask for size 0, so every header comes as it is or from the static table), our
 * own headers as plain literals. Of an answer it reads the status, the first bytes of the message
 * and grpc-status, which may be Huffman-coded: its eleven letters and the ten digits are all of
 * that code this file knows. A full HTTP/2 library would be the largest part of a preloaded one. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "collect/send/answer.h"

enum { SF_H2_FRAME_MAX = 16384 };

struct sf_h2_call {    /* zeroed: a connection before its first call */
    struct sf_buf out; /* to be sent; the owner empties it */
    bool is_tls;       /* sent in every call; the bytes are the same */
    bool has_begun;    /* the preface is out */
    bool is_leaving;   /* the server takes no more calls on this connection */
    int64_t conn_window;
    int64_t first_window; /* of every new stream */
    uint32_t next_stream;
    /* the call */
    uint32_t stream;
    int64_t window;
    bool is_done;
    const char *fault;
    int http_status, grpc_status; /* 0 and -1: not given yet */
    uint32_t n_data;              /* bytes of DATA, with the five of the prefix */
    uint32_t body_len;
    uint8_t body[SF_ANSWER_BODY_KEPT];
    /* the frame at hand */
    uint8_t head[9];
    uint32_t n_head, n_payload;
    struct sf_buf block; /* headers that go over several frames */
    uint8_t payload[SF_H2_FRAME_MAX];
};

void sf_h2_call_done(struct sf_h2_call *c);
void sf_h2_call_forget(struct sf_h2_call *c); /* the connection is gone: the next is a new one */
/* Begins a call: preface if need be, and the headers; `headers` are lines ended by CRLF. */
void sf_h2_call_begin(struct sf_h2_call *c, sf_str authority, sf_str path, sf_str headers,
                      bool is_gzip);
/* How many bytes of the message the other side takes now. */
size_t sf_h2_call_room(const struct sf_h2_call *c);
void sf_h2_call_data(struct sf_h2_call *c, sf_bytes part, bool is_last); /* at most the space */
/* Takes bytes as they come; false when the call is done or the connection is no use any more. */
bool sf_h2_call_take(struct sf_h2_call *c, sf_bytes in);
