/* h2_call.h - a minimal HTTP/2 client for one gRPC call at a time; works on buffers, does not use
 * sockets.
 *
 * It supports only what unary calls need: prior knowledge, no push, no dynamic header table (size 0
 * is requested, so the server sends headers as literals or from the static table), request headers
 * as literals. Of an answer it reads the status, the first bytes of the message and grpc-status,
 * which may be Huffman-coded: only the letters of that name and the digits are decoded. A complete
 * HTTP/2 library would be the largest part of this preloaded library. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "collect/send/answer.h"

enum { SF_H2_FRAME_MAX = 16384 };

struct sf_h2_call {    /* zeroed: a new connection */
    struct sf_buf out; /* bytes to be sent; the caller sends and clears them */
    bool is_tls;       /* determines the :scheme header only */
    bool has_begun;    /* the connection preface was sent */
    bool is_leaving;   /* the server accepts no more calls on this connection */
    int64_t conn_window;
    int64_t first_window; /* initial flow-control window of a stream */
    uint32_t next_stream;
    /* state of the call */
    uint32_t stream;
    int64_t window;
    bool is_done;
    const char *fault;
    int http_status, grpc_status; /* 0 and -1: not received yet */
    uint32_t n_data;              /* bytes of DATA received, including the prefix of five */
    uint32_t body_len;
    uint8_t body[SF_ANSWER_BODY_KEPT];
    /* header of the current frame */
    uint8_t head[9];
    uint32_t n_head, n_payload;
    struct sf_buf block; /* header block that continues over several frames */
    uint8_t payload[SF_H2_FRAME_MAX];
};

void sf_h2_call_done(struct sf_h2_call *c);
void sf_h2_call_forget(struct sf_h2_call *c); /* to be called when the connection was closed: the
                                               * next call starts a new one */
/* Begins a call: writes the preface if necessary, and the headers; `headers` are lines that end in
 * CRLF. */
void sf_h2_call_begin(struct sf_h2_call *c, sf_str authority, sf_str path, sf_str headers,
                      bool is_gzip);
/* Number of bytes of the message that flow control allows now. */
size_t sf_h2_call_room(const struct sf_h2_call *c);
void sf_h2_call_data(struct sf_h2_call *c, sf_bytes part, bool is_last); /* at most
                                                                          * sf_h2_call_room()
                                                                          * bytes */
/* Parses received bytes; false when the call is complete or the connection cannot be used any
 * more. */
bool sf_h2_call_take(struct sf_h2_call *c, sf_bytes in);
