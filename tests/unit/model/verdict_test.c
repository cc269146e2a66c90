#include "model/verdict.h"

#include "base/hash.h"

#include "test.h"

static const uint8_t UUID[16] = {1, 2, 3};

static sf_trace_id trace(uint8_t n)
{
    return (sf_trace_id){{n}};
}

static const struct sf_keep_service SERVICES[] = {
    {{"shop", 4}, {.slow_ns = 7, .baseline_per_10000 = 500, .flagged = SF_KEEP_FLAG_SAMPLED}}};
static const sf_str NAMES[] = {{"shop", 4}, {"stock", 5}};
static const sf_span_id SPANS[] = {30, 10, 20};
static const struct sf_verdict_root ROOTS[] = {{5, 100, 900}, {5, 200, 300}, {6, 50, 60}};

static struct sf_verdict make(struct sf_verdict_entry traces[2])
{
    traces[0] = (struct sf_verdict_entry){trace(1), 1u << SF_KEEP_BASELINE, 100, 0, 2};
    traces[1] = (struct sf_verdict_entry){trace(9), 1u << SF_KEEP_CPU, 500, 2, 1};
    return (struct sf_verdict){
        .head =
            {.tenant = 3, .hour = 12345, .lsn = 6, .below_block = 7, .created_ns = 8, .version = 2},
        .rules = {.is_on = true,
                  .all = {.baseline_per_10000 = 100},
                  .services = SERVICES,
                  .n_services = 1},
        .n_traces = 40,
        .n_spans = 80,
        .n_by = {[SF_KEEP_CPU] = 1},
        .traces = traces,
        .n_kept = 2,
        .spans = SPANS,
        .n_kept_spans = 3,
        .roots = ROOTS,
        .n_roots = 3,
        .services = NAMES,
        .n_services = 2};
}

TEST(verdict, is_read_as_it_was_written)
{
    struct sf_verdict_entry traces[2];
    struct sf_verdict v = make(traces), got;
    struct sf_buf bytes = {0};
    struct sf_arena a;
    assert_true(sf_arena_init(&a, 1 << 20));
    sf_verdict_encode(&v, UUID, &bytes);
    assert_ok(sf_verdict_decode(sf_buf_bytes(&bytes), UUID, &a, &got, NULL));
    assert_int_equal(got.head.tenant, 3);
    assert_int_equal(got.head.hour, 12345);
    assert_int_equal(got.head.below_block, 7);
    assert_int_equal(got.n_traces, 40);
    assert_int_equal(got.n_by[SF_KEEP_CPU], 1);
    assert_int_equal(sf_keep_rules_of(&got.rules, SF_STR("shop"))->baseline_per_10000, 500);
    assert_int_equal(sf_keep_rules_of(&got.rules, SF_STR("other"))->baseline_per_10000, 100);
    assert_int_equal(sf_verdict_trace(&got, trace(9))->reasons, 1u << SF_KEEP_CPU);
    assert_null(sf_verdict_trace(&got, trace(2)));
    assert_true(sf_verdict_has_span(&got, 10) && sf_verdict_has_span(&got, 30));
    assert_true(sf_verdict_has_service(&got, SF_STR("stock")));
    assert_false(sf_verdict_has_service(&got, SF_STR("sto")));
    assert_false(sf_verdict_has_span(&got, 11) || sf_verdict_has_span(&got, 0));
    sf_buf_done(&bytes);
    sf_arena_done(&a);
}

TEST(verdict, finds_roots_that_a_sample_overlaps)
{
    struct sf_verdict_entry traces[2];
    struct sf_verdict v = make(traces), got;
    struct sf_buf bytes = {0};
    struct sf_arena a;
    assert_true(sf_arena_init(&a, 1 << 20));
    sf_verdict_encode(&v, UUID, &bytes);
    assert_ok(sf_verdict_decode(sf_buf_bytes(&bytes), UUID, &a, &got, NULL));
    assert_true(sf_verdict_has_root(&got, 5, 0, 100));
    assert_true(sf_verdict_has_root(&got, 5, 500, 510)); /* the longer one began before the other */
    assert_true(sf_verdict_has_root(&got, 5, 900, 950));
    assert_false(sf_verdict_has_root(&got, 5, 901, 950));
    assert_false(sf_verdict_has_root(&got, 5, 0, 99));
    assert_true(sf_verdict_has_root(&got, 6, 55, 56));
    assert_false(sf_verdict_has_root(&got, 6, 100, 200)); /* of another process */
    assert_false(sf_verdict_has_root(&got, 7, 55, 56));
    sf_buf_done(&bytes);
    sf_arena_done(&a);
}

TEST(verdict, refuses_every_changed_byte)
{
    struct sf_verdict_entry traces[2];
    struct sf_verdict v = make(traces), got;
    struct sf_buf bytes = {0};
    struct sf_arena a;
    assert_true(sf_arena_init(&a, 1 << 20));
    sf_verdict_encode(&v, UUID, &bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.p[i] ^= 0x10;
        assert_int_not_equal(sf_verdict_decode(sf_buf_bytes(&bytes), UUID, &a, &got, NULL), SF_OK);
        bytes.p[i] ^= 0x10;
    }
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_not_equal(sf_verdict_decode((sf_bytes){bytes.p, len}, UUID, &a, &got, NULL),
                             SF_OK);
    bytes.p[4] = SF_VERDICT_FORMAT + 1;
    sf_store_u64le(bytes.p + SF_VERDICT_HEADER_LEN, sf_hash(bytes.p, SF_VERDICT_HEADER_LEN));
    assert_int_equal(sf_verdict_decode(sf_buf_bytes(&bytes), UUID, &a, &got, NULL),
                     SF_ERR_UNSUPPORTED);
    sf_buf_done(&bytes);
    sf_arena_done(&a);
}
