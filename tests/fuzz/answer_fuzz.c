/* Any bytes as the answer of a server: over HTTP/1.1 and over HTTP/2, whole and in pieces must come
 * to the same end, and nothing kept is longer than its place. */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "collect/send/answer.h"
#include "collect/send/h2_call.h"

static void must(bool what)
{
    if (!what)
        abort();
}

static struct sf_answer *http(const uint8_t *data, size_t size, size_t step)
{
    struct sf_answer *a = sf_heap_new(sizeof(*a));
    for (size_t at = 0; a && at < size; at += step) {
        size_t len = size - at < step ? size - at : step;
        uint8_t *copy = malloc(len);
        bool goes_on;
        memcpy(copy, data + at, len);
        goes_on = sf_answer_take(a, (sf_bytes){copy, len});
        free(copy);
        if (!goes_on)
            break;
    }
    sf_answer_end_of_body(a);
    must(a->is_done != (a->fault != NULL));
    must(a->body_len <= SF_ANSWER_BODY_KEPT && a->retry_after_s <= 3600);
    return a;
}

static struct sf_h2_call *h2(const uint8_t *data, size_t size, size_t step)
{
    struct sf_h2_call *c = sf_heap_new(sizeof(*c));
    sf_h2_call_begin(c, SF_STR("h:1"), SF_STR("/p"), SF_STR("a: b\r\n"), true);
    for (size_t at = 0; at < size; at += step) {
        size_t len = size - at < step ? size - at : step;
        uint8_t *copy = malloc(len);
        bool goes_on;
        memcpy(copy, data + at, len);
        goes_on = sf_h2_call_take(c, (sf_bytes){copy, len});
        free(copy);
        must(sf_h2_call_room(c) <= SF_H2_FRAME_MAX);
        if (!goes_on)
            break;
    }
    must(c->body_len <= sizeof(c->body) && c->grpc_status >= -1);
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 7};
    struct sf_answer *whole = http(data, size, size ? size : 1);
    struct sf_h2_call *call = h2(data, size, size ? size : 1);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct sf_answer *a = http(data, size, steps[i]);
        struct sf_h2_call *c = h2(data, size, steps[i]);
        must(a->status == whole->status && a->fault == whole->fault &&
             a->is_done == whole->is_done);
        must(a->body_len == whole->body_len && !memcmp(a->body, whole->body, a->body_len));
        must(c->fault == call->fault && c->is_done == call->is_done);
        must(c->grpc_status == call->grpc_status && c->body_len == call->body_len);
        must(c->out.len == call->out.len && !memcmp(c->out.p, call->out.p, c->out.len));
        sf_h2_call_done(c);
        sf_heap_free(c);
        sf_heap_free(a);
    }
    sf_h2_call_done(call);
    sf_heap_free(call);
    sf_heap_free(whole);
    return 0;
}
