/* profile_store_bench.c - what do flame graphs cost, out of a day of profiles?
 *
 * A day of pprofs of 1,000 stacks, 30 to 60 deep, every sample tagged with a span, spread over four
 * services, flushed every hour and merged as the server does. Measured: bytes on disk per sample,
 * in all, of the aggregate (chunks and their index), of detail rows (with their indexes), and of
 * what both need (symbols, series, points); the flame graph of everything, of one service, of
 * whole slots and of a range that cuts them; one span's flame graph, with and without its service
 * named; a time series. Each query is the fastest of its runs, in CPU time.
 *
 *   profile_store_bench [profiles]     (default 2000; 10000 are ten million samples) */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/time_unit.h"
#include "block/format/section.h"
#include "block/profile/profile_block.h"
#include "decode/profile_format.h"
#include "store/local/write/compact.h"
#include "support/profile_wire.h"
#include "support/store_rig.h"

enum { SAMPLES = 1000, SERVICES = 4, RUNS = 5 };

static const int64_t DAY_BEGIN_NS = INT64_C(1763164800) * 1000000000; /* midnight */
static int64_t now_ns;

static int64_t wall_ns(void)
{
    return now_ns;
}

static int64_t mono_ns(void)
{
    return now_ns - DAY_BEGIN_NS + SF_NS_PER_DAY;
}

static void need(enum sf_err err, const struct store_rig *r)
{
    if (!err)
        return;
    fprintf(stderr, "profile_store_bench: %s\n", r->why.text);
    exit(1);
}

static void print(const char *name, double value, const char *unit)
{
    printf("%-34s %10.3f %s\n", name, value, unit);
    fflush(stdout);
}

static void put(struct store_rig *r, struct sf_profile_wire *wire, struct sf_arena *a)
{
    struct sf_logged rec = {.kind = SF_LOG_PROFILES, .tenant = 1, .recv_ns = now_ns};
    struct sf_profile_hint hint = {.now_ns = now_ns};
    struct sf_profile_batch p;
    struct sf_buf pprof = {0}, body = {0};
    struct sf_batch *b = NULL;
    char name[32];
    snprintf(name, sizeof(name), "service-%u", wire->service);
    hint.service = sf_str_from(name);
    sf_arena_reset(a);
    sf_profile_wire_pprof(wire, SAMPLES, &pprof);
    need(sf_profile_format_decode(sf_buf_str(&pprof), &hint, a, &p, &r->why), r);
    sf_profile_codec_encode(&p, &body);
    rec.body = sf_buf_bytes(&body);
    need(store_replay(NULL, &rec, &b, &r->why), r);
    need(store_put_batch(r, 0, b), r);
    sf_buf_done(&pprof);
    sf_buf_done(&body);
}

static void fill(struct store_rig *r, uint32_t n_profiles)
{
    struct sf_profile_wire wire = {.rng = 1, .n_types = 1};
    struct sf_arena a;
    int64_t hour = 0;
    if (!sf_arena_init(&a, (size_t)1 << 30))
        exit(1);
    for (uint32_t i = 0; i < n_profiles; i++) {
        now_ns = DAY_BEGIN_NS + (int64_t)((double)i / n_profiles * (double)SF_NS_PER_DAY);
        wire.service = i % SERVICES;
        wire.time_ns = now_ns - INT64_C(10000000000);
        put(r, &wire, &a);
        if (now_ns / SF_NS_PER_HOUR != hour ||
            atomic_load(&store_rig_local(r)->prof_len) >= (20 << 20)) {
            hour = now_ns / SF_NS_PER_HOUR;
            need(r->store->ops->flush(r->store, &r->why), r);
            need(sf_compact_all(store_rig_local(r), &r->why), r);
        }
    }
    now_ns = DAY_BEGIN_NS + SF_NS_PER_DAY + 4 * SF_NS_PER_HOUR;
    need(r->store->ops->flush(r->store, &r->why), r);
    need(sf_compact_all(store_rig_local(r), &r->why), r);
    sf_arena_done(&a);
}

struct disk { /* bytes, by what they are for */
    uint64_t all, aggregate, detail, shared;
    unsigned n_files;
};

static void add_section(struct disk *d, const struct sf_section *s)
{
    switch (s->id) {
    case SF_PROFILE_IDX:
    case SF_PROFILE_CHK: d->aggregate += s->stored_len; break;
    case SF_PROFILE_STX:
    case SF_PROFILE_DET:
    case SF_PROFILE_SPX:
    case SF_PROFILE_TRX: d->detail += s->stored_len; break;
    default: d->shared += s->stored_len; break;
    }
}

static void add_block(struct disk *d, const char *path, const struct store_rig *r)
{
    uint8_t bytes[SF_BLOCK_TAIL_LEN];
    struct sf_block_tail tail;
    struct sf_why why = {0};
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, -SF_BLOCK_TAIL_LEN, SEEK_END) ||
        fread(bytes, 1, sizeof(bytes), f) != sizeof(bytes) ||
        sf_section_block_tail_decode(SF_BLOCK_OF_PROFILES, bytes, false, &tail, &why) ||
        fseek(f, (long)tail.table_off, SEEK_SET))
        need(SF_ERR_IO, r);
    for (uint64_t i = 0; f && i < tail.table_len / SF_SECTION_LEN; i++) {
        struct sf_section s;
        if (fread(bytes, 1, SF_SECTION_LEN, f) != SF_SECTION_LEN)
            need(SF_ERR_IO, r);
        s = sf_section_decode(bytes);
        add_section(d, &s);
    }
    if (f)
        fclose(f);
    d->n_files++;
}

static void walk_disk(struct disk *d, const char *path, const struct store_rig *r)
{
    DIR *list = opendir(path);
    struct dirent *e;
    while (list && (e = readdir(list))) {
        char sub[700];
        struct stat st;
        snprintf(sub, sizeof(sub), "%.400s/%.255s", path, e->d_name);
        if (e->d_name[0] == '.' || lstat(sub, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            walk_disk(d, sub, r);
        } else {
            d->all += (uint64_t)st.st_size;
            add_block(d, sub, r);
        }
    }
    if (list)
        closedir(list);
}

static double ask(struct store_rig *r, struct sf_prof_query *query, const char *service,
                  uint64_t *out_total)
{
    struct sf_matcher match = {.key = SF_STR("service_name"), .op = SF_OP_EQ};
    double best = 1e300, took;
    query->type = SF_STR("process_cpu:cpu:nanoseconds");
    if (service) {
        match.val = sf_str_from(service);
        query->match = &match;
        query->n_match = 1;
    }
    for (int i = 0; i < RUNS; i++) {
        const struct sf_tree *tree;
        int64_t from = sf_clock_cpu_ns();
        sf_arena_reset(&r->arena);
        need(r->store->ops->prof_merge(r->store, query, &r->q, &tree, &r->why), r);
        took = (double)(sf_clock_cpu_ns() - from);
        best = took < best ? took : best;
        *out_total = (uint64_t)tree->total;
    }
    query->match = NULL;
    query->n_match = 0;
    return best / 1e6;
}

/* A point an hour of one service: it never touches stacks. */
static double ask_series(struct store_rig *r)
{
    struct sf_matcher match = {SF_STR("service_name"), SF_OP_EQ, SF_STR("service-0")};
    struct sf_prof_query query = {
        .type = SF_STR("process_cpu:cpu:nanoseconds"), .match = &match, .n_match = 1};
    double best = 1e300, took;
    for (int i = 0; i < RUNS; i++) {
        struct sf_prof_points points;
        int64_t from = sf_clock_cpu_ns();
        sf_arena_reset(&r->arena);
        need(r->store->ops->prof_points(r->store, &query, NULL, 0, SF_NS_PER_HOUR, &r->q, &points,
                                        &r->why),
             r);
        took = (double)(sf_clock_cpu_ns() - from);
        best = took < best ? took : best;
    }
    return best / 1e6;
}

static void measure(struct store_rig *r, uint32_t n_profiles)
{
    struct sf_prof_query all = {0}, cut = {0}, span = {0};
    sf_span_id id = sf_hash_mix(1, (uint64_t)n_profiles / 2 / SERVICES * SERVICES * 50 + 8);
    uint64_t total = 0, part = 0, of_span = 0, none = 0;
    double samples = (double)n_profiles * SAMPLES / SERVICES, ms;
    cut.from_ns = DAY_BEGIN_NS + INT64_C(123) * 1000000000;
    cut.to_ns = DAY_BEGIN_NS + SF_NS_PER_DAY - INT64_C(321) * 1000000000;
    ms = ask(r, &all, NULL, &total);
    print("profile_merge_everything", ms, "ms");
    print("profile_merge_everything_per_10M", ms * 1e7 / samples / SERVICES, "ms");
    ms = ask(r, &all, "service-0", &total);
    print("profile_merge_all", ms, "ms");
    print("profile_merge_all_per_10M", ms * 1e7 / samples, "ms");
    ms = ask(r, &cut, "service-0", &part);
    print("profile_merge_cut", ms, "ms");
    span.span_ids = &id;
    span.n_spans = 1;
    print("profile_span", ask(r, &span, "service-0", &of_span), "ms");
    print("profile_span_no_service", ask(r, &span, NULL, &of_span), "ms");
    print("profile_series", ask_series(r), "ms");
    id = 12345;
    print("profile_span_unknown", ask(r, &span, NULL, &none), "ms");
    if (total == 0 || part == 0 || of_span == 0 || none != 0 || part >= total) {
        fprintf(stderr, "profile_store_bench: an answer is wrong\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static struct store_rig r;
    uint32_t n_profiles = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000;
    struct disk disk = {0};
    double n_samples = (double)n_profiles * SAMPLES;
    char path[200];
    int64_t cpu_ns;
    now_ns = DAY_BEGIN_NS;
    store_rig_init(&r);
    r.config.tuning.wall_ns = wall_ns;
    r.config.tuning.mono_ns = mono_ns;
    r.config.tuning.segment_len = 0;
    r.config.n_writers = 1;
    need(store_rig_open(&r), &r);
    cpu_ns = sf_clock_cpu_ns();
    fill(&r, n_profiles);
    cpu_ns = sf_clock_cpu_ns() - cpu_ns;
    snprintf(path, sizeof(path), "%s/prof", r.path);
    walk_disk(&disk, path, &r);
    print("profile_samples", n_samples, "samples");
    print("profile_make_and_store", (double)cpu_ns / 1e3 / n_samples, "us/sample");
    print("profile_disk", (double)disk.all / n_samples, "B/sample");
    print("profile_disk_aggregate", (double)disk.aggregate / n_samples, "B/sample");
    print("profile_disk_detail", (double)disk.detail / n_samples, "B/row");
    print("profile_disk_shared", (double)disk.shared / n_samples, "B/sample");
    print("profile_blocks", disk.n_files, "blocks");
    measure(&r, n_profiles);
    store_rig_done(&r);
    return 0;
}
