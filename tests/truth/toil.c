/* The same work however it is measured: toil UNITS does UNITS on each of two threads, twice. A unit
 * is a request: a span, calls 40 deep, a hundred allocations. Built with -DBARE it knows nothing of
 * the library. Says of the second time what CPU time the kernel counts for the process and for the
 * library's threads, what the library thinks profiling took, how many samples were taken, how
 * many of them of the heap and of waits, and how long it took by the clock; and, on a second line,
 * the same of the first time, which begins with the process. With NAP_US set in the environment, a
 * unit ends with a sleep of that length.
 *
 * toil 0 PHASES: what samples take of the threads they are taken on. Profilers are off and on in
 * turn; says how many samples were taken in phases with profilers, and of each unit its phase (odd:
 * on) and its CPU time.
 *
 * Built with -DINSIDE it has the library in it and sees its samples: toil SECONDS says what
 * the library thinks samples took, and of each unit how many samples of the CPU and of the heap
 * were taken in it, and its CPU time. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef BARE
#include <spanflame.h>
#endif
#ifdef INSIDE
#include "collect/lib/cpu_profiler.h"
#include "collect/lib/hook_thread.h"
#include "collect/lib/own_cost.h"
#endif

enum { THREADS = 2, DEPTH = 40, OBJECTS = 100, ROUNDS = 6000 };

static _Thread_local volatile unsigned long sink;
static int n_units;
static useconds_t nap_us;

__attribute__((noinline)) static void work(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        void *volatile object = malloc(200);
        for (int k = 0; k < ROUNDS; k++)
            sink += (unsigned long)k * 3;
        free(object);
    }
}

/* What follows the call keeps the compiler from making a loop of it. */
__attribute__((noinline)) static int deeper(int depth)
{
    int below = 0;
    if (depth > 0)
        below = deeper(depth - 1);
    else
        work();
    sink += (unsigned long)below;
    return below + 1;
}

static unsigned long long clock_ns(clockid_t clock)
{
    struct timespec used;
    clock_gettime(clock, &used);
    return (unsigned long long)used.tv_sec * 1000000000u + (unsigned long long)used.tv_nsec;
}

static void unit(void)
{
#ifndef BARE
    sf_span s = sf_span_start("unit");
#endif
    sink += (unsigned long)deeper(DEPTH);
    if (nap_us)
        usleep(nap_us);
#ifndef BARE
    sf_span_end(s);
#endif
}

static void *toil(void *arg)
{
    for (int i = 0; i < n_units; i++)
        unit();
    return arg;
}

static pthread_t threads[THREADS];

static void start_threads(void *(*run)(void *))
{
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, run, NULL))
            exit(2);
    }
}

static void join_threads(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* CPU time of the library's threads that profile, as the kernel counts it. */
static unsigned long long library_ns(void)
{
    unsigned long long sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e = tasks ? readdir(tasks) : NULL; e; e = readdir(tasks)) {
        char path[300], name[32] = "";
        unsigned long long ns = 0;
        FILE *f;
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        if ((f = fopen(path, "r"))) {
            if (!fgets(name, sizeof(name), f))
                name[0] = 0;
            fclose(f);
        }
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", e->d_name);
        if (strncmp(name, "spanflame-", 10) == 0 && /* "spanflame" sends spans */
            (f = fopen(path, "r"))) {
            if (fscanf(f, "%llu", &ns) == 1)
                sum += ns;
            fclose(f);
        }
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

struct figures {
    unsigned long long process_ns, library_ns, own_ns, n_samples, n_heap, n_waits, wall_ns;
};

static struct figures look(void)
{
    struct figures f = {0};
#ifndef BARE
    sf_counters c = {.size = sizeof(c)};
    sf_flush(60000);
    sf_counters_read(&c);
    f.own_ns = c.profiling_cpu_ns;
    f.n_samples = c.samples_taken;
    f.n_heap = c.heap_samples;
    f.n_waits = c.wait_samples;
#endif
    f.library_ns = library_ns();
    f.process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    f.wall_ns = clock_ns(CLOCK_MONOTONIC);
    return f;
}

#ifdef INSIDE
enum { WAIT_US = 2000000, MOST_SEEN = 1000000 }; /* its signals have a price by then */
static atomic_int n_seen;
static atomic_bool is_over;
static struct {
    unsigned n_cpu, n_heap, ns;
} seen[MOST_SEEN];

static void *toil_seen(void *arg)
{
    while (!atomic_load(&is_over)) {
        uint64_t n_cpu = sf_cpu_samples_self.n, gap = sf_hook_self.heap_set;
        unsigned long long begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        unsigned ns;
        int i;
        unit();
        ns = (unsigned)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
        if ((i = atomic_fetch_add(&n_seen, 1)) < MOST_SEEN) {
            seen[i].n_cpu = (unsigned)(sf_cpu_samples_self.n - n_cpu);
            seen[i].n_heap = sf_hook_self.heap_set != gap; /* another one was drawn */
            seen[i].ns = ns;
        }
    }
    return arg;
}

static unsigned long long own_ns(void)
{
    return sf_own_cost_ns() - sf_guest_thread_cpu_ns();
}

static int watch(int seconds)
{
    unsigned long long before_ns;
    int n;
    start_threads(toil_seen);
    usleep(WAIT_US);
    atomic_store(&n_seen, 0);
    before_ns = own_ns();
    usleep((useconds_t)seconds * 1000000);
    atomic_store(&is_over, true);
    join_threads();
    n = atomic_load(&n_seen);
    printf("%llu\n", own_ns() - before_ns);
    for (int i = 0; i < n && i < MOST_SEEN; i++)
        printf("%u %u %u\n", seen[i].n_cpu, seen[i].n_heap, seen[i].ns);
    return n > MOST_SEEN;
}
#elif !defined(BARE)
/* Both threads toil all the time, and profilers are on in every second phase. Each is on for a
 * while before: until their next turn they know no stacks and copy them, as no program has them do
 * for long. */
enum { PHASE_US = 100000, BEFORE_US = 120000, MOST_UNITS = 2000000 };
static atomic_int phase; /* odd: profilers are on; 0: between two phases; -1: the end */
static atomic_int n_done;
static struct {
    int phase;
    unsigned ns;
} done[MOST_UNITS];

static void *toil_on(void *arg)
{
    int now;
    while ((now = atomic_load(&phase)) >= 0) {
        unsigned long long begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int i;
        unit();
        if (now && atomic_load(&phase) == now && (i = atomic_fetch_add(&n_done, 1)) < MOST_UNITS) {
            done[i].ns = (unsigned)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
            done[i].phase = now;
        }
    }
    return arg;
}

static unsigned long long count_samples(void)
{
    sf_counters c = {.size = sizeof(c)};
    sf_counters_read(&c);
    return c.samples_taken;
}

static int price(int n_phases)
{
    unsigned profiles = sf_profiling();
    unsigned long long before, begin_ns, phase_ns, phases_ns = 0, on_ns = 0;
    sf_profiling_stop(profiles);
    before = count_samples();
    start_threads(toil_on);
    for (int i = 2; i < n_phases + 2; i++) {
        begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        if (i % 2 && (sf_profiling_start(profiles) || usleep(BEFORE_US)))
            return 2;
        phase_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        atomic_store(&phase, i);
        usleep(PHASE_US);
        atomic_store(&phase, 0);
        if (i % 2) {
            phases_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - phase_ns;
            sf_profiling_stop(profiles);
            on_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
        }
    }
    atomic_store(&phase, -1);
    join_threads();
    printf("%.0f\n", (double)(count_samples() - before) * (double)phases_ns / (double)on_ns);
    for (int i = 0; i < atomic_load(&n_done) && i < MOST_UNITS; i++)
        printf("%d %u\n", done[i].phase, done[i].ns);
    return 0;
}
#endif

static void say(const struct figures *a, const struct figures *b)
{
    printf("%llu %llu %llu %llu %llu %llu %llu\n", b->process_ns - a->process_ns,
           b->library_ns - a->library_ns, b->own_ns - a->own_ns, b->n_samples - a->n_samples,
           b->n_heap - a->n_heap, b->n_waits - a->n_waits, b->wall_ns - a->wall_ns);
}

int main(int argc, char **argv)
{
    struct figures begin = {.wall_ns = clock_ns(CLOCK_MONOTONIC)}, a, b;
    n_units = argc > 1 ? atoi(argv[1]) : 0;
    nap_us = getenv("NAP_US") ? (useconds_t)atoi(getenv("NAP_US")) : 0;
#ifndef BARE
    if (sf_start(NULL))
        return 2;
#ifdef INSIDE
    return watch(n_units);
#else
    if (argc > 2)
        return price(atoi(argv[2]));
#endif
#endif
    start_threads(toil);
    join_threads();
    a = look(); /* the first profile is sent, for which symbols are read */
    start_threads(toil);
    join_threads();
    b = look();
    say(&a, &b);
    say(&begin, &a);
    return 0;
}
