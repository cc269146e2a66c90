/* What is encoded one way and decoded is what was there: protobuf, JSON, whole and in pieces, and
 * the normalised form of the log. */
#include "test.h"

#include "base/heap.h"
#include "decode/otlp/otlp_trace.h"
#include "model/batch_codec.h"
#include "support/batch_make.h"

enum { ARENA = 64 << 20 };

struct world {
    struct sf_otlp_make m;
    struct sf_arena made, decoded, more;
    struct sf_buf body;
};

static void open_world(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    sf_otlp_make_init(&w->m, seed, 0);
    assert_true(sf_arena_init(&w->made, ARENA));
    assert_true(sf_arena_init(&w->decoded, ARENA));
    assert_true(sf_arena_init(&w->more, ARENA));
}

static void close_world(struct world *w)
{
    sf_arena_done(&w->made);
    sf_arena_done(&w->decoded);
    sf_arena_done(&w->more);
    sf_buf_done(&w->body);
}

static void reset_world(struct world *w)
{
    sf_arena_reset(&w->made);
    sf_arena_reset(&w->decoded);
    sf_arena_reset(&w->more);
    sf_buf_reset(&w->body);
}

static enum sf_err decode(bool is_json, sf_bytes body, struct sf_arena *req,
                          struct sf_span_batch *out, struct sf_otlp_rejects *rejects,
                          struct sf_why *why)
{
    return is_json ? sf_otlp_trace_decode_json(body, NULL, req, out, rejects, why)
                   : sf_otlp_trace_decode_pb(body, NULL, req, out, rejects, why);
}

static void assert_same(const struct sf_span_batch *got, const struct sf_span_batch *want)
{
    char what[160];
    if (!sf_otlp_make_is_same(want, got, what))
        fail_msg("differs: %s", what);
}

static void encode(bool is_json, const struct sf_span_batch *batch, struct sf_buf *out)
{
    sf_buf_reset(out);
    if (is_json)
        sf_otlp_make_json(batch, out);
    else
        sf_otlp_make_pb(batch, out);
    assert_true(sf_buf_ok(out));
}

static void round_trip(struct world *w, const struct sf_span_batch *batch)
{
    for (int is_json = 0; is_json < 2; is_json++) {
        struct sf_span_batch got;
        struct sf_otlp_rejects rejects;
        struct sf_why why;
        encode(is_json, batch, &w->body);
        sf_arena_reset(&w->decoded);
        if (decode(is_json, sf_buf_bytes(&w->body), &w->decoded, &got, &rejects, &why))
            fail_msg("%s", why.text);
        assert_int_equal(rejects.n_rejected, 0);
        assert_same(&got, batch);
    }
}

TEST(otlp_trace, strange_batches_come_back_the_same)
{
    struct world w;
    open_world(&w, 1);
    for (int i = 0; i < 400; i++) {
        struct sf_span_batch batch;
        reset_world(&w);
        sf_batch_make(&w.m, 12, &w.made, &batch);
        round_trip(&w, &batch);
    }
    close_world(&w);
}

TEST(otlp_trace, realistic_batches_come_back_the_same)
{
    struct world w;
    open_world(&w, 2);
    for (uint32_t n = 0; n < 600; n = n * 2 + 1) {
        struct sf_span_batch batch;
        reset_world(&w);
        sf_otlp_make_batch(&w.m, n, &w.made, &batch);
        round_trip(&w, &batch);
    }
    close_world(&w);
}

TEST(batch_codec, strange_batches_come_back_the_same)
{
    struct world w;
    open_world(&w, 3);
    for (int i = 0; i < 400; i++) {
        struct sf_span_batch batch, got;
        struct sf_why why;
        reset_world(&w);
        sf_batch_make(&w.m, 12, &w.made, &batch);
        sf_batch_codec_encode(&batch, &w.body);
        assert_true(sf_buf_ok(&w.body));
        if (sf_batch_codec_decode(sf_buf_bytes(&w.body), &w.decoded, &got, &why))
            fail_msg("%s", why.text);
        assert_same(&got, &batch);
    }
    close_world(&w);
}

TEST(batch_codec, refuses_every_cut_and_survives_every_flip)
{
    struct world w;
    open_world(&w, 4);
    for (int i = 0; i < 20; i++) {
        struct sf_span_batch batch, got;
        reset_world(&w);
        sf_batch_make(&w.m, 3, &w.made, &batch);
        sf_batch_codec_encode(&batch, &w.body);
        for (size_t len = 0; len < w.body.len; len++) {
            sf_arena_reset(&w.decoded);
            assert_err(sf_batch_codec_decode((sf_bytes){w.body.p, len}, &w.decoded, &got, NULL),
                       SF_ERR_CORRUPT);
        }
        for (size_t at = 0; at < w.body.len; at++) {
            w.body.p[at] ^= (uint8_t)(1u << at % 8);
            sf_arena_reset(&w.decoded);
            sf_batch_codec_decode(sf_buf_bytes(&w.body), &w.decoded, &got, NULL);
            w.body.p[at] ^= (uint8_t)(1u << at % 8);
        }
    }
    close_world(&w);
}

/* Pieces, put together again by encoding each in the arena of the check. */
struct gathered {
    const struct sf_span_batch *want;
    uint32_t n_spans, n_pieces, max_spans;
};

static enum sf_err check_piece(void *arg, const struct sf_span_batch *piece, struct sf_why *why)
{
    struct gathered *g = arg;
    (void)why;
    assert_true(piece->n_spans > 0 && piece->n_spans <= g->max_spans);
    for (uint32_t i = 0; i < piece->n_spans; i++) {
        const struct sf_span *want = &g->want->spans[g->n_spans];
        struct sf_span got = piece->spans[i], same = *want;
        struct sf_span_batch a, b;
        assert_true(got.resource < piece->n_resources && got.scope < piece->n_scopes);
        a = (struct sf_span_batch){
            &piece->resources[got.resource], &piece->scopes[got.scope], &got, 1, 1, 1};
        b = (struct sf_span_batch){
            &g->want->resources[want->resource], &g->want->scopes[want->scope], &same, 1, 1, 1};
        got.resource = got.scope = same.resource = same.scope = 0;
        assert_same(&a, &b);
        g->n_spans++;
    }
    g->n_pieces++;
    return SF_OK;
}

TEST(otlp_trace, pieces_hold_the_same_spans_as_the_whole)
{
    struct world w;
    open_world(&w, 5);
    for (int i = 0; i < 60; i++) {
        struct sf_span_batch batch;
        reset_world(&w);
        if (i % 2)
            sf_batch_make(&w.m, 40, &w.made, &batch);
        else
            sf_otlp_make_batch(&w.m, 100, &w.made, &batch);
        for (int is_json = 0; is_json < 2; is_json++) {
            struct gathered g = {.want = &batch, .max_spans = (uint32_t)(i % 7 + 1)};
            struct sf_otlp_rejects rejects;
            struct sf_why why;
            encode(is_json, &batch, &w.body);
            if (sf_otlp_trace_decode_pieces(sf_buf_bytes(&w.body), is_json, NULL, g.max_spans,
                                            &w.decoded, check_piece, &g, &rejects, &why))
                fail_msg("%s", why.text);
            assert_int_equal(g.n_spans, batch.n_spans);
            assert_int_equal(g.n_pieces, (batch.n_spans + g.max_spans - 1) / g.max_spans);
        }
    }
    close_world(&w);
}

TEST(otlp_trace, a_small_arena_makes_smaller_pieces)
{
    struct world w;
    struct sf_span_batch batch;
    open_world(&w, 6);
    sf_otlp_make_batch(&w.m, 400, &w.made, &batch);
    for (int is_json = 0; is_json < 2; is_json++) {
        uint32_t n_limit = 0, n_fine = 0;
        encode(is_json, &batch, &w.body);
        for (size_t cap = 1024; cap < 600000; cap = cap * 5 / 4) {
            struct gathered g = {.want = &batch, .max_spans = 1000};
            struct sf_otlp_rejects rejects;
            struct sf_arena small;
            enum sf_err err;
            assert_true(sf_arena_init(&small, cap));
            err = sf_otlp_trace_decode_pieces(sf_buf_bytes(&w.body), is_json, NULL, g.max_spans,
                                              &small, check_piece, &g, &rejects, NULL);
            assert_true(err == SF_OK || err == SF_ERR_LIMIT);
            assert_int_equal(g.n_spans, err ? 0 : 400);
            *(err ? &n_limit : &n_fine) += 1;
            sf_arena_done(&small);
        }
        assert_true(n_limit > 0 && n_fine > 10);
    }
    close_world(&w);
}

static enum sf_err refuse_piece(void *arg, const struct sf_span_batch *piece, struct sf_why *why)
{
    (void)piece;
    (*(int *)arg)++;
    return sf_fail(why, SF_ERR_BUSY, "not now");
}

TEST(otlp_trace, pieces_stop_when_they_are_not_taken)
{
    struct world w;
    struct sf_span_batch batch;
    open_world(&w, 7);
    sf_otlp_make_batch(&w.m, 10, &w.made, &batch);
    for (int is_json = 0; is_json < 2; is_json++) {
        struct sf_otlp_rejects rejects;
        struct sf_why why;
        int n = 0;
        encode(is_json, &batch, &w.body);
        assert_err(sf_otlp_trace_decode_pieces(sf_buf_bytes(&w.body), is_json, NULL, 3, &w.decoded,
                                               refuse_piece, &n, &rejects, &why),
                   SF_ERR_BUSY);
        assert_string_equal(why.text, "not now");
        assert_int_equal(n, 1);
    }
    close_world(&w);
}

/* Bad bytes anywhere: nothing is given out, and nothing breaks. */
TEST(otlp_trace, a_request_cut_anywhere_gives_no_piece)
{
    struct world w;
    struct sf_span_batch batch;
    open_world(&w, 8);
    sf_otlp_make_batch(&w.m, 4, &w.made, &batch);
    for (int is_json = 0; is_json < 2; is_json++) {
        encode(is_json, &batch, &w.body);
        for (size_t len = 1; len < w.body.len; len++) {
            struct sf_otlp_rejects rejects;
            int n = 0;
            enum sf_err err = sf_otlp_trace_decode_pieces((sf_bytes){w.body.p, len}, is_json, NULL,
                                                          1, &w.decoded, refuse_piece, &n, &rejects,
                                                          NULL);
            assert_int_equal(err, SF_ERR_INPUT);
            assert_int_equal(n, 0);
        }
    }
    close_world(&w);
}
