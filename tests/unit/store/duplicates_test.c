#include "test.h"

#include "base/heap.h"
#include "store/local/write/duplicates.h"

static const int64_t S = INT64_C(1000000000), T0 = INT64_C(1763200000) * INT64_C(1000000000);

static enum sf_dup_answer ask(struct sf_duplicates *d, uint64_t hash, int64_t now_ns,
                              struct sf_dup_waiter *w)
{
    enum sf_dup_answer a;
    assert_ok(sf_duplicates_begin(d, hash, now_ns, w, &a));
    return a;
}

TEST(duplicates, know_a_request_for_ten_minutes)
{
    struct sf_duplicates *d = sf_duplicates_new(1 << 20);
    struct sf_dup_waiter w;
    assert_int_equal(ask(d, 7, T0, &w), SF_DUP_NEW);
    assert_null(sf_duplicates_end(d, 7, true));
    assert_int_equal(ask(d, 7, T0 + 600 * S, &w), SF_DUP_DURABLE);
    assert_int_equal(ask(d, 7, T0 + 601 * S, &w), SF_DUP_NEW);
    assert_null(sf_duplicates_end(d, 7, true));
    assert_int_equal(ask(d, 7, T0 + 602 * S, &w), SF_DUP_DURABLE);
    sf_duplicates_free(d);
}

TEST(duplicates, let_a_repeat_wait_for_the_first_one)
{
    struct sf_duplicates *d = sf_duplicates_new(1 << 20);
    struct sf_dup_waiter a, b, other, *back;
    assert_int_equal(ask(d, 7, T0, &a), SF_DUP_NEW);
    assert_int_equal(ask(d, 8, T0, &other), SF_DUP_NEW);
    assert_int_equal(ask(d, 7, T0, &a), SF_DUP_WAITS);
    assert_int_equal(ask(d, 7, T0, &b), SF_DUP_WAITS);
    back = sf_duplicates_end(d, 7, false);
    assert_true(back && back->next && !back->next->next);
    assert_int_equal(ask(d, 7, T0, &a), SF_DUP_NEW); /* it failed: the next one is the first */
    sf_duplicates_free(d);
}

TEST(duplicates, hand_a_block_only_requests_that_did_not_fail)
{
    struct sf_duplicates *d = sf_duplicates_new(1 << 20);
    struct sf_dup_waiter w;
    uint64_t *hashes;
    size_t n;
    for (uint64_t i = 1; i <= 5; i++) {
        assert_int_equal(ask(d, i, T0, &w), SF_DUP_NEW);
        sf_duplicates_end(d, i, i != 3);
    }
    sf_duplicates_take(d, &hashes, &n);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        assert_int_not_equal(hashes[i], 3);
    sf_duplicates_give_back(d, hashes, n);
    sf_duplicates_take(d, &hashes, &n);
    assert_int_equal(n, 4);
    sf_duplicates_give_back(d, hashes, n);
    sf_duplicates_free(d);
}

TEST(duplicates, forget_the_oldest_over_their_memory)
{
    struct sf_duplicates *d = sf_duplicates_new(256 << 10);
    struct sf_dup_waiter w;
    for (uint64_t i = 1; i <= 50000; i++) {
        uint64_t hash = i * 0x9e3779b97f4a7c15u;
        uint64_t *hashes;
        size_t n;
        assert_int_equal(ask(d, hash, T0, &w), SF_DUP_NEW);
        sf_duplicates_end(d, hash, true);
        if (i % 1000 == 0) {
            sf_duplicates_take(d, &hashes, &n);
            sf_duplicates_give_back(d, hashes, 0);
        }
    }
    assert_true(sf_duplicates_len(d) <= 256 << 10);
    assert_true(sf_duplicates_n_dropped(d) > 0);
    assert_int_equal(ask(d, 50000 * 0x9e3779b97f4a7c15u, T0, &w), SF_DUP_DURABLE);
    sf_duplicates_free(d);
}

/* A request nobody could remember is refused, and is new when it comes again. */
TEST(duplicates, say_when_memory_runs_out)
{
    struct sf_duplicates *d = sf_duplicates_new(1 << 20);
    uint64_t hash = 1;
    unsigned n_refused = 0;
    for (; hash < 20000; hash++) {
        struct sf_dup_waiter w;
        enum sf_dup_answer a = SF_DUP_WAITS;
        enum sf_err err;
        sf_heap_fail_after(1);
        err = sf_duplicates_begin(d, hash, T0, &w, &a);
        sf_heap_fail_after(0);
        if (err) {
            assert_err(err, SF_ERR_NOMEM);
            n_refused++;
            assert_int_equal(ask(d, hash, T0, &w), SF_DUP_NEW);
        } else {
            assert_int_equal(a, SF_DUP_NEW);
        }
        assert_null(sf_duplicates_end(d, hash, true));
        assert_int_equal(ask(d, hash, T0, &w), SF_DUP_DURABLE);
    }
    assert_true(n_refused > 0);
    sf_duplicates_free(d);
}
