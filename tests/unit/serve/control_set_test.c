#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/limits.h"
#include "os/dir.h"
#include "serve/own/control_set.h"

enum { NOW_MS = 1000000 };

static struct sf_why why;
static struct sf_arena arena;

static struct sf_control_doc doc(const char *json)
{
    struct sf_control_doc d;
    sf_arena_reset(&arena);
    if (sf_control_doc_parse(sf_str_from(json), NOW_MS, &arena, &d, &why))
        fail_msg("%s: %s", json, why.text);
    return d;
}

static void assert_refused(const char *json, const char *part)
{
    struct sf_control_doc d;
    sf_arena_reset(&arena);
    if (!sf_control_doc_parse(sf_str_from(json), NOW_MS, &arena, &d, &why))
        fail_msg("accepted: %s", json);
    if (!strstr(why.text, part))
        fail_msg("says \"%s\", not \"%s\"", why.text, part);
}

static struct sf_control_target target(const char *tenant, const char *service,
                                       const char *instance)
{
    struct sf_control_target t;
    assert_ok(sf_control_set_target_make(sf_str_from(tenant), sf_str_from(service),
                                         sf_str_from(instance), &t, &why));
    return t;
}

static char notice[240];

static struct sf_control_set *open_set(struct sf_dir **dir, char *path)
{
    struct sf_control_set *s = NULL;
    if (!arena.cap)
        assert_true(sf_arena_init(&arena, 1 << 20));
    assert_non_null(mkdtemp(path));
    assert_ok(sf_dir_open(path, SF_DIR_CREATE, dir, &why));
    assert_ok(sf_control_set_open(*dir, &s, notice, &why));
    return s;
}

static void close_set(struct sf_control_set *s, struct sf_dir *dir, const char *path)
{
    char name[64];
    sf_control_set_close(s);
    sf_dir_close(dir);
    snprintf(name, sizeof(name), "%s/control", path);
    unlink(name);
    rmdir(path);
}

TEST(control_set, raised_rates_end_and_others_need_not)
{
    if (!arena.cap)
        assert_true(sf_arena_init(&arena, 1 << 20));
    assert_int_equal(doc("{\"rate\": 200}").cpu_until_ms, NOW_MS + 600000);
    assert_int_equal(doc("{\"rate\": {\"wall\": 50}}").wall_until_ms, NOW_MS + 600000);
    assert_int_equal(doc("{\"rate\": 1000, \"for\": \"1h\"}").cpu_until_ms, NOW_MS + 3600000);
    assert_int_equal(doc("{\"rate\": 50}").cpu_until_ms, 0);
    assert_refused("{\"rate\": 200, \"for\": \"61m\"}", "1s to 1h");
    assert_refused("{\"rate\": 1001}", "1 to 1000");
    assert_refused("{\"rate\": {\"heap\": 1}}", "cpu and wall");
    assert_refused("{\"enabled\": true, \"for\": \"1m\"}", "rates only");
    assert_refused("{\"enabled\": 1}", "enabled");
    assert_refused("{\"budget\": \"many\"}", "percentage");
    assert_refused("{\"enable\": true}", "not a key");
    assert_refused("{\"conditions\": {\"share\": \"101%\"}}", "conditions.share");
    assert_refused("{\"conditions\": {\"share\": \"1%\\nenabled false\"}}", "conditions.share");
    assert_refused("{\"conditions\": {\"slow\": \"1s\"}}", "not a condition");
    assert_refused("{}", "is empty");
    assert_refused("[]", "object");
    assert_refused("", "object");
    assert_refused("{\"enabled\": true} x", "");
}

TEST(control_set, a_rate_keeps_its_end_when_the_other_one_is_set)
{
    char path[] = "/tmp/control_set_XXXXXX";
    struct sf_dir *dir;
    struct sf_control_set *s = open_set(&dir, path);
    struct sf_control_target shop = target("t", "shop", "*"), one = target("t", "shop", "i1");
    struct sf_control_doc both = doc("{\"rate\": {\"cpu\": 500}, \"for\": \"5m\"}"), d;
    int64_t next_ms = INT64_MAX;

    d = doc("{\"rate\": {\"wall\": 10}}");
    sf_control_doc_put_over(&both, &d); /* as by two POST requests */
    assert_ok(sf_control_set_put(s, &shop, &both, &why));
    d = sf_control_set_effective(s, &one, NOW_MS, &next_ms);
    assert_true(d.cpu_hz == 500 && d.wall_hz == 10);
    assert_int_equal(next_ms, NOW_MS + 300000);
    assert_int_equal(sf_control_doc_next_end(&d), NOW_MS + 300000);
    d = sf_control_set_effective(s, &one, next_ms, &(int64_t){INT64_MAX});
    assert_int_equal(d.has, SF_CONTROL_WALL);
    assert_true(d.cpu_hz == 0 && d.wall_hz == 10);
    /* The end of an instance's rate is not that of the other rate, which it has from its service.
     */
    d = doc("{\"rate\": {\"wall\": 50}, \"for\": \"1m\"}");
    assert_ok(sf_control_set_put(s, &one, &d, &why));
    d = sf_control_set_effective(s, &one, NOW_MS, &(int64_t){INT64_MAX});
    assert_true(d.wall_hz == 50 && sf_control_doc_next_end(&d) == NOW_MS + 60000);
    d = sf_control_set_effective(s, &one, NOW_MS + 60000, &(int64_t){INT64_MAX});
    assert_true(d.cpu_hz == 500 && d.wall_hz == 10);
    assert_int_equal(sf_control_doc_next_end(&d), NOW_MS + 300000);
    close_set(s, dir, path);
}

TEST(control_set, reads_the_one_end_that_earlier_versions_wrote)
{
    struct sf_control_set *s = NULL;
    struct sf_control_target shop = target("t", "shop", "*");
    const struct sf_control_doc *d;
    assert_ok(sf_control_set_read(
        SF_STR("{\"tenant\":\"t\",\"service\":\"shop\",\"instance\":\"*\",\"has\":6,\"enabled\":0,"
               "\"cpu\":200,\"wall\":50,\"budget\":0,\"untilMs\":7,\"conditions\":{}}\n"),
        &s, &why));
    d = sf_control_set_get(s, &shop);
    assert_non_null(d);
    assert_true(d->cpu_until_ms == 7 && d->wall_until_ms == 7);
    sf_control_set_close(s);
}

TEST(control_set, an_instance_goes_before_its_service_and_that_before_all)
{
    char path[] = "/tmp/control_set_XXXXXX";
    struct sf_dir *dir;
    struct sf_control_set *s = open_set(&dir, path);
    struct sf_control_target all = target("t", "*", "*"), shop = target("t", "shop", "*");
    struct sf_control_target one = target("t", "shop", "i1"), two = target("t", "shop", "i2");
    struct sf_control_target other = target("u", "shop", "i1");
    struct sf_control_doc d = doc("{\"enabled\": false, \"rate\": 50}");
    int64_t next_ms = INT64_MAX;

    assert_ok(sf_control_set_put(s, &all, &d, &why));
    d = doc("{\"enabled\": true}");
    assert_ok(sf_control_set_put(s, &shop, &d, &why));
    d = doc("{\"rate\": 200}");
    assert_ok(sf_control_set_put(s, &one, &d, &why));
    d = sf_control_set_effective(s, &one, NOW_MS, &next_ms);
    assert_true(d.is_enabled && d.cpu_hz == 200);
    assert_int_equal(next_ms, NOW_MS + 600000);
    d = sf_control_set_effective(s, &one, next_ms, &(int64_t){INT64_MAX});
    assert_true(d.is_enabled && d.cpu_hz == 50); /* the raised rate is over */
    d = sf_control_set_effective(s, &two, NOW_MS, &next_ms);
    assert_true(d.is_enabled && d.cpu_hz == 50);
    assert_false(sf_control_set_effective(s, &other, NOW_MS, &next_ms).has);
    assert_ok(sf_control_set_put(s, &shop, NULL, &why));
    assert_int_equal(sf_control_set_put(s, &shop, NULL, &why), SF_ERR_NOT_FOUND);
    d = sf_control_set_effective(s, &two, NOW_MS, &next_ms);
    assert_false(d.is_enabled);
    close_set(s, dir, path);
}

TEST(control_set, is_the_same_after_a_restart)
{
    char path[] = "/tmp/control_set_XXXXXX", name[64];
    struct sf_dir *dir;
    struct sf_control_set *s = open_set(&dir, path), *again = NULL;
    struct sf_control_change c = {.target = target("t", "a \"b\"", "i"), .time_ms = 17};
    struct sf_control_doc d = doc(
        "{\"enabled\": false, \"rate\": {\"cpu\": 7, \"wall\": 50}, \"budget\": "
        "\"0.25%\", \"conditions\": {\"share\": \"5%\", "
        "\"profile_errors\": false}}");
    struct sf_buf text = {0};
    snprintf(c.who, sizeof(c.who), "ci");
    snprintf(c.what, sizeof(c.what), "put {\"x\": 1}");
    assert_ok(sf_control_set_put(s, &c.target, &d, &why));
    sf_control_set_note(s, &c);
    sf_control_set_print(s, &text);
    assert_ok(sf_control_set_save(dir, &text, &why));
    assert_ok(sf_control_set_open(dir, &again, notice, &why));
    assert_string_equal(notice, "");
    assert_int_equal(sf_control_set_n(again), 1);
    assert_memory_equal(sf_control_set_get(again, &c.target), &d, sizeof(d));
    assert_int_equal(sf_control_set_n_changes(again), 1);
    assert_string_equal(sf_control_set_change(again, 0)->what, c.what);
    sf_control_set_close(again);
    sf_buf_print(&text, "not ours\n{\"tenant\":");
    assert_ok(sf_control_set_save(dir, &text, &why));
    for (int i = 0; i < 2; i++) { /* what could be read is in its place */
        assert_ok(sf_control_set_open(dir, &again, notice, &why));
        assert_true((strstr(notice, "2 lines") != NULL) == (i == 0));
        assert_int_equal(sf_control_set_n(again), 1);
        assert_int_equal(sf_control_set_n_changes(again), 1);
        sf_control_set_close(again);
    }
    snprintf(name, sizeof(name), "%s/control.damaged", path);
    assert_int_equal(unlink(name), 0);
    sf_buf_done(&text);
    close_set(s, dir, path);
}

TEST(control_set, one_tenant_takes_no_others_room)
{
    char path[] = "/tmp/control_set_XXXXXX", name[32];
    struct sf_dir *dir;
    struct sf_control_set *s = open_set(&dir, path);
    struct sf_control_doc d = doc("{\"enabled\": true}");
    struct sf_control_target t = target("small", "shop", "*");
    struct sf_control_change c = {.target = t};
    enum sf_err err = SF_OK;
    int n = 0;
    assert_ok(sf_control_set_put(s, &t, &d, &why));
    sf_control_set_note(s, &c);
    for (; !err && n < 2 * SF_LIMIT_CONTROL_DOCS; n++) {
        snprintf(name, sizeof(name), "s%d", n);
        c.target = target("large", name, "*");
        err = sf_control_set_put(s, &c.target, &d, &why);
        sf_control_set_note(s, &c);
    }
    assert_int_equal(err, SF_ERR_LIMIT);
    assert_int_equal(n - 1, SF_LIMIT_CONTROL_DOCS / 2);
    for (int i = 0; i < 2 * SF_LIMIT_CONTROL_CHANGES; i++)
        sf_control_set_note(s, &c);
    assert_string_equal(sf_control_set_change(s, 0)->target.tenant, "small");
    t = target("second", "shop", "*");
    assert_ok(sf_control_set_put(s, &t, &d, &why));
    close_set(s, dir, path);
}

TEST(control_set, refuses_names_that_are_none)
{
    struct sf_control_target t;
    char longer[400];
    memset(longer, 'x', sizeof(longer));
    assert_int_equal(sf_control_set_target_make(SF_STR("t"), SF_STR(""), SF_STR("*"), &t, &why),
                     SF_ERR_INPUT);
    assert_int_equal(sf_control_set_target_make(SF_STR("t"), SF_STR("a\nb"), SF_STR("*"), &t, &why),
                     SF_ERR_INPUT);
    assert_int_equal(sf_control_set_target_make(SF_STR("t"), (sf_str){longer, sizeof(longer)},
                                                SF_STR("*"), &t, &why),
                     SF_ERR_INPUT);
}
