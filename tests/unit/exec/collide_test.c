/* Series whose keys were made to collide cost what others cost. */
#include "exec/metrics_table.h"
#include "exec/span_copy.h"
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

#include "support/collide.h"

static uint64_t steps_of(bool is_colliding)
{
    struct sf_arena a;
    struct sf_metrics_table t = {.req = &a};
    uint64_t before = sf_table_steps;
    char text[COLLIDE_LEN];
    assert_true(sf_arena_init(&a, 1 << 20));
    for (int round = 0; round < 2; round++) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < COLLIDE_KEYS; i++) {
            struct sf_table_series *s = sf_metrics_table_series(
                &t, collide_text(text, &at, is_colliding));
            assert_int_equal(s->number, i);
        }
    }
    sf_arena_done(&a);
    return sf_table_steps - before;
}

TEST(collide, keys_of_series)
{
    collide_check(steps_of(true), steps_of(false));
}

/* ---- resources and scopes that differ in one value ---- */

static struct sf_value value_of(enum sf_value_type type, uint32_t i, char room[16])
{
    struct sf_value v = {.type = type};
    if (type == SF_VALUE_INT)
        v.i64 = i;
    else if (type == SF_VALUE_DOUBLE)
        v.f64 = i + 0.5;
    else
        v.str = (sf_str){room, (size_t)snprintf(room, 16, "v%u", i)};
    return v;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void assert_all_differ(uint64_t keys[COLLIDE_KEYS])
{
    qsort(keys, COLLIDE_KEYS, sizeof(*keys), compare_keys);
    for (uint32_t i = 1; i < COLLIDE_KEYS; i++)
        assert_true(keys[i] != keys[i - 1]);
}

TEST(collide, resources_with_values_of_every_type)
{
    static const enum sf_value_type types[] = {SF_VALUE_INT,   SF_VALUE_DOUBLE, SF_VALUE_STR,
                                               SF_VALUE_BYTES, SF_VALUE_ARRAY,  SF_VALUE_KVLIST};
    static uint64_t keys[COLLIDE_KEYS];
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        for (uint32_t i = 0; i < COLLIDE_KEYS; i++) {
            char room[16];
            struct sf_attr attr = {SF_STR("a"), value_of(types[t], i, room)};
            keys[i] = sf_span_copy_resource_key(&(struct sf_resource){.attrs = {&attr, 1}});
        }
        assert_all_differ(keys);
    }
    for (uint32_t i = 0; i < COLLIDE_KEYS; i++)
        keys[i] = sf_span_copy_resource_key(&(struct sf_resource){.dropped_attrs = i});
    assert_all_differ(keys);
}

TEST(collide, scopes_that_differ_in_their_schema_only)
{
    static uint64_t keys[COLLIDE_KEYS];
    for (uint32_t i = 0; i < COLLIDE_KEYS; i++) {
        char room[16];
        sf_str url = {room, (size_t)snprintf(room, sizeof(room), "v%u", i)};
        keys[i] = sf_span_copy_scope_key(&(struct sf_scope){.schema_url = url});
    }
    assert_all_differ(keys);
    for (uint32_t i = 0; i < COLLIDE_KEYS; i++)
        keys[i] = sf_span_copy_scope_key(&(struct sf_scope){.dropped_attrs = i});
    assert_all_differ(keys);
}
