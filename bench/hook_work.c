/* What the hook benchmark measures: hook_work pair|lock|apart|read|work ROUNDS.
 *
 * Prints the CPU time the process took for it, ns: of one operation (the best of many tries), for
 * `work` of all; and the most memory it held, KB. A second thread idles beside operations, because
 * libc is cheaper for programs that have never had one. `apart` is a lock and an unlock with some
 * 30 ns of work behind each, as programs do that lock for a reason. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, DEPTH = 20, TRIES = 40, OPERATIONS = 100000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;
static int zero_fd;

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void one_pair(void)
{
    void *volatile p = malloc(64);
    free(p);
}

static void one_lock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void some_work(void)
{
    unsigned long v = sink;
    for (int i = 0; i < 20; i++)
        v = v * 6364136223846793005u + 1442695040888963407u;
    sink = v;
}

static void one_lock_apart(void)
{
    pthread_mutex_lock(&mutex);
    some_work();
    pthread_mutex_unlock(&mutex);
    some_work();
}

static void one_read(void)
{
    char byte;
    sink += (unsigned long)read(zero_fd, &byte, 1);
}

static double best(void (*one)(void))
{
    double least = 1e9;
    for (int i = 0; i < TRIES; i++) {
        double begin = cpu_ns(), each;
        for (int k = 0; k < OPERATIONS; k++)
            one();
        each = (cpu_ns() - begin) / OPERATIONS;
        least = each < least ? each : least;
    }
    return least;
}

__attribute__((noinline)) static unsigned long deep(int n, unsigned long seed)
{
    if (n)
        return deep(n - 1, seed * 31 + 7) + 1;
    for (int i = 0; i < 1000; i++)
        seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

static void *work(void *arg)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    int rounds = *(int *)arg;
    for (int i = 0; i < rounds; i++) {
        char *volatile p = malloc(64 + (size_t)(i * 37 % 1000));
        pthread_mutex_lock(&own);
        sink += deep(DEPTH, (unsigned long)i);
        pthread_mutex_unlock(&own);
        free(p);
        if (i % 50 == 0)
            one_read();
    }
    return NULL;
}

static double all_work(int rounds)
{
    pthread_t threads[THREADS];
    double begin = cpu_ns();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &rounds);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return cpu_ns() - begin;
}

static long most_kb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (f && fgets(line, sizeof(line), f)) {
        if (!strncmp(line, "VmHWM:", 6))
            kb = strtol(line + 6, NULL, 10);
    }
    if (f)
        fclose(f);
    return kb;
}

static void *idle(void *arg)
{
    pause();
    return arg;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "work";
    int rounds = argc > 2 ? atoi(argv[2]) : 300000;
    pthread_t thread;
    double ns;
    zero_fd = open("/dev/zero", O_RDONLY);
    if (strcmp(what, "work") != 0)
        pthread_create(&thread, NULL, idle, NULL);
    ns = !strcmp(what, "pair")    ? best(one_pair)
         : !strcmp(what, "lock")  ? best(one_lock)
         : !strcmp(what, "apart") ? best(one_lock_apart)
         : !strcmp(what, "read")  ? best(one_read)
                                  : all_work(rounds);
    printf("%.2f %ld\n", ns, most_kb());
    return 0;
}
