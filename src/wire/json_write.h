/* json_write.h - writes JSON to a buffer: escapes, commas, numbers. The buffer keeps the first
 * error; the caller must nest correctly. */
#pragma once
#include "base/buf.h"

struct sf_json_writer {
    struct sf_buf *out;
    bool needs_comma;
};

static inline struct sf_json_writer sf_json_writer_init(struct sf_buf *out)
{
    return (struct sf_json_writer){.out = out};
}

void sf_json_write_object(struct sf_json_writer *w); /* { */
void sf_json_write_object_end(struct sf_json_writer *w);
void sf_json_write_array(struct sf_json_writer *w); /* [ */
void sf_json_write_array_end(struct sf_json_writer *w);
void sf_json_write_key(struct sf_json_writer *w, sf_str key);

/* Invalid UTF-8 becomes U+FFFD, so that the answer is valid JSON whatever was stored. */
void sf_json_write_str(struct sf_json_writer *w, sf_str s);
void sf_json_write_u64(struct sf_json_writer *w, uint64_t v);
void sf_json_write_i64(struct sf_json_writer *w, int64_t v);
/* Quoted, as in proto3 JSON for 64-bit integers: a double would lose digits. */
void sf_json_write_u64_text(struct sf_json_writer *w, uint64_t v);
void sf_json_write_i64_text(struct sf_json_writer *w, int64_t v);
/* The fewest digits that parse to the same number; "NaN", "Infinity", "-Infinity" as strings. */
void sf_json_write_f64(struct sf_json_writer *w, double v);
void sf_json_write_bool(struct sf_json_writer *w, bool v);
void sf_json_write_null(struct sf_json_writer *w);
void sf_json_write_hex(struct sf_json_writer *w, sf_bytes v);    /* lower case, quoted */
void sf_json_write_base64(struct sf_json_writer *w, sf_bytes v); /* quoted */
void sf_json_write_raw(struct sf_json_writer *w, sf_str json);   /* already JSON */

/* key and value in one line */
void sf_json_write_key_str(struct sf_json_writer *w, sf_str key, sf_str v);
void sf_json_write_key_u64(struct sf_json_writer *w, sf_str key, uint64_t v);
