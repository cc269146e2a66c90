/* message.h - writes one message as protobuf or as proto3 JSON.
 *
 * Code that writes both formats gives each field once, by number and by JSON name. Fields with
 * their default value are left out, 64-bit integers are text in JSON. A list is opened even when it
 * stays empty: to leave it out, do not open it. The buffer keeps the first error. */
#pragma once
#include "wire/json_write.h"
#include "wire/pb_write.h"

struct sf_message {
    struct sf_buf *out;
    struct sf_json_writer w;
    bool is_json;
};

static inline struct sf_message sf_message_init(struct sf_buf *out, bool is_json)
{
    return (struct sf_message){.out = out, .w = sf_json_writer_init(out), .is_json = is_json};
}

/* The outermost message. */
void sf_message_open(struct sf_message *m);
void sf_message_close(struct sf_message *m);

/* A field that is a message; returns the mark for its end. */
size_t sf_message_begin(struct sf_message *m, uint32_t field, const char *key);
void sf_message_end(struct sf_message *m, size_t mark);

/* A repeated field: messages, each ended like a field, or strings. */
void sf_message_list(struct sf_message *m, const char *key);
void sf_message_list_end(struct sf_message *m);
size_t sf_message_item(struct sf_message *m, uint32_t field);
void sf_message_item_str(struct sf_message *m, uint32_t field, sf_str v);
/* Packed numbers; an empty list is left out. `is_wide`: 64 bits, text in JSON. */
void sf_message_numbers(struct sf_message *m, uint32_t field, const char *key, const int64_t *v,
                        size_t n, bool is_wide);

void sf_message_doubles(struct sf_message *m, uint32_t field, const char *key, const double *v,
                        size_t n);

void sf_message_str(struct sf_message *m, uint32_t field, const char *key, sf_str v);
void sf_message_bytes(struct sf_message *m, uint32_t field, const char *key, sf_bytes v);
void sf_message_i64(struct sf_message *m, uint32_t field, const char *key, int64_t v);
void sf_message_u64(struct sf_message *m, uint32_t field, const char *key, uint64_t v);
/* A number in JSON, too. */
void sf_message_u32(struct sf_message *m, uint32_t field, const char *key, uint32_t v);
void sf_message_f64(struct sf_message *m, uint32_t field, const char *key, double v);
void sf_message_bool(struct sf_message *m, uint32_t field, const char *key, bool v);
