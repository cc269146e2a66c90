#include "scrape/sd_groups.h"

#include "base/buf.h"
#include "test.h"

static struct sf_why why;

static enum sf_err read_text(const char *text, struct sf_arena *a, struct sf_sd_groups *out)
{
    assert_true(sf_arena_init(a, 4 << 20));
    *out = (struct sf_sd_groups){0};
    return sf_sd_groups_read(sf_str_from(text), a, out, &why);
}

static void refused(const char *text, enum sf_err err)
{
    struct sf_arena a;
    struct sf_sd_groups g;
    assert_err(read_text(text, &a, &g), err);
    sf_arena_done(&a);
}

TEST(sd_groups, reads_targets_with_their_labels)
{
    struct sf_arena a;
    struct sf_sd_groups g;
    assert_ok(read_text("[{\"targets\": [\"a:1\", \"b:2\"], \"labels\": {\"env\": \"pr\\u006fd\"}, "
                        "\"more\": [1]}, {\"targets\": []}, {\"targets\": [\"c:3\"]}]",
                        &a, &g));
    assert_int_equal(g.n_targets, 3);
    assert_true(sf_str_eq(g.first->targets[1], SF_STR("b:2")));
    assert_true(sf_str_eq(sf_relabel_label_get(&g.first->labels, SF_STR("env")), SF_STR("prod")));
    assert_true(sf_str_eq(g.last->targets[0], SF_STR("c:3")));
    assert_int_equal(g.last->labels.n, 0);
    sf_arena_done(&a);
}

TEST(sd_groups, refuses_what_is_no_list_of_targets)
{
    refused("", SF_ERR_INPUT);
    refused("{}", SF_ERR_INPUT);
    refused("[{\"targets\": \"a:1\"}]", SF_ERR_INPUT);
    refused("[{\"targets\": [1]}]", SF_ERR_INPUT);
    refused("[{\"targets\": [\"a:1\"]}", SF_ERR_INPUT);
    refused("[{\"targets\": [\"a:1\"], \"labels\": {\"x\": {}}}]", SF_ERR_INPUT);
    refused("[] []", SF_ERR_INPUT);
    /* what would become another part of an address */
    refused("[{\"targets\": [\"a:1/path\"]}]", SF_ERR_INPUT);
    refused("[{\"targets\": [\"user@a:1\"]}]", SF_ERR_INPUT);
    refused("[{\"targets\": [\"a:1\\r\\nX: y\"]}]", SF_ERR_INPUT);
    refused("[{\"targets\": [\"\"]}]", SF_ERR_INPUT);
}

TEST(sd_groups, ends_at_its_limit)
{
    struct sf_buf text = {0};
    sf_buf_print(&text, "[{\"targets\": [");
    for (int i = 0; i <= SF_LIMIT_SCRAPE_TARGETS; i++)
        sf_buf_print(&text, "%s\"h:%d\"", i ? "," : "", i);
    sf_buf_print(&text, "]}]");
    sf_buf_add_u8(&text, 0);
    refused((const char *)text.p, SF_ERR_LIMIT);
    sf_buf_done(&text);
}
