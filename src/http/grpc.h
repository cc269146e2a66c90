/* grpc.h - gRPC on top of HTTP/2: messages in bodies, status in trailers. Bytes in, bytes
 * out.
 *
 * A message is one flag byte (1: compressed), four bytes of big-endian length, and the bytes;
 * DATA frames may cut it anywhere. An answer is headers, messages and trailers, or trailers
 * alone. */
#pragma once
#include "http/request.h"

enum { SF_GRPC_PREFIX_LEN = 5 };

enum sf_grpc_event {
    SF_GRPC_MORE,  /* all input used */
    SF_GRPC_BEGIN, /* a message begins: len, is_compressed */
    SF_GRPC_PIECE, /* `piece` holds some of it, borrowed from the input */
    SF_GRPC_END,   /* the message is whole */
    SF_GRPC_BAD    /* a flag byte other than 0 and 1; stays so */
};

struct sf_grpc_reader { /* a zeroed one is ready */
    uint32_t len;
    bool is_compressed;
    sf_bytes piece;
    uint64_t n_messages; /* whole ones */
    /* inside */
    uint8_t prefix[SF_GRPC_PREFIX_LEN];
    uint8_t n_prefix;
    bool is_in_message, is_bad;
    uint32_t left;
};

enum sf_grpc_event sf_grpc_reader_next(struct sf_grpc_reader *r, sf_bytes *in);
/* At the end of the body: nothing is left half-read. */
bool sf_grpc_reader_is_whole(const struct sf_grpc_reader *r);

void sf_grpc_write_prefix(uint8_t out[SF_GRPC_PREFIX_LEN], uint32_t len, bool is_compressed);

bool sf_grpc_is_type(sf_str content_type); /* application/grpc, also with +proto and the like */
/* "100m", "5S"; at most eight digits. False: not a timeout. Very long ones saturate. */
bool sf_grpc_timeout_parse(sf_str text, int64_t *out_ns);
/* The coding of compressed messages. False: one we do not know (UNIMPLEMENTED). */
bool sf_grpc_coding(sf_str encoding, enum sf_coding *out);
/* What to say in grpc-accept-encoding. */
#define SF_GRPC_ACCEPT_ENCODING "identity,gzip,zstd,deflate"

/* Percent-encodes what grpc-message may not hold: controls, non-ASCII bytes and '%'. */
void sf_grpc_message_encode(struct sf_buf *out, sf_str message);
/* google.rpc.Status{code, message, details: RetryInfo when retry_after_s > 0}. */
void sf_grpc_details_encode(struct sf_buf *out, int code, sf_str message, unsigned retry_after_s);

/* The trailers of an answer: grpc-status, grpc-message, grpc-status-details-bin; values are made
 * in `text` (appended). The views are good until `text` changes. Returns how many; 0: no memory. */
enum { SF_GRPC_TRAILERS_MAX = 3 };
size_t sf_grpc_trailers(const struct sf_response *r, struct sf_buf *text,
                        struct sf_header out[SF_GRPC_TRAILERS_MAX]);
