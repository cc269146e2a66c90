#include "test.h"

#include <string.h>

#include "base/limits.h"
#include "store/local/read/partials.h"

struct rig {
    struct sf_budget budget;
    struct sf_partials partials;
    struct sf_arena arena;
};

static void rig_init(struct rig *r)
{
    sf_budget_init(&r->budget, 0);
    assert_true(sf_partials_init(&r->partials, &r->budget));
    assert_true(sf_arena_init(&r->arena, 1 << 24));
}

static void rig_done(struct rig *r)
{
    sf_partials_done(&r->partials);
    assert_int_equal(sf_budget_used(&r->budget, SF_LINE_PARTIALS), 0);
    sf_arena_done(&r->arena);
}

static struct sf_partial_key key_of(uint32_t tenant, const char *question, uint64_t block,
                                    uint32_t granule)
{
    return (struct sf_partial_key){.tenant = tenant,
                                   .block = block,
                                   .granule = granule,
                                   .question = {(const uint8_t *)question, strlen(question)}};
}

static void put(struct rig *r, struct sf_partial_key key, const char *result)
{
    sf_partials_put(&r->partials, &key, (sf_bytes){(const uint8_t *)result, strlen(result)});
}

static bool has(struct rig *r, struct sf_partial_key key, const char *result)
{
    sf_bytes out;
    sf_arena_reset(&r->arena);
    return sf_partials_get(&r->partials, &key, &r->arena, &out) && out.len == strlen(result) &&
           memcmp(out.p, result, out.len) == 0;
}

TEST(partials, tells_tenants_questions_blocks_granules_and_variants_apart)
{
    struct rig r;
    struct sf_partial_key other = key_of(1, "q", 7, 3);
    rig_init(&r);
    put(&r, key_of(1, "q", 7, 3), "a");
    assert_true(has(&r, key_of(1, "q", 7, 3), "a"));
    assert_false(has(&r, key_of(2, "q", 7, 3), "a"));
    assert_false(has(&r, key_of(1, "p", 7, 3), "a"));
    assert_false(has(&r, key_of(1, "q", 8, 3), "a"));
    assert_false(has(&r, key_of(1, "q", 7, 4), "a"));
    other.variant = 5;
    assert_false(has(&r, other, "a"));
    put(&r, other, "bc"); /* takes the place of the other */
    assert_true(has(&r, other, "bc"));
    assert_false(has(&r, key_of(1, "q", 7, 3), "a"));
    rig_done(&r);
}

TEST(partials, go_with_their_block_and_their_tenant)
{
    struct rig r;
    rig_init(&r);
    for (uint32_t g = 0; g < 100; g++) {
        put(&r, key_of(1, "q", 7 + g % 2, g), "a");
        put(&r, key_of(2, "q", 9, g), "b");
    }
    sf_partials_drop_block(&r.partials, 7);
    assert_false(has(&r, key_of(1, "q", 7, 0), "a"));
    assert_true(has(&r, key_of(1, "q", 8, 1), "a"));
    sf_partials_drop_tenant(&r.partials, 2);
    assert_false(has(&r, key_of(2, "q", 9, 5), "b"));
    assert_true(has(&r, key_of(1, "q", 8, 99), "a"));
    sf_partials_drop_block(&r.partials, 8);
    assert_int_equal(sf_budget_used(&r.budget, SF_LINE_PARTIALS), 0);
    rig_done(&r);
}

/* As many queries as may be kept, and one more: the one unused for longest goes. */
TEST(partials, forgets_the_question_unused_for_longest)
{
    struct rig r;
    char question[32];
    rig_init(&r);
    for (int i = 0; i <= SF_LIMIT_PARTIAL_QUESTIONS; i++) {
        snprintf(question, sizeof(question), "q%d", i);
        put(&r, key_of(1, question, 7, 0), "a");
        assert_true(has(&r, key_of(1, "q0", 7, 0), "a"));
    }
    assert_int_equal(r.partials.n, SF_LIMIT_PARTIAL_QUESTIONS);
    assert_false(has(&r, key_of(1, "q1", 7, 0), "a"));
    assert_true(has(&r, key_of(1, "q2", 7, 0), "a"));
    rig_done(&r);
}

TEST(partials, stay_within_their_line_of_the_budget)
{
    static uint8_t large[SF_LIMIT_PARTIAL_LEN + 1];
    struct rig r;
    struct sf_partial_key key = key_of(1, "q", 7, 0), next = key_of(1, "p", 7, 0);
    sf_bytes out;
    rig_init(&r);
    sf_partials_put(&r.partials, &key, (sf_bytes){large, sizeof(large)});
    assert_false(sf_partials_get(&r.partials, &key, &r.arena, &out));
    for (; key.granule < 1000; key.granule++) {
        sf_partials_put(&r.partials, &key, (sf_bytes){large, SF_LIMIT_PARTIAL_LEN});
        assert_true(sf_budget_used(&r.budget, SF_LINE_PARTIALS) <= r.budget.cap[SF_LINE_PARTIALS]);
    }
    key.granule = 0; /* one query does not push its own results out */
    assert_true(sf_partials_get(&r.partials, &key, &r.arena, &out));
    sf_partials_put(&r.partials, &next, (sf_bytes){large, SF_LIMIT_PARTIAL_LEN});
    assert_true(sf_partials_get(&r.partials, &next, &r.arena, &out)); /* another one does */
    assert_false(sf_partials_get(&r.partials, &key, &r.arena, &out));
    rig_done(&r);
}
