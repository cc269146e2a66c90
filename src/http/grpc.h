/* grpc.h - gRPC on top of HTTP/2: messages in bodies, status in trailers. Works on bytes only.
 *
 * A message is one flag byte (1: compressed), four bytes of big-endian length, and the bytes; DATA
 * frames may cut it anywhere. An answer is headers, messages and trailers, or trailers alone. */
#pragma once
#include "http/request.h"

enum { SF_GRPC_PREFIX_LEN = 5 };

enum sf_grpc_event {
    SF_GRPC_MORE,  /* all input used */
    SF_GRPC_BEGIN, /* a message begins: len, is_compressed */
    SF_GRPC_PIECE, /* `piece` is a part of it, borrowed from the input */
    SF_GRPC_END,   /* the message is complete */
    SF_GRPC_BAD    /* invalid flag byte; stays in this state */
};

struct sf_grpc_reader { /* a zeroed one is ready */
    uint32_t len;
    bool is_compressed;
    sf_bytes piece;
    uint64_t n_messages; /* number of complete messages */
    /* private below */
    uint8_t prefix[SF_GRPC_PREFIX_LEN];
    uint8_t n_prefix;
    bool is_in_message, is_bad;
    uint32_t left;
};

enum sf_grpc_event sf_grpc_reader_next(struct sf_grpc_reader *r, sf_bytes *in);
/* To be called at the end of the body: no message is incomplete. */
bool sf_grpc_reader_is_whole(const struct sf_grpc_reader *r);

void sf_grpc_write_prefix(uint8_t out[SF_GRPC_PREFIX_LEN], uint32_t len, bool is_compressed);

bool sf_grpc_is_type(sf_str content_type); /* application/grpc, also with +proto and the like */
/* "100m", "5S"; at most eight digits. False: not a timeout. Very long ones saturate. */
bool sf_grpc_timeout_parse(sf_str text, int64_t *out_ns);
/* The coding of compressed messages. False: unknown (UNIMPLEMENTED). */
bool sf_grpc_coding(sf_str encoding, enum sf_coding *out);
/* The value of grpc-accept-encoding. */
#define SF_GRPC_ACCEPT_ENCODING "identity,gzip,zstd,deflate"

/* Percent-encodes characters that are not allowed in grpc-message: controls, non-ASCII bytes and
 * '%'. */
void sf_grpc_message_encode(struct sf_buf *out, sf_str message);
/* google.rpc.Status{code, message, details: RetryInfo when retry_after_s > 0}. */
void sf_grpc_details_encode(struct sf_buf *out, int code, sf_str message, unsigned retry_after_s);

/* The trailers of an answer: grpc-status, grpc-message, grpc-status-details-bin; values are
 * appended to `text`. The views are valid until `text` changes. Returns their number; 0: no
 * memory. */
enum { SF_GRPC_TRAILERS_MAX = 3 };
size_t sf_grpc_trailers(const struct sf_response *r, struct sf_buf *text,
                        struct sf_header out[SF_GRPC_TRAILERS_MAX]);
