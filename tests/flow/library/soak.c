/* Everything that comes and goes at once, profiled: soak FILE SECONDS. Threads, libraries and
 * children churn while spans are made and the profiler's signals fly. Prints the memory held after
 * a fifth of the time and at the end, in KB. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spanflame.h>

static atomic_int is_over;
static volatile unsigned long sink;

static long resident_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2)
        exit(4);
    fclose(f);
    return resident * 4;
}

static void *short_life(void *arg)
{
    for (int i = 0; i < 50; i++) {
        sf_span s = sf_span_start("short");
        char *p = malloc(100 + (size_t)i);
        sf_span_set_int(s, "i", i);
        for (int k = 0; k < 2000; k++)
            sink += (unsigned long)k;
        free(p);
        sf_span_end(s);
    }
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
        if (lib)
            dlclose(lib);
    }
    return arg;
}

static void *children(void *arg)
{
    while (!is_over) {
        int status = 1;
        pid_t pid = fork();
        if (!pid) {
            sf_span_end(sf_span_start("child"));
            _exit(0);
        }
        waitpid(pid, &status, 0);
        if (status)
            exit(5);
        usleep(2000);
    }
    return arg;
}

int main(int argc, char **argv)
{
    void *(*const churns[])(void *) = {threads, threads, libraries, children};
    pthread_t t[4];
    struct timespec fifth;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    sf_set("OTEL_TRACES_EXPORTER", "none");
    sf_set("OTEL_PROFILES_EXPORTER", "none");
    sf_set("SPANFLAME_PROFILES", "cpu");
    sf_set("SPANFLAME_PROFILING_CPU_SAMPLE_RATE", "1000");
    if (argc < 3 || sf_start("soak") || sf_cpu_profile_start(argv[1], 1000))
        return 3;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, churns[i], NULL);
    fifth.tv_sec = (time_t)(seconds / 5);
    fifth.tv_nsec = (long)((seconds / 5 - (double)fifth.tv_sec) * 1e9);
    nanosleep(&fifth, NULL);
    printf("%ld\n", resident_kb());
    for (int i = 0; i < 4; i++)
        nanosleep(&fifth, NULL);
    printf("%ld\n", resident_kb());
    is_over = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return sf_cpu_profile_stop() ? 6 : 0;
}
