#include "listen/body.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/heap.h"
#include "base/limits.h"
#include "test.h"

static struct sf_body_budget budget_of(size_t max)
{
    return (struct sf_body_budget){.max = max, .spool_path = "/tmp"};
}

static sf_bytes letters(size_t len)
{
    static uint8_t text[2 << 20];

    if (!text[0]) {
        for (size_t i = 0; i < sizeof(text); i++)
            text[i] = (uint8_t)('a' + i % 23);
    }
    return (sf_bytes){text, len};
}

TEST(body, is_in_memory_while_it_is_short)
{
    struct sf_body_budget budget = budget_of(16 << 20);
    struct sf_body b = {.budget = &budget, .len_max = 64 << 20};
    uint8_t out[16];
    size_t n;

    assert_ok(sf_body_add(&b, letters(10), NULL));
    assert_ok(sf_body_add(&b, letters(5), NULL));
    assert_false(sf_body_is_spooled(&b));
    assert_int_equal(b.len, 15);
    assert_int_equal(budget.held, b.memory.cap);
    assert_ok(sf_body_read(&b, 8, out, sizeof(out), &n, NULL));
    assert_int_equal(n, 7);
    assert_memory_equal(out, "ijabcde", 7);
    assert_ok(sf_body_read(&b, 15, out, sizeof(out), &n, NULL));
    assert_int_equal(n, 0);
    assert_ok(sf_body_read(&b, UINT64_MAX, out, sizeof(out), &n, NULL));
    assert_int_equal(n, 0);
    sf_body_done(&b);
    assert_int_equal(budget.held, 0);
}

TEST(body, moves_to_a_file_when_it_is_long)
{
    struct sf_body_budget budget = budget_of(16 << 20);
    struct sf_body b = {.budget = &budget, .len_max = 64 << 20};
    uint8_t out[100];
    size_t n;

    assert_ok(sf_body_add(&b, letters(SF_LIMIT_BODY_MEMORY_LEN), NULL));
    assert_false(sf_body_is_spooled(&b));
    assert_ok(sf_body_add(&b, letters(50), NULL));
    assert_true(sf_body_is_spooled(&b));
    assert_int_equal(budget.held, 0);
    assert_int_equal(budget.spooled, b.len);
    assert_int_equal(budget.n_spooled, 1);
    assert_ok(sf_body_read(&b, SF_LIMIT_BODY_MEMORY_LEN - 1, out, sizeof(out), &n, NULL));
    assert_int_equal(n, 51);
    assert_memory_equal(out + 1, letters(50).p, 50);
    sf_body_done(&b);
    assert_int_equal(budget.spooled, 0);
}

TEST(body, moves_to_a_file_rather_than_over_the_budget)
{
    struct sf_body_budget budget = budget_of(1000);
    struct sf_body a = {.budget = &budget, .len_max = 64 << 20}, b = a;

    assert_ok(sf_body_add(&a, letters(900), NULL));
    assert_true(sf_body_budget_is_over(&budget));
    /* What fits in the memory it has costs nothing more. */
    assert_ok(sf_body_add(&a, letters(100), NULL));
    assert_false(sf_body_is_spooled(&a));
    assert_ok(sf_body_add(&b, letters(1), NULL));
    assert_true(sf_body_is_spooled(&b));
    assert_ok(sf_body_add(&a, letters(900), NULL));
    assert_true(sf_body_is_spooled(&a));
    assert_int_equal(a.len, 1900);
    assert_false(sf_body_budget_is_over(&budget));
    sf_body_done(&a);
    sf_body_done(&b);
    assert_int_equal(budget.held, 0);
    assert_int_equal(budget.spooled, 0);
}

TEST(body, refuses_to_grow_over_its_limit)
{
    struct sf_body_budget budget = budget_of(16 << 20);
    struct sf_body b = {.budget = &budget, .len_max = 100};
    struct sf_why why = {""};

    assert_err(sf_body_add(&b, letters(101), &why), SF_ERR_LIMIT);
    assert_non_null(strstr(why.text, "100 bytes"));
    assert_non_null(strstr(why.text, "limits.body")); /* says what to do */
    assert_ok(sf_body_check_len(100, 100, NULL));
    assert_err(sf_body_check_len(UINT64_MAX, 100, NULL), SF_ERR_LIMIT);
    assert_ok(sf_body_add(&b, letters(100), NULL));
    assert_err(sf_body_add(&b, letters(1), NULL), SF_ERR_LIMIT);
    sf_body_done(&b);
}

TEST(body, says_when_its_file_cannot_be_written)
{
    struct sf_body_budget budget = budget_of(16 << 20);
    struct sf_body b = {.budget = &budget, .len_max = 64 << 20};
    struct rlimit before, small = {1 << 20, RLIM_INFINITY};
    struct sf_why why = {""};
    enum sf_err err;

    budget.spool_path = "/nowhere";
    err = sf_body_add(&b, letters(2 << 20), &why);
    assert_int_equal(err, SF_ERR_IO);
    assert_non_null(strstr(why.text, "/nowhere"));
    sf_body_done(&b);

    budget.spool_path = "/tmp";
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    err = sf_body_add(&b, letters(2 << 20), &why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err, SF_ERR_IO);
    sf_body_done(&b);
    assert_int_equal(budget.held, 0);

    atomic_store(&budget.spooled, SF_LIMIT_SPOOL_LEN);
    assert_err(sf_body_add(&b, letters(2 << 20), &why), SF_ERR_BUSY);
    atomic_store(&budget.spooled, 0);
    sf_body_done(&b);

    sf_heap_fail_after(1);
    assert_err(sf_body_add(&b, letters(2), &why), SF_ERR_NOMEM);
    sf_heap_fail_after(0);
    sf_body_done(&b);
    assert_int_equal(budget.held, 0);
}

TEST(body, takes_announced_bytes_where_they_stay)
{
    struct sf_body_budget budget = budget_of(16 << 20);
    struct sf_body b = {.budget = &budget, .len_max = 64 << 20};
    struct sf_buf taken = {0};
    sf_bytes all = letters(100000);
    uint8_t *room, *first, again[1000];
    size_t n = 0;

    assert_null(sf_body_room(&b, 100000, &n)); /* nothing is announced */
    sf_body_expect(&b, 100000);
    assert_true(b.memory.cap >= 100000);
    assert_int_equal(budget.held, b.memory.cap);
    first = b.memory.p;
    assert_ok(sf_body_add(&b, (sf_bytes){all.p, 3000}, NULL)); /* came with the head */
    while (b.len < 100000) {
        room = sf_body_room(&b, 100000 - b.len, &n);
        assert_ptr_equal(room, first + b.len);
        n = n < 40000 ? n : 40000; /* as a socket has it */
        memcpy(room, all.p + b.len, n);
        assert_ok(sf_body_add(&b, (sf_bytes){room, n}, NULL));
    }
    assert_true(sf_body_take(&b, &taken));
    assert_ptr_equal(taken.p, first);
    assert_int_equal(taken.len, 100000);
    assert_memory_equal(taken.p, all.p, 100000);
    assert_true(budget.held >= 100000);    /* somebody has it */
    assert_true(sf_body_give(&b, &taken)); /* to be read again */
    assert_null(taken.p);
    assert_ok(sf_body_read(&b, 0, again, sizeof(again), &n, NULL));
    assert_int_equal(n, sizeof(again));
    assert_memory_equal(again, all.p, sizeof(again));
    assert_true(sf_body_take(&b, &taken));
    assert_int_equal(taken.len, 100000);
    sf_body_done(&b);
    assert_int_equal(budget.held, 0);
    sf_buf_done(&taken);
}

TEST(body, believes_announcements_up_to_half_the_budget)
{
    struct sf_body_budget budget = budget_of(256 << 10);
    struct sf_body b[3] = {{.budget = &budget, .len_max = 64 << 20},
                           {.budget = &budget, .len_max = 64 << 20},
                           {.budget = &budget, .len_max = 64 << 20}};
    struct sf_buf taken = {0};
    size_t n;

    sf_body_expect(&b[0], 64 << 20);
    assert_int_equal(budget.held, 0);
    sf_body_expect(&b[0], 100 << 10);
    assert_true(budget.held >= 100 << 10);
    sf_body_expect(&b[1], 100 << 10);
    assert_null(b[1].memory.p);
    sf_heap_fail_after(1);
    sf_body_expect(&b[2], 10);
    sf_heap_fail_after(0);
    for (int i = 0; i < 3; i++) { /* whatever was believed, it is taken */
        assert_ok(sf_body_add(&b[i], letters(10), NULL));
        assert_int_equal(b[i].len, 10);
    }
    assert_ok(sf_body_add(&b[0], letters(2 << 20), NULL));
    assert_true(sf_body_is_spooled(&b[0]));
    assert_null(sf_body_room(&b[0], 100, &n));
    assert_false(sf_body_take(&b[0], &taken));
    assert_false(sf_body_give(&b[0], &taken));
    for (int i = 0; i < 3; i++)
        sf_body_done(&b[i]);
    assert_int_equal(budget.held, 0);
}
