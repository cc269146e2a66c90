/* What does a CPU profile cost the program that is profiled?
 *
 * Two threads do a fixed amount of work with calls twenty deep, bare and profiled in turn; the CPU
 * time of the whole process is compared, because wall time wobbles by more than the answer. Prints
 * the median of the pairs and the interval that holds the middle half, at 100 and at 1000 Hz. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <spanflame.h>

enum { PAIRS = 15, THREADS = 2, DEPTH = 20, ROUNDS = 60000 };

static volatile unsigned long sink;

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
    for (int i = 0; i < ROUNDS; i++)
        sink += deep(DEPTH, (unsigned long)i);
    return arg;
}

static double run(void)
{
    pthread_t threads[THREADS];
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(unsigned rate, const char *path)
{
    double more[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        double bare, profiled;
        bare = run();
        if (sf_cpu_profile_start(path, rate)) {
            char why[200];
            sf_problem(why, sizeof(why));
            fprintf(stderr, "%s\n", why);
            exit(1);
        }
        profiled = run();
        sf_cpu_profile_stop();
        more[i] = (profiled / bare - 1) * 100;
    }
    qsort(more, PAIRS, sizeof(more[0]), by_size);
    printf("profile_%u_hz %.2f %%\nprofile_%u_hz_from %.2f %%\nprofile_%u_hz_to %.2f %%\n", rate,
           more[PAIRS / 2], rate, more[PAIRS / 4], rate, more[PAIRS - 1 - PAIRS / 4]);
}

int main(void)
{
    char path[] = "/tmp/spanflame-bench-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    run(); /* warm */
    measure(100, path);
    measure(1000, path);
    unlink(path);
    return 0;
}
