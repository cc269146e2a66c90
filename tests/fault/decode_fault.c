/* Every allocation of every decoder fails once: heap calls one by one, arenas of every size. */
#include "test.h"

#include "base/heap.h"
#include "decode/otlp/otlp_trace.h"
#include "model/batch_codec.h"
#include "support/batch_make.h"

enum { PB, JSON, BATCH, FORMS };

static void encode(int form, const struct sf_span_batch *batch, struct sf_buf *out)
{
    if (form == PB)
        sf_otlp_make_pb(batch, out);
    else if (form == JSON)
        sf_otlp_make_json(batch, out);
    else
        sf_batch_codec_encode(batch, out);
}

static enum sf_err decode(int form, sf_bytes body, struct sf_arena *req, struct sf_span_batch *out)
{
    struct sf_otlp_rejects rejects;
    struct sf_why why;
    if (form == PB)
        return sf_otlp_trace_decode_pb(body, NULL, req, out, &rejects, &why);
    if (form == JSON)
        return sf_otlp_trace_decode_json(body, NULL, req, out, &rejects, &why);
    return sf_batch_codec_decode(body, req, out, &why);
}

static void with_each_form(void (*run)(int form, sf_bytes body, const struct sf_span_batch *batch))
{
    struct sf_otlp_make m;
    struct sf_arena made;
    assert_true(sf_arena_init(&made, 16 << 20));
    sf_otlp_make_init(&m, 11, 0);
    for (int i = 0; i < 12; i++) {
        struct sf_span_batch batch;
        sf_arena_reset(&made);
        sf_batch_make(&m, 6, &made, &batch);
        for (int form = 0; form < FORMS; form++) {
            struct sf_buf body = {0};
            encode(form, &batch, &body);
            run(form, sf_buf_bytes(&body), &batch);
            sf_buf_done(&body);
        }
    }
    sf_arena_done(&made);
}

static void fail_heap_calls(int form, sf_bytes body, const struct sf_span_batch *batch)
{
    struct sf_arena req;
    enum sf_err err = SF_ERR_NOMEM;
    char what[160];
    assert_true(sf_arena_init(&req, 4 << 20));
    for (uint64_t n = 1; err; n++) {
        struct sf_span_batch got = {.n_spans = 77};
        sf_arena_reset(&req);
        sf_heap_fail_after(n);
        err = decode(form, body, &req, &got);
        sf_heap_fail_after(0);
        assert_true(err == SF_OK || err == SF_ERR_NOMEM);
        if (err)
            assert_int_equal(got.n_spans, 77);
        else
            assert_true(sf_otlp_make_is_same(batch, &got, what));
        assert_true(n < 10000);
    }
    sf_arena_done(&req);
}

TEST(decode, survives_each_heap_call_that_fails)
{
    with_each_form(fail_heap_calls);
}

static void sweep_arena(int form, sf_bytes body, const struct sf_span_batch *batch)
{
    struct sf_arena whole;
    enum sf_err err = SF_ERR_LIMIT;
    char what[160];
    assert_true(sf_arena_init(&whole, 4 << 20));
    for (size_t cap = 0; err; cap += 16) {
        struct sf_arena req = whole; /* the same memory with a nearer end */
        struct sf_span_batch got = {.n_spans = 77};
        req.cap = cap;
        req.at = 0;
        err = decode(form, body, &req, &got);
        assert_true(err == SF_OK || err == SF_ERR_LIMIT);
        if (err)
            assert_int_equal(got.n_spans, 77);
        else
            assert_true(sf_otlp_make_is_same(batch, &got, what));
        assert_true(cap < 4 << 20);
    }
    sf_arena_done(&whole);
}

TEST(decode, answers_limit_for_each_arena_that_is_too_small)
{
    with_each_form(sweep_arena);
}

TEST(batch_codec, encoding_leaves_each_failure_in_the_buffer)
{
    struct sf_otlp_make m;
    struct sf_arena made;
    struct sf_span_batch batch;
    bool passed = false;
    assert_true(sf_arena_init(&made, 64 << 20));
    sf_otlp_make_init(&m, 12, 0);
    sf_otlp_make_batch(&m, 800, &made, &batch);
    for (uint64_t n = 1; !passed; n++) {
        struct sf_buf out = {0};
        sf_heap_fail_after(n);
        sf_batch_codec_encode(&batch, &out);
        sf_heap_fail_after(0);
        assert_true(out.err == SF_OK || out.err == SF_ERR_NOMEM);
        passed = out.err == SF_OK;
        assert_true(n < 1000);
        sf_buf_done(&out);
    }
    sf_arena_done(&made);
}
