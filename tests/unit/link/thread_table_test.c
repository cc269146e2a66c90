#include "link/thread_table.h"

#include "test.h"

static struct sf_arena req;

/* JFR's threads of process 1: all three; a virtual one; process 2: kernel's numbers and names, as
 * an outside profiler sends them; process 3: rows that were kept without a table; process 4: the
 * identifiers of a runtime. */
static struct sf_thread_table table(void)
{
    static struct sf_detail_thread list[16];
    struct sf_thread_table t;
    uint32_t n = 0;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 16));
    list[n++] = (struct sf_detail_thread){1, {4001, 4001, 31, SF_STR("http-nio-8080-exec-9")}};
    list[n++] = (struct sf_detail_thread){1, {4002, 4002, 32, SF_STR("http-nio-8080-exec-10")}};
    list[n++] = (struct sf_detail_thread){1, {77777, 0, 900, {0}}};
    list[n++] = (struct sf_detail_thread){1, {4003, 4003, 0, SF_STR("C2 CompilerThre")}};
    list[n++] = (struct sf_detail_thread){2, {31, 31, 0, SF_STR("worker-number-o")}};
    list[n++] = (struct sf_detail_thread){2, {32, 0, 0, {0}}};
    list[n++] = (struct sf_detail_thread){2, {32, 32, 0, SF_STR("pool")}};
    list[n++] = (struct sf_detail_thread){2, {33, 33, 0, SF_STR("pool")}};
    list[n++] = (struct sf_detail_thread){3, {31, 0, 0, {0}}};
    list[n++] = (struct sf_detail_thread){4, {140000000000001, 0, 140000000000001, {0}}};
    assert_true(sf_thread_table_make(list, n, &req, &t));
    assert_int_equal(t.n, 9);
    return t;
}

static struct sf_span_thread says(const char *language, int64_t id, const char *name)
{
    struct sf_attr of_resource[] = {
        {SF_STR("telemetry.sdk.language"), {.type = SF_VALUE_STR, .str = sf_str_from(language)}}};
    struct sf_attr of_span[] = {
        {SF_STR("thread.id"), {.type = SF_VALUE_INT, .i64 = id}},
        {SF_STR("thread.name"), {.type = SF_VALUE_STR, .str = sf_str_from(name)}}};
    struct sf_resource r = {.attrs = {of_resource, 1}};
    struct sf_span s = {.attrs = {of_span, 2}};
    return sf_span_thread_of(&s, &r);
}

static enum sf_thread_match look(uint64_t process, struct sf_span_thread s, uint64_t *out)
{
    struct sf_thread_table t = table();
    return sf_thread_table_find(&t, process, &s, out);
}

TEST(thread_table, compares_javas_numbers_with_javas)
{
    uint64_t thread;
    assert_int_equal(look(1, says("java", 31, "http-nio-8080-exec-9"), &thread), SF_THREAD_MATCHES);
    assert_int_equal(thread, 4001);
    assert_int_equal(look(1, says("java", 32, ""), &thread), SF_THREAD_MATCHES);
    assert_int_equal(thread, 4002);
    assert_int_equal(look(1, says("java", 4001, ""), &thread), SF_THREAD_OTHER); /* the kernel's */
    assert_true(thread != 4001 && thread != 0);
}

TEST(thread_table, finds_virtual_threads_by_the_runtimes_number)
{
    uint64_t thread;
    assert_int_equal(look(1, says("java", 900, "request-7"), &thread), SF_THREAD_MATCHES);
    assert_int_equal(thread, 77777);
}

TEST(thread_table, wants_names_to_agree)
{
    uint64_t thread;
    assert_int_equal(look(1, says("java", 31, "scheduler-1"), &thread), SF_THREAD_OTHER);
    assert_int_equal(look(2, says("cpp", 31, "worker-number-one"), &thread), SF_THREAD_MATCHES);
    assert_int_equal(thread, 31); /* the kernel keeps 15 bytes */
    assert_int_equal(look(2, says("cpp", 31, "another"), &thread), SF_THREAD_OTHER);
}

TEST(thread_table, says_nothing_where_numbers_are_of_another_kind)
{
    uint64_t thread = 5;
    assert_int_equal(look(2, says("java", 31, ""), &thread), SF_THREAD_UNSAID);
    assert_int_equal(thread, 0);
    assert_int_equal(look(3, says("java", 31, ""), &thread), SF_THREAD_UNSAID);
    assert_int_equal(look(9, says("go", 31, ""), &thread), SF_THREAD_UNSAID);
    assert_int_equal(look(2, says("go", 0, ""), &thread), SF_THREAD_UNSAID);
}

TEST(thread_table, takes_plain_numbers_as_they_are)
{
    uint64_t thread;
    assert_int_equal(look(3, says("cpp", 31, ""), &thread), SF_THREAD_MATCHES);
    assert_int_equal(thread, 31);
    assert_int_equal(look(4, says("python", 140000000000001, ""), &thread), SF_THREAD_MATCHES);
    assert_int_equal(look(4, says("python", 7, ""), &thread), SF_THREAD_OTHER);
}

TEST(thread_table, finds_a_name_that_one_thread_has)
{
    uint64_t thread;
    assert_int_equal(look(2, says("cpp", 0, "worker-number-one"), &thread), SF_THREAD_MATCHES);
    assert_int_equal(thread, 31);
    assert_int_equal(look(2, says("cpp", 0, "pool"), &thread), SF_THREAD_UNSAID); /* two have it */
    assert_int_equal(look(2, says("cpp", 0, "nobody"), &thread), SF_THREAD_OTHER);
}

TEST(thread_table, tells_spans_of_different_threads_apart)
{
    struct sf_span_thread a = says("java", 31, "x"), b = says("java", 32, "x");
    struct sf_span_thread c = says("java", 0, "y"), none = says("java", 0, "");
    assert_true(sf_span_thread_differs(&a, &b));
    assert_false(sf_span_thread_differs(&a, &a));
    assert_true(sf_span_thread_differs(&a, &c));
    assert_false(sf_span_thread_differs(&a, &none));
}
