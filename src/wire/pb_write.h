/* pb_write.h - writes protobuf to a buffer. The buffer keeps the first error; check once at the
 * end.
 *
 * Zero and empty values are written like others: the caller decides whether to leave a field
 * out. */
#pragma once
#include "base/buf.h"
#include "wire/pb.h"

void sf_pb_write_raw_varint(struct sf_buf *out, uint64_t v);
void sf_pb_write_u64(struct sf_buf *out, uint32_t field, uint64_t v);
void sf_pb_write_i64(struct sf_buf *out, uint32_t field, int64_t v); /* not zigzag */
void sf_pb_write_bool(struct sf_buf *out, uint32_t field, bool v);
void sf_pb_write_fixed64(struct sf_buf *out, uint32_t field, uint64_t v);
void sf_pb_write_fixed32(struct sf_buf *out, uint32_t field, uint32_t v);
void sf_pb_write_double(struct sf_buf *out, uint32_t field, double v);
void sf_pb_write_bytes(struct sf_buf *out, uint32_t field, sf_bytes v);
void sf_pb_write_str(struct sf_buf *out, uint32_t field, sf_str v);

/* A nested message: its content is written between begin and end. One byte is reserved for the
 * length; a content of 128 bytes or more is moved to make space for a longer one. */
size_t sf_pb_write_begin(struct sf_buf *out, uint32_t field); /* the mark to end it with */
void sf_pb_write_end(struct sf_buf *out, size_t mark);

/* For writers that compute sizes first. */
size_t sf_pb_write_varint_len(uint64_t v);
/* The tag and length of a message whose `len` bytes the caller writes next. */
void sf_pb_write_head(struct sf_buf *out, uint32_t field, size_t len);
