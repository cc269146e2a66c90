#include "collect/lib/span_cost.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/str.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "collect/lib/attr_write.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/lib/heap_profiler.h"
#include "collect/sys/tasks.h"

enum { ATTRIBUTES = 9 };                 /* field number in Span */
#define LONG_WAIT_NS ((uint64_t)1000000) /* for a CPU: worth a reading of the host */

bool sf_span_cost_words_parse(const char *words, unsigned *items)
{
    static const struct {
        const char *word;
        unsigned item;
    } known[] = {{"cpu", SF_COST_CPU},           {"run_queue", SF_COST_RUN_QUEUE},
                 {"switches", SF_COST_SWITCHES}, {"faults", SF_COST_FAULTS},
                 {"process", SF_COST_PROCESS},   {"allocations", SF_COST_ALLOC},
                 {"heap", SF_COST_HEAP},         {"profile", SF_COST_PROFILE},
                 {"waits", SF_COST_WAITS},       {"none", 0}};
    sf_str rest = sf_str_from(words), one;
    unsigned found = 0;
    while (sf_str_split_next(&rest, ',', &one)) {
        bool is_known = false;
        one = sf_str_trim(one);
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (sf_str_eq(one, sf_str_from(known[i].word)) || sf_str_eq(one, SF_STR("all"))) {
                found |= known[i].item;
                is_known = true;
            }
        }
        if (!is_known && one.len)
            return false;
    }
    *items = found;
    return true;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * SF_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Reads the file only when the count of context switches has changed: it costs ten times as much,
 * and without a switch the thread has not waited for a CPU. */
static uint64_t run_delay(uint32_t tid, const struct sf_span_cost *now)
{
    static __thread struct {
        uint32_t tid; /* 0: nothing known; another thread's: after a fork */
        uint64_t switches, delay_ns;
    } known;
    uint64_t switches = now->switches[0] + now->switches[1];
    if (known.tid != tid || known.switches != switches) {
        known.tid = tid;
        known.switches = switches;
        known.delay_ns = sf_tasks_run_delay(tid);
    }
    return known.delay_ns;
}

static void read_now(struct sf_span_cost *c, unsigned items)
{
    int saved = errno;
    if (items & SF_COST_ALLOC) {
        c->alloc_bytes = sf_hook_allocated(&sf_hook_self);
        c->alloc_objects = sf_hook_self.heap_n;
    }
    if (items & SF_COST_WAITS && sf_profiler_is_on(SF_SAMPLES_MUTEX)) {
        c->has_waits = sf_profiler_is_on(SF_SAMPLES_BLOCK);
        memcpy(c->waited_ns, sf_hook_self.waited_ns, sizeof(c->waited_ns));
    }
    if (items & SF_COST_PROFILE) {
        c->n_samples = sf_cpu_samples_self.n;
        c->sampled_ns = sf_cpu_samples_self.ns;
    }
    if (items & (SF_COST_SWITCHES | SF_COST_FAULTS | SF_COST_RUN_QUEUE)) {
        struct rusage u = {0};
        getrusage(RUSAGE_THREAD, &u);
        c->switches[0] = (uint64_t)u.ru_nvcsw;
        c->switches[1] = (uint64_t)u.ru_nivcsw;
        c->faults[0] = (uint64_t)u.ru_minflt;
        c->faults[1] = (uint64_t)u.ru_majflt;
    }
    if (items & SF_COST_RUN_QUEUE)
        c->run_queue_ns = run_delay(c->tid, c);
    if (items & SF_COST_PROCESS && c->is_root)
        c->process_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (items & SF_COST_CPU) /* read last at the start and first at the end, so that it excludes the
                              * other reads */
        c->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    errno = saved;
}

void sf_span_cost_begin(struct sf_span_cost *c, unsigned items, uint32_t tid, bool is_root)
{
    *c = (struct sf_span_cost){.tid = tid, .is_root = is_root};
    if (items & SF_COST_RUN_QUEUE)
        c->runnable = sf_runnable_now();
    read_now(c, items);
}

static void span_cost_write(struct sf_buf *span, sf_str key, uint64_t before, uint64_t after)
{
    sf_attr_write_int(span, ATTRIBUTES, key, after > before ? (int64_t)(after - before) : 0);
}

/* The runnable threads of the host in the time of the span, with a reading now, so that there is
 * one. */
static void write_run_queue(const struct sf_span_cost *c, const struct sf_span_cost *now,
                            struct sf_buf *span)
{
    span_cost_write(span, SF_STR("thread.run_queue_ns"), c->run_queue_ns, now->run_queue_ns);
    if (now->run_queue_ns < c->run_queue_ns + LONG_WAIT_NS)
        return;
    sf_runnable_read(false);
    int64_t n = sf_runnable_mean(c->runnable, sf_runnable_now());
    if (n > 0)
        sf_attr_write_int(span, ATTRIBUTES, SF_STR("host.runnable_threads"), n);
}

/* Lists the kinds that are sampled now: "cpu,heap". */
static sf_str types_now(char *out, size_t cap)
{
    unsigned seen = 0;
    size_t len = 0;
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        bool is_heap = kind == SF_SAMPLES_ALLOC || kind == SF_SAMPLES_INUSE;
        const char *word = is_heap ? "heap" : sf_sample_kind_info((enum sf_sample_kind)kind)->word;
        if (!sf_profiler_is_on((enum sf_sample_kind)kind) || (is_heap && seen))
            continue;
        seen |= is_heap;
        len += (size_t)snprintf(out + len, cap - len, "%s%s", len ? "," : "", word);
    }
    return (sf_str){out, len};
}

static void span_cost_write_profile(const struct sf_span_cost *c, const struct sf_span_cost *now,
                                    const uint8_t span_id[8], struct sf_buf *span)
{
    char words[64], hex[16];
    sf_str types = types_now(words, sizeof(words));
    if (!types.len)
        return;
    sf_attr_write_str(span, ATTRIBUTES, SF_STR("profile.type"), types);
    if (sf_profiler_is_on(SF_SAMPLES_CPU)) {
        span_cost_write(span, SF_STR("profile.sample_count"), c->n_samples, now->n_samples);
        span_cost_write(span, SF_STR("profile.duration_us"), c->sampled_ns / 1000,
                        now->sampled_ns / 1000);
    }
    sf_hex_encode(span_id, 8, hex); /* the span's own id: samples carry that, not the root's */
    sf_attr_write_str(span, ATTRIBUTES, SF_STR("pyroscope.profile.id"), (sf_str){hex, sizeof(hex)});
}

/* Writes the sum and the kinds of waits that are not zero. */
static void write_waits(const struct sf_span_cost *c, const struct sf_span_cost *now,
                        struct sf_buf *span)
{
    uint64_t sum_ns = 0;
    for (int wait = SF_WAIT_NONE + 1; wait < SF_WAITS; wait++) {
        uint64_t ns = now->waited_ns[wait] - c->waited_ns[wait];
        char key[40];
        sum_ns += ns;
        if (!ns)
            continue;
        snprintf(key, sizeof(key), "thread.wait.%s_ns",
                 sf_sample_kind_wait_name((enum sf_wait)wait));
        sf_attr_write_int(span, ATTRIBUTES, sf_str_from(key), (int64_t)ns);
    }
    sf_attr_write_int(span, ATTRIBUTES, SF_STR("thread.wait_ns"), (int64_t)sum_ns);
}

static void write_memory(const struct sf_span_cost *c, const struct sf_span_cost *now,
                         unsigned items, struct sf_buf *span)
{
    int64_t bytes, objects;
    if (items & SF_COST_ALLOC && sf_profiler_kinds_there() & SF_HEAP_KINDS) {
        span_cost_write(span, SF_STR("thread.allocated_bytes"), c->alloc_bytes, now->alloc_bytes);
        span_cost_write(span, SF_STR("thread.allocated_objects"), c->alloc_objects,
                        now->alloc_objects);
    }
    if (items & SF_COST_HEAP && c->is_root && sf_heap_profiler_inuse(&bytes, &objects)) {
        sf_attr_write_int(span, ATTRIBUTES, SF_STR("runtime.heap_alloc"), bytes);
        sf_attr_write_int(span, ATTRIBUTES, SF_STR("runtime.heap_objects"), objects);
    }
}

void sf_span_cost_write(const struct sf_span_cost *c, unsigned items, uint32_t tid,
                        const uint8_t span_id[8], struct sf_buf *span)
{
    struct sf_span_cost now = {.tid = tid, .is_root = c->is_root};
    if (!c->tid || c->tid != tid)
        return;
    if (items & SF_COST_CPU) /* read first, before the other reads use CPU time */
        now.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    read_now(&now, items & ~(unsigned)SF_COST_CPU);
    if (items & SF_COST_CPU)
        span_cost_write(span, SF_STR("thread.cpu_time_ns"), c->cpu_ns, now.cpu_ns);
    if (items & SF_COST_RUN_QUEUE)
        write_run_queue(c, &now, span);
    if (items & SF_COST_SWITCHES) {
        span_cost_write(span, SF_STR("thread.switches.voluntary"), c->switches[0], now.switches[0]);
        span_cost_write(span, SF_STR("thread.switches.involuntary"), c->switches[1],
                        now.switches[1]);
    }
    if (items & SF_COST_FAULTS) {
        span_cost_write(span, SF_STR("thread.page_faults.minor"), c->faults[0], now.faults[0]);
        span_cost_write(span, SF_STR("thread.page_faults.major"), c->faults[1], now.faults[1]);
    }
    if (items & SF_COST_PROCESS && c->is_root) {
        span_cost_write(span, SF_STR("process.cpu_time_ns"), c->process_cpu_ns, now.process_cpu_ns);
        sf_attr_write_int(span, ATTRIBUTES, SF_STR("process.memory_bytes"),
                          (int64_t)sf_tasks_memory());
        sf_attr_write_int(span, ATTRIBUTES, SF_STR("runtime.threads"), sf_tasks_n());
    }
    if (c->has_waits && now.has_waits) /* otherwise some waits were not measured */
        write_waits(c, &now, span);
    write_memory(c, &now, items, span);
    if (items & SF_COST_PROFILE)
        span_cost_write_profile(c, &now, span_id, span);
}
