/* The same work however it is measured: toil UNITS does UNITS on each of two threads, twice. A unit
 * is a request: a span, calls 40 deep, a hundred allocations. Built with -DBARE it knows nothing of
 * the library. Says of the second time what CPU time the kernel counts for the process and for the
 * library's threads, what the library thinks profiling took, and how many samples were taken. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef BARE
#include <spanflame.h>
#endif

enum { THREADS = 2, DEPTH = 40, OBJECTS = 100, TURNS = 6000 };

static _Thread_local volatile unsigned long sink;
static int n_units;

__attribute__((noinline)) static void work(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        void *volatile object = malloc(200);
        for (int k = 0; k < TURNS; k++)
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

static void *toil(void *arg)
{
    for (int i = 0; i < n_units; i++) {
#ifndef BARE
        sf_span s = sf_span_start("unit");
#endif
        sink += (unsigned long)deeper(DEPTH);
#ifndef BARE
        sf_span_end(s);
#endif
    }
    return arg;
}

static void toil_once(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, toil, NULL))
            exit(2);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static unsigned long long process_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (unsigned long long)used.tv_sec * 1000000000u + (unsigned long long)used.tv_nsec;
}

/* CPU time of the library's threads, as the kernel counts it. */
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
        if (strncmp(name, "spanflame", 9) == 0 && (f = fopen(path, "r"))) {
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
    unsigned long long process_ns, library_ns, own_ns, n_samples;
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
#endif
    f.library_ns = library_ns();
    f.process_ns = process_ns();
    return f;
}

int main(int argc, char **argv)
{
    struct figures a, b;
    n_units = argc > 1 ? atoi(argv[1]) : 0;
#ifndef BARE
    if (sf_start(NULL))
        return 2;
#endif
    toil_once();
    a = look(); /* the first profile is sent, for which symbols are read */
    toil_once();
    b = look();
    printf("%llu %llu %llu %llu\n", b.process_ns - a.process_ns, b.library_ns - a.library_ns,
           b.own_ns - a.own_ns, b.n_samples - a.n_samples);
    return 0;
}
