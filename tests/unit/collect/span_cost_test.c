#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/lib/span_cost.h"
#include "wire/pb.h"

/* How many attributes the message has, without the runnable threads: a busy machine adds them. */
static int n_attrs(const struct sf_buf *span)
{
    static const char busy[] = "host.runnable_threads";
    struct sf_pb pb = sf_pb_init(sf_buf_bytes(span));
    int n = memmem(sf_buf_bytes(span).p, span->len, busy, sizeof(busy) - 1) ? -1 : 0;
    while (sf_pb_next(&pb)) {
        n += pb.field == 9;
        sf_pb_skip(&pb);
    }
    assert_true(sf_pb_ok(&pb));
    return n;
}

TEST(span_cost, reads_words)
{
    unsigned items = 77;
    assert_true(sf_span_cost_words_parse("cpu, switches", &items));
    assert_int_equal(items, SF_COST_CPU | SF_COST_SWITCHES);
    assert_true(sf_span_cost_words_parse("all", &items));
    assert_int_equal(items, 511);
    assert_true(sf_span_cost_words_parse("none", &items));
    assert_int_equal(items, 0);
    items = 5;
    assert_false(sf_span_cost_words_parse("cpu,gpu", &items));
    assert_int_equal(items, 5);
}

TEST(span_cost, is_written_for_the_thread_that_started_it_only)
{
    struct sf_buf span = {0};
    struct sf_span_cost c;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    static const uint8_t id[8] = {1};
    errno = 33;
    sf_span_cost_begin(&c, SF_COST_CPU | SF_COST_FAULTS, tid, false);
    sf_span_cost_write(&c, SF_COST_CPU | SF_COST_FAULTS, tid + 1, id, &span);
    assert_int_equal(span.len, 0);
    sf_span_cost_write(&c, SF_COST_CPU | SF_COST_FAULTS, tid, id, &span);
    assert_int_equal(n_attrs(&span), 3); /* its time, two kinds of faults */
    sf_buf_reset(&span);
    sf_span_cost_begin(&c, 511, tid, true);
    sf_span_cost_write(&c, 511, tid, id, &span);
    assert_int_equal(n_attrs(&span), 9); /* no profiler is on: nothing of them */
    assert_int_equal(errno, 33);
    sf_buf_done(&span);
}

/* Looking again without a switch in between costs no file: the figure stays, and never runs back.
 */
TEST(span_cost, counts_the_run_queue_when_the_thread_was_switched)
{
    static const uint8_t id[8] = {1};
    struct sf_span_cost first, later;
    struct sf_buf span = {0};
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    sf_span_cost_begin(&first, SF_COST_RUN_QUEUE, tid, false);
    for (int i = 0; i < 50; i++)
        usleep(100);
    sf_span_cost_begin(&later, SF_COST_RUN_QUEUE, tid, false);
    assert_true(later.run_queue_ns >= first.run_queue_ns);
    /* A sleep whose timer fires before the thread has left the processor is not a switch: of 50
     * most are. */
    assert_true(later.switches[0] > first.switches[0]);
    sf_span_cost_write(&first, SF_COST_RUN_QUEUE, tid, id, &span);
    assert_int_equal(n_attrs(&span), 1);
    sf_buf_done(&span);
}
