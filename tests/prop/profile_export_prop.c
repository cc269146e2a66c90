/* What is exported and read again has the same stacks and the same total, in every format that both
 * a writer and a decoder know. */
#include <stdlib.h>

#include "decode/profile_format.h"
#include "flame/batch_tree.h"
#include "flame/tree_builder.h"
#include "flame/tree_group.h"
#include "render/folded.h"
#include "render/otlp_profile.h"
#include "render/pprof.h"
#include "render/speedscope.h"
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

static void add_stacks(const struct sf_tree *t, struct sf_arena *req, struct sf_buf *out)
{
    struct sf_tree by_name;
    assert_ok(
        sf_tree_group(t, (struct sf_tree_grouping){.by = SF_GROUP_FUNCTION}, req, &by_name, NULL));
    for (uint32_t i = 0; i < by_name.n_frames; i++) /* what kind of code a format cannot say */
        ((struct sf_frame *)by_name.frames)[i].kind = SF_FRAME_UNKNOWN;
    assert_ok(sf_tree_group(&by_name, (struct sf_tree_grouping){.by = SF_GROUP_FUNCTION}, req,
                            &by_name, NULL));
    assert_ok(sf_folded_render(&by_name, *req, out, NULL));
    sf_buf_add_u8(out, 0);
}

static void expect_same(const struct sf_profile_view *v, sf_str bytes,
                        const struct sf_profile_hint *hint, struct sf_arena *req)
{
    struct sf_profile_batch batch;
    const struct sf_batch_type *types;
    struct sf_buf got = {0}, want = {0};
    struct sf_tree back;
    struct sf_why why = {0};
    uint32_t n;
    if (sf_profile_decode(bytes, hint, req, &batch, &why))
        fail_msg("not readable: %s", why.text);
    assert_ok(sf_batch_types(&batch, req, &types, &n, NULL));
    assert_int_equal(n, 1);
    assert_ok(sf_batch_tree(&batch, &types[0].type, req, &back, NULL));
    assert_int_equal(back.total, v->tree.total);
    add_stacks(&back, req, &got);
    add_stacks(&v->tree, req, &want);
    assert_string_equal((char *)got.p, (char *)want.p);
    sf_buf_done(&got);
    sf_buf_done(&want);
}

typedef enum sf_err (*write_fn)(const struct sf_profile_view *v, struct sf_arena scratch,
                                struct sf_buf *out, struct sf_why *why);

static enum sf_err write_folded(const struct sf_profile_view *v, struct sf_arena scratch,
                                struct sf_buf *out, struct sf_why *why)
{
    struct sf_tree t;
    enum sf_err err = sf_tree_group(&v->tree, (struct sf_tree_grouping){.by = SF_GROUP_FUNCTION},
                                    &scratch, &t, why);
    return err ? err : sf_folded_render(&t, scratch, out, why);
}

static void check(write_fn write, const struct sf_profile_hint *hint)
{
    struct sf_arena req = {0};
    assert_true(sf_arena_init(&req, 64 << 20));
    for (int round = 0; round < ROUNDS; round++, sf_arena_reset(&req)) {
        struct sf_profile_view v = random_view(&req);
        struct sf_buf out = {0};
        assert_ok(write(&v, req, &out, NULL));
        expect_same(&v, sf_buf_str(&out), hint, &req);
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
    check(write_folded, &counts);
}
