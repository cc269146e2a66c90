#include "test.h"

#include <pthread.h>
#include <sched.h>

#include "collect/lib/sample_ring.h"

static struct sf_sample_ring ring;

static struct sf_raw_sample made(uint32_t n)
{
    struct sf_raw_sample s = {.n_frames = (uint16_t)(1 + n % SF_SAMPLE_FRAMES),
                              .end = n % 4,
                              .kind = (uint8_t)(n % SF_SAMPLES_KINDS),
                              .wait = (uint8_t)(n % SF_WAITS),
                              .thread = n * 7,
                              .values = {n, (uint64_t)n << 40}};
    s.time_ns = n * 3ull;
    memset(s.trace_id, (int)n, 16);
    memset(s.span_id, (int)(n + 1), 8);
    for (unsigned i = 0; i < s.n_frames; i++)
        s.frames[i] = n * 1000ull + i;
    return s;
}

static bool is_as_made(const struct sf_raw_sample *got, uint32_t n)
{
    struct sf_raw_sample want = made(n);
    return got->n_frames == want.n_frames && got->end == want.end && got->kind == want.kind &&
           got->wait == want.wait && got->thread == want.thread &&
           got->values[0] == want.values[0] && got->values[1] == want.values[1] &&
           got->time_ns == want.time_ns && !memcmp(got->trace_id, want.trace_id, 16) &&
           !memcmp(got->span_id, want.span_id, 8) &&
           !memcmp(got->frames, want.frames, want.n_frames * sizeof(want.frames[0]));
}

TEST(sample_ring, gives_back_what_was_put_around_its_end)
{
    struct sf_raw_sample got;
    for (uint32_t n = 0; n < 5000; n++) {
        struct sf_raw_sample s = made(n);
        assert_true(sf_sample_ring_put(&ring, &s));
        if (n % 3 == 0)
            continue;
        while (sf_sample_ring_get(&ring, &got))
            assert_true(is_as_made(&got, (uint32_t)(got.time_ns / 3)));
    }
    while (sf_sample_ring_get(&ring, &got))
        ;
    assert_int_equal(atomic_load(&ring.dropped), 0);
}

TEST(sample_ring, drops_and_counts_when_full)
{
    struct sf_raw_sample s = made(SF_SAMPLE_FRAMES - 1), got;
    unsigned kept = 0;
    while (sf_sample_ring_put(&ring, &s))
        kept++;
    assert_int_equal(kept, SF_RING_WORDS / (SF_SAMPLE_HEAD + SF_SAMPLE_FRAMES));
    assert_int_equal(atomic_exchange(&ring.dropped, 0), 1);
    while (sf_sample_ring_get(&ring, &got))
        kept--;
    assert_int_equal(kept, 0);
}

enum { MANY = 50000 };

static void *write_many(void *arg)
{
    for (uint32_t n = 0; n < MANY;) {
        struct sf_raw_sample s = made(n);
        if (sf_sample_ring_put(&ring, &s))
            n++;
        else
            sched_yield(); // one core, or valgrind: the reader must get its turn
    }
    return arg;
}

TEST(sample_ring, keeps_order_between_two_threads)
{
    pthread_t thread;
    struct sf_raw_sample got;
    pthread_create(&thread, NULL, write_many, NULL);
    for (uint32_t n = 0; n < MANY;) {
        if (!sf_sample_ring_get(&ring, &got)) {
            sched_yield();
            continue;
        }
        assert_true(is_as_made(&got, n));
        n++;
    }
    pthread_join(thread, NULL);
}
