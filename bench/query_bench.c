/* query_bench.c - what does a TraceQL query cost over ten million spans on disk?
 *
 * Realistic spans (20 services, about 12 attributes) are appended, flushed and compacted once; then
 * each query runs several times over warm files on one thread. Printed are the fastest run and the
 * slowest, and the ratio to the bare cost: decoding, of every granule, the columns that a query
 * about service, name and duration reads, and nothing else.
 *
 *   query_bench [--spans N] [--dir PATH] [--only QUERY]     (default 10000000 below /tmp)
 *
 * With --dir the store is kept and found there by the next run. --only asks one thing: a query, an
 * attribute whose values are listed, "trace", or "ingest": what appending loses while a thread of
 * the priority of queries requests a rate over everything (those spans stay), at full speed and at
 * half of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block/span/span_block_reader.h"
#include "exec/metrics.h"
#include "exec/search.h"
#include "exec/tags.h"
#include "query/query_parse.h"
#include "store/local/write/compact.h"
#include "support/store_rig.h"

enum { PER_BATCH = 200, WAVE = 250, ROUNDS = 5 };

struct bench {
    struct store_rig rig;
    struct sf_arena scratch;
    struct sf_query_ctx q;
    uint64_t n_spans;
    int64_t from_ns, to_ns;
    double bare_ns;
    sf_trace_id ids[64];
    unsigned n_ids;
};

static void die(const char *what, const struct sf_why *why)
{
    fprintf(stderr, "query_bench: %s: %s\n", what, why->text);
    exit(1);
}

/* ---- the data ---- */

struct ticket {
    struct sf_ticket base;
    atomic_uint *n_left;
};

static void count_down(struct sf_ticket *t)
{
    atomic_fetch_sub(((struct ticket *)t)->n_left, 1);
}

static void append_wave(struct store_rig *r, struct sf_otlp_make *m)
{
    static struct ticket tickets[WAVE];
    static struct sf_batch *batches[WAVE];
    atomic_uint n_left = WAVE;
    sf_arena_reset(&r->arena);
    for (unsigned i = 0; i < WAVE; i++) {
        struct sf_span_batch spans;
        sf_otlp_make_batch(m, PER_BATCH, &r->arena, &spans);
        batches[i] = store_batch(r, 1, &spans, 0, (int64_t)m->now_ns);
        tickets[i] = (struct ticket){{.done = count_down}, &n_left};
    }
    for (unsigned i = 0; i < WAVE; i++) {
        while (r->store->ops->append(r->store, i % 2, &batches[i], &tickets[i].base, &r->why))
            sf_clock_sleep_ms(1);
    }
    while (atomic_load(&n_left))
        sf_clock_sleep_ms(1);
}

static struct sf_local_stats stats_of(struct store_rig *r)
{
    struct sf_local_stats s;
    sf_local_figures_stats(r->store, &s);
    return s;
}

static uint64_t count_rows(struct store_rig *r)
{
    struct sf_local_stats s = stats_of(r);
    return s.block_rows[0] + s.block_rows[1] + s.block_rows[2] + s.block_rows[3];
}

static void open_store(struct store_rig *r)
{
    r->config.tuning = (struct sf_local_tuning){.compact_blocks = 1u << 30,
                                                .slow_blocks = 1u << 30,
                                                .refuse_blocks = 1u << 30,
                                                .closed_delay_ns = INT64_MAX / 4};
    if (store_rig_open(r))
        die("open", &r->why);
}

static void fill(struct store_rig *r, uint64_t n_spans)
{
    struct sf_otlp_make m;
    int64_t begin = sf_clock_mono_ns();
    sf_otlp_make_init(&m, 1, (uint64_t)sf_clock_wall_ns() - UINT64_C(7200000000000));
    for (uint64_t n = 0; n < n_spans; n += WAVE * PER_BATCH)
        append_wave(r, &m);
    if (r->store->ops->flush(r->store, &r->why))
        die("flush", &r->why);
    store_rig_local(r)->tune.closed_delay_ns = 1;
    store_rig_local(r)->tune.compact_blocks = 1;
    if (sf_compact_all(store_rig_local(r), &r->why))
        die("compact", &r->why);
    printf("%-42s %10.1f s\n", "making the data", (double)(sf_clock_mono_ns() - begin) / 1e9);
}

/* ---- the bare cost ---- */

static int64_t decode_all(struct bench *b)
{
    struct sf_snapshot *s = sf_snapshot_take(&store_rig_local(&b->rig)->snapshots);
    int64_t begin = sf_clock_cpu_ns();
    for (size_t i = 0; i < s->n; i++) {
        const struct sf_span_block_reader *reader;
        struct sf_span_rows rows;
        if (sf_run_enter(s->runs[i], SF_TABLES_ROWS, &reader, &b->rig.why))
            die("bare", &b->rig.why);
        for (uint32_t g = 0; g < sf_span_block_reader_granules(reader); g++) {
            b->scratch.at = 0;
            if (sf_granule_view_read(reader, g, SF_COL_TIMES | SF_COL_NAME | SF_COL_RESOURCE, NULL,
                                     0, &b->scratch, &rows, &b->rig.why))
                die("bare", &b->rig.why);
            if (b->n_ids < 64 && g % 8 == 0)
                b->ids[b->n_ids++] = rows.trace_id[rows.n_rows / 2];
        }
        sf_run_leave(s->runs[i]);
    }
    sf_snapshot_unref(s);
    return sf_clock_cpu_ns() - begin;
}

/* ---- queries ---- */

struct timing {
    int64_t best_ns, worst_ns;
};

static void add(struct timing *t, int64_t begin_ns)
{
    int64_t ns = sf_clock_cpu_ns() - begin_ns;
    t->best_ns = t->best_ns == 0 || ns < t->best_ns ? ns : t->best_ns;
    t->worst_ns = ns > t->worst_ns ? ns : t->worst_ns;
}

static void print(const struct bench *b, const char *name, const struct timing *t, const char *what,
                  uint64_t n)
{
    printf("%-42s %10.2f ms CPU (to %.2f), %.1f ns/span, %.2fx bare, %llu %s\n", name,
           (double)t->best_ns / 1e6, (double)t->worst_ns / 1e6,
           (double)t->best_ns / (double)b->n_spans, (double)t->best_ns / b->bare_ns,
           (unsigned long long)n, what);
    fflush(stdout);
}

static const struct sf_query *parse(struct bench *b, const char *text)
{
    const struct sf_query *query;
    sf_arena_reset(&b->rig.arena);
    if (sf_query_parse(sf_str_from(text), &b->rig.arena, &query, NULL, &b->rig.why))
        die(text, &b->rig.why);
    return query;
}

static void renew(struct bench *b)
{
    sf_arena_reset(&b->scratch);
    b->q = (struct sf_query_ctx){.tenants = &b->rig.tenant, .n_tenants = 1, .req = &b->rig.arena};
}

static void search(struct bench *b, const char *name, const char *text, uint32_t limit)
{
    struct timing t = {0};
    struct sf_search_result result = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct sf_search s = {.query = parse(b, text),
                              .from_ns = b->from_ns,
                              .to_ns = b->to_ns,
                              .limit = limit,
                              .spans_per_set = 3,
                              .scratch = &b->scratch};
        int64_t begin = sf_clock_cpu_ns();
        renew(b);
        if (sf_search_run(b->rig.store, &s, &b->q, &result, &b->rig.why)) {
            printf("%-42s %s\n", name, b->rig.why.text);
            return;
        }
        add(&t, begin);
        if (t.worst_ns > INT64_C(5000000000))
            break;
    }
    print(b, name, &t, "traces", result.n_traces);
}

static void metrics(struct bench *b, const char *name, const char *text)
{
    struct timing t = {0};
    struct sf_metrics_result result = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct sf_metrics_ask ask = {.query = parse(b, text), .scratch = &b->scratch};
        int64_t begin = sf_clock_cpu_ns();
        renew(b);
        if (sf_metrics_window_range(b->from_ns, b->to_ns, 0, &ask.window, &b->rig.why) ||
            sf_metrics_run(b->rig.store, &ask, &b->q, &result, &b->rig.why)) {
            printf("%-42s %s\n", name, b->rig.why.text);
            return;
        }
        add(&t, begin);
        if (t.worst_ns > INT64_C(5000000000))
            break;
    }
    print(b, name, &t, "series", result.n_series);
}

static void tag_values(struct bench *b, const char *name, const char *attr)
{
    struct timing t = {0};
    struct sf_tags_result result = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct sf_tags tags = {
            .from_ns = b->from_ns, .to_ns = b->to_ns, .limit = 1000, .scratch = &b->scratch};
        struct sf_query_attr a;
        int64_t begin = sf_clock_cpu_ns();
        renew(b);
        sf_arena_reset(&b->rig.arena);
        if (sf_query_parse_attr(sf_str_from(attr), &b->rig.arena, &a, &b->rig.why) ||
            sf_tags_values(b->rig.store, &tags, &a, &b->q, &result, &b->rig.why))
            die(attr, &b->rig.why);
        add(&t, begin);
        if (t.worst_ns > INT64_C(5000000000))
            break;
    }
    print(b, name, &t, "values", result.n_values);
}

static void traces(struct bench *b)
{
    struct timing t = {0};
    uint64_t n_rows = 0;
    for (unsigned i = 0; i < b->n_ids * 2; i++) {
        struct sf_span_cursor *c;
        struct sf_span_rows rows;
        int64_t begin = sf_clock_cpu_ns();
        renew(b);
        if (sf_store_trace(b->rig.store, b->ids[i % b->n_ids], &b->q, &c, &b->rig.why))
            die("trace", &b->rig.why);
        while (c->next(c, &rows))
            n_rows += rows.n_rows;
        c->close(c);
        if (i >= b->n_ids)
            add(&t, begin);
    }
    print(b, "trace by id", &t, "spans", n_rows);
}

/* ---- ingest meanwhile ---- */

enum { PHASES = 8, PHASE_WAVES = 4 };

struct asker { /* requests everything again and again, as a query thread does */
    struct bench *b;
    atomic_bool is_on, is_over;
    atomic_uint n_asked;
};

static void keep_asking(void *arg)
{
    struct asker *a = arg;
    struct sf_arena req, scratch, text;
    const struct sf_query *query;
    if (!sf_arena_init(&req, (size_t)1 << 28) || !sf_arena_init(&scratch, (size_t)1 << 28) ||
        !sf_arena_init(&text, 1 << 20) ||
        sf_query_parse(SF_STR("{ } | rate() by (resource.service.name)"), &text, &query, NULL,
                       NULL))
        return;
    while (!atomic_load(&a->is_over)) {
        struct sf_metrics_ask ask = {.query = query, .scratch = &scratch};
        struct sf_query_ctx q = {.tenants = &a->b->rig.tenant, .n_tenants = 1, .req = &req};
        struct sf_metrics_result result;
        if (!atomic_load(&a->is_on)) {
            sf_clock_sleep_ms(1);
            continue;
        }
        sf_arena_reset(&req);
        sf_arena_reset(&scratch);
        if (sf_metrics_window_range(a->b->from_ns, a->b->to_ns, 0, &ask.window, NULL) ||
            sf_metrics_run(a->b->rig.store, &ask, &q, &result, NULL))
            break;
        atomic_fetch_add(&a->n_asked, 1);
    }
    sf_arena_done(&req);
    sf_arena_done(&scratch);
    sf_arena_done(&text);
}

/* Waves, one every `gap_ns` (0: as fast as they go); how long it took. */
static int64_t send_waves(struct bench *b, struct sf_otlp_make *m, int64_t gap_ns)
{
    int64_t begin = sf_clock_mono_ns(), late;
    for (int k = 0; k < PHASE_WAVES; k++) {
        append_wave(&b->rig, m);
        late = sf_clock_mono_ns() - begin - (k + 1) * gap_ns;
        if (gap_ns && late < 0)
            sf_clock_sleep_ms((unsigned)(-late / 1000000));
    }
    return sf_clock_mono_ns() - begin;
}

/* Phases alone and beside a query take turns, so that whatever else the machine does hits both. */
static double compare_rates(struct bench *b, struct asker *a, struct sf_otlp_make *m,
                            const char *name, int64_t gap_ns)
{
    const double n_spans = (double)PHASES / 2 * PHASE_WAVES * WAVE * PER_BATCH;
    unsigned n_asked = atomic_load(&a->n_asked);
    int64_t ns[2] = {0};
    double rates[2];
    for (int i = 0; i < PHASES; i++) {
        atomic_store(&a->is_on, i % 2);
        ns[i % 2] += send_waves(b, m, gap_ns);
    }
    atomic_store(&a->is_on, false);
    for (int i = 0; i < 2; i++)
        rates[i] = n_spans / ((double)ns[i] / 1e9);
    n_asked = atomic_load(&a->n_asked) - n_asked;
    printf("ingest_%s_alone %.0f spans/s\n", name, rates[0]);
    printf("ingest_%s_beside_queries %.0f spans/s\n", name, rates[1]);
    printf("ingest_%s_kept %.2f x\n", name, rates[1] / rates[0]);
    printf("ingest_%s_queries_meanwhile %.1f queries/s\n", name,
           (double)n_asked / ((double)ns[1] / 1e9));
    fflush(stdout);
    return rates[0];
}

static void ingest(struct bench *b)
{
    struct asker a = {.b = b};
    struct sf_thread thread;
    struct sf_otlp_make m;
    double full;
    sf_otlp_make_init(&m, (uint64_t)sf_clock_wall_ns(), (uint64_t)sf_clock_wall_ns());
    if (sf_thread_start(&thread, "query-0", SF_NICE_QUERIES, keep_asking, &a, &b->rig.why))
        die("thread", &b->rig.why);
    full = compare_rates(b, &a, &m, "full_speed", 0);
    (void)compare_rates(b, &a, &m, "half_speed",
                        (int64_t)(2 * 1e9 * (double)WAVE * PER_BATCH / full));
    atomic_store(&a.is_over, true);
    sf_thread_join(&thread);
}

static void ask_all(struct bench *b)
{
    search(b, "service, name, duration: 20",
           "{ resource.service.name = \"cart\" && name = \"GET /cart/list/{id}\" && duration > "
           "250ms }",
           20);
    search(b, "service, name, duration: all",
           "{ resource.service.name = \"cart\" && name = \"GET /cart/list/{id}\" && duration > "
           "250ms }",
           1000);
    search(b, "equality nobody has, many values", "{ span.enduser.id = \"nobody\" }", 20);
    search(b, "full scan: name by pattern", "{ name =~ \"nothing.*\" }", 20);
    search(b, "full scan: duration of a kind", "{ kind = server && duration > 268400us }", 20);
    search(b, "full scan: attribute by number", "{ span.db.cost > 781.24 && span.db.cost < 0 }",
           20);
    search(b, "structure, rare ends",
           "{ resource.service.name = \"gateway\" && status = error } >> { "
           "resource.service.name = \"ledger\" && status = error && duration > 200ms }",
           20);
    search(b, "structure, frequent ends, no match",
           "{ resource.service.name = \"gateway\" && duration > 1ms } >> { "
           "resource.service.name = \"ledger\" && span.db.cost < 0 }",
           20);
    search(b, "aggregate, no match", "{ resource.service.name = \"cart\" } | count() > 1000", 20);
    metrics(b, "rate by service", "{ } | rate() by (resource.service.name)");
    metrics(b, "rate of errors", "{ status = error } | rate()");
    metrics(b, "quantiles of one service by name",
            "{ resource.service.name = \"cart\" } | quantile_over_time(duration, 0.5, 0.99) by "
            "(name)");
    metrics(b, "rate by an attribute", "{ } | rate() by (span.http.route)");
    metrics(b, "rate under structure", "{ status = error } >> { kind = server } | rate()");
    tag_values(b, "tag values: service", "resource.service.name");
    tag_values(b, "tag values: route", "span.http.route");
    tag_values(b, "tag values: user id", "span.enduser.id");
    tag_values(b, "tag values: name", "name");
    traces(b);
    ingest(b);
}

static void move_to(struct store_rig *r, const char *path)
{
    sf_dir_close(r->dir);
    rmdir(r->path);
    snprintf(r->path, sizeof(r->path), "%s", path);
    store_rig_dir(r);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct sf_local_stats s;
    const char *dir = NULL, *only = NULL;
    uint64_t n_spans = 10000000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--spans") == 0)
            n_spans = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--dir") == 0)
            dir = argv[i + 1];
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
    }
    store_rig_init(&b.rig);
    if (!sf_arena_init(&b.scratch, (size_t)1 << 30))
        return 1;
    if (dir)
        move_to(&b.rig, dir);
    open_store(&b.rig);
    if (count_rows(&b.rig) < n_spans)
        fill(&b.rig, n_spans);
    s = stats_of(&b.rig);
    b.n_spans = count_rows(&b.rig);
    b.from_ns = s.oldest_ns;
    b.to_ns = s.newest_ns + 1;
    printf("%-42s %10llu in %llu blocks, %.1f B/span\n", "spans", (unsigned long long)b.n_spans,
           (unsigned long long)(s.n_blocks[0] + s.n_blocks[1]),
           (double)(s.blocks_len[0] + s.blocks_len[1]) / (double)b.n_spans);
    (void)decode_all(&b);
    b.bare_ns = (double)decode_all(&b);
    printf("%-42s %10.2f ms CPU, %.1f ns/span\n", "bare: three columns decoded", b.bare_ns / 1e6,
           b.bare_ns / (double)b.n_spans);
    if (!only)
        ask_all(&b);
    else if (strcmp(only, "trace") == 0)
        traces(&b);
    else if (strcmp(only, "ingest") == 0)
        ingest(&b);
    else if (strstr(only, "rate(") || strstr(only, "_over_time("))
        metrics(&b, only, only);
    else if (only[0] == '{')
        search(&b, only, only, 20);
    else
        tag_values(&b, only, only);
    if (dir)
        store_rig_close(&b.rig);
    else
        store_rig_done(&b.rig);
    return 0;
}
