/* detail_bench.c - how many bytes does a block keep of a sample that has a time, and of a wait?
 * What does it cost to write and to read them?
 *
 * sample: 64 threads of a process serve requests of six spans with eleven samples each, at 100 Hz
 * with the jitter of a timer; 400 stacks, of which few are most of the samples.
 * wait: the same with waits of 50 us to 50 ms, each length as likely as any other of its size, and
 * states and stacks that know nothing of each other: the worst that can come. Of its 6.86
 * bytes 6.26 are information (docs/format-profile-block.md). wait_us: the same lengths in whole
 * microseconds. served: waits as servers have them. A
 * thread runs for a while, waits at one of few places, runs again; a place has one state and its
 * own usual length: locks are short, timers nearly exact, the network long. mixed: the same beside
 * samples of CPU time, as one process sends them.
 *
 * With paths of blocks: their detail rows as they lie there, and written again; all, and of each
 * profile type; waits also in whole microseconds, as the library sends them.
 *
 * Ids are random and cannot be made shorter: what they take of a row is told apart.
 *
 * Printed is what the sections of detail rows take in a compressed block, for each row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "block/format/section.h"
#include "block/profile/profile_block_reader.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"
#include "os/clock.h"
#include "os/file.h"

enum { THREADS = 64, PER_THREAD = 7920, PER_SPAN = 11, SPANS = 6, STACKS = 400, DEPTH = 20 };
enum { N = THREADS * PER_THREAD };
enum shape { SAMPLE, WAIT, WAIT_US, SERVED, MIXED };
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static uint64_t rng = 7;

static uint64_t draw(uint64_t below)
{
    rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (rng >> 33) % below;
}

static double normal(void)
{
    double u = (double)(draw(1000000) + 1) / 1000001, v = (double)draw(1000000) / 1000000;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void die(const char *what)
{
    fprintf(stderr, "detail_bench: %s\n", what);
    exit(1);
}

static const uint8_t STATES[] = {SF_STATE_LOCK, SF_STATE_NET, SF_STATE_NET, SF_STATE_DISK,
                                 SF_STATE_SLEEP};

/* Lengths and states by the place: few places have most waits. */
static void serve(struct sf_sample *s, int64_t *at_ns)
{
    static const double MEDIAN_NS[] = {8e3, 250e3, 1.2e6, 90e3, 1e6};
    static const double SPREAD[] = {1.3, 0.6, 0.9, 0.8, 0.02};
    double rank = (double)(draw(1000000) + 1) / 1000001;
    uint32_t place = (uint32_t)(60 * rank * rank * rank), kind = place % 5;
    s->stack = place;
    s->state = STATES[kind];
    *at_ns += 2000 + (int64_t)(150e3 * exp(1.2 * normal())); /* it runs */
    s->start_ns = *at_ns;
    s->length_ns = (int64_t)(MEDIAN_NS[kind] * (1 + place % 7) * exp(SPREAD[kind] * normal()));
    s->value = s->length_ns;
    *at_ns += s->length_ns;
}

static void give_ids(struct sf_sample *s, uint32_t thread, uint32_t i)
{
    uint32_t span = thread * (PER_THREAD / PER_SPAN) + i / PER_SPAN;
    uint64_t trace = (span / SPANS + 1) * UINT64_C(0xd6e8feb86659fd93);
    s->span_id = (span + 1) * UINT64_C(0x9e3779b97f4a7c15);
    sf_store_u64be(s->trace_id.b, trace * 3);
    sf_store_u64be(s->trace_id.b + 8, trace * 5);
}

static struct sf_sample sample_of(int64_t *at_ns, uint32_t thread, uint32_t i, enum shape shape)
{
    struct sf_sample s = {.count = 1,
                          .thread = 10000 + thread,
                          .is_kernel_thread = true,
                          .has_time = true,
                          .state = SF_STATE_RUNNING};
    give_ids(&s, thread, i);
    if (shape == SERVED || (shape == MIXED && i % 4)) {
        serve(&s, at_ns);
        s.series = shape == MIXED;
        return s;
    }
    s.stack = (uint32_t)(draw(STACKS) * draw(STACKS) / STACKS);
    s.value = 10000000;
    if (shape == MIXED) {
        s.start_ns = *at_ns + (int64_t)draw(100000);
        return s;
    }
    *at_ns += INT64_C(10000000) + (int64_t)draw(300000) - 150000;
    if (i % PER_SPAN == 0)
        *at_ns += (int64_t)draw(50000000);
    s.start_ns = *at_ns;
    if (shape == WAIT || shape == WAIT_US) {
        static const uint8_t states[] = {SF_STATE_LOCK, SF_STATE_DISK, SF_STATE_NET,
                                         SF_STATE_SLEEP};
        s.length_ns = (int64_t)(50000 * exp((double)draw(10000) / 10000 * log(1000)));
        if (shape == WAIT_US)
            s.length_ns -= s.length_ns % 1000;
        s.value = s.length_ns;
        s.state = states[draw(4)];
        *at_ns += s.length_ns;
    }
    return s;
}

/* What the sections of detail rows take. */
static void add_sizes(sf_bytes block, uint64_t sums[SF_PROFILE_SECTIONS])
{
    struct sf_block_tail tail;
    struct sf_why why = {0};
    if (sf_section_block_tail_decode(SF_BLOCK_OF_PROFILES, block.p + block.len - SF_BLOCK_TAIL_LEN,
                                     false, &tail, &why))
        die(why.text);
    for (uint64_t at = 0; at < tail.table_len; at += SF_SECTION_LEN) {
        struct sf_section s = sf_section_decode(block.p + tail.table_off + at);
        sums[s.id] += s.stored_len;
    }
}

static uint64_t row_sizes(const uint64_t sums[SF_PROFILE_SECTIONS])
{
    return sums[SF_PROFILE_DET] + sums[SF_PROFILE_STX] + sums[SF_PROFILE_THR];
}

/* Returns what a row takes. */
static double print_sizes(const char *name, sf_bytes block, uint64_t n)
{
    uint64_t sums[SF_PROFILE_SECTIONS] = {0}, all;
    add_sizes(block, sums);
    all = row_sizes(sums);
    printf("%s_row %.2f B\n%s_times %.2f B\n%s_stacks_and_ids %.2f B\n%s_index %.2f B\n", name,
           (double)all / (double)n, name, (double)sums[SF_PROFILE_DET] / (double)n, name,
           (double)sums[SF_PROFILE_STX] / (double)n, name,
           (double)(sums[SF_PROFILE_SPX] + sums[SF_PROFILE_TRX]) / (double)n);
    return (double)all / (double)n;
}

struct rows { /* of a service */
    struct sf_profile_tables t;
    struct sf_profile_detail *list;
    uint64_t n;
};

/* Everything of a service but its profiles' sums. */
static struct rows read_rows(const struct sf_profile_block_reader *r, uint32_t service,
                             struct sf_arena *a)
{
    uint32_t n_services, n;
    const struct sf_profile_service *me = &sf_profile_block_reader_services(r,
                                                                            &n_services)[service];
    struct rows out = {.t = {.tenant = me->tenant, .service = me->name}};
    struct sf_profile_places places;
    struct sf_why why = {0};
    out.list = sf_arena_raw(a, (size_t)(me->n_details + 1) * sizeof(*out.list), 16);
    out.t.n_series = me->n_series;
    out.t.n_processes = me->n_processes;
    out.t.n_rows = me->n_rows;
    if (!out.list || sf_profile_tables_decode_symbols(r, service, a, &out.t.symbols, &why) ||
        sf_profile_tables_decode_series(r, service, a, &out.t.series, &out.t.processes, &why) ||
        sf_profile_tables_decode_rows(r, service, a, &out.t.rows, &why) ||
        sf_profile_tables_decode_threads(r, service, a, &out.t.threads, &out.t.n_threads, &why) ||
        sf_profile_tables_decode_places(r, service, a, &places, &why))
        die(why.text);
    for (uint32_t g = 0; g < places.n_granules; g++, out.n += n) {
        struct sf_arena tmp = *a;
        const struct sf_profile_detail *d;
        if (sf_profile_samples_granule(r, service, &places, g, &tmp, &d, &n, &why))
            die(why.text);
        memcpy(out.list + out.n, d, n * sizeof(*d));
    }
    return out;
}

static struct sf_buf write_rows(const struct rows *rows, uint32_t n_services)
{
    struct sf_profile_block_options options = {.info = {.block_id = 1}, .is_compressed = true};
    struct sf_profile_block_writer *w = NULL;
    struct sf_buf bytes = {0};
    struct sf_why why = {0};
    uint64_t len;
    if (sf_profile_block_writer_new(&options, &w, &why))
        die(why.text);
    for (uint32_t i = 0; i < n_services; i++)
        if (sf_profile_block_writer_begin(w, &rows[i].t, &why) ||
            sf_profile_details_encode_row(w, rows[i].list, rows[i].n, &why) ||
            sf_profile_block_writer_end(w, &why))
            die(why.text);
    if (sf_profile_block_writer_finish(w, &len, NULL, &bytes, &why))
        die(why.text);
    sf_profile_block_writer_free(w);
    return bytes;
}

struct pair { /* the ids of a row */
    uint8_t ids[24];
    uint32_t row;
};

static int order_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int order = memcmp(x->ids, y->ids, sizeof(x->ids));
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static int order_rows(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* Bytes of ids in a granule: 8 of each pair of span and trace, 16 of a trace that is not one of the
 * last sixteen. What is left of a row is its times, thread, state, series, stack, value, and whose
 * it is, as a place in the list of ids. */
static uint64_t granule_ids(const struct sf_profile_detail *d, uint32_t n)
{
    enum { LOOK_BACK = 16 };
    static struct pair pairs[SF_PROFILE_GRANULE_ROWS];
    const uint8_t *given[LOOK_BACK];
    uint32_t n_pairs = 0, n_given = 0;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(pairs[i].ids, d[i].trace_id.b, 16);
        memcpy(pairs[i].ids + 16, &d[i].span_id, 8);
        pairs[i].row = i;
    }
    qsort(pairs, n, sizeof(*pairs), order_pairs);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || memcmp(pairs[i].ids, pairs[n_pairs - 1].ids, sizeof(pairs[i].ids)) != 0)
            pairs[n_pairs++] = pairs[i];
    qsort(pairs, n_pairs, sizeof(*pairs), order_rows);
    for (uint32_t i = 0; i < n_pairs; i++) {
        uint32_t k = n_given > LOOK_BACK ? n_given - LOOK_BACK : 0;
        while (k < n_given && memcmp(given[k % LOOK_BACK], pairs[i].ids, 16) != 0)
            k++;
        if (k == n_given)
            given[n_given++ % LOOK_BACK] = pairs[i].ids;
    }
    return UINT64_C(8) * n_pairs + UINT64_C(16) * n_given;
}

static void print_stored_ids(const char *name, const struct rows *rows, uint32_t n_services,
                             double row)
{
    uint64_t len = 0, n = 0;
    for (uint32_t i = 0; i < n_services; n += rows[i++].n)
        for (uint64_t at = 0; at < rows[i].n; at += SF_PROFILE_GRANULE_ROWS) {
            uint64_t left = rows[i].n - at;
            len += granule_ids(rows[i].list + at, left < SF_PROFILE_GRANULE_ROWS
                                                      ? (uint32_t)left
                                                      : SF_PROFILE_GRANULE_ROWS);
        }
    printf("%s_ids %.2f B\n%s_row_without_ids %.2f B\n", name, (double)len / (double)n, name,
           row - (double)len / (double)n);
}

/* Of a block in memory: its rows read, and written into another. */
static void measure_times(const char *name, struct sf_buf *bytes, double row)
{
    struct sf_profile_block_reader *r = NULL;
    struct sf_why why = {0};
    struct sf_arena a;
    int64_t read_ns = INT64_MAX, write_ns = INT64_MAX;
    uint64_t n = 1;
    if (sf_profile_block_reader_open_memory(bytes, &r, &why) || !sf_arena_init(&a, (size_t)1 << 30))
        die(why.text);
    for (int i = 0; i < 5; i++) { /* the quickest of five */
        struct sf_arena tmp = a;
        int64_t at = sf_clock_cpu_ns();
        struct rows rows = read_rows(r, 0, &tmp);
        int64_t took = sf_clock_cpu_ns() - at;
        read_ns = took < read_ns ? took : read_ns;
        at = sf_clock_cpu_ns();
        struct sf_buf again = write_rows(&rows, 1);
        took = sf_clock_cpu_ns() - at;
        write_ns = took < write_ns ? took : write_ns;
        n = rows.n;
        if (i == 0)
            print_stored_ids(name, &rows, 1, row);
        sf_buf_done(&again);
    }
    printf("%s_read %.1f ns\n%s_write %.1f ns\n", name, (double)read_ns / (double)n, name,
           (double)write_ns / (double)n);
    sf_profile_block_reader_close(r);
    sf_arena_done(&a);
}

static void measure(const char *name, enum shape shape)
{
    static struct sf_sample samples[N];
    static struct sf_function functions[STACKS * DEPTH];
    static struct sf_line lines[STACKS * DEPTH];
    static struct sf_location locations[STACKS * DEPTH];
    static uint32_t frames[STACKS * DEPTH];
    static struct sf_stack stacks[STACKS];
    static char names[STACKS * DEPTH][24];
    struct sf_label label = {SF_STR("service_name"), SF_STR("shop")};
    struct sf_process process = {SF_STR("shop"), SF_STR("instance=1"), false};
    struct sf_profile_type type = {SF_STR("cpu"), SF_STR("cpu"), SF_STR("nanoseconds"),
                                   SF_STR("cpu"), SF_STR("ns")};
    struct sf_series series[2] = {{.service = SF_STR("shop"),
                                   .type = type,
                                   .labels = &label,
                                   .n_labels = 1,
                                   .time_ns = NOW_NS,
                                   .duration_ns = INT64_C(10000000000)}};
    struct sf_profile_batch b = {.functions = functions,
                                 .locations = locations,
                                 .stacks = stacks,
                                 .processes = &process,
                                 .series = series,
                                 .samples = samples,
                                 .n_functions = STACKS * DEPTH,
                                 .n_locations = STACKS * DEPTH,
                                 .n_stacks = STACKS,
                                 .n_processes = 1,
                                 .n_series = shape == MIXED ? 2 : 1,
                                 .n_samples = N};
    struct sf_profile_set *set = sf_profile_set_new(1, SF_STR("shop"));
    struct sf_profile_block_options options = {.info = {.block_id = 1}, .is_compressed = true};
    struct sf_profile_block_writer *w = NULL;
    struct sf_profile_index index = {.recv_ns = NOW_NS};
    struct sf_profile_map map;
    struct sf_buf bytes = {0};
    struct sf_arena a;
    struct sf_why why = {0};
    uint64_t len;
    series[1] = series[0];
    series[1].type.name = series[1].type.sample_type = SF_STR("off_cpu");
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
            samples[t * PER_THREAD + i] = sample_of(&at_ns, t, i, shape);
    }
    if (!set || !sf_arena_init(&a, (size_t)1 << 30) || !sf_profile_set_map_init(&map, &b, &a) ||
        sf_profile_set_add(set, &map, &b, &index, a, &why) ||
        sf_profile_block_writer_new(&options, &w, &why) ||
        sf_profile_set_write(w, set, INT64_MIN, INT64_MAX, &why) ||
        sf_profile_block_writer_finish(w, &len, NULL, &bytes, &why))
        die(why.text);
    double row = print_sizes(name, sf_buf_bytes(&bytes), N);
    sf_profile_block_writer_free(w);
    sf_profile_set_free(set);
    sf_arena_done(&a);
    measure_times(name, &bytes, row);
    sf_buf_done(&bytes);
}

static int order_ids(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static uint64_t count_ids(uint8_t (*ids)[16], uint64_t n)
{
    uint64_t n_ids = 0;
    qsort(ids, n, 16, order_ids);
    for (uint64_t i = 0; i < n; i++)
        n_ids += i == 0 || memcmp(ids[i], ids[i - 1], 16) != 0;
    return n_ids;
}

/* What ids take if each is written once in each service, whose rows are a part of their own: they
 * are random, and nothing makes them shorter. */
static void print_ids(const char *name, const struct rows *rows, uint32_t n_services, uint64_t n)
{
    uint8_t(*spans)[16] = calloc(n, 16), (*traces)[16] = calloc(n, 16);
    uint64_t len = 0;
    if (!spans || !traces)
        die("no memory");
    for (uint32_t i = 0; i < n_services; i++) {
        memset(spans, 0, rows[i].n * 16);
        for (uint64_t k = 0; k < rows[i].n; k++) {
            memcpy(spans[k], &rows[i].list[k].span_id, 8);
            memcpy(traces[k], &rows[i].list[k].trace_id, 16);
        }
        len += 8 * count_ids(spans, rows[i].n) + 16 * count_ids(traces, rows[i].n);
    }
    printf("%s_ids_at_least %.2f B\n", name, (double)len / (double)n);
    free(spans);
    free(traces);
}

enum which { ALL, OF_TYPE, OF_TYPE_US, WITHOUT_TYPE };

/* All rows of a block, those of one profile type, or all others; *out_len: what they take. Returns
 * how many there are. */
static uint64_t measure_again(const struct sf_profile_block_reader *r, enum which which,
                              const char *type, uint64_t *out_len)
{
    uint32_t n_services;
    struct rows rows[16];
    uint64_t n = 0, sums[SF_PROFILE_SECTIONS] = {0};
    struct sf_arena a;
    (void)sf_profile_block_reader_services(r, &n_services);
    if (n_services > 16 || !sf_arena_init(&a, (size_t)1 << 30))
        die("too many services");
    for (uint32_t i = 0; i < n_services; i++) {
        uint64_t kept = 0;
        rows[i] = read_rows(r, i, &a);
        for (uint64_t k = 0; k < rows[i].n; k++) {
            sf_str name = rows[i].t.series[rows[i].list[k].series].type.sample_type;
            bool is_of = which != ALL && sf_str_eq(name, sf_str_from(type));
            if (which != ALL && is_of == (which == WITHOUT_TYPE))
                continue;
            rows[i].list[kept] = rows[i].list[k];
            if (which == OF_TYPE_US)
                rows[i].list[kept].value -= rows[i].list[kept].value % 1000;
            kept++;
        }
        rows[i].n = kept;
        n += kept;
    }
    if (n) {
        struct sf_buf bytes = write_rows(rows, n_services);
        char name[64];
        snprintf(name, sizeof(name), "rewritten_%s%s", type ? type : "all",
                 which == OF_TYPE_US ? "_us" : "");
        if (which != WITHOUT_TYPE) {
            printf("%s_rows %llu\n", name, (unsigned long long)n);
            double row = print_sizes(name, sf_buf_bytes(&bytes), n);
            print_stored_ids(name, rows, n_services, row);
            print_ids(name, rows, n_services, n);
        }
        add_sizes(sf_buf_bytes(&bytes), sums);
        sf_buf_done(&bytes);
    }
    sf_arena_done(&a);
    *out_len = row_sizes(sums);
    return n;
}

/* Alone, where the ids are all theirs, and beside the other types: what they add to the block. */
static void measure_type(const struct sf_profile_block_reader *r, const char *type, uint64_t all)
{
    uint64_t own, without, n = measure_again(r, OF_TYPE, type, &own);
    if (n == 0)
        return;
    if (strcmp(type, "off_cpu") == 0)
        (void)measure_again(r, OF_TYPE_US, type, &without);
    (void)measure_again(r, WITHOUT_TYPE, type, &without);
    printf("added_%s_row %.2f B\n", type, ((double)all - (double)without) / (double)n);
}

static void measure_file(const char *path)
{
    static const char *const TYPES[] = {"cpu", "wall", "off_cpu", "alloc_space", "alloc_objects"};
    struct sf_profile_block_reader *r = NULL;
    struct sf_file file;
    struct sf_buf bytes = {0};
    struct sf_why why = {0};
    uint32_t n_services;
    uint64_t n = 0, all;
    if (sf_file_open_path(path, &file, &why) || sf_file_read_all(&file, 1 << 30, &bytes, &why))
        die(why.text);
    sf_bytes block = sf_buf_bytes(&bytes);
    if (sf_profile_block_reader_open_memory(&bytes, &r, &why))
        die(why.text);
    const struct sf_profile_service *services = sf_profile_block_reader_services(r, &n_services);
    for (uint32_t i = 0; i < n_services; i++)
        n += services[i].n_details;
    printf("as_it_is_rows %llu\n", (unsigned long long)n);
    if (n && measure_again(r, ALL, NULL, &all)) {
        (void)print_sizes("as_it_is", block, n);
        for (size_t i = 0; i < sizeof(TYPES) / sizeof(*TYPES); i++)
            measure_type(r, TYPES[i], all);
    }
    sf_profile_block_reader_close(r);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        measure_file(argv[i]);
    if (argc > 1)
        return 0;
    measure("sample", SAMPLE);
    measure("wait", WAIT);
    measure("wait_us", WAIT_US);
    measure("served", SERVED);
    measure("mixed", MIXED);
    return 0;
}
