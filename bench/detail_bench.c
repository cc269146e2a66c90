/* detail_bench.c - how many bytes does a block keep of a sample that has a time, and of a wait?
 *
 * 64 threads of a process serve requests of six spans with eleven samples each: CPU samples at 100
 * Hz with the jitter of a timer, or waits of 50 us to 50 ms, start and length in microseconds. 400
 * stacks, of which few are most of the samples. Printed is what the sections of detail rows take in
 * a compressed block, for each row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "block/format/section.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"

enum { THREADS = 64, PER_THREAD = 7920, PER_SPAN = 11, SPANS = 6, STACKS = 400, DEPTH = 20 };
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static uint64_t rng = 7;

static uint64_t draw(uint64_t below)
{
    rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (rng >> 33) % below;
}

static void die(const char *what)
{
    fprintf(stderr, "detail_bench: %s\n", what);
    exit(1);
}

static struct sf_sample sample_of(int64_t *at_ns, uint32_t thread, uint32_t i, bool is_wait)
{
    uint32_t span = thread * (PER_THREAD / PER_SPAN) + i / PER_SPAN;
    uint64_t id = (span + 1) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t trace = (span / SPANS + 1) * UINT64_C(0xd6e8feb86659fd93);
    struct sf_sample s = {.stack = (uint32_t)(draw(STACKS) * draw(STACKS) / STACKS),
                          .count = 1,
                          .span_id = id,
                          .thread = 10000 + thread,
                          .is_kernel_thread = true,
                          .has_time = true,
                          .state = SF_STATE_RUNNING};
    sf_store_u64be(s.trace_id.b, trace * 3);
    sf_store_u64be(s.trace_id.b + 8, trace * 5);
    *at_ns += INT64_C(10000000) + (int64_t)draw(300000) - 150000;
    if (i % PER_SPAN == 0)
        *at_ns += (int64_t)draw(50000000);
    s.start_ns = *at_ns;
    s.value = 10000000;
    if (is_wait) {
        static const uint8_t states[] = {SF_STATE_LOCK, SF_STATE_DISK, SF_STATE_NET,
                                         SF_STATE_SLEEP};
        s.length_ns = (int64_t)(50000 * exp((double)draw(10000) / 10000 * log(1000)));
        s.value = s.length_ns;
        s.state = states[draw(4)];
        *at_ns += s.length_ns;
    }
    return s;
}

static void measure(const char *name, bool is_wait)
{
    enum { N = THREADS * PER_THREAD };
    static struct sf_sample samples[N];
    static struct sf_function functions[STACKS * DEPTH];
    static struct sf_line lines[STACKS * DEPTH];
    static struct sf_location locations[STACKS * DEPTH];
    static uint32_t frames[STACKS * DEPTH];
    static struct sf_stack stacks[STACKS];
    static char names[STACKS * DEPTH][24];
    struct sf_label label = {SF_STR("service_name"), SF_STR("shop")};
    struct sf_process process = {SF_STR("shop"), SF_STR("instance=1"), false};
    struct sf_series series = {
        .service = SF_STR("shop"),
        .type = {SF_STR("cpu"), SF_STR("cpu"), SF_STR("nanoseconds"), SF_STR("cpu"), SF_STR("ns")},
        .labels = &label,
        .n_labels = 1,
        .time_ns = NOW_NS,
        .duration_ns = INT64_C(10000000000)};
    struct sf_profile_batch b = {.functions = functions,
                                 .locations = locations,
                                 .stacks = stacks,
                                 .processes = &process,
                                 .series = &series,
                                 .samples = samples,
                                 .n_functions = STACKS * DEPTH,
                                 .n_locations = STACKS * DEPTH,
                                 .n_stacks = STACKS,
                                 .n_processes = 1,
                                 .n_series = 1,
                                 .n_samples = N};
    struct sf_profile_set *set = sf_profile_set_new(1, SF_STR("shop"));
    struct sf_profile_block_options options = {.info = {.block_id = 1}, .is_compressed = true};
    struct sf_profile_block_writer *w = NULL;
    struct sf_profile_index index = {.recv_ns = NOW_NS};
    struct sf_profile_map map;
    struct sf_block_tail tail;
    struct sf_buf bytes = {0};
    struct sf_arena a;
    struct sf_why why = {0};
    uint64_t len, sums[SF_PROFILE_SECTIONS] = {0}, all;
    for (uint32_t i = 0; i < STACKS * DEPTH; i++) {
        snprintf(names[i], sizeof(names[i]), "package.function%u", i);
        functions[i].name = sf_str_from(names[i]);
        lines[i] = (struct sf_line){i, 1};
        locations[i] = (struct sf_location){.mapping = SF_NONE, .lines = &lines[i], .n_lines = 1};
        frames[i] = i;
        stacks[i / DEPTH] = (struct sf_stack){&frames[i / DEPTH * DEPTH], DEPTH};
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        int64_t at_ns = NOW_NS + (int64_t)draw(10000000);
        for (uint32_t i = 0; i < PER_THREAD; i++)
            samples[t * PER_THREAD + i] = sample_of(&at_ns, t, i, is_wait);
    }
    if (!set || !sf_arena_init(&a, (size_t)1 << 30) || !sf_profile_map_init(&map, &b, &a) ||
        sf_profile_set_add(set, &map, &b, &index, a, &why) ||
        sf_profile_block_writer_new(&options, &w, &why) ||
        sf_profile_block_writer_set(w, set, INT64_MIN, INT64_MAX, &why) ||
        sf_profile_block_writer_finish(w, &len, NULL, &bytes, &why) ||
        sf_block_tail_decode(SF_BLOCK_OF_PROFILES, bytes.p + bytes.len - SF_BLOCK_TAIL_LEN, false,
                             &tail, &why))
        die(why.text);
    for (uint64_t at = 0; at < tail.table_len; at += SF_SECTION_LEN) {
        struct sf_section s = sf_section_decode(bytes.p + tail.table_off + at);
        sums[s.id] += s.stored_len;
    }
    all = sums[SF_PROFILE_DET] + sums[SF_PROFILE_STX] + sums[SF_PROFILE_THR];
    printf("%s_row %.2f B\n%s_times %.2f B\n%s_stacks_and_ids %.2f B\n%s_index %.2f B\n", name,
           (double)all / N, name, (double)sums[SF_PROFILE_DET] / N, name,
           (double)sums[SF_PROFILE_STX] / N, name,
           (double)(sums[SF_PROFILE_SPX] + sums[SF_PROFILE_TRX]) / N);
    sf_profile_block_writer_free(w);
    sf_profile_set_free(set);
    sf_buf_done(&bytes);
    sf_arena_done(&a);
}

int main(void)
{
    measure("sample", false);
    measure("wait", true);
    return 0;
}
