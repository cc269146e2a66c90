#include "store/clickhouse/answer_memo.h"

#include <stdio.h>

#include "test.h"

static bool has(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, const char *question,
                const char *answer)
{
    struct sf_buf out = {0};
    bool is_there = sf_answer_memo_get(m, begun_ns, shard, sf_str_from(question), &out);
    bool is_same = sf_str_eq(sf_buf_str(&out), sf_str_from(answer));
    sf_buf_done(&out);
    return is_there && is_same;
}

static void put(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, const char *question,
                const char *answer)
{
    sf_answer_memo_put(m, begun_ns, shard, sf_str_from(question),
                       sf_str_bytes(sf_str_from(answer)));
}

TEST(answer_memo, gives_an_answer_to_its_request_shard_and_question_only)
{
    struct sf_answer_memo m;
    sf_answer_memo_init(&m);
    assert_true(!has(&m, 5, 0, "SELECT 1", "one"));
    put(&m, 5, 0, "SELECT 1", "one");
    put(&m, 5, 1, "SELECT 1", "");
    assert_true(has(&m, 5, 0, "SELECT 1", "one"));
    assert_true(has(&m, 5, 1, "SELECT 1", ""));
    assert_true(!has(&m, 6, 0, "SELECT 1", "one"));
    assert_true(!has(&m, 5, 2, "SELECT 1", "one"));
    assert_true(!has(&m, 5, 0, "SELECT 2", "one"));
    sf_answer_memo_done(&m);
}

TEST(answer_memo, keeps_nothing_without_a_request_and_forgets_the_oldest)
{
    struct sf_answer_memo m;
    char question[32];
    sf_answer_memo_init(&m);
    put(&m, 0, 0, "SELECT 1", "one");
    assert_true(!has(&m, 0, 0, "SELECT 1", "one"));
    for (int i = 0; i < 100; i++) {
        snprintf(question, sizeof(question), "SELECT %d", i);
        put(&m, 7, 0, question, "x");
    }
    assert_true(!has(&m, 7, 0, "SELECT 0", "x"));
    assert_true(has(&m, 7, 0, "SELECT 99", "x"));
    sf_answer_memo_done(&m);
}
