/* otlp_attrs.h - OTLP attributes, protobuf and JSON, into lists in an arena.
 *
 * What every OTLP decoder shares: the limits of one request, the counters of what was cut, and the
 * lists. A list over its limit drops the rest; keys and values over theirs are cut at a character,
 * arrays and maps at an element; all of it is counted. */
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
    bool is_too_deep;      /* the value being read: its attribute is dropped and counted */
    bool is_arena_full;    /* sticks until the maker of the batch has dealt with it */
    struct sf_buf scratch; /* JSON: arrays and bytes on their way to the arena */
};

struct sf_otlp_attrs { /* a list being made */
    struct sf_attr *list;
    uint32_t n, cap;
    uint32_t n_dropped; /* over the limit */
};

/* Room for the next of `n` things of `size` bytes in an arena list; NULL marks the arena full. */
void *sf_otlp_attrs_list_more(struct sf_otlp_request *rq, void *list, uint32_t n, uint32_t *cap,
                              size_t size, uint32_t first_cap);

/* The KeyValue at hand into the list. Faults stick in `pb`. */
void sf_otlp_attrs_add_pb(struct sf_otlp_request *rq, struct sf_pb *pb, struct sf_otlp_attrs *to);

/* The array of KeyValue objects at hand. Faults stick in `j`; a full arena in `j` or `rq`. */
void sf_otlp_attrs_json_read(struct sf_otlp_request *rq, struct sf_json *j,
                             struct sf_otlp_attrs *to);
/* A JSON key is known by two names: the camelCase one, and the snake_case one of the .proto file.
 * Gives the place in `names`, or `n`. */
struct sf_otlp_key {
    sf_str camel, snake; /* snake empty: the same */
};
size_t sf_otlp_attrs_json_key_find(const struct sf_otlp_key *names, size_t n, sf_str key);

/* A finished attribute into the list, with its limits applied. */
void sf_otlp_attrs_add(struct sf_otlp_request *rq, struct sf_otlp_attrs *to, sf_str key,
                       struct sf_value val);
/* Was the value just read too deep? Then its attribute counts as dropped. */
bool sf_otlp_attrs_drop_deep(struct sf_otlp_request *rq, struct sf_otlp_attrs *to);
/* Gives unused room back and hands out the list; adds what was dropped to *dropped. */
struct sf_attrs sf_otlp_attrs_close(struct sf_otlp_request *rq, struct sf_otlp_attrs *l,
                                    uint32_t *dropped);

/* A name, cut to SF_LIMIT_NAME_LEN. */
sf_str sf_otlp_attrs_name_cut(struct sf_otlp_request *rq, sf_str name);
static inline sf_str sf_otlp_name(struct sf_otlp_request *rq, sf_str name)
{
    return __builtin_expect(name.len > SF_LIMIT_NAME_LEN, 0) ? sf_otlp_attrs_name_cut(rq, name)
                                                             : name;
}

/* An unknown field. */
static inline void sf_otlp_skip(struct sf_otlp_request *rq, struct sf_pb *pb)
{
    if ((pb->tag & 7) == SF_PB_LEN)
        rq->rejects->n_unseen++;
    sf_pb_skip(pb);
}
/* The name at hand; one that was there before is lost. */
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

uint32_t sf_otlp_attrs_add_dropped(uint32_t a, uint64_t b); /* saturates */
