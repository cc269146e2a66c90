#include "store/clickhouse/row_ids.h"

#include "store/clickhouse/profile_answer.h"
#include "test.h"
#include "wire/row_binary.h"

static void add_key(struct sf_buf *b, uint64_t series, uint64_t process)
{
    sf_buf_add_u64le(b, series);
    sf_buf_add_u64le(b, process);
    sf_buf_add_u8(b, 0);
    sf_buf_add_u64le(b, 7); /* start */
}

static void add_detail(struct sf_buf *b, uint64_t series, uint64_t process, uint64_t stack)
{
    static const uint8_t zeros[64];
    add_key(b, series, process);
    sf_buf_add(b, zeros, 8 + 1 + 8 + 16 + 8);
    sf_buf_add_u64le(b, stack);
    sf_buf_add(b, zeros, 8 + 4 + 1 + 8);
    sf_row_add_str(b, SF_STR("a thread"));
    sf_buf_add(b, zeros, 2);
    sf_row_add_str(b, SF_STR("a process"));
    sf_buf_add_u8(b, 0);
}

/* The rows must be read by both: their layouts are written down twice. */
TEST(row_ids, are_read_from_rows_of_samples)
{
    struct sf_buf b = {0};
    struct sf_row_ids ids = {0};
    struct sf_arena req;
    struct sf_profile_answer answer = {.req = &req};
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 20));
    add_detail(&b, 1, 0, 5);
    add_detail(&b, 1, 9, 6);
    add_detail(&b, 2, 0, 5);
    assert_ok(sf_profile_answer_add_details(&answer, sf_buf_bytes(&b), &why));
    assert_int_equal(answer.n_samples, 3);
    assert_ok(sf_row_ids_read(SF_ROWS_DETAILS, sf_buf_bytes(&b), &ids));
    assert_int_equal(ids.series.n, 2);
    assert_int_equal(ids.processes.n, 2);
    assert_int_equal(ids.stacks.n, 2);
    assert_int_equal(ids.series.list[1], 2);
    assert_int_equal(ids.processes.list[1], 9);
    assert_int_equal(ids.stacks.list[0], 5);
    sf_row_ids_done(&ids);
    for (size_t len = 1; len < 40; len++) {
        assert_int_equal(sf_row_ids_read(SF_ROWS_DETAILS, (sf_bytes){b.p, len}, &ids),
                         SF_ERR_CORRUPT);
        sf_row_ids_done(&ids);
    }
    sf_profile_answer_done(&answer);
    sf_arena_done(&req);
    sf_buf_done(&b);
}

TEST(row_ids, are_read_from_rows_of_profiles_and_stacks)
{
    struct sf_buf b = {0};
    struct sf_row_ids ids = {0};
    struct sf_arena req;
    struct sf_profile_answer answer = {.req = &req};
    struct sf_why why;
    static const uint8_t zeros[64];
    assert_true(sf_arena_init(&req, 1 << 20));
    for (uint64_t i = 0; i < 200; i++) {
        add_key(&b, i % 3, i % 5);
        sf_buf_add_u64le(&b, i % 70);
        sf_buf_add(&b, zeros, 16);
    }
    assert_ok(sf_profile_answer_add_stacks(&answer, sf_buf_bytes(&b), &why));
    assert_ok(sf_row_ids_read(SF_ROWS_STACKS, sf_buf_bytes(&b), &ids));
    assert_int_equal(ids.series.n, 3);
    assert_int_equal(ids.processes.n, 5);
    assert_int_equal(ids.stacks.n, 70);
    sf_row_ids_done(&ids);
    sf_buf_reset(&b);
    for (uint64_t i = 0; i < 20; i++) {
        add_key(&b, i % 3, i % 5);
        sf_buf_add(&b, zeros, 8 + 8 + 16 + 8 + 8 + 1);
    }
    assert_ok(sf_profile_answer_add_profiles(&answer, sf_buf_bytes(&b), true, &why));
    assert_ok(sf_row_ids_read(SF_ROWS_PROFILES, sf_buf_bytes(&b), &ids));
    assert_int_equal(ids.series.n, 3);
    assert_int_equal(ids.processes.n, 5);
    assert_int_equal(ids.stacks.n, 0);
    sf_row_ids_done(&ids);
    sf_profile_answer_done(&answer);
    sf_arena_done(&req);
    sf_buf_done(&b);
}
