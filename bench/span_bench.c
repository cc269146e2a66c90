/* What does a span cost the program that makes it?
 *
 * Start and end of a span that nobody records, of one that is recorded with two attributes and
 * exported to nowhere, a switch of the active span, and the context call for programs with another
 * tracer; each beside a bare function call of the same shape, in CPU time, and beside what was
 * promised. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spanflame.h>

enum { RUNS = 25 };

/* Of this thread: whoever else wants the processor does not count. */
static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static sf_context off; /* a remote parent that was not sampled */
static sf_span kept[2];

static void bare(int i)
{
    __asm__ volatile("" : : "r"(i) : "memory");
}

static void unsampled(int i)
{
    (void)i;
    sf_span_end(sf_span_start_with("GET /cart", &(sf_span_options){.remote = &off}));
}

static void recorded(int i)
{
    (void)i;
    sf_span_end(sf_span_start("GET /cart"));
}

static void recorded_with_attributes(int i)
{
    sf_span s = sf_span_start("GET /cart");
    sf_span_set_str(s, "http.route", "/cart");
    sf_span_set_int(s, "items", i);
    sf_span_end(s);
}

static void activated(int i)
{
    sf_activate(kept[i & 1]);
}

static void foreign(int i)
{
    static const uint8_t id[2][16] = {{1}, {2}};
    sf_context_set(id[i & 1], id[i & 1]);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The fastest run, what the middle one took, and what it should be at most; 0: nobody said. */
static void measure(const char *name, void (*one)(int), int n, double target)
{
    double each[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double begin;
        sf_flush(10000);
        begin = now_ns();
        for (int i = 0; i < n; i++)
            one(i);
        each[run] = (now_ns() - begin) / n;
    }
    qsort(each, RUNS, sizeof(each[0]), by_size);
    printf("%s %.1f ns\n%s_median %.1f ns\n", name, each[0], name, each[RUNS / 2]);
    if (target > 0)
        printf("%s_target %.0f ns\n", name, target);
}

int main(void)
{
    sf_set("OTEL_TRACES_EXPORTER", "none");
    sf_set("SPANFLAME_PROFILES", "none"); /* there is no server to flush them to */
    sf_start("span_bench");
    sf_context_parse("00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-00", NULL, &off);
    measure("bare_call", bare, 1000000, 0);
    measure("span_unsampled", unsampled, 200000, 150);
    /* Few enough at a time that the outbox takes them all: dropping is cheaper. */
    measure("span_recorded", recorded, 10000, 600);
    measure("span_recorded_two_attributes", recorded_with_attributes, 10000, 0);
    kept[0] = sf_span_start("a");
    kept[1] = sf_span_start("b");
    measure("active_switch", activated, 1000000, 10);
    measure("context_set", foreign, 1000000, 10);
    sf_context_clear();
    {
        sf_counters c = {.size = sizeof(c)};
        sf_counters_read(&c);
        printf("spans_dropped %llu spans\nmemory %llu bytes\n", (unsigned long long)c.spans_dropped,
               (unsigned long long)c.memory_bytes);
    }
    return 0;
}
