/* store_bench.c - what does a span cost from a decoded batch to a compacted block?
 *
 * Realistic spans (20 services, about 12 attributes) as batches of 200, logged as the requests they
 * came in. Measured: CPU until acknowledged and in a level-0 block, CPU of compaction, bytes on
 * disk afterwards, a trace by id with everything in memory, a search, and a restart that replays
 * the log. Each beside its bare cost: hashing, compressing and syncing the same bytes and nothing
 * else. Decoding is not counted: batches are made before the clock runs, and replay decodes the
 * store's own batch form.
 *
 *   store_bench [spans]     (default 1000000; uses a directory below $TMPDIR or /tmp) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zstd.h>

#include "base/hash.h"
#include "model/batch_codec.h"
#include "store/local/write/compact.h"
#include "support/store_rig.h"

enum { PER_BATCH = 200, WAVE = 250 }; /* batches made at a time, outside the measurement */

static void print(const char *name, double value, const char *unit)
{
    printf("%-38s %10.2f %s\n", name, value, unit);
}

struct ticket {
    struct sf_ticket base;
    atomic_uint *n_left;
};

static void count_down(struct sf_ticket *t)
{
    atomic_fetch_sub(((struct ticket *)t)->n_left, 1);
}

static struct sf_local_stats stats_of(struct store_rig *r)
{
    struct sf_local_stats s;
    sf_local_figures_stats(r->store, &s);
    return s;
}

static long resident_mb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss / 1024;
}

struct totals {
    int64_t append_ns, bare_ns;
    uint64_t n_spans, body_len, zstd_len;
    sf_trace_id ids[64];
    unsigned n_ids;
};

/* The bare cost of the same bytes: one checksum, one compression. */
static void count_bare(struct totals *t, const struct sf_batch *b)
{
    static uint8_t out[4 << 20];
    int64_t begin = sf_clock_cpu_ns();
    volatile uint64_t hash = sf_hash(b->log.body.p, b->log.body.len);
    size_t len = ZSTD_compress(out, sizeof(out), b->log.body.p, b->log.body.len, 1);
    (void)hash;
    t->bare_ns += sf_clock_cpu_ns() - begin;
    t->body_len += b->log.body.len;
    t->zstd_len += len;
}

static void run_wave(struct store_rig *r, struct sf_otlp_make *m, struct totals *t)
{
    static struct ticket tickets[WAVE];
    static struct sf_batch *batches[WAVE];
    atomic_uint n_left = WAVE;
    int64_t begin;
    sf_arena_reset(&r->arena);
    for (unsigned i = 0; i < WAVE; i++) {
        struct sf_span_batch spans;
        sf_otlp_make_batch(m, PER_BATCH, &r->arena, &spans);
        batches[i] = store_batch(r, 1, &spans, 0, (int64_t)m->now_ns);
        tickets[i] = (struct ticket){{.done = count_down}, &n_left};
        count_bare(t, batches[i]);
        if (t->n_ids < 64 && i % 50 == 0)
            t->ids[t->n_ids++] = spans.spans[0].trace_id;
    }
    begin = sf_clock_cpu_ns();
    for (unsigned i = 0; i < WAVE; i++) {
        while (r->store->ops->append(r->store, i % 2, &batches[i], &tickets[i].base, &r->why))
            sf_clock_sleep_ms(1);
        t->n_spans += PER_BATCH;
    }
    while (atomic_load(&n_left))
        sf_clock_sleep_ms(1);
    t->append_ns += sf_clock_cpu_ns() - begin;
}

static void time_traces(struct store_rig *r, const struct totals *t, const char *name)
{
    int64_t best = INT64_MAX, sum = 0, cpu_ns = 0;
    unsigned n = 0;
    for (int round = 0; round < 3; round++) {
        if (round == 1)
            cpu_ns = sf_clock_cpu_ns();
        for (unsigned i = 0; i < t->n_ids; i++) {
            int64_t begin = sf_clock_mono_ns(), ns;
            struct sf_span_cursor *c;
            struct sf_span_rows rows;
            uint32_t n_rows = 0;
            if (sf_store_trace(r->store, t->ids[i], &r->q, &c, &r->why))
                abort();
            while (c->next(c, &rows))
                n_rows += rows.n_rows;
            c->close(c);
            ns = sf_clock_mono_ns() - begin;
            if (n_rows == 0)
                abort();
            best = ns < best ? ns : best;
            if (round) {
                sum += ns;
                n++;
            }
        }
    }
    print(name, (double)sum / n / 1e6, "ms mean, warm");
    print(name, (double)(sf_clock_cpu_ns() - cpu_ns) / n / 1e6, "ms CPU mean, warm");
    print(name, (double)best / 1e6, "ms fastest");
}

static void time_search(struct store_rig *r)
{
    struct sf_value ns = {.type = SF_VALUE_INT, .i64 = INT64_C(3600000000000)};
    struct sf_cond cond = {SF_SCOPE_INTRINSIC, SF_OP_GT, SF_STR("duration"), &ns, 1, {0}};
    struct sf_value text = {.type = SF_VALUE_STR, .str = SF_STR("nobody has this")};
    struct sf_cond none = {SF_SCOPE_SPAN, SF_OP_EQ, SF_STR("user.id"), &text, 1, {0}};
    struct sf_span_query q = {.conds = &cond,
                              .n_conds = 1,
                              .is_all = true,
                              .is_newest_first = true,
                              .columns = SF_COL_TIMES,
                              .limit_traces = 20};
    for (int i = 0; i < 2; i++) {
        int64_t begin = sf_clock_mono_ns();
        struct sf_span_cursor *c;
        struct sf_span_rows rows;
        if (r->store->ops->span_scan(r->store, &q, &r->q, &c, &r->why))
            abort();
        while (c->next(c, &rows)) {
            /* nothing matches: the worst case */
        }
        c->close(c);
        print(i ? "search, no span has the value" : "search, no span is so long",
              (double)(sf_clock_mono_ns() - begin) / 1e6, "ms");
        q.conds = &none;
    }
}

int main(int argc, char **argv)
{
    uint64_t n_spans = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    struct store_rig r;
    struct sf_otlp_make m;
    struct totals t = {0};
    struct sf_local_stats s;
    int64_t begin;

    store_rig_init(&r);
    r.config.tuning = (struct sf_local_tuning){.closed_delay_ns = 1};
    r.config.tuning.has_no_threads = false;
    r.config.tuning.compact_blocks = 1u << 30; /* measured apart */
    r.config.tuning.slow_blocks = r.config.tuning.refuse_blocks = 1u << 30;
    r.config.tuning.closed_delay_ns = INT64_MAX / 4;
    sf_otlp_make_init(&m, 1, (uint64_t)sf_clock_wall_ns() - UINT64_C(7200000000000));
    if (store_rig_open(&r))
        abort();
    while (t.n_spans < n_spans)
        run_wave(&r, &m, &t);
    begin = sf_clock_cpu_ns();
    if (r.store->ops->flush(r.store, &r.why))
        abort();
    t.append_ns += sf_clock_cpu_ns() - begin;
    s = stats_of(&r);
    print("spans", (double)t.n_spans, "");
    print("batch to durable and level 0", (double)t.append_ns / (double)t.n_spans, "ns CPU/span");
    print("bare: checksum + zstd of the same bytes", (double)t.bare_ns / (double)t.n_spans,
          "ns CPU/span");
    print("ratio", (double)t.append_ns / (double)t.bare_ns, "x");
    print("level 0", (double)s.blocks_len[0] / (double)t.n_spans, "B/span");
    print("level 0 blocks", (double)s.n_blocks[0], "");
    print("zstd 1 of the batches", (double)t.zstd_len / (double)t.n_spans, "B/span");
    print("memory counted", (double)s.memory_len / 1e6, "MB");
    time_traces(&r, &t, "trace by id, level 0");

    store_rig_local(&r)->tune.closed_delay_ns = 1;
    store_rig_local(&r)->tune.compact_blocks = 1;
    begin = sf_clock_cpu_ns();
    if (sf_compact_all(store_rig_local(&r), &r.why))
        fprintf(stderr, "compact: %s\n", r.why.text);
    print("compaction", (double)(sf_clock_cpu_ns() - begin) / (double)t.n_spans, "ns CPU/span");
    s = stats_of(&r);
    print("level 1", (double)s.blocks_len[1] / (double)t.n_spans, "B/span");
    print("level 1 blocks", (double)s.n_blocks[1], "");
    time_traces(&r, &t, "trace by id, level 1");
    time_search(&r);
    print("resident at most", (double)resident_mb(), "MB (batches of the bench included)");
    store_rig_close(&r);

    /* Restart: a log of a tenth of the spans that no block has. */
    {
        struct totals again = {0};
        uint64_t len;
        r.config.tuning = (struct sf_local_tuning){.has_no_threads = true};
        if (store_rig_open(&r))
            abort();
        while (again.n_spans < n_spans / 10)
            run_wave(&r, &m, &again);
        len = again.body_len;
        /* Without closing: the log is what is left. The lock goes with its file. */
        sf_file_close(&store_rig_local(&r)->lock_file);
        begin = sf_clock_mono_ns();
        if (sf_local_open_store(&r.config, &r.store, &r.why)) {
            fprintf(stderr, "restart: %s\n", r.why.text);
            return 1;
        }
        print("restart", (double)(sf_clock_mono_ns() - begin) / (double)len, "s per GB of log");
        print("restart", (double)(sf_clock_mono_ns() - begin) / (double)again.n_spans, "ns/span");
    }
    store_rig_done(&r);
    return 0;
}
