#include "render/profile_json.h"

#include "folded_tree.h"
#include "render/folded.h"
#include "render/speedscope.h"

static struct sf_arena req;

static struct sf_profile_view view(void)
{
    struct sf_profile_view v = {.service = SF_STR("shop"),
                                .type = {SF_STR("process_cpu"), SF_STR("cpu"),
                                         SF_STR("nanoseconds"), SF_STR("cpu"),
                                         SF_STR("nanoseconds")},
                                .time_ns = 1700000000000000001};
    v.tree = folded_tree(SF_STR("a;b 3\na 1\n"), v.type.sample_unit, &req);
    return v;
}

static void assert_text(struct sf_buf *got, const char *want)
{
    sf_buf_add_u8(got, 0);
    assert_string_equal((char *)got->p, want);
    sf_buf_done(got);
}

TEST(profile_json, writes_frames_once_and_nodes_by_their_parent)
{
    struct sf_label label = {SF_STR("env"), SF_STR("dev")};
    struct sf_profile_view v;
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    v = view();
    v.labels = &label;
    v.n_labels = 1;
    assert_ok(sf_profile_json_render(&v, &out, NULL));
    assert_text(&out, "{\"service\":\"shop\",\"type\":\"process_cpu:cpu:nanoseconds:cpu:"
                      "nanoseconds\",\"unit\":\"nanoseconds\",\"labels\":{\"env\":\"dev\"},"
                      "\"timeUnixNano\":\"1700000000000000001\",\"durationNs\":0,\"period\":0,"
                      "\"total\":4,\"samples\":2,\"isCut\":false,\"isEstimate\":false,\"isFew\":"
                      "false,\"frames\":[{\"function\":\"a\"},"
                      "{\"function\":\"b\"}],\"nodes\":[[0,-1,0],[0,0,1],[1,1,3]]}");
    sf_arena_done(&req);
}

TEST(profile_json, writes_the_body_pyroscopes_readers_expect)
{
    struct sf_profile_view v;
    struct sf_flamebearer f;
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    v = view();
    assert_ok(sf_flamebearer_single(&v.tree, &req, &f, NULL));
    assert_ok(sf_profile_json_pyroscope(&f, false, &v.type, SF_STR_NONE, &out, NULL));
    assert_text(
        &out, "{\"version\":1,\"flamebearer\":{\"names\":[\"total\",\"a\",\"b\"],\"levels\":"
              "[[0,4,0,0],[0,4,1,1],[1,3,3,2]],\"numTicks\":4,\"maxSelf\":3},\"metadata\":"
              "{\"format\":\"single\",\"spyName\":\"\",\"sampleRate\":1000000000,\"units\":"
              "\"samples\",\"name\":\"cpu\"},\"timeline\":null,\"groups\":null,\"heatmap\":null}");
    sf_arena_done(&req);
}

TEST(profile_json, writes_speedscope_samples_root_first)
{
    struct sf_profile_view v;
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    v = view();
    assert_ok(sf_speedscope_render(&v, req, &out, NULL));
    assert_text(&out,
                "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":"
                "{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"profiles\":[{\"type\":"
                "\"sampled\",\"name\":\"cpu\",\"unit\":\"nanoseconds\",\"startValue\":0,"
                "\"endValue\":4,\"samples\":[[0],[0,1]],\"weights\":[1,3]}],"
                "\"activeProfileIndex\":0,\"name\":\"shop\",\"exporter\":\"spanflame\"}\n");
    sf_arena_done(&req);
}

TEST(profile_json, marks_an_estimate_and_few_samples)
{
    struct sf_profile_view v;
    struct sf_buf out = {0};
    size_t at;
    assert_true(sf_arena_init(&req, 1 << 20));
    v = view();
    v.is_estimate = v.is_few = true;
    v.taken = 4;
    assert_ok(sf_profile_json_render(&v, &out, NULL));
    assert_true(sf_str_find(sf_buf_str(&out),
                            SF_STR("\"isEstimate\":true,\"isFew\":true,\"looks\":4,"), &at));
    sf_buf_reset(&out);
    assert_ok(sf_speedscope_render(&v, req, &out, NULL));
    assert_true(
        sf_str_find(sf_buf_str(&out), SF_STR("\"name\":\"cpu (~ estimate) (few samples: 4"), &at));
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("\"name\":\"shop (~ estimate)"), &at));
    sf_buf_reset(&out);
    assert_ok(sf_folded_render(&v, req, &out, NULL));
    assert_text(&out, "~ estimate;a 1\n~ estimate;a;b 3\n");
    sf_arena_done(&req);
}
