/* A program whose cost is known: planted FILE CPU-SECONDS RATE.
 *
 * Eight threads switch spans tens of thousands of times a second and burn CPU time in functions of
 * known shares; some spans nest, some are handed over from the main thread, some are ended by
 * another thread. Prints, for the checker, the CPU time each function really took and which span
 * ids belong to which function. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <spanflame.h>

enum { THREADS = 8, KINDS = 4, MAX_SPANS = 1 << 22, MOST_S = 300 };

static const char *const names[KINDS] = {"burn_large", "burn_small", "burn_nested", "burn_given"};
static double spent[THREADS][KINDS];
static struct {
    uint8_t id[8];
    int kind;
} spans[MAX_SPANS];
static atomic_int n_spans;
static atomic_bool is_over;
static unsigned long rounds[THREADS]; /* of at least six switches each */
static volatile unsigned long sink;

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline __attribute__((always_inline)) double burn(double seconds)
{
    double begin = cpu_s(), now;
    do {
        for (int i = 0; i < 500; i++)
            sink += (unsigned long)i;
        now = cpu_s();
    } while (now - begin < seconds);
    return now - begin;
}

#define BURNER(name, seconds)                               \
    __attribute__((noinline)) static void name(double *sum) \
    {                                                       \
        *sum += burn(seconds);                              \
    }
BURNER(burn_large, 0.00006)
BURNER(burn_small, 0.00002)
BURNER(burn_nested, 0.00003)
BURNER(burn_given, 0.00001)

static void note(sf_span s, int kind)
{
    sf_context c;
    int at = atomic_fetch_add(&n_spans, 1);
    if (at < MAX_SPANS && !sf_span_context(s, &c)) {
        memcpy(spans[at].id, c.span_id, 8);
        spans[at].kind = kind;
    }
}

/* Spans that one thread starts and another works on and ends: a mailbox of one. */
static _Atomic sf_span mailbox;

__attribute__((noinline)) static void one_round(double *sum)
{
    sf_span outer = sf_span_start("large"), inner, given, before;
    note(outer, 0);
    burn_large(&sum[0]);
    inner = sf_span_start("nested");
    note(inner, 2);
    burn_nested(&sum[2]);
    sf_span_end(inner);
    sf_span_end(outer);
    outer = sf_span_start("small");
    note(outer, 1);
    burn_small(&sum[1]);
    sf_span_end(outer);
    given = atomic_exchange(&mailbox, 0);
    if (given) {
        before = sf_activate(given);
        burn_given(&sum[3]);
        sf_span_end(given);
        sf_activate(before);
    }
}

static void *work(void *arg)
{
    double *sum = arg;
    while (!atomic_load(&is_over)) {
        one_round(sum);
        rounds[(sum - spent[0]) / KINDS]++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct timespec pause = {0, 1000000}, now, begin, used;
    if (argc < 4)
        return 2;
    sf_set("OTEL_TRACES_EXPORTER", "none");
    sf_set("SPANFLAME_PROFILES", "none");
    if (sf_start("planted") ||
        sf_cpu_profile_start(argv[1], (unsigned)strtoul(argv[3], NULL, 10))) {
        char why[240];
        sf_problem(why, sizeof(why));
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, spent[i]);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do { /* hands out spans it never works on */
        sf_span s = sf_span_start_with("given", &(sf_span_options){.size = sizeof(sf_span_options),
                                                                   .flags = SF_SPAN_DETACHED});
        note(s, 3);
        sf_span_end(atomic_exchange(&mailbox, s)); /* nobody took the last one */
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)used.tv_sec < strtod(argv[2], NULL) && now.tv_sec - begin.tv_sec < MOST_S);
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (sf_cpu_profile_stop())
        return 1;
    for (int i = 1; i < THREADS; i++)
        rounds[0] += rounds[i];
    printf("switches %lu %.3f\n", 6 * rounds[0],
           (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9);
    for (int k = 0; k < KINDS; k++) {
        double sum = 0;
        for (int i = 0; i < THREADS; i++)
            sum += spent[i][k];
        printf("cpu %s %.6f\n", names[k], sum);
    }
    for (int i = 0; i < atomic_load(&n_spans) && i < MAX_SPANS; i++) {
        printf("span ");
        for (int b = 0; b < 8; b++)
            printf("%02x", spans[i].id[b]);
        printf(" %s\n", names[spans[i].kind]);
    }
    return 0;
}
