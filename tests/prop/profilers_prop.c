/* The library's profilers in a program of this build, sanitizers included: what works runs, what
 * cannot is named. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#include "base/str.h"
#include "spanflame.h"
#include "test.h"

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_over;
static volatile unsigned long sink;

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void planted_spin(double s);

__attribute__((noinline)) void planted_spin(double s)
{
    double end = cpu_s() + s;
    while (cpu_s() < end) {
        for (int i = 0; i < 20000; i++)
            sink += (unsigned long)i;
    }
    __asm__ volatile(""); /* stays the caller of what it calls last */
}

static void *hold(void *arg)
{
    struct timespec nap = {0, 5000000};
    while (!atomic_load(&is_over)) {
        pthread_mutex_lock(&contended);
        nanosleep(&nap, NULL);
        pthread_mutex_unlock(&contended);
        usleep(100);
    }
    return arg;
}

static bool is_sanitized(void)
{
#if defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

static uint64_t samples_taken(void)
{
    sf_counters c = {.size = sizeof(c)};
    sf_counters_read(&c);
    return c.samples_taken;
}

/* Runs the profilers `on` until each has had something to see. */
static void expect_samples(unsigned on)
{
    uint64_t before = samples_taken();
    pthread_t holder;
    assert_int_equal(sf_profiling(), on);
    atomic_store(&is_over, false);
    pthread_create(&holder, NULL, hold, NULL);
    for (int i = 0; i < 3000 && samples_taken() < before + 5; i++) {
        sf_span s = sf_span_start("work");
        pthread_mutex_lock(&contended);
        planted_spin(0.02);
        pthread_mutex_unlock(&contended);
        usleep(2000);
        sf_span_end(s);
    }
    atomic_store(&is_over, true);
    pthread_join(holder, NULL);
    assert_true(samples_taken() >= before + 5);
}

static void begin(const char *profiles)
{
    static bool is_begun;
    if (is_begun)
        return;
    is_begun = true;
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", 1); /* nobody is there */
    setenv("SPANFLAME_PROFILES", profiles, 1);
    setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100", 1);
    assert_int_equal(sf_start("profilers"), 0);
}

TEST(profilers, a_build_without_one_names_it_and_runs_the_others)
{
    unsigned missing = is_sanitized() ? SF_PROFILE_HEAP : 0;
    char why[200] = "";
    begin("cpu,wall,heap,mutex,block,threads");
    assert_int_equal(sf_profiling(), SF_PROFILE_ALL & ~missing);
    sf_problem(why, sizeof(why));
    assert_true(!missing == !strstr(why, "do not pass through the library: heap"));
    assert_int_equal(sf_profiling_start(missing ? missing : SF_PROFILE_CPU), missing ? -1 : 0);
}

TEST(profilers, each_kind_takes_samples)
{
    static const unsigned kinds[] = {SF_PROFILE_CPU, SF_PROFILE_WALL, SF_PROFILE_MUTEX,
                                     SF_PROFILE_BLOCK};
    begin("none");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        sf_profiling_stop(SF_PROFILE_ALL);
        assert_int_equal(sf_profiling_start(kinds[i]), 0);
        expect_samples(kinds[i]);
    }
    sf_profiling_stop(SF_PROFILE_ALL);
}

/* Room for the profile of a short program, inflated. */
static size_t inflate_file(const char *path, char *out, size_t cap)
{
    gzFile f = gzopen(path, "rb");
    int n = f ? gzread(f, out, (unsigned)cap) : -1;
    if (f)
        gzclose(f);
    return n > 0 ? (size_t)n : 0;
}

TEST(profilers, stacks_lead_through_this_builds_frames)
{
    static char text[1 << 20];
    char path[] = "/tmp/spanflame-profilers-XXXXXX";
    int fd = mkstemp(path);
    size_t len;
    begin("none");
    close(fd);
    assert_int_equal(sf_cpu_profile_start(path, 0), 0);
    planted_spin(0.5);
    assert_int_equal(sf_cpu_profile_stop(), 0);
    len = inflate_file(path, text, sizeof(text));
    unlink(path);
    assert_non_null(memmem(text, len, "planted_spin", 12));
    assert_non_null(memmem(text, len, "stacks_lead_through", 19));
}
