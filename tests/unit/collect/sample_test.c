#include "test.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/lib/sample.h"
#include "collect/unwind/modules.h"
#include "spanflame.h"

static uintptr_t inside_caller[2];

__attribute__((noinline)) static bool hook(bool is_hook_kept)
{
    uint64_t values[2] = {1, 5000}, rest[2] = {0};
    struct sf_raw_sample s = {
        .kind = SF_SAMPLES_BLOCK, .wait = SF_WAIT_SLEEP, .values = {values[0], values[1]}};
    bool ok;
    inside_caller[0] = (uintptr_t)__builtin_return_address(0);
    if (is_hook_kept)
        return sf_sample_take_wait(SF_SAMPLES_BLOCK, SF_WAIT_SLEEP, values, rest,
                                   __builtin_return_address(0));
    sf_sample_fill(&s, __builtin_return_address(0), false);
    ok = sf_sample_give(&s);
    return ok;
}

__attribute__((noinline)) static bool calls_the_hook(bool is_hook_kept)
{
    bool ok = hook(is_hook_kept);
    inside_caller[1] = (uintptr_t)__builtin_return_address(0);
    return ok;
}

TEST(sample, begins_the_stack_where_the_program_called)
{
    struct sf_raw_sample s;
    assert_true(sf_modules_refresh());
    assert_true(calls_the_hook(false));
    assert_true(sf_sample_next(&s));
    assert_false(sf_sample_next(&(struct sf_raw_sample){0}));
    assert_true(s.n_frames > 2);
    assert_int_equal(s.frames[0], inside_caller[0]);
    assert_int_equal(s.frames[1], inside_caller[1]);
    assert_int_equal(s.kind, SF_SAMPLES_BLOCK);
    assert_int_equal(s.wait, SF_WAIT_SLEEP);
    assert_int_equal(s.values[1], 5000);
    assert_int_equal(s.thread, syscall(SYS_gettid));
    assert_true(s.time_ns > 0);
    assert_true(calls_the_hook(true));
    assert_true(sf_sample_next(&s));
    assert_int_equal(s.frames[1], inside_caller[0]);
}

TEST(sample, carries_the_context_of_the_thread)
{
    static const uint8_t trace[16] = {1, 2, 3}, span[8] = {9, 8, 7}, none[8];
    struct sf_raw_sample s;
    sf_context_set(trace, span);
    assert_true(calls_the_hook(false));
    sf_context_clear();
    assert_true(calls_the_hook(false));
    assert_true(sf_sample_next(&s));
    assert_memory_equal(s.trace_id, trace, 16);
    assert_memory_equal(s.span_id, span, 8);
    assert_true(sf_sample_next(&s));
    assert_memory_equal(s.span_id, none, 8);
}

TEST(sample, of_a_wait_gives_the_rest_without_time_and_span)
{
    static const uint8_t trace[16] = {1, 2, 3}, span[8] = {9, 8, 7}, none[16];
    uint64_t values[2] = {2, 5000}, rest[2] = {40, 90000};
    struct sf_raw_sample s, second;
    sf_context_set(trace, span);
    assert_true(sf_sample_take_wait(SF_SAMPLES_MUTEX, SF_WAIT_LOCK, values, rest,
                                    __builtin_return_address(0)));
    sf_context_clear();
    assert_int_equal(rest[0] + rest[1], 0);
    assert_true(sf_sample_next(&s) && sf_sample_next(&second));
    assert_false(sf_sample_next(&(struct sf_raw_sample){0}));
    assert_memory_equal(s.span_id, span, 8);
    assert_int_equal(s.values[1], 5000);
    assert_true(s.time_ns > 0);
    assert_memory_equal(second.trace_id, none, 16);
    assert_memory_equal(second.span_id, none, 8);
    assert_int_equal(second.time_ns, 0);
    assert_int_equal(second.values[0], 40);
    assert_int_equal(second.values[1], 90000);
    assert_int_equal(second.kind, SF_SAMPLES_MUTEX);
    assert_int_equal(second.n_frames, s.n_frames);
    assert_memory_equal(second.frames, s.frames, s.n_frames * sizeof(s.frames[0]));
}

enum { THREADS = 4, EACH = 3000 };

static void *give_many(void *arg)
{
    struct sf_raw_sample s = {.n_frames = 1, .values = {1, 1}, .frames = {1}};
    for (int i = 0; i < EACH; i++)
        sf_sample_give(&s);
    return arg;
}

TEST(sample, counts_what_it_drops)
{
    pthread_t threads[THREADS];
    struct sf_raw_sample s;
    uint64_t n = 0;
    sf_sample_dropped();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, give_many, NULL);
    for (int i = 0; i < 1000; i++)
        n += sf_sample_next(&s);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    while (sf_sample_next(&s))
        n++;
    assert_int_equal(n + sf_sample_dropped(), THREADS * EACH);
    assert_true(n >= SF_RING_WORDS / 16);
}
