#include "test.h"

#include "base/heap.h"
#include "store/local/tombstones.h"

TEST(tombstones, hide_what_they_select_and_nothing_else)
{
    sf_trace_id ids[3] = {{{9}}, {{1}}, {{5}}};
    struct sf_tombstone traces = {
        .id = 1,
        .tenant = 1,
        .below_block = 10,
        .which = {.what = SF_SELECT_TRACES, .trace_ids = ids, .n_traces = 3}};
    struct sf_tombstone service = {
        .id = 2,
        .tenant = 2,
        .below_block = 20,
        .which = {.what = SF_SELECT_SERVICE, .service = SF_STR("a"), .from_ns = 100, .to_ns = 200}};
    struct sf_tombstones *one = sf_tombstones_with(NULL, &traces, 0);
    struct sf_tombstones *both = sf_tombstones_with(one, &service, 0);
    struct sf_tombstones *last = sf_tombstones_with(both, NULL, 1);
    sf_trace_id other = {{7}};
    assert_int_equal(sf_tombstones_n(both), 2);
    for (int i = 0; i < 3; i++)
        assert_true(sf_tombstones_hide(both, 9, 1, ids[i], SF_STR("x"), 5));
    assert_false(sf_tombstones_hide(both, 10, 1, ids[0], SF_STR("x"), 5)); /* a later block */
    assert_false(sf_tombstones_hide(both, 0, 1, ids[0], SF_STR("x"), 5));  /* a part */
    assert_false(sf_tombstones_hide(both, 9, 2, ids[0], SF_STR("x"), 5));  /* another tenant */
    assert_false(sf_tombstones_hide(both, 9, 1, other, SF_STR("x"), 5));
    assert_true(sf_tombstones_hide(both, 19, 2, other, SF_STR("a"), 150));
    assert_false(sf_tombstones_hide(both, 19, 2, other, SF_STR("a"), 99));
    assert_false(sf_tombstones_hide(both, 19, 2, other, SF_STR("a"), 201));
    assert_false(sf_tombstones_hide(both, 19, 2, other, SF_STR("b"), 150));
    assert_true(sf_tombstones_touch(both, 19, 0, 0, 1000));
    assert_false(sf_tombstones_touch(both, 19, 2, 0, 50));
    assert_int_equal(sf_tombstones_n(last), 1);
    assert_false(sf_tombstones_hide(last, 9, 1, ids[0], SF_STR("x"), 5));
    sf_tombstones_unref(one);
    sf_tombstones_unref(both);
    sf_tombstones_unref(last);
}

/* One end given, the other open: what lies beyond the given one stays. */
TEST(tombstones, hide_up_to_the_end_that_is_given)
{
    struct sf_tombstone from = {
        .id = 1, .tenant = 1, .below_block = 10, .which = {.what = SF_SELECT_ALL, .from_ns = 100}};
    struct sf_tombstone until = {
        .id = 1, .tenant = 1, .below_block = 10, .which = {.what = SF_SELECT_ALL, .to_ns = 200}};
    struct sf_tombstones *a = sf_tombstones_with(NULL, &from, 0);
    struct sf_tombstones *b = sf_tombstones_with(NULL, &until, 0);
    sf_trace_id id = {{7}};
    assert_false(sf_tombstones_hide(a, 9, 1, id, SF_STR("x"), 99));
    assert_true(sf_tombstones_hide(a, 9, 1, id, SF_STR("x"), 100));
    assert_true(sf_tombstones_hide(a, 9, 1, id, SF_STR("x"), UINT64_MAX));
    assert_true(sf_tombstones_hide(b, 9, 1, id, SF_STR("x"), 0));
    assert_true(sf_tombstones_hide(b, 9, 1, id, SF_STR("x"), 200));
    assert_false(sf_tombstones_hide(b, 9, 1, id, SF_STR("x"), 201));
    assert_false(sf_tombstones_touch(a, 9, 1, 0, 99));
    assert_true(sf_tombstones_touch(a, 9, 1, 0, 100));
    assert_true(sf_tombstones_touch(b, 9, 1, 0, 1000));
    sf_tombstones_unref(a);
    sf_tombstones_unref(b);
}

TEST(tombstones, write_and_read_selectors)
{
    sf_trace_id ids[2] = {{{1, 2}}, {{3, 4}}}, back[8];
    struct sf_selector in[3] = {
        {.what = SF_SELECT_TRACES, .trace_ids = ids, .n_traces = 2},
        {.what = SF_SELECT_SERVICE, .service = SF_STR("cart"), .from_ns = -5, .to_ns = 9},
        {.what = SF_SELECT_ALL}};
    for (int i = 0; i < 3; i++) {
        struct sf_buf buf = {0};
        struct sf_selector out;
        sf_tombstones_selector_encode(&in[i], &buf);
        assert_ok(sf_tombstones_selector_decode(sf_buf_bytes(&buf), back, &out, NULL));
        assert_int_equal(out.what, in[i].what);
        assert_true(out.from_ns == in[i].from_ns && out.to_ns == in[i].to_ns);
        assert_int_equal(out.n_traces, in[i].n_traces);
        assert_true(sf_str_eq(out.service, in[i].service));
        for (size_t cut = 0; cut < 17; cut++)
            assert_err(sf_tombstones_selector_decode((sf_bytes){buf.p, cut}, back, &out, NULL),
                       SF_ERR_CORRUPT);
        sf_buf_done(&buf);
    }
}
