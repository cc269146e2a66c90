#include "test.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/table.h"
#include "support/collide.h"

enum { N = 20000 };

/* The place of `id` in `ids`, or UINT32_MAX. */
static uint32_t find(const struct sf_table *t, const uint64_t *ids, uint64_t id)
{
    struct sf_table_lookup lookup = sf_table_lookup(t, sf_key_u64(id));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (ids[at] == id)
            return at;
    }
    return UINT32_MAX;
}

static void add(struct sf_table *t, uint64_t *ids, uint32_t at, uint64_t id)
{
    struct sf_table_lookup lookup;
    uint32_t other;
    assert_true(sf_table_more(t));
    lookup = sf_table_lookup(t, sf_key_u64(id));
    while (sf_table_next(&lookup, &other))
        assert_true(ids[other] != id);
    ids[at] = id;
    sf_table_keep(t, &lookup, at);
}

static uint64_t steps_of(struct sf_table *t, uint64_t *ids, uint64_t (*id_of)(uint64_t))
{
    uint64_t before = sf_table_steps;
    assert_true(sf_table_reset(t, 0));
    for (uint32_t i = 0; i < N; i++)
        add(t, ids, i, id_of(i));
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(find(t, ids, id_of(i)), i);
    return sf_table_steps - before;
}

static uint64_t count_up(uint64_t i)
{
    return i;
}

static uint64_t high_bits(uint64_t i)
{
    return i << 40;
}

TEST(table, finds_what_was_kept_and_nothing_else)
{
    struct sf_table t = {0};
    static uint64_t ids[N];
    for (uint32_t i = 0; i < 1000; i++)
        add(&t, ids, i, i * 7);
    assert_int_equal(t.n, 1000);
    for (uint32_t i = 0; i < 7000; i++)
        assert_int_equal(find(&t, ids, i), i % 7 ? UINT32_MAX : i / 7);
    sf_table_done(&t);
}

TEST(table, makes_room_for_many_at_once)
{
    struct sf_table t = {0};
    static uint64_t ids[N];
    for (uint32_t i = 0; i < 100; i++)
        add(&t, ids, i, i);
    assert_true(sf_table_reserve(&t, 900));
    uint32_t n_slots = t.n_slots;
    for (uint32_t i = 100; i < 1000; i++)
        add(&t, ids, i, i);
    assert_int_equal(t.n_slots, n_slots);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(find(&t, ids, i), i);
    assert_false(sf_table_reserve(&t, UINT32_MAX));
    assert_int_equal(t.n, 1000);
    sf_table_done(&t);
}

TEST(table, finds_the_others_after_one_was_dropped)
{
    struct sf_table t = {0};
    static uint64_t ids[N];
    for (uint32_t i = 0; i < 1000; i++)
        add(&t, ids, i, i);
    for (uint32_t i = 0; i < 1000; i += 2)
        sf_table_drop(&t, sf_key_u64(i), i);
    sf_table_drop(&t, sf_key_u64(0), 0); /* not there any more */
    sf_table_drop(&t, sf_key_u64(1), 3); /* another's place */
    assert_int_equal(t.n, 500);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(find(&t, ids, i), i % 2 ? i : UINT32_MAX);
    sf_table_done(&t);
}

TEST(table, costs_the_same_for_keys_that_were_made_to_collide)
{
    struct sf_table t = {0};
    static uint64_t ids[N];
    uint64_t (*const kinds[])(uint64_t) = {count_up, high_bits, collide_id};

    assert_int_equal(sf_hash_mix(0, collide_id(5)) >> 32, 0); /* the half that selects a slot */
    for (size_t k = 0; k < 3; k++)
        assert_true(steps_of(&t, ids, kinds[k]) < 6 * N);
    sf_table_done(&t);
}

TEST(table, forgets_the_end_of_a_list_that_is_cut)
{
    struct sf_table t = {0};
    static uint64_t ids[N];
    for (uint32_t i = 0; i < 5000; i++)
        add(&t, ids, i, i);
    sf_table_cut(&t, 1234);
    assert_int_equal(t.n, 1234);
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(find(&t, ids, i), i < 1234 ? i : UINT32_MAX);
    for (uint32_t i = 1234; i < 2000; i++)
        add(&t, ids, i, i + 100000);
    assert_int_equal(find(&t, ids, 100000 + 1999), 1999);
    sf_table_done(&t);
}

TEST(table, lives_in_an_arena_and_says_when_that_is_full)
{
    struct sf_arena a;
    struct sf_table t = {.arena = &a};
    static uint64_t ids[N];
    assert_true(sf_arena_init(&a, 4096));
    assert_true(sf_table_reset(&t, 200));
    for (uint32_t i = 0; i < 200; i++)
        add(&t, ids, i, i);
    assert_int_equal(find(&t, ids, 150), 150);
    assert_false(sf_table_reset(&t, 2000));
    assert_int_equal(find(&t, ids, 150), 150);
    sf_table_done(&t);
    sf_arena_done(&a);
}

TEST(table, has_another_secret_after_another_seed)
{
    uint64_t first, text;
    sf_key_fix(1);
    first = sf_key_u64(42);
    text = sf_key_str(SF_STR("checkout"));
    sf_key_fix(2);
    assert_true(sf_key_u64(42) != first);
    assert_true(sf_key_str(SF_STR("checkout")) != text);
    sf_key_fix(1);
    assert_true(sf_key_u64(42) == first);
    assert_true(sf_key_str(SF_STR("checkout")) == text);
}

/* A list of numbers, each once. */
struct numbers {
    uint64_t list[5000];
    uint32_t n;
    struct sf_table at;
};

static bool add_number(struct numbers *x, uint64_t v, uint64_t hash, uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (!sf_table_more(&x->at))
        return false;
    lookup = sf_table_lookup(&x->at, hash);
    while (sf_table_next(&lookup, out)) {
        if (x->list[*out] == v)
            return true;
    }
    *out = x->n;
    x->list[x->n] = v;
    sf_table_keep(&x->at, &lookup, x->n++);
    return true;
}

TEST(table, finds_every_record_while_it_grows)
{
    static struct numbers x;
    uint32_t place;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            assert_true(add_number(&x, i * 7u, sf_hash_mix(1, i * 7u), &place));
            assert_int_equal(place, i);
        }
    }
    assert_int_equal(x.n, 5000);
    assert_int_equal(x.at.n, 5000);
    assert_true(sf_table_memory(&x.at) <= 16384 * sizeof(uint64_t));
    sf_table_done(&x.at);
}

TEST(table, tells_records_of_one_hash_apart)
{
    static struct numbers x;
    uint32_t place;
    for (uint32_t i = 0; i < 200; i++)
        assert_true(
            add_number(&x, i, UINT64_C(0xffffffff00000000), &place)); /* wraps around the end */
    for (uint32_t i = 0; i < 200; i++) {
        assert_true(add_number(&x, i, UINT64_C(0xffffffff00000000), &place));
        assert_int_equal(place, i);
    }
    sf_table_done(&x.at);
}

TEST(table, keeps_what_it_has_when_memory_runs_out)
{
    static struct numbers x;
    uint32_t place, n = 0;
    while (x.at.n_slots == 0 || x.at.n < x.at.n_slots / 4 * 3) {
        assert_true(add_number(&x, n, sf_hash_mix(2, n), &place));
        n++;
    }
    sf_heap_fail_after(1);
    assert_false(add_number(&x, n, sf_hash_mix(2, n), &place));
    sf_heap_fail_after(0);
    for (uint32_t i = 0; i <= n; i++) {
        assert_true(add_number(&x, i, sf_hash_mix(2, i), &place));
        assert_int_equal(place, i);
    }
    sf_table_done(&x.at);
}

/* The steps of a table whose keys are pairs of texts: a program's two names of one function, say.
 */
static uint64_t steps_of_pairs(bool are_equal)
{
    struct sf_table t = {0};
    uint64_t before = sf_table_steps;
    for (uint32_t i = 0; i < COLLIDE_KEYS; i++) {
        uint32_t other = are_equal ? i : i + COLLIDE_KEYS;
        uint64_t hash = sf_key_mix(sf_key(&i, sizeof(i)), sf_key(&other, sizeof(other)));
        assert_true(sf_table_more(&t));
        sf_table_put(&t, hash, i);
    }
    sf_table_done(&t);
    return sf_table_steps - before;
}

TEST(table, pairs_of_equal_texts_do_not_collide)
{
    uint64_t a = sf_key_str(SF_STR("a")), b = sf_key_str(SF_STR("b"));
    assert_true(steps_of_pairs(true) < 4 * steps_of_pairs(false));
    assert_true(sf_key_mix(a, b) != sf_key_mix(b, a));
    assert_true(sf_key_mix(a, a) != sf_key_mix(b, b));
}
