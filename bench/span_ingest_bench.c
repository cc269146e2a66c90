/* span_ingest_bench.c - where does the cost of a span go from the request's body to a level-0
 * block?
 *
 * OTLP requests of 200 spans as `load` sends them, through the steps of an ingest thread and of a
 * flush: decode and redact, sums of the span metrics and the service graph, adding these to the
 * shared series, rows of a memtable, and the block written from it, in memory. CPU time of each
 * step; fixed seed; the fastest of the runs. No sockets, no log, no disk. */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/time_unit.h"
#include "block/rows/rowset.h"
#include "block/span/span_block_writer.h"
#include "intake/intake.h"
#include "intake/redact.h"
#include "meter/service_graph.h"
#include "meter/span_metrics.h"
#include "os/clock.h"
#include "store/local/write/batch_rows.h"
#include "support/otlp_make.h"

enum { REQUESTS = 500, SPANS = 200, N_RUNS = 9 };

enum step { INTAKE, TALLY, SERIES, ROWS, BLOCK, N_STEPS };
static const char *const names[N_STEPS] = {"decode_and_redact", "sums_of_metrics", "shared_series",
                                           "rows_in_memory", "level_0_block"};

struct bench {
    struct sf_intake_config config;
    struct sf_span_metrics *metrics;
    struct sf_service_graph *graph;
    struct sf_rowset rows;
    struct sf_arena req, scratch;
    int64_t now_ns;
    double us[N_STEPS];
};

static void fail(const struct sf_why *why)
{
    fprintf(stderr, "span_ingest_bench: %s\n", why->text);
    exit(1);
}

/* Adds the CPU time since `*from_ns` to a step. */
static void lap(struct bench *b, enum step step, int64_t *from_ns)
{
    int64_t now_ns = sf_clock_cpu_ns();
    b->us[step] += (double)(now_ns - *from_ns) / 1e3 / (REQUESTS * SPANS);
    *from_ns = now_ns;
}

static void take_request(struct bench *b, const struct sf_buf *sent, struct sf_why *why)
{
    struct sf_intake_request in = {
        .kind = SF_LOG_OTLP_TRACES_PB, .tenant = 1, .recv_ns = b->now_ns};
    struct sf_intake_result result = {0};
    struct sf_span_tally tally = {0};
    struct sf_graph_tally halves = {0};
    struct sf_buf body = {0};
    int64_t from_ns;
    sf_buf_add(&body, sent->p, sent->len);
    in.body = &body;
    from_ns = sf_clock_cpu_ns();
    if (sf_intake_traces(&b->config, &in, &result, why))
        fail(why);
    lap(b, INTAKE, &from_ns);
    sf_arena_reset(&b->req);
    if (!sf_span_metrics_tally_add(b->metrics, result.batch->spans, b->now_ns, &b->req, &tally) ||
        !sf_service_graph_tally(b->graph, result.batch->spans, b->now_ns, &b->req, &halves))
        exit(1);
    lap(b, TALLY, &from_ns);
    sf_span_metrics_add(b->metrics, SF_STR_NONE, &tally, b->now_ns);
    sf_service_graph_add(b->graph, SF_STR_NONE, &halves, b->now_ns);
    lap(b, SERIES, &from_ns);
    if (sf_batch_rows_add(&b->rows, 1, b->now_ns, 0, result.batch->spans, why))
        fail(why);
    lap(b, ROWS, &from_ns);
    sf_batch_free(result.batch);
}

static uint64_t write_block(struct bench *b, struct sf_why *why)
{
    struct sf_span_block_options options = {
        .info = {.block_id = 1, .tenant = 1, .created_ns = b->now_ns}, .is_compressed = true};
    struct sf_span_block_writer *w;
    struct sf_buf block = {0};
    uint64_t len = 0, n_repeats = 0;
    int64_t from_ns = sf_clock_cpu_ns();
    sf_arena_reset(&b->scratch);
    if (sf_span_block_writer_new(&options, &w, why) ||
        sf_rowset_write(&b->rows, w, b->scratch, &n_repeats, why) ||
        sf_span_block_writer_finish(w, &len, NULL, &block, why))
        fail(why);
    sf_span_block_writer_free(w);
    lap(b, BLOCK, &from_ns);
    sf_buf_done(&block);
    return len;
}

int main(void)
{
    static struct sf_buf sent[REQUESTS];
    static struct bench b;
    struct sf_redact_config secrets = {
        .has_builtin = true, .in_keys = true, .in_values = true, .in_names = true};
    struct sf_redactor *redactor = NULL;
    struct sf_otlp_make make;
    struct sf_why why = {0};
    double best[N_STEPS] = {0}, all = 0;
    uint64_t len = 0;
    b.now_ns = sf_clock_wall_ns();
    b.config.tools = sf_intake_tools_new();
    b.metrics = sf_span_metrics_new(NULL);
    b.graph = sf_service_graph_new(NULL);
    if (!b.config.tools || !b.metrics || !b.graph || !sf_arena_init(&b.req, SF_LIMIT_ARENA_LEN) ||
        !sf_arena_init(&b.scratch, (size_t)1 << 30) ||
        !sf_rowset_init(&b.rows, (size_t)1 << 20, (size_t)1 << 28) ||
        sf_redactor_new(&secrets, &redactor, &why))
        fail(&why);
    b.config.redactor = redactor;
    sf_otlp_make_init(&make, 1, (uint64_t)b.now_ns);
    for (int i = 0; i < REQUESTS; i++) {
        make.now_ns = (uint64_t)(b.now_ns + i * SF_NS_PER_MS); /* as at 200,000 spans per second */
        sf_otlp_make_request(&make, SPANS, &sent[i], NULL);
    }
    for (int run = 0; run < N_RUNS; run++) {
        for (int i = 0; i < N_STEPS; i++)
            b.us[i] = 0;
        for (int i = 0; i < REQUESTS; i++)
            take_request(&b, &sent[i], &why);
        len = write_block(&b, &why);
        sf_rowset_reset(&b.rows);
        for (int i = 0; i < N_STEPS; i++)
            best[i] = run == 0 || b.us[i] < best[i] ? b.us[i] : best[i];
    }
    for (int i = 0; i < N_STEPS; i++) {
        printf("%-20s %6.3f us/span\n", names[i], best[i]);
        all += best[i];
    }
    printf("%-20s %6.3f us/span\n", "all", all);
    printf("%-20s %6.1f B/span\n", "block", (double)len / (REQUESTS * SPANS));
    return 0;
}
