/* profile_decode_bench.c - what does it cost to turn profiles into batches, against merely walking
 * over their bytes?
 *
 * A pprof of 1,000 stacks, 30 to 60 deep, tagged with spans; the same as OTLP; a recording of
 * 100,000 events of six kinds over 2,000 such stacks; seed 1. Arguments are further files to read.
 * Each line is the fastest of the runs and the spread of all of them, in CPU time. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "decode/profile_format.h"
#include "os/clock.h"
#include "support/jfr_make.h"
#include "support/profile_wire.h"

enum { RUNS = 30, N_FUNCTIONS = 3000, N_STACKS = 1000, JFR_STACKS = 2000, JFR_EVENTS = 100000 };

static uint64_t seed = 1;
static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) * n >> 31);
}

/* --- JFR --- */

struct jfr_ids {
    uint32_t symbol, cls, method, type, stack, state, thread;
};

static void make_jfr_classes(struct jfr_make *m, struct jfr_ids *c)
{
    c->symbol = jfr_make_class(m, "jdk.types.Symbol");
    jfr_make_field(m, "string", "java.lang.String", 0);
    c->cls = jfr_make_class(m, "java.lang.Class");
    jfr_make_field(m, "name", "jdk.types.Symbol", JFR_MAKE_POOL);
    c->method = jfr_make_class(m, "jdk.types.Method");
    jfr_make_field(m, "type", "java.lang.Class", JFR_MAKE_POOL);
    jfr_make_field(m, "name", "jdk.types.Symbol", JFR_MAKE_POOL);
    c->type = jfr_make_class(m, "jdk.types.FrameType");
    jfr_make_field(m, "description", "java.lang.String", 0);
    jfr_make_class(m, "jdk.types.StackFrame");
    jfr_make_field(m, "method", "jdk.types.Method", JFR_MAKE_POOL);
    jfr_make_field(m, "lineNumber", "int", 0);
    jfr_make_field(m, "bytecodeIndex", "int", 0);
    jfr_make_field(m, "type", "jdk.types.FrameType", JFR_MAKE_POOL);
    c->stack = jfr_make_class(m, "jdk.types.StackTrace");
    jfr_make_field(m, "truncated", "boolean", 0);
    jfr_make_field(m, "frames", "jdk.types.StackFrame", JFR_MAKE_ARRAY);
    c->state = jfr_make_class(m, "jdk.types.ThreadState");
    jfr_make_field(m, "name", "java.lang.String", 0);
    c->thread = jfr_make_class(m, "java.lang.Thread");
    jfr_make_field(m, "osThreadId", "long", 0);
    jfr_make_field(m, "javaName", "java.lang.String", 0);
}

static void make_jfr_pools(struct jfr_make *m, const struct jfr_ids *c)
{
    char text[100];
    jfr_make_pools(m, 7);
    jfr_make_pool(m, c->symbol, 2 * N_FUNCTIONS);
    for (int i = 0; i < 2 * N_FUNCTIONS; i++) {
        snprintf(text, sizeof(text),
                 i < N_FUNCTIONS ? "com/shop/orders/internal/Service%d" : "handle%d", i);
        jfr_make_long(m, i + 1);
        jfr_make_text(m, text);
    }
    jfr_make_pool(m, c->cls, N_FUNCTIONS);
    for (int i = 0; i < N_FUNCTIONS; i++) {
        jfr_make_long(m, i + 1);
        jfr_make_long(m, i + 1);
    }
    jfr_make_pool(m, c->method, N_FUNCTIONS);
    for (int i = 0; i < N_FUNCTIONS; i++) {
        jfr_make_long(m, i + 1);
        jfr_make_long(m, i + 1);
        jfr_make_long(m, N_FUNCTIONS + i + 1);
    }
    jfr_make_pool(m, c->type, 1);
    jfr_make_long(m, 1);
    jfr_make_text(m, "JIT compiled");
    jfr_make_pool(m, c->state, 1);
    jfr_make_long(m, 1);
    jfr_make_text(m, "STATE_RUNNABLE");
    jfr_make_pool(m, c->thread, 50);
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof(text), "worker-%d", i);
        jfr_make_long(m, i + 1);
        jfr_make_long(m, 1000 + i);
        jfr_make_text(m, text);
    }
    jfr_make_pool(m, c->stack, JFR_STACKS);
    for (int i = 0; i < JFR_STACKS; i++) {
        uint32_t depth = 30 + below(31);
        jfr_make_long(m, i + 1);
        jfr_make_byte(m, 0);
        jfr_make_int(m, (int32_t)depth);
        while (depth-- > 0) {
            uint32_t at = below(N_FUNCTIONS);
            jfr_make_long(m, at + 1);
            jfr_make_int(m, (int32_t)(10 + at % 7));
            jfr_make_int(m, (int32_t)(at % 100));
            jfr_make_long(m, 1);
        }
    }
}

static void make_jfr(struct sf_buf *out)
{
    static const char *const names[] = {
        "jdk.ExecutionSample",        "jdk.NativeMethodSample", "jdk.ObjectAllocationInNewTLAB",
        "jdk.ObjectAllocationSample", "jdk.ThreadPark",         "jdk.Unread"};
    struct jfr_make m = {
        .start_ns = 1700000000000000000, .duration_ns = 10000000000, .rate = 1000000000};
    struct jfr_ids c;
    uint32_t events[6];
    jfr_make_begin(&m);
    make_jfr_classes(&m, &c);
    for (int i = 0; i < 6; i++) {
        events[i] = jfr_make_class(&m, names[i]);
        jfr_make_field(&m, "startTime", "long", JFR_MAKE_TICKS);
        if (i == 4)
            jfr_make_field(&m, "duration", "long", JFR_MAKE_TICKS);
        jfr_make_field(&m, i < 2 ? "sampledThread" : "eventThread", "java.lang.Thread",
                       JFR_MAKE_POOL);
        jfr_make_field(&m, "stackTrace", "jdk.types.StackTrace", JFR_MAKE_POOL);
        if (i < 2)
            jfr_make_field(&m, "state", "jdk.types.ThreadState", JFR_MAKE_POOL);
        if (i == 2)
            jfr_make_field(&m, "tlabSize", "long", 0);
        if (i == 3)
            jfr_make_field(&m, "weight", "long", 0);
        jfr_make_field(&m, "spanId", "long", 0);
    }
    jfr_make_events(&m);
    for (int64_t n = 0; n < JFR_EVENTS; n++) {
        uint32_t k = below(6);
        size_t mark = jfr_make_event(&m, events[k]);
        jfr_make_long(&m, n * 10000);
        if (k == 4)
            jfr_make_long(&m, below(1000000));
        jfr_make_long(&m, 1 + below(50));
        jfr_make_long(&m, 1 + below(JFR_STACKS));
        if (k < 2)
            jfr_make_long(&m, 1);
        if (k == 2 || k == 3)
            jfr_make_long(&m, 1 + below(1000000));
        jfr_make_long(&m, (int64_t)1 << 62 | below(1000));
        jfr_make_event_end(&m, mark);
    }
    make_jfr_pools(&m, &c);
    jfr_make_end(&m);
    *out = m.out;
}

/* --- measuring --- */

static uint64_t sum_bytes(sf_str s) /* one examine every byte */
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s.len; i++)
        sum += (unsigned char)s.p[i];
    return sum;
}

static bool measure(const char *name, sf_str bytes, struct sf_arena *a)
{
    double best = 1e300, worst = 0, look = 1e300;
    struct sf_profile_batch got = {0};
    volatile uint64_t sum = 0;
    for (int i = 0; i < RUNS; i++) {
        int64_t from = sf_clock_cpu_ns();
        struct sf_why why;
        double ns;
        a->at = 0; /* warm pages, as a thread's arena is */
        if (sf_profile_format_decode(bytes, NULL, a, &got, &why)) {
            fprintf(stderr, "%s: %s\n", name, why.text);
            return false;
        }
        ns = (double)(sf_clock_cpu_ns() - from);
        best = ns < best ? ns : best;
        worst = ns > worst ? ns : worst;
        from = sf_clock_cpu_ns();
        sum += sum_bytes(bytes);
        ns = (double)(sf_clock_cpu_ns() - from);
        look = ns < look ? ns : look;
    }
    printf("%s %.1f ns/sample\n%s_spread %.1f ns/sample\n", name, best / got.n_samples, name,
           (worst - best) / got.n_samples);
    printf("%s_speed %.0f MB/s\n%s_samples %u count\n", name, (double)bytes.len * 1e3 / best, name,
           got.n_samples);
    printf("%s_to_look %.1f ratio\n", name, best / look);
    printf("%s_memory %.0f B/sample\n", name, (double)sf_arena_used(a) / got.n_samples);
    return true;
}

static bool measure_file(const char *path, struct sf_arena *a)
{
    struct sf_buf file = {0}, plain = {0};
    struct sf_inflate *z = sf_inflate_new();
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    FILE *f = fopen(path, "rb");
    sf_str bytes;
    bool is_good = f && z;
    size_t n = 1;
    while (is_good && n) {
        uint8_t *to = sf_buf_take(&file, 1 << 16);
        n = to ? fread(to, 1, 1 << 16, f) : 0;
        file.len -= to ? (1 << 16) - n : 0;
    }
    is_good = is_good &&
              !sf_profile_format_unwrap(z, sf_buf_str(&file), SF_LIMIT_INFLATED_LEN, &plain, &bytes,
                                        NULL) &&
              measure(name, bytes, a);
    if (f)
        fclose(f);
    sf_inflate_free(z);
    sf_buf_done(&file);
    sf_buf_done(&plain);
    return is_good;
}

int main(int argc, char **argv)
{
    struct sf_buf pprof = {0}, otlp = {0}, jfr = {0};
    struct sf_profile_wire wire = {.rng = 1, .n_types = 2};
    struct sf_arena a = {0};
    bool is_good = sf_arena_init(&a, SF_LIMIT_ARENA_LEN);
    sf_profile_wire_pprof(&wire, N_STACKS, &pprof);
    sf_profile_wire_otlp(&wire, N_STACKS, &otlp);
    make_jfr(&jfr);
    is_good = is_good && measure("pprof", sf_buf_str(&pprof), &a) &&
              measure("otlp", sf_buf_str(&otlp), &a) && measure("jfr", sf_buf_str(&jfr), &a);
    for (int i = 1; i < argc && is_good; i++)
        is_good = measure_file(argv[i], &a);
    sf_buf_done(&pprof);
    sf_buf_done(&otlp);
    sf_buf_done(&jfr);
    sf_arena_done(&a);
    return !is_good;
}
