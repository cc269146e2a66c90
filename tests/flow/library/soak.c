/* Everything that comes and goes at once, under every profiler: soak FILE SECONDS. Threads,
 * libraries and children churn, allocate, lock and wait while spans are made and sent and the
 * profiler's signals fly. Prints after two fifths of the time and at the end: the least resident KB
 * of a fifth, descriptors, mappings, and how many threads, libraries, children and spans came and
 * went. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spanflame.h>

extern char **environ;
static atomic_int is_over;
static atomic_long n_threads, n_libraries, n_children, n_spans;
static __thread volatile unsigned long sink;
static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static __thread char *at_end; /* freed by the thread's key, after most of libc's own destructors */
static pthread_key_t key;

static long resident_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2)
        exit(4);
    fclose(f);
    return resident * 4;
}

static long descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    long n = 0;
    while (d && readdir(d))
        n++;
    closedir(d);
    return n - 3; /* ".", "..", its own */
}

static long mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    long n = 0;
    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    fclose(f);
    return n;
}

/* What it comes back to while it continues for a fifth of the time: names are looked up in between,
 * and that memory is returned. */
static long resident_least(double seconds)
{
    struct timespec step = {(time_t)(seconds / 50), (long)(seconds / 50 * 1e9) % 1000000000};
    long least = resident_kb();
    for (int i = 0; i < 50; i++) {
        long now = resident_kb();
        least = now < least ? now : least;
        nanosleep(&step, NULL);
    }
    return least;
}

static void report(double seconds)
{
    long least = resident_least(seconds);
    printf("%ld %ld %ld %ld %ld %ld %ld\n", least, descriptors(), mappings(), (long)n_threads,
           (long)n_libraries, (long)n_children, (long)n_spans);
    fflush(stdout);
}

static void free_last(void *p)
{
    free(p);
    sf_span_end(sf_span_start("in a destructor"));
}

static void *short_life(void *arg)
{
    pthread_setspecific(key, at_end = malloc(3000));
    for (int i = 0; i < 50; i++) {
        sf_span s = sf_span_start("short");
        char *p = malloc(100 + (size_t)i * 500);
        sf_span_set_int(s, "i", i);
        for (int k = 0; k < 2000; k++)
            sink += (unsigned long)k;
        if (i % 10 == 0) {
            pthread_mutex_lock(&contended);
            usleep(50);
            pthread_mutex_unlock(&contended);
        }
        free(p);
        sf_span_end(s);
        n_spans++;
    }
    n_threads++;
    return arg;
}

static void *threads(void *arg)
{
    pthread_t t;
    while (!is_over) {
        if (!pthread_create(&t, NULL, short_life, NULL))
            pthread_join(t, NULL);
    }
    return arg;
}

static void *libraries(void *arg)
{
    while (!is_over) {
        void *lib = dlopen("libsqlite3.so.0", RTLD_NOW);
        for (int k = 0; k < 100000; k++)
            sink += (unsigned long)k;
        if (lib && !dlclose(lib))
            n_libraries++;
    }
    return arg;
}

/* By turns a child that continues by itself, one that becomes another program, one that borrows our
 * memory, one that libc starts. */
static pid_t child_of_sort(long sort)
{
    char *argv[] = {"true", NULL};
    pid_t pid;
    if (sort == 3)
        return posix_spawnp(&pid, "true", NULL, NULL, argv, environ) ? -1 : pid;
    pid = sort == 2 ? vfork() : fork();
    if (!pid && sort == 0) {
        free(malloc(100000));
        sf_span_end(sf_span_start("child"));
        _exit(0);
    }
    if (!pid)
        execvp("true", argv);
    if (!pid)
        _exit(9);
    return pid;
}

static void *children(void *arg)
{
    while (!is_over) {
        int status = 1;
        pid_t pid = child_of_sort(n_children % 4);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
            exit(5);
        n_children++;
        usleep(2000);
    }
    return arg;
}

int main(int argc, char **argv)
{
    void *(*const churns[])(void *) = {threads, threads, libraries, children};
    pthread_t t[4];
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    sf_set("SPANFLAME_PROFILES", "cpu,wall,heap,mutex,block,threads");
    sf_set("SPANFLAME_PROFILING_CPU_SAMPLE_RATE", "1000");
    sf_set("SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE", "32KB");
    sf_set("SPANFLAME_PROFILING_UPLOAD_INTERVAL", "500ms");
    pthread_key_create(&key, free_last);
    if (argc < 3 || sf_start("soak") || sf_cpu_profile_start(argv[1], 1000))
        return 3;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, churns[i], NULL);
    resident_least(seconds / 5);
    report(seconds / 5);
    resident_least(seconds / 5 * 2);
    report(seconds / 5);
    is_over = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return sf_cpu_profile_stop() ? 6 : 0;
}
