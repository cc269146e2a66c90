#include "base/account.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/heap.h"
#include "test.h"

enum { MIB = 1 << 20 };

static struct sf_account_pool pool;
static bool is_turn_free;
static unsigned n_asked;

static bool take_turn(__attribute__((unused)) void *arg)
{
    bool is_mine = is_turn_free;
    n_asked++;
    is_turn_free = false;
    return is_mine;
}

static struct sf_account new_account(void)
{
    return (struct sf_account){
        .pool = &pool, .large_cap = 40 * MIB, .most_cap = 40 * MIB, .take_turn = take_turn};
}

static void set_up(bool is_free)
{
    pool = (struct sf_account_pool){.cap = 16 * MIB, .query_cap = 8 * MIB, .sum_cap = 44 * MIB};
    is_turn_free = is_free;
    n_asked = 0;
}

TEST(account, counts_blocks_while_it_is_open)
{
    struct sf_account a = new_account();
    void *before = sf_heap_new(100), *p, *q;
    set_up(true);
    sf_account_open(&a);
    p = sf_heap_new(MIB);
    q = sf_heap_grow(NULL, 2 * MIB, 1);
    assert_true(a.held >= 3 * MIB && a.held < 3 * MIB + 8192);
    q = sf_heap_grow(q, 4 * MIB, 1);
    assert_true(a.held >= 5 * MIB && a.held < 5 * MIB + 16384);
    sf_heap_free(p);
    sf_heap_free(q);
    sf_heap_free(before); /* another thread's: never below nothing */
    assert_true(a.held < 16384);
    assert_true(a.most >= 5 * MIB);
    sf_account_close();
    assert_false(sf_account_is_open());
    assert_int_equal(atomic_load(&pool.used), 0);
}

TEST(account, counts_what_an_arena_and_its_copies_touch_once)
{
    struct sf_account a = new_account();
    struct sf_arena arena, copy;
    set_up(true);
    sf_account_open(&a);
    assert_true(sf_arena_init(&arena, 64 * MIB));
    assert_non_null(sf_arena_new(&arena, MIB));
    for (int i = 0; i < 50; i++) {
        copy = arena;
        assert_non_null(sf_arena_new(&copy, 2 * MIB));
    }
    assert_true(a.held >= 3 * MIB && a.held < 4 * MIB);
    assert_non_null(sf_arena_tail(&arena, 100));
    assert_true(a.held < 4 * MIB);
    sf_arena_release(&arena);
    assert_true(a.held <= MIB + 4096);
    sf_arena_done(&arena);
    assert_true(a.held < 4096);
    sf_account_close();
}

TEST(account, lets_one_query_hold_much_and_puts_the_next_off)
{
    struct sf_account large = new_account(), small = new_account();
    struct sf_arena arena;
    set_up(true);
    sf_account_open(&large);
    assert_true(sf_arena_init(&arena, 64 * MIB));
    assert_non_null(sf_arena_new(&arena, 20 * MIB));
    assert_true(large.is_large);
    assert_int_equal(atomic_load(&pool.used), 0);
    sf_account_pause();

    sf_account_open(&small);
    void *p = sf_heap_new(7 * MIB);
    assert_non_null(p);
    assert_null(sf_heap_new(2 * MIB));
    assert_true(small.is_put_off && !small.is_over && sf_account_has_refused());
    assert_null(sf_heap_new(1)); /* from then on nothing: it ends soon */
    assert_int_equal(n_asked, 2);
    sf_heap_free(p);
    sf_account_close();
    assert_false(sf_account_has_refused());

    sf_account_resume(&large);
    assert_null(sf_arena_new(&arena, 25 * MIB));
    assert_true(large.is_over && !large.is_put_off);
    sf_arena_done(&arena);
    sf_account_close();
    assert_int_equal(atomic_load(&pool.large_used), 0);
}

static size_t spare_len;

static bool take_spare(__attribute__((unused)) void *arg, size_t len)
{
    bool has = spare_len >= len;
    assert_true(len > 0 && len % SF_ACCOUNT_SPARE_LEN == 0);
    spare_len -= has ? len : 0;
    return has;
}

/* As the server does: what was granted and is not resident yet is not seen. */
static bool is_spare(__attribute__((unused)) void *arg, size_t len)
{
    return len <= spare_len;
}

TEST(account, grants_no_spare_memory_twice_to_one_allocation)
{
    struct sf_account a = new_account();
    void *p;
    set_up(true);
    a.take_spare = is_spare;
    a.most_cap = 100 * MIB;
    spare_len = 8 * MIB;
    sf_account_open(&a);
    assert_null(sf_heap_new(40 * MIB + 9 * MIB)); /* 40 are its own */
    assert_true(a.is_put_off && !a.is_over);
    a.is_put_off = false;
    p = sf_heap_new(40 * MIB + 7 * MIB);
    assert_non_null(p);
    sf_heap_free(p);
    sf_account_close();
}

TEST(account, lets_the_large_query_take_what_is_spare)
{
    struct sf_account a = new_account();
    void *p, *q;
    set_up(true);
    a.take_spare = take_spare;
    a.most_cap = 100 * MIB;
    spare_len = 12 * MIB;
    sf_account_open(&a);
    p = sf_heap_new(40 * MIB - 8192);
    q = sf_heap_new(10 * MIB);
    assert_non_null(p);
    assert_non_null(q);
    assert_int_equal(spare_len, 0);
    assert_null(sf_heap_new(10 * MIB)); /* others hold the rest: not now */
    assert_true(a.is_put_off && !a.is_over);
    a.is_put_off = false;
    assert_null(sf_heap_new(60 * MIB)); /* never */
    assert_true(a.is_over);
    sf_heap_free(p);
    sf_heap_free(q);
    sf_account_close();
}

TEST(account, puts_queries_off_when_all_together_hold_too_much)
{
    struct sf_account each[3] = {new_account(), new_account(), new_account()};
    void *held[3];
    set_up(false);
    for (int i = 0; i < 3; i++) {
        sf_account_open(&each[i]);
        held[i] = sf_heap_new(7 * MIB);
        sf_account_pause();
    }
    assert_non_null(held[0]);
    assert_non_null(held[1]);
    assert_null(held[2]); /* 16 MiB for all, beside one free for each */
    assert_true(each[2].is_put_off);
    for (int i = 0; i < 3; i++) {
        sf_account_resume(&each[i]);
        sf_heap_free(held[i]);
        sf_account_close();
    }
    assert_int_equal(atomic_load(&pool.used), 0);
}

TEST(account, leaves_the_others_less_while_the_large_one_holds_much)
{
    struct sf_account large = new_account(), small = new_account();
    set_up(true);
    sf_account_open(&large);
    void *p = sf_heap_new(39 * MIB), *q;
    assert_non_null(p);
    sf_account_pause();
    sf_account_open(&small);
    q = sf_heap_new(MIB); /* small ones always begin */
    assert_non_null(q);
    assert_null(sf_heap_new(7 * MIB - 4096)); /* alone it would fit */
    assert_true(small.is_put_off);
    sf_heap_free(q);
    sf_account_close();
    sf_account_resume(&large);
    sf_heap_free(p);
    sf_account_close();
}

/* A reset keeps a short list at the end of the arena, which stays counted, and gives the rest of a
 * long one back. */
TEST(account, counts_the_end_of_an_arena_across_resets)
{
    struct sf_account a = new_account();
    struct sf_arena arena;
    uint64_t kept;
    set_up(true);
    sf_account_open(&a);
    assert_true(sf_arena_init(&arena, 64 * MIB));
    assert_non_null(sf_arena_tail(&arena, MIB / 10));
    kept = (uint64_t)a.held;
    assert_true(kept >= MIB / 10);
    for (int i = 0; i < 3; i++) { /* the same memory again and again */
        sf_arena_reset(&arena);
        assert_non_null(sf_arena_tail(&arena, MIB / 10));
        assert_int_equal(a.held, kept);
    }
    assert_non_null(sf_arena_tail(&arena, 2 * MIB));
    assert_true(a.held >= 2 * MIB);
    sf_arena_reset(&arena);
    assert_true(a.held <= MIB / 4 + 4096);
    sf_arena_done(&arena);
    assert_true(a.held < 4096);
    sf_account_close();
}

TEST(account, is_left_by_an_arena_that_others_will_use)
{
    struct sf_account a = new_account(), b = new_account();
    struct sf_arena arena;
    set_up(false);
    sf_account_open(&a);
    assert_true(sf_arena_init(&arena, 64 * MIB));
    assert_non_null(sf_arena_new(&arena, 5 * MIB));
    sf_arena_lend(&arena, 2 * MIB);
    assert_true(a.held < 4096);
    sf_account_close();
    sf_account_open(&b);
    assert_true(sf_arena_borrow(&arena));
    assert_int_equal(b.held, 2 * MIB);
    assert_non_null(sf_arena_new(&arena, MIB)); /* touched already */
    assert_int_equal(b.held, 2 * MIB);
    sf_arena_done(&arena);
    sf_account_close();
}

static unsigned n_end_asked;
static bool is_time_up;

static bool is_ended(__attribute__((unused)) void *arg)
{
    n_end_asked++;
    return is_time_up;
}

TEST(account, ends_a_query_in_a_loop_when_its_time_is_up)
{
    struct sf_account a = new_account();
    assert_true(sf_account_goes_on(SIZE_MAX)); /* of nobody */
    set_up(true);
    a.is_ended = is_ended;
    n_end_asked = 0;
    is_time_up = false;
    sf_account_open(&a);
    for (int i = 0; i < 65535; i++)
        assert_true(sf_account_goes_on(1));
    assert_int_equal(n_end_asked, 0); /* a clock costs more than a step */
    assert_true(sf_account_goes_on(1));
    assert_int_equal(n_end_asked, 1);
    assert_true(sf_account_goes_on(SIZE_MAX)); /* many at once are many, and no overflow */
    assert_int_equal(n_end_asked, 2);
    is_time_up = true;
    assert_true(sf_account_goes_on(65535));
    assert_false(sf_account_goes_on(1));
    assert_true(a.is_late && sf_account_has_refused());
    assert_null(sf_heap_new(1));
    is_time_up = false; /* once is permanently */
    assert_false(sf_account_goes_on(65536));
    sf_account_close();
    assert_false(sf_account_has_refused());
}

TEST(account, asks_about_the_time_while_memory_is_taken)
{
    struct sf_account a = new_account();
    unsigned n = 0;
    set_up(true);
    a.is_ended = is_ended;
    is_time_up = true;
    sf_account_open(&a);
    for (void *p; (p = sf_heap_new(16)) && n < 10000; n++)
        sf_heap_free(p);
    assert_true(a.is_late && !a.is_put_off && !a.is_over && n < 1000);
    sf_account_close();
    a = new_account();
    a.is_ended = is_ended;
    sf_account_open(&a);
    sf_account_stop_clock(); /* it is being sent */
    assert_true(sf_account_goes_on(SIZE_MAX));
    sf_account_close();
    sf_account_stop_clock(); /* of nobody */
    is_time_up = false;
}

TEST(account, says_how_much_was_refused)
{
    struct sf_account a = new_account();
    set_up(false);
    sf_account_open(&a);
    void *p = sf_heap_new(MIB);
    assert_null(sf_heap_new(8 * MIB));
    assert_true(a.refused >= 9 * MIB && a.refused < 9 * MIB + 8192);
    sf_heap_free(p);
    sf_account_close();
}
