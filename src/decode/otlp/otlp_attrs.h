/* otlp_attrs.h - reads OTLP attributes, from protobuf or JSON, into lists in an arena.
 *
 * Shared by all OTLP decoders: the limits of one request, the counters of truncated data, and the
 * lists. A list over its limit drops the rest; keys and values are truncated at a character, arrays
 * and maps at an element; all of that is counted. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "decode/otlp/otlp_trace.h"
#include "model/value.h"
#include "wire/json.h"
#include "wire/pb.h"

struct sf_otlp_request {
    struct sf_arena *req;
    uint32_t max_attrs;
    size_t max_value_len;
    struct sf_otlp_rejects *rejects;
    bool is_too_deep;      /* the current value: its attribute is dropped and counted */
    bool is_arena_full;    /* stays set until the builder has handled it */
    struct sf_buf scratch; /* JSON: arrays and bytes before they are copied to the arena */
};

struct sf_otlp_attrs { /* a list being built */
    struct sf_attr *list;
    uint32_t n, cap;
    uint32_t n_dropped; /* over the limit */
};

/* Space for the next of `n` items of `size` bytes in an arena list; NULL: marks the arena as
 * full. */
void *sf_otlp_attrs_list_more(struct sf_otlp_request *rq, void *list, uint32_t n, uint32_t *cap,
                              size_t size, uint32_t first_cap);

/* Adds the KeyValue at the cursor to the list. Errors are kept in `pb`. */
void sf_otlp_attrs_add_pb(struct sf_otlp_request *rq, struct sf_pb *pb, struct sf_otlp_attrs *to);

/* Reads the array of KeyValue objects at the cursor. Errors are kept in `j`; a full arena in `j` or
 * `rq`. */
void sf_otlp_attrs_json_read(struct sf_otlp_request *rq, struct sf_json *j,
                             struct sf_otlp_attrs *to);
/* A JSON key is known by two names: the camelCase one, and the snake_case one of the .proto file.
 * Returns the index in `names`, or `n`. */
struct sf_otlp_key {
    sf_str camel, snake; /* snake empty: the same */
};
size_t sf_otlp_attrs_json_key_find(const struct sf_otlp_key *names, size_t n, sf_str key);

/* Adds a complete attribute to the list, with its limits applied. */
void sf_otlp_attrs_add(struct sf_otlp_request *rq, struct sf_otlp_attrs *to, sf_str key,
                       struct sf_value val);
/* Whether the value just read was nested too deep. Then its attribute counts as dropped. */
bool sf_otlp_attrs_drop_deep(struct sf_otlp_request *rq, struct sf_otlp_attrs *to);
/* Gives unused memory back and returns the list; adds the number of dropped attributes to
 * *dropped. */
struct sf_attrs sf_otlp_attrs_close(struct sf_otlp_request *rq, struct sf_otlp_attrs *l,
                                    uint32_t *dropped);

/* A name, truncated to SF_LIMIT_NAME_LEN. */
sf_str sf_otlp_attrs_name_cut(struct sf_otlp_request *rq, sf_str name);
static inline sf_str sf_otlp_name(struct sf_otlp_request *rq, sf_str name)
{
    return __builtin_expect(name.len > SF_LIMIT_NAME_LEN, 0) ? sf_otlp_attrs_name_cut(rq, name)
                                                             : name;
}

/* Skips an unknown field. */
static inline void sf_otlp_skip(struct sf_otlp_request *rq, struct sf_pb *pb)
{
    if ((pb->tag & 7) == SF_PB_LEN)
        rq->rejects->n_unseen++;
    sf_pb_skip(pb);
}
/* Reads the name at the cursor; a previous one is replaced. */
static inline void sf_otlp_set_name(struct sf_otlp_request *rq, struct sf_pb *pb, sf_str *to)
{
    if (__builtin_expect(to->len != 0, 0))
        rq->rejects->n_unseen++;
    *to = sf_otlp_name(rq, sf_pb_str(pb));
}

static inline void sf_otlp_set_id(struct sf_otlp_request *rq, struct sf_pb *pb, sf_bytes *to)
{
    if (__builtin_expect(to->len != 0, 0))
        rq->rejects->n_unseen++;
    *to = sf_pb_bytes(pb);
}

uint32_t sf_otlp_attrs_add_dropped(uint32_t a, uint64_t b); /* limited to the maximum */
