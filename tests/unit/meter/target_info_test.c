#include "meter/target_info.h"

#include "base/heap.h"
#include "base/limits.h"
#include "strict_text.h"

#define S      ((int64_t)1000000000)
#define NOW_NS ((int64_t)1700000000 * S)

static struct sf_buf out;

static struct sf_attr text_attr(const char *key, const char *val)
{
    return (struct sf_attr){.key = sf_str_from(key),
                            .val = {.type = SF_VALUE_STR, .str = sf_str_from(val)}};
}

/* One span of a resource with these attributes. */
static void add(struct sf_target_info *t, sf_str tenant, const struct sf_attr *attrs, uint32_t n,
                int64_t now_ns)
{
    struct sf_arena req;
    struct sf_target_tally tally = {0};
    struct sf_resource resource = {.attrs = {attrs, n}};
    struct sf_span span = {.end_ns = (uint64_t)NOW_NS};
    struct sf_span_batch batch = {
        .resources = &resource, .n_resources = 1, .spans = &span, .n_spans = 1};
    assert_true(sf_arena_init(&req, 8 << 20));
    assert_true(sf_target_info_tally_add(&tally, &batch, now_ns, &req));
    sf_target_info_add(t, tenant, &tally, now_ns);
    sf_arena_done(&req);
}

static char *render(struct sf_target_info *t, int64_t now_ns)
{
    struct sf_exposition e = {.out = &out};
    sf_buf_reset(&out);
    sf_target_info_render(t, now_ns, &e);
    sf_buf_add_u8(&out, 0);
    assert_true(sf_buf_ok(&out));
    strict_text_check((char *)out.p, false);
    return (char *)out.p;
}

static void done(struct sf_target_info *t)
{
    sf_target_info_free(t);
    sf_buf_done(&out);
    out = (struct sf_buf){0};
}

TEST(target_info, shows_attributes_beside_job_and_instance)
{
    struct sf_target_info *t = sf_target_info_new(0);
    struct sf_attr attrs[] = {
        text_attr("service.name", "shop"),
        text_attr("service.namespace", "front"),
        text_attr("service.instance.id", "i-1"),
        text_attr("host.name", "h"),
        {.key = SF_STR("process.pid"), .val = {.type = SF_VALUE_INT, .i64 = 7}}};
    add(t, SF_STR_NONE, attrs, 5, NOW_NS);
    add(t, SF_STR_NONE, attrs, 5, NOW_NS);
    assert_non_null(strstr(render(t, NOW_NS), "\ntraces_target_info{host_name=\"h\",process_pid="
                                              "\"7\",job=\"front/shop\",instance=\"i-1\"} 1\n"));
    done(t);
}

TEST(target_info, has_nothing_to_say_of_a_bare_service)
{
    struct sf_target_info *t = sf_target_info_new(0);
    struct sf_attr bare[] = {text_attr("service.name", "shop")};
    struct sf_attr nameless[] = {text_attr("host.name", "h")};
    add(t, SF_STR_NONE, bare, 1, NOW_NS);
    add(t, SF_STR_NONE, nameless, 1, NOW_NS);
    assert_null(strstr(render(t, NOW_NS), "traces_target_info{"));
    done(t);
}

TEST(target_info, never_writes_a_label_twice)
{
    struct sf_target_info *t = sf_target_info_new(0);
    struct sf_attr attrs[] = {
        text_attr("service.name", "shop"), text_attr("a.b", "1"),    text_attr("a_b", "2"),
        text_attr("job", "mine"),          text_attr("9lives", "x"), text_attr("", "y")};
    add(t, SF_STR("red"), attrs, 6, NOW_NS);
    assert_non_null(strstr(render(t, NOW_NS),
                           "\ntraces_target_info{a_b=\"1\",__job=\"mine\",__9lives=\"x\",__=\"y\","
                           "job=\"shop\",instance=\"\",tenant=\"red\"} 1\n"));
    done(t);
}

TEST(target_info, keeps_a_bounded_number_for_15_minutes)
{
    struct sf_target_info *t = sf_target_info_new(3);
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof(name), "h%d", i);
        struct sf_attr attrs[] = {text_attr("service.name", "shop"), text_attr("host.name", name)};
        add(t, SF_STR_NONE, attrs, 2, NOW_NS);
    }
    char *text = render(t, NOW_NS);
    assert_non_null(strstr(text, "host_name=\"h2\""));
    assert_null(strstr(text, "host_name=\"h3\""));
    assert_non_null(strstr(text, "ignored_resources_total 7\n"));
    assert_null(strstr(render(t, NOW_NS + 16 * 60 * S), "host_name"));
    done(t);
}

TEST(target_info, has_room_for_so_many_resources_and_no_more)
{
    struct sf_target_info *t = sf_target_info_new(0);
    for (int i = 0; i <= SF_LIMIT_METER_TARGETS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "h%d", i);
        struct sf_attr attrs[] = {text_attr("service.name", "shop"), text_attr("host.name", name)};
        if (i == SF_LIMIT_METER_TARGETS)
            assert_non_null(strstr(render(t, NOW_NS), "ignored_resources_total 0\n"));
        add(t, SF_STR_NONE, attrs, 2, NOW_NS);
    }
    assert_non_null(strstr(render(t, NOW_NS), "ignored_resources_total 1\n"));
    done(t);
}

TEST(target_info, leaves_out_resources_of_old_spans)
{
    struct sf_target_info *t = sf_target_info_new(0);
    struct sf_attr attrs[] = {text_attr("service.name", "shop"), text_attr("host.name", "h")};
    add(t, SF_STR_NONE, attrs, 2, NOW_NS + 31 * S);
    assert_null(strstr(render(t, NOW_NS + 31 * S), "host_name"));
    done(t);
}

TEST(target_info, cuts_what_a_resource_may_say)
{
    struct sf_target_info *t = sf_target_info_new(0);
    struct sf_attr attrs[SF_LIMIT_ATTRS];
    char names[SF_LIMIT_ATTRS][8], val[2000];
    memset(val, 'x', sizeof(val) - 1);
    val[sizeof(val) - 1] = '\0';
    attrs[0] = text_attr("service.name", "shop");
    for (int i = 1; i < SF_LIMIT_ATTRS; i++) {
        snprintf(names[i], sizeof(names[i]), "k%d", i);
        attrs[i] = text_attr(names[i], i < 10 ? val : "y");
    }
    add(t, SF_STR_NONE, attrs, SF_LIMIT_ATTRS, NOW_NS);
    char *line = strstr(render(t, NOW_NS), "\ntraces_target_info{");
    assert_non_null(line);
    assert_true(strcspn(line + 1, "\n") < 12000);
    assert_non_null(strstr(line, "job=\"shop\""));
    done(t);
}

TEST(target_info, survives_running_out_of_memory)
{
    struct sf_attr attrs[] = {text_attr("service.name", "shop"), text_attr("host.name", "h")};
    struct sf_resource resource = {.attrs = {attrs, 2}};
    struct sf_span span = {.end_ns = (uint64_t)NOW_NS};
    struct sf_span_batch batch = {
        .resources = &resource, .n_resources = 1, .spans = &span, .n_spans = 1};
    for (uint64_t nth = 1; nth < 12; nth++) {
        sf_heap_fail_after(nth);
        struct sf_target_info *t = sf_target_info_new(0);
        struct sf_arena req = {0};
        struct sf_target_tally tally = {0};
        if (t && sf_arena_init(&req, 1 << 20) &&
            sf_target_info_tally_add(&tally, &batch, NOW_NS, &req))
            sf_target_info_add(t, SF_STR_NONE, &tally, NOW_NS);
        sf_heap_fail_after(0);
        sf_arena_done(&req);
        done(t);
    }
}
