#include "test.h"

#include "base/hash.h"
#include "base/heap.h"
#include "block/format/place_table.h"

/* A list of numbers, each once. */
struct numbers {
    uint64_t list[5000];
    uint32_t n;
    struct sf_place_table at;
};

static bool add(struct numbers *x, uint64_t v, uint64_t hash, uint32_t *out)
{
    struct sf_place_look look;
    if (!sf_place_table_more(&x->at))
        return false;
    look = sf_place_look(&x->at, hash);
    while (sf_place_next(&look, out)) {
        if (x->list[*out] == v)
            return true;
    }
    *out = x->n;
    x->list[x->n] = v;
    sf_place_keep(&x->at, &look, x->n++);
    return true;
}

TEST(place_table, finds_every_record_while_it_grows)
{
    static struct numbers x;
    uint32_t place;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            assert_true(add(&x, i * 7u, sf_hash_mix(1, i * 7u), &place));
            assert_int_equal(place, i);
        }
    }
    assert_int_equal(x.n, 5000);
    assert_int_equal(x.at.n, 5000);
    assert_true(sf_place_table_memory(&x.at) <= 16384 * sizeof(uint64_t));
    sf_place_table_done(&x.at);
}

TEST(place_table, tells_records_of_one_hash_apart)
{
    static struct numbers x;
    uint32_t place;
    for (uint32_t i = 0; i < 200; i++)
        assert_true(add(&x, i, UINT64_C(0xffffffff00000000), &place)); /* wraps around the end */
    for (uint32_t i = 0; i < 200; i++) {
        assert_true(add(&x, i, UINT64_C(0xffffffff00000000), &place));
        assert_int_equal(place, i);
    }
    sf_place_table_done(&x.at);
}

TEST(place_table, keeps_what_it_has_when_memory_runs_out)
{
    static struct numbers x;
    uint32_t place, n = 0;
    while (x.at.n_slots == 0 || x.at.n < x.at.n_slots / 4 * 3) {
        assert_true(add(&x, n, sf_hash_mix(2, n), &place));
        n++;
    }
    sf_heap_fail_after(1);
    assert_false(add(&x, n, sf_hash_mix(2, n), &place));
    sf_heap_fail_after(0);
    for (uint32_t i = 0; i <= n; i++) {
        assert_true(add(&x, i, sf_hash_mix(2, i), &place));
        assert_int_equal(place, i);
    }
    sf_place_table_done(&x.at);
}
