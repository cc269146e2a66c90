/* jfr_write.c - a recording as the Java agents' profiler writes it, from lines of text.
 *
 *   START_NS LENGTH_NS
 *   AT_NS OS_THREAD JAVA_THREAD SPAN_ID STACK        for each sample, SPAN_ID 0: none
 *
 * STACK is "outer;...;inner"; each name is a method of the class Main. The recording goes to
 * standard output. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/jfr_make.h"

enum { MAX_SAMPLES = 20000, MAX_NAMES = 4096, MAX_FRAMES = 16, NAME_LEN = 64 };

struct sample {
    int64_t at_ns;
    long long os, java;
    uint64_t span;
    uint32_t frames[MAX_FRAMES], n_frames; /* innermost first */
};

static struct jfr_make made;
static struct sample samples[MAX_SAMPLES];
static char names[MAX_NAMES][NAME_LEN];
static uint32_t n_samples, n_names;
static uint32_t symbol, class_, method, frame_type, frame, stack, thread_state, thread, event;

static uint32_t name_of(const char *text)
{
    uint32_t i = 0;
    while (i < n_names && strcmp(names[i], text) != 0)
        i++;
    if (i == MAX_NAMES || strlen(text) >= NAME_LEN)
        exit(2);
    if (i == n_names)
        memcpy(names[n_names++], text, strlen(text) + 1);
    return i;
}

static void read_line(char *line)
{
    struct sample *s = &samples[n_samples];
    char path[512];
    if (n_samples == MAX_SAMPLES || sscanf(line, "%" SCNd64 " %lld %lld %" SCNx64 " %511s",
                                           &s->at_ns, &s->os, &s->java, &s->span, path) != 5)
        exit(2);
    for (char *end = path + strlen(path), *at; end > path; end = at - 1) {
        *end = 0;
        at = strrchr(path, ';');
        at = at ? at + 1 : path;
        if (s->n_frames == MAX_FRAMES)
            exit(2);
        s->frames[s->n_frames++] = name_of(at);
        if (at == path)
            break;
    }
    n_samples++;
}

static void make_classes(void)
{
    symbol = jfr_make_class(&made, "jdk.types.Symbol");
    jfr_make_field(&made, "string", "java.lang.String", 0);
    class_ = jfr_make_class(&made, "java.lang.Class");
    jfr_make_field(&made, "name", "jdk.types.Symbol", JFR_MAKE_POOL);
    method = jfr_make_class(&made, "jdk.types.Method");
    jfr_make_field(&made, "type", "java.lang.Class", JFR_MAKE_POOL);
    jfr_make_field(&made, "name", "jdk.types.Symbol", JFR_MAKE_POOL);
    frame_type = jfr_make_class(&made, "jdk.types.FrameType");
    jfr_make_field(&made, "description", "java.lang.String", 0);
    frame = jfr_make_class(&made, "jdk.types.StackFrame");
    jfr_make_field(&made, "method", "jdk.types.Method", JFR_MAKE_POOL);
    jfr_make_field(&made, "lineNumber", "int", 0);
    jfr_make_field(&made, "type", "jdk.types.FrameType", JFR_MAKE_POOL);
    stack = jfr_make_class(&made, "jdk.types.StackTrace");
    jfr_make_field(&made, "truncated", "boolean", 0);
    jfr_make_field(&made, "frames", "jdk.types.StackFrame", JFR_MAKE_ARRAY);
    thread_state = jfr_make_class(&made, "jdk.types.ThreadState");
    jfr_make_field(&made, "name", "java.lang.String", 0);
    thread = jfr_make_class(&made, "java.lang.Thread");
    jfr_make_field(&made, "osName", "java.lang.String", 0);
    jfr_make_field(&made, "osThreadId", "long", 0);
    jfr_make_field(&made, "javaName", "java.lang.String", 0);
    jfr_make_field(&made, "javaThreadId", "long", 0);
    event = jfr_make_class(&made, "jdk.ExecutionSample");
    jfr_make_field(&made, "startTime", "long", JFR_MAKE_TICKS);
    jfr_make_field(&made, "sampledThread", "java.lang.Thread", JFR_MAKE_POOL);
    jfr_make_field(&made, "stackTrace", "jdk.types.StackTrace", JFR_MAKE_POOL);
    jfr_make_field(&made, "state", "jdk.types.ThreadState", JFR_MAKE_POOL);
    jfr_make_field(&made, "contextId", "long", 0);
    jfr_make_field(&made, "spanId", "long", 0);
    jfr_make_field(&made, "spanName", "long", 0);
}

/* Stack i + 1 and thread os of each sample: the reader takes repeats of a constant as they come. */
static void make_pools(void)
{
    char name[32];
    jfr_make_pools(&made, 7);
    jfr_make_pool(&made, symbol, n_names + 1);
    for (uint32_t i = 0; i <= n_names; i++) {
        jfr_make_long(&made, i + 1);
        jfr_make_text(&made, i == n_names ? "Main" : names[i]);
    }
    jfr_make_pool(&made, class_, 1);
    jfr_make_long(&made, 1);
    jfr_make_long(&made, n_names + 1);
    jfr_make_pool(&made, method, n_names);
    for (uint32_t i = 0; i < n_names; i++) {
        jfr_make_long(&made, i + 1);
        jfr_make_long(&made, 1);
        jfr_make_long(&made, i + 1);
    }
    jfr_make_pool(&made, frame_type, 1);
    jfr_make_long(&made, 1);
    jfr_make_text(&made, "JIT compiled");
    jfr_make_pool(&made, thread_state, 1);
    jfr_make_long(&made, 1);
    jfr_make_text(&made, "STATE_DEFAULT");
    jfr_make_pool(&made, thread, n_samples);
    for (uint32_t i = 0; i < n_samples; i++) {
        snprintf(name, sizeof(name), "pool-1-thread-%lld", samples[i].java);
        jfr_make_long(&made, i + 1);
        jfr_make_text(&made, name);
        jfr_make_long(&made, samples[i].os);
        jfr_make_text(&made, name);
        jfr_make_long(&made, samples[i].java);
    }
    jfr_make_pool(&made, stack, n_samples);
    for (uint32_t i = 0; i < n_samples; i++) {
        jfr_make_long(&made, i + 1);
        jfr_make_byte(&made, 0);
        jfr_make_int(&made, (int32_t)samples[i].n_frames);
        for (uint32_t k = 0; k < samples[i].n_frames; k++) {
            jfr_make_long(&made, samples[i].frames[k] + 1);
            jfr_make_int(&made, 10);
            jfr_make_long(&made, 1);
        }
    }
}

int main(void)
{
    char line[1024];
    if (!fgets(line, sizeof(line), stdin) ||
        sscanf(line, "%" SCNd64 " %" SCNd64, &made.start_ns, &made.duration_ns) != 2)
        return 2;
    while (fgets(line, sizeof(line), stdin))
        read_line(line);
    made.start_ticks = 123456789; /* since the machine was started */
    made.rate = 1000000000;
    jfr_make_begin(&made);
    make_classes();
    jfr_make_events(&made);
    for (uint32_t i = 0; i < n_samples; i++) {
        size_t mark = jfr_make_event(&made, event);
        jfr_make_long(&made, made.start_ticks + samples[i].at_ns - made.start_ns);
        jfr_make_long(&made, i + 1);
        jfr_make_long(&made, i + 1);
        jfr_make_long(&made, 1);
        jfr_make_long(&made, 0);
        jfr_make_long(&made, (int64_t)samples[i].span); /* signed, as the agent writes it */
        jfr_make_long(&made, 0);
        jfr_make_event_end(&made, mark);
    }
    make_pools();
    jfr_make_end(&made);
    return sf_buf_ok(&made.out) && fwrite(made.out.p, 1, made.out.len, stdout) == made.out.len ? 0
                                                                                               : 1;
}
