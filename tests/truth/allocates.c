/* A program whose allocations are known: allocates FILE MEAN-BYTES ROUNDS.
 *
 * Four threads allocate known sizes in functions of known names through every member of malloc's
 * family, each under a span of its own, and keep a known part. Prints, for the checker, how many
 * objects of which size each function queried for ("alloc NAME SIZE COUNT") and kept ("live ..."),
 * and which span belongs to which function ("span ID NAME"). */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spanflame.h>

#include "own_frame.h"

enum { THREADS = 4, KEPT = 4096 };

static int rounds;
static void *volatile kept[THREADS][KEPT];

#define SITE(name, expression)              \
    OWN_FRAME static void *name(size_t len) \
    {                                       \
        void *volatile p = (expression);    \
        ((volatile char *)p)[0] = 1;        \
        return p;                           \
    }

static void *by_posix(size_t len)
{
    void *p = NULL;
    return posix_memalign(&p, 64, len) ? NULL : p;
}

SITE(site_tiny, malloc(len))
SITE(site_zeroed, calloc(len / 8, 8))
SITE(site_large_zeroed, calloc(1, len))
SITE(site_grown, realloc(malloc(16), len))
SITE(site_array, reallocarray(NULL, len / 16, 16))
SITE(site_aligned, by_posix(len))
SITE(site_memalign, memalign(256, len))
SITE(site_c11, aligned_alloc(32, len))
SITE(site_page, valloc(len))
SITE(site_large, malloc(len))
SITE(site_kept, malloc(len))

static const struct {
    const char *name;
    void *(*allocate)(size_t);
    size_t len;
    int n; /* of every round of every thread */
} sites[] = {
    {"site_tiny", site_tiny, 24, 4000},       {"site_zeroed", site_zeroed, 3000, 60},
    {"site_grown", site_grown, 5000, 40},     {"site_array", site_array, 1600, 80},
    {"site_aligned", site_aligned, 700, 200}, {"site_memalign", site_memalign, 1000, 100},
    {"site_c11", site_c11, 320, 300},         {"site_page", site_page, 10000, 15},
    {"site_large", site_large, 300000, 1},    {"site_large_zeroed", site_large_zeroed, 400000, 1},
};
enum { SITES = sizeof(sites) / sizeof(sites[0]), KEPT_LEN = 9000 };

static void hex(char out[17], const uint8_t id[8])
{
    for (int i = 0; i < 8; i++)
        snprintf(out + 2 * i, 3, "%02x", id[i]);
}

static sf_span begin(const char *name)
{
    sf_span s = sf_span_start(name);
    sf_context c;
    char id[17];
    if (!sf_span_context(s, &c)) {
        hex(id, c.span_id);
        printf("span %s %s\n", id, name);
    }
    return s;
}

static void *run(void *arg)
{
    int self = (int)(long)arg;
    for (int site = 0; site < (int)SITES; site++) {
        sf_span s = begin(sites[site].name);
        for (int i = 0; i < rounds * sites[site].n; i++)
            free(sites[site].allocate(sites[site].len));
        sf_span_end(s);
    }
    sf_span s = begin("site_kept");
    for (int i = 0; i < rounds * 10 && i < 2 * KEPT; i++) { /* every second one is kept */
        void *p = site_kept(KEPT_LEN);
        if (i % 2)
            kept[self][i / 2] = p;
        else
            free(p);
    }
    sf_span_end(s);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    char why[200];
    long n_kept;
    if (argc != 4)
        return 2;
    rounds = atoi(argv[3]);
    sf_set("OTEL_TRACES_EXPORTER", "none");
    if (sf_start("allocates") || sf_heap_profile_start((size_t)atol(argv[2]))) {
        sf_problem(why, sizeof(why));
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < (int)SITES; i++)
        printf("alloc %s %zu %ld\n", sites[i].name, sites[i].len,
               (long)THREADS * rounds * sites[i].n);
    n_kept = rounds * 10L < 2 * KEPT ? rounds * 10L : 2 * KEPT;
    printf("alloc site_kept %d %ld\nlive site_kept %d %ld\n", KEPT_LEN, THREADS * n_kept, KEPT_LEN,
           THREADS * (n_kept / 2));
    if (sf_heap_profile_write(argv[1]) || sf_heap_profile_stop()) {
        sf_problem(why, sizeof(why));
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    free(kept[0][0]); /* after the end: still known, and forgotten */
    return 0;
}
