#include "test.h"

#include "base/num.h"
#include "model/batch_codec.h"

static struct sf_arena req;

static const struct sf_attr attr[] = {{SF_STR("k"), {.type = SF_VALUE_STR, .str = SF_STR("v")}},
                                      {SF_STR("v"), {.type = SF_VALUE_STR, .str = SF_STR("k")}}};
static const struct sf_resource resource = {.service = SF_STR("v")};
static const struct sf_scope scope = {.name = SF_STR("k")};
static const struct sf_span span = {.trace_id = {{1}},
                                    .span_id = 2,
                                    .start_ns = 5,
                                    .end_ns = 3,
                                    .name = SF_STR("k"),
                                    .attrs = {attr, 2}};
static const struct sf_span_batch batch = {&resource, &scope, &span, 1, 1, 1};

static void encode(struct sf_buf *out)
{
    sf_buf_reset(out);
    sf_batch_codec_encode(&batch, out);
    assert_true(sf_buf_ok(out));
}

static enum sf_err decode(const struct sf_buf *b, struct sf_span_batch *out, struct sf_why *why)
{
    if (!req.base)
        assert_true(sf_arena_init(&req, 1 << 20));
    sf_arena_reset(&req);
    return sf_batch_codec_decode(sf_buf_bytes(b), &req, out, why);
}

TEST(batch_codec, gives_each_string_once)
{
    struct sf_buf b = {0};
    struct sf_span_batch got;
    encode(&b);
    assert_int_equal(sf_load_u32le(b.p + 1), 3); /* "", "v", "k" */
    assert_ok(decode(&b, &got, NULL));
    assert_str(got.spans[0].attrs.list[0].val.str, "v");
    assert_str(got.resources[0].service, "v");
    assert_int_equal(got.spans[0].end_ns, 3);
    sf_buf_done(&b);
}

TEST(batch_codec, an_empty_batch_is_a_batch)
{
    struct sf_buf b = {0};
    struct sf_span_batch none = {0}, got;
    sf_batch_codec_encode(&none, &b);
    assert_int_equal(b.len, 8);
    assert_ok(decode(&b, &got, NULL));
    assert_int_equal(got.n_spans, 0);
    sf_buf_done(&b);
}

TEST(batch_codec, names_a_version_it_does_not_know)
{
    struct sf_buf b = {0};
    struct sf_span_batch got;
    struct sf_why why;
    encode(&b);
    b.p[0] = 2;
    assert_err(decode(&b, &got, &why), SF_ERR_UNSUPPORTED);
    assert_string_equal(why.text, "batch: version 2, this server reads up to 1");
    sf_buf_done(&b);
}

TEST(batch_codec, says_where_the_damage_is)
{
    struct sf_buf b = {0};
    struct sf_span_batch got;
    struct sf_why why;
    encode(&b);
    sf_buf_add_u8(&b, 0);
    assert_err(decode(&b, &got, &why), SF_ERR_CORRUPT);
    assert_non_null(strstr(why.text, "bytes behind the end at byte"));
    encode(&b);
    sf_store_u32le(b.p + 1, 4); /* one string more than there is */
    assert_err(decode(&b, &got, &why), SF_ERR_CORRUPT);
    assert_non_null(strstr(why.text, "fewer strings"));
    sf_store_u32le(b.p + 1, 2);
    assert_err(decode(&b, &got, &why), SF_ERR_CORRUPT);
    assert_non_null(strstr(why.text, "more strings"));
    encode(&b);
    b.p[7] = 100; /* spans */
    assert_err(decode(&b, &got, &why), SF_ERR_CORRUPT);
    assert_non_null(strstr(why.text, "a count of more than there is at byte 8"));
    sf_buf_done(&b);
}

TEST(batch_codec, checks_places_and_ids)
{
    struct sf_buf b = {0};
    struct sf_span_batch got;
    struct sf_span bad = span;
    struct sf_span_batch wrong = {&resource, &scope, &bad, 1, 1, 1};
    bad.resource = 1;
    sf_batch_codec_encode(&wrong, &b);
    assert_err(decode(&b, &got, NULL), SF_ERR_CORRUPT);
    bad = span;
    bad.span_id = 0;
    sf_buf_reset(&b);
    sf_batch_codec_encode(&wrong, &b);
    assert_err(decode(&b, &got, NULL), SF_ERR_CORRUPT);
    bad = span;
    bad.trace_id.b[0] = 0;
    sf_buf_reset(&b);
    sf_batch_codec_encode(&wrong, &b);
    assert_err(decode(&b, &got, NULL), SF_ERR_CORRUPT);
    bad = span;
    bad.kind = SF_KINDS;
    sf_buf_reset(&b);
    sf_batch_codec_encode(&wrong, &b);
    assert_err(decode(&b, &got, NULL), SF_ERR_CORRUPT);
    sf_buf_done(&b);
}

TEST(batch_codec, checks_lists_inside_values)
{
    struct sf_attr list[] = {
        {SF_STR("k"), {.type = SF_VALUE_ARRAY, .str = SF_STR("\x0a\x05\x18\x01")}}};
    struct sf_span bad = span;
    struct sf_span_batch wrong = {&resource, &scope, &bad, 1, 1, 1}, got;
    struct sf_buf b = {0};
    bad.attrs = (struct sf_attrs){list, 1};
    sf_batch_codec_encode(&wrong, &b);
    assert_err(decode(&b, &got, NULL), SF_ERR_CORRUPT);
    sf_buf_done(&b);
}

TEST(batch_codec, a_buffer_at_its_limit_keeps_the_fault)
{
    struct sf_buf b = {.max = 20};
    sf_batch_codec_encode(&batch, &b);
    assert_int_equal(b.err, SF_ERR_LIMIT);
    sf_buf_done(&b);
}
