/* What does a CPU profile cost the program that is profiled?
 *
 * Two threads do a fixed amount of work with calls twenty deep, bare and profiled in turn; the CPU
 * time of the whole process is compared, because wall time wobbles by more than the answer. Prints
 * the median of the pairs and the interval that holds the middle half, at 100 and at 1000 Hz.
 *
 * And what the handler of one sample takes, twenty calls deep: a signal that a thread sends to
 * itself beside one that an empty handler takes, with caches as they are and with other memory
 * touched in between. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* ---- the handler ---- */

enum { BURSTS = 12, BURST = 20, SIGNALS = BURSTS * BURST, CACHES = 8 << 20 };

static void empty(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    (void)context;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* As perf's clock sends it. */
static double one_signal(void)
{
    siginfo_t info = {.si_signo = SIGURG, .si_code = POLL_IN};
    double begin = now_ns();
    syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), SIGURG, &info);
    return now_ns() - begin;
}

static void touch_much(void)
{
    static char memory[CACHES];
    for (size_t i = 0; i < sizeof(memory); i += 64)
        memory[i]++;
}

__attribute__((noinline)) static void burst(int depth, bool is_cold, double *out)
{
    if (depth) {
        burst(depth - 1, is_cold, out);
        __asm__ volatile("" : : : "memory"); /* no jump in place of a call */
        return;
    }
    for (int i = 0; i < BURST; i++) {
        if (is_cold)
            touch_much();
        out[i] = one_signal();
    }
}

/* A burst fits the ring; it is emptied in between. */
static void signals(bool is_cold, double out[SIGNALS])
{
    struct timespec pause = {0, 150000000};
    double warm[BURST];
    for (int i = 0; i < 2; i++) {
        burst(DEPTH, is_cold, warm);
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < BURSTS; i++) {
        burst(DEPTH, is_cold, out + i * BURST);
        nanosleep(&pause, NULL);
    }
    qsort(out, SIGNALS, sizeof(out[0]), by_size);
}

static void measure_handler(const char *path)
{
    static double bare[2][SIGNALS], profiled[2][SIGNALS];
    struct sigaction action = {.sa_sigaction = empty,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    struct sigaction now;
    sigfillset(&action.sa_mask);
    sigaction(SIGURG, &action, NULL);
    for (int cold = 0; cold < 2; cold++)
        signals(cold, bare[cold]);
    signal(SIGURG, SIG_DFL);
    if (sf_cpu_profile_start(path, 1))
        return;
    if (sigaction(SIGURG, NULL, &now) || !(now.sa_flags & SA_SIGINFO)) {
        printf("# no perf here: the handler was not measured\n");
    } else {
        for (int cold = 0; cold < 2; cold++) {
            const char *name = cold ? "handler_cold" : "handler";
            double own[3];
            signals(cold, profiled[cold]);
            for (int i = 0; i < 3; i++)
                own[i] = (profiled[cold][SIGNALS * (i + 1) / 4] -
                          bare[cold][SIGNALS * (i + 1) / 4]) /
                         1000;
            printf("%s %.2f us\n%s_from %.2f us\n%s_to %.2f us\n%s_target 3 us\n", name, own[1],
                   name, own[0], name, own[2], name);
        }
    }
    sf_cpu_profile_stop();
}

int main(void)
{
    char path[] = "/tmp/spanflame-bench-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    measure_handler(path);
    run(); /* warm */
    measure(100, path);
    measure(1000, path);
    unlink(path);
    return 0;
}
