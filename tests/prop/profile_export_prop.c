/* What is exported and read again has the same stacks and the same total, in every format that both
 * a writer and a decoder know. */
#include <stdlib.h>

#include "flame/tree_builder.h"
#include "render/otlp_profile.h"
#include "render/pprof.h"
#include "render/speedscope.h"
#include "support/profile_same.h"
#include "test.h"

enum { ROUNDS = 200, NAMES = 9 };

static uint64_t seed = 4040;
static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

static const char *const names[NAMES] = {"main.main",
                                         "net/http.(*conn).serve",
                                         "std::vector<int, A<b> >::push_back(int&&)",
                                         "a b c 17",
                                         "\xe2\x86\xb3 caf\xc3\xa9",
                                         "<script>alert(\"x\")</script>",
                                         "x",
                                         "]]>",
                                         "(anonymous)"};

static struct sf_profile_view random_view(struct sf_arena *req)
{
    struct sf_profile_view v = {.service = SF_STR("shop"),
                                .type = {SF_STR("process_cpu"), SF_STR("cpu"),
                                         SF_STR("nanoseconds"), SF_STR("cpu"),
                                         SF_STR("nanoseconds")},
                                .time_ns = 1700000000000000000,
                                .duration_ns = 10000000000,
                                .period = 10000000};
    struct sf_tree_builder b;
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    for (uint32_t i = 1 + pick(60); i-- > 0;) {
        uint32_t node = 0;
        for (uint32_t depth = 1 + pick(12); depth-- > 0;) {
            struct sf_frame f = {.function = sf_str_from(names[pick(NAMES)])};
            if (pick(2)) {
                f.file = SF_STR("src/shop.go");
                f.line = 1 + pick(3);
            }
            if (pick(3) == 0) {
                f.module = SF_STR("/usr/bin/shop");
                f.build_id = SF_STR("c0ffee00");
            }
            node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
        }
        sf_tree_builder_add(&b, node, 1 + (int64_t)pick(1000) * 10000000, 1);
    }
    assert_ok(sf_tree_builder_take(&b, v.type.sample_unit, &v.tree, NULL));
    sf_tree_builder_done(&b);
    return v;
}

typedef enum sf_err (*write_fn)(const struct sf_profile_view *v, struct sf_arena scratch,
                                struct sf_buf *out, struct sf_why *why);

static void check(write_fn write, const struct sf_profile_hint *hint)
{
    struct sf_arena req = {0};
    assert_true(sf_arena_init(&req, 64 << 20));
    for (int round = 0; round < ROUNDS; round++, sf_arena_reset(&req)) {
        struct sf_profile_view v = random_view(&req);
        struct sf_buf out = {0};
        assert_ok(write(&v, req, &out, NULL));
        profile_same_bytes(&v, sf_buf_str(&out), hint, &req);
        sf_buf_done(&out);
    }
    sf_arena_done(&req);
}

TEST(profile_export, pprof_reads_back)
{
    check(sf_pprof_render, NULL);
}

TEST(profile_export, otlp_reads_back)
{
    check(sf_otlp_profile_render, NULL);
}

TEST(profile_export, speedscope_reads_back)
{
    check(sf_speedscope_render, NULL);
}

TEST(profile_export, folded_text_reads_back)
{
    struct sf_profile_hint counts = {.has_sample_rate = true};
    check(profile_write_folded, &counts);
}
