/* Programs that are traced and profiled at once: profiled STORY. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spanflame.h>

static volatile unsigned long sink;

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline __attribute__((always_inline)) void burn(double s)
{
    double end = cpu_s() + s;
    do {
        for (int i = 0; i < 20000; i++)
            sink += (unsigned long)i;
    } while (cpu_s() < end);
}

__attribute__((noinline)) void planted_hot(double s)
{
    burn(s);
}

__attribute__((noinline)) void planted_cool(double s)
{
    burn(s);
}

static void say(const char *what, sf_span s)
{
    sf_context c;
    char text[SF_TRACEPARENT_CAP];
    if (!sf_span_context(s, &c) && !sf_traceparent(&c, text))
        printf("%s %.32s %.16s\n", what, text + 3, text + 36);
}

/* Two spans, each with its own function, a child in between. */
static void hot(void)
{
    sf_span outer = sf_span_start("outer"), inner;
    say("outer", outer);
    planted_cool(0.2);
    inner = sf_span_start("inner");
    say("inner", inner);
    planted_hot(0.6);
    sf_span_end(inner);
    sf_span_end(outer);
}

static int fds[2];

static void *reads(void *arg)
{
    char byte;
    return read(fds[0], &byte, 1) == 1 ? arg : NULL;
}

__attribute__((noinline)) void planted_nap(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    errno = 0;
    if (nanosleep(&t, NULL)) /* whoever interrupts a sleep is found out */
        printf("interrupted %d\n", errno);
}

/* A span that sleeps and burns; a thread that waits for a pipe meanwhile. */
static void waits(void)
{
    sf_span s = sf_span_start("waits");
    pthread_t t;
    say("waits", s);
    if (pipe(fds) || pthread_create(&t, NULL, reads, NULL))
        return;
    planted_nap(1.5);
    planted_hot(0.5);
    sf_span_end(s);
    sf_flush(10000);
    if (write(fds[1], "x", 1) == 1)
        pthread_join(t, NULL);
}

/* Spans far too short to be sampled, of which half the time is a child's. */
static void costs(void)
{
    sf_span s = sf_span_start("short"), child;
    struct timespec nap = {0, 3000000};
    say("short", s);
    burn(0.004);
    nanosleep(&nap, NULL);
    child = sf_span_start("child");
    burn(0.004);
    sf_span_end(child);
    sf_span_end(s);
}

/* How long this thread waited for a CPU so far. */
static unsigned long long delay_ns(void)
{
    unsigned long long run, delay = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (!f || fscanf(f, "%llu %llu", &run, &delay) != 2)
        exit(77);
    fclose(f);
    return delay;
}

static volatile int is_crowded = 1;

static void *crowds(void *arg)
{
    while (is_crowded)
        sink++;
    return arg;
}

/* Four threads that only run, on the one CPU of a span; it ends when it has waited for it. */
static void crowd(void)
{
    pthread_t others[4];
    cpu_set_t one;
    int cpu = 0;
    sched_getaffinity(0, sizeof(one), &one);
    while (!CPU_ISSET(cpu, &one))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one))
        exit(77);
    for (int i = 0; i < 4; i++)
        pthread_create(&others[i], NULL, crowds, NULL);
    for (int i = 0; i < 2; i++) {
        sf_span s = sf_span_start("crowded");
        unsigned long long before_ns = delay_ns();
        say("crowded", s);
        while (delay_ns() < before_ns + 20000000)
            burn(0.002);
        sf_span_end(s);
    }
    is_crowded = 0;
    for (int i = 0; i < 4; i++)
        pthread_join(others[i], NULL);
}

/* Forty naps too short to be sampled each, twenty of them in the child; the program's watch says
 * how long they were. */
static uint64_t nap_often(int n)
{
    struct timespec nap = {0, 100000}, begin, end;
    uint64_t ns = 0;
    for (int i = 0; i < n; i++) {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        nanosleep(&nap, NULL);
        clock_gettime(CLOCK_MONOTONIC, &end);
        ns += (uint64_t)((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec);
    }
    return ns;
}

static void naps(void)
{
    sf_span s, child;
    uint64_t before_ns, inside_ns;
    usleep(200000); /* the profiles have begun by then */
    s = sf_span_start("naps");
    say("naps", s);
    before_ns = nap_often(20);
    child = sf_span_start("child");
    inside_ns = nap_often(20);
    sf_span_end(child);
    sf_span_end(s);
    printf("watched %llu %llu\n", (unsigned long long)before_ns, (unsigned long long)inside_ns);
}

/* 100 objects of 1,000 bytes in the child, 3 MB held by the program, and time enough for samples.
 */
static void memory(void)
{
    enum { HELD = 300 };
    static void *volatile held[HELD];
    static void *volatile brief;
    sf_span s, child;
    usleep(200000); /* the heap profile has begun by then */
    s = sf_span_start("held");
    say("held", s);
    for (int i = 0; i < HELD; i++)
        held[i] = malloc(10000);
    child = sf_span_start("brief");
    for (int i = 0; i < 100; i++) {
        brief = malloc(1000);
        free(brief);
    }
    sf_span_end(child);
    planted_hot(0.4);
    sf_span_end(s);
}

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held;

static void *holds(void *arg)
{
    pthread_mutex_lock(&contended);
    is_held = 1;
    usleep(100000);
    pthread_mutex_unlock(&contended);
    return arg;
}

__attribute__((noinline)) void planted_wait(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, holds, NULL))
        return;
    while (!is_held)
        usleep(1000);
    pthread_mutex_lock(&contended);
    pthread_mutex_unlock(&contended);
    pthread_join(t, NULL);
}

/* libc allocates here, not the program: a hook that only the program's own calls reach sees
 * nothing. */
__attribute__((noinline)) void planted_copies(void)
{
    static char text[5000];
    static char *volatile copy;
    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < 300; i++)
        copy = strdup(text);
}

/* Something for each profiler. */
static void everything(void)
{
    char why[240];
    sf_problem(why, sizeof(why));
    printf("on %u\nproblem %s\n", sf_profiling(), why);
    planted_hot(0.3);
    planted_copies();
    planted_wait();
    planted_nap(0.5);
}

static void at_run_time(void)
{
    sf_span s;
    printf("on %u\n", sf_profiling());
    s = sf_span_start("unprofiled");
    say("unprofiled", s);
    planted_cool(0.2);
    sf_span_end(s);
    if (sf_profiling_start(SF_PROFILE_CPU))
        return;
    printf("on %u\n", sf_profiling());
    s = sf_span_start("profiled");
    say("profiled", s);
    planted_hot(0.3);
    sf_span_end(s);
    sf_profiling_stop(SF_PROFILE_ALL);
    printf("on %u\n", sf_profiling());
    planted_cool(0.1);
}

static void forked(void)
{
    int status;
    pid_t pid;
    fflush(stdout);
    pid = fork();
    if (!pid) {
        sf_span s = sf_span_start("child");
        say("child", s);
        planted_hot(0.5);
        sf_span_end(s);
        fflush(stdout);
        sf_stop();
        _exit(0);
    }
    waitpid(pid, &status, 0);
}

/* Works until the figure that WATCH names ("paused", "rate", "mean" of heap samples, or "wait" for
 * the mean of waits) is what WATCH_IS says, or for 1500 turns of 20 ms (WATCH_FOR). */
static void watch(void)
{
    const char *what = getenv("WATCH"), *is = getenv("WATCH_IS"), *turns = getenv("WATCH_FOR");
    int most = turns ? atoi(turns) : 1500;
    unsigned long long want = is ? strtoull(is, NULL, 10) : 0, got = 0;
    sf_counters c = {.size = sizeof(c)};
    struct timespec nap = {0, 10000000};
    for (int i = 0; what && i < most; i++) {
        sf_span s = sf_span_start("watch");
        planted_hot(0.01);
        sf_span_end(s);
        nanosleep(&nap, NULL);
        sf_counters_read(&c);
        got = !strcmp(what, "paused") ? c.profiling_paused
              : !strcmp(what, "mean") ? c.heap_mean_bytes
              : !strcmp(what, "wait") ? c.wait_mean_ns
                                      : c.cpu_rate_hz;
        if (got == want)
            break;
    }
    printf("watched %llu %llu %llu %llu %llu %llu\n", (unsigned long long)c.profiling_paused,
           (unsigned long long)c.profiling_paused_ms, (unsigned long long)c.cpu_rate_hz,
           (unsigned long long)c.profiling_cpu_ns, (unsigned long long)c.heap_mean_bytes,
           (unsigned long long)c.wait_mean_ns);
}

/* Requests with other outcomes, each 50 ms of CPU time; their lengths are stated, not measured. */
static void requests(void)
{
    static const struct {
        const char *name;
        long long length_ms;
        sf_span_profile profile;
        int is_failed;
    } all[] = {
        {"quick", 1000, SF_SPAN_PROFILE_AUTO, 0},  {"slow", 10000, SF_SPAN_PROFILE_AUTO, 0},
        {"failed", 1000, SF_SPAN_PROFILE_AUTO, 1}, {"heavy", 20, SF_SPAN_PROFILE_AUTO, 0},
        {"asked", 1000, SF_SPAN_PROFILE_AUTO, 0},  {"never", 10000, SF_SPAN_PROFILE_NEVER, 1}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        sf_span_options o = {.size = sizeof(o), .flags = SF_SPAN_ROOT, .profile = all[i].profile};
        struct timespec now;
        sf_span s, child;
        clock_gettime(CLOCK_REALTIME, &now);
        o.start_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        if (!strcmp(all[i].name, "asked"))
            o.profile = sf_profile_asked("userId=alice, profile=1;x=y");
        s = sf_span_start_with(all[i].name, &o);
        child = sf_span_start("child");
        say(all[i].name, child);
        planted_hot(0.05);
        sf_span_end(child);
        if (all[i].is_failed)
            sf_span_set_status(s, SF_STATUS_ERROR, "planted");
        sf_span_end_at(s, o.start_unix_ns + (uint64_t)all[i].length_ms * 1000000u);
    }
}

/* Many requests of which nothing but the trace id tells one from the other: 3 ms of CPU time, said
 * to be a second long. */
static void alike(void)
{
    for (int i = 0; i < 150; i++) {
        sf_span_options o = {.size = sizeof(o), .flags = SF_SPAN_ROOT};
        struct timespec now;
        sf_span s;
        clock_gettime(CLOCK_REALTIME, &now);
        o.start_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        s = sf_span_start_with("alike", &o);
        say("alike", s);
        planted_hot(0.003);
        sf_span_end_at(s, o.start_unix_ns + 1000000000u);
    }
    sf_flush(10000); /* a request that runs when a window ends keeps its ids: none does */
}

/* Hardly a stack twice: which of the two functions is called next is by chance, 30 times. */
static int turn_right(int depth, unsigned chance);

__attribute__((noinline)) static int turn_left(int depth, unsigned chance)
{
    int below = 0;
    if (depth == 0)
        burn(0.001);
    else
        below = chance & 1 ? turn_left(depth - 1, chance >> 1) : turn_right(depth - 1, chance >> 1);
    sink += (unsigned long)below;
    return below + 1;
}

__attribute__((noinline)) static int turn_right(int depth, unsigned chance)
{
    int below = 0;
    if (depth == 0)
        burn(0.001);
    else
        below = chance & 1 ? turn_left(depth - 1, chance >> 1) : turn_right(depth - 1, chance >> 1);
    sink += (unsigned long)below + 1;
    return below + 1;
}

static void varied(void)
{
    unsigned chance = 1;
    for (int i = 0; i < 2000; i++) {
        chance = chance * 1664525u + 1013904223u;
        turn_left(30, chance);
    }
}

/* CPU samples in a request that is slow, and in as much work after it. */
static void escalated(void)
{
    sf_counters c = {.size = sizeof(c)};
    unsigned long long before, slow;
    sf_span s = sf_span_start("slow");
    planted_hot(0.3); /* it is slow by then, and is found to be */
    sf_counters_read(&c);
    before = c.samples_taken;
    planted_hot(0.5);
    sf_counters_read(&c);
    slow = c.samples_taken - before;
    sf_span_end(s);
    planted_hot(0.3);
    sf_counters_read(&c);
    before = c.samples_taken;
    planted_hot(0.5);
    sf_counters_read(&c);
    printf("samples %llu %llu\n", slow, (unsigned long long)c.samples_taken - before);
}

int main(int argc, char **argv)
{
    sf_counters c = {.size = sizeof(c)};
    if (argc < 2 || sf_start(NULL))
        return 2;
    if (!strcmp(argv[1], "hot"))
        hot();
    else if (!strcmp(argv[1], "run-time"))
        at_run_time();
    else if (!strcmp(argv[1], "waits"))
        waits();
    else if (!strcmp(argv[1], "everything"))
        everything();
    else if (!strcmp(argv[1], "crowd"))
        crowd();
    else if (!strcmp(argv[1], "costs"))
        costs();
    else if (!strcmp(argv[1], "naps"))
        naps();
    else if (!strcmp(argv[1], "memory"))
        memory();
    else if (!strcmp(argv[1], "watch"))
        watch();
    else if (!strcmp(argv[1], "requests"))
        requests();
    else if (!strcmp(argv[1], "alike"))
        alike();
    else if (!strcmp(argv[1], "varied"))
        varied();
    else if (!strcmp(argv[1], "escalated"))
        escalated();
    else if (!strcmp(argv[1], "fork"))
        forked();
    else
        return 2;
    sf_flush(10000);
    sf_counters_read(&c);
    printf("counters %llu %llu %llu %llu\n", (unsigned long long)c.samples_taken,
           (unsigned long long)c.profiles_sent, (unsigned long long)c.profiles_dropped,
           (unsigned long long)c.profiles_refused);
    return 0;
}
