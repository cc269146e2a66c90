#include "join/span_figures.h"

#include "join/link_set.h"
#include "test.h"

enum { MS = 1000000, CPU = 0, QUEUE = 1, LOCK = 2, CONDITION = 3, DISK = 4 };

static struct sf_span_figures read_of(struct sf_attr *attrs, uint32_t n)
{
    struct sf_span s = {.start_ns = 5000 * (uint64_t)MS, .end_ns = 5100 * (uint64_t)MS};
    s.attrs = (struct sf_attrs){attrs, n};
    return sf_span_figures_read(&s);
}

static struct sf_attr figure(const char *key, int64_t ns)
{
    return (struct sf_attr){sf_str_from(key), {.type = SF_VALUE_INT, .i64 = ns}};
}

TEST(span_figures, longer_than_the_span_is_not_carried)
{
    struct sf_attr a[] = {figure("thread.cpu_time_ns", 500 * MS),
                          figure("thread.run_queue_ns", INT64_C(1) << 62),
                          figure("thread.wait.disk_ns", 100 * MS)};
    struct sf_span_figures f = read_of(a, 3);
    assert_int_equal(f.ns[CPU], SF_LEDGER_UNSAID);
    assert_int_equal(f.ns[QUEUE], SF_LEDGER_UNSAID);
    assert_int_equal(f.ns[DISK], 100 * MS);
    assert_int_equal(f.longer, 1u << CPU | 1u << QUEUE);
    a[0] = figure("thread.cpu_time_ns", 106 * MS); /* clocks are read one after the other */
    assert_int_equal(read_of(a, 2).ns[CPU], 106 * MS);
    a[0] = figure("thread.cpu_time_ns", 106 * MS + 1);
    assert_int_equal(read_of(a, 2).ns[CPU], SF_LEDGER_UNSAID);
}

TEST(span_figures, a_wrong_wait_is_not_zero)
{
    struct sf_attr a[] = {figure("thread.wait_ns", 9 * MS), figure("thread.wait.lock_ns", -1)};
    struct sf_span_figures f = read_of(a, 2);
    assert_int_equal(f.ns[LOCK], SF_LEDGER_UNSAID);
    assert_int_equal(f.ns[CONDITION], 0);
    assert_int_equal(f.negative, 1u << LOCK);
    a[0] = figure("thread.wait_ns", -9); /* says nothing of the others */
    assert_int_equal(read_of(a, 2).ns[CONDITION], SF_LEDGER_UNSAID);
}

TEST(span_figures, a_thread_does_one_thing_at_a_time)
{
    struct sf_attr a[] = {figure("thread.cpu_time_ns", 70 * MS),
                          figure("thread.run_queue_ns", 60 * MS),
                          figure("thread.wait.lock_ns", 20 * MS)};
    struct sf_span_figures f = read_of(a, 3);
    assert_int_equal(f.together, 1u << CPU | 1u << QUEUE);
    assert_int_equal(f.ns[CPU], SF_LEDGER_UNSAID);
    assert_int_equal(f.ns[QUEUE], SF_LEDGER_UNSAID);
    assert_int_equal(f.ns[LOCK], 20 * MS);
    a[1] = figure("thread.run_queue_ns", 30 * MS); /* of which 20 ended the wait */
    assert_int_equal(read_of(a, 3).together, 0);
}

TEST(span_figures, no_host_has_so_many_threads)
{
    struct sf_attr a[] = {figure("host.runnable_threads", INT64_C(1) << 62)};
    assert_int_equal(read_of(a, 1).runnable, SF_LEDGER_UNSAID);
    a[0] = figure("host.runnable_threads", 12);
    assert_int_equal(read_of(a, 1).runnable, 12);
}
