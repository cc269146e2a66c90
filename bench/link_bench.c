/* link_bench.c - what does it cost to ask which code ran in a span, over a hundred million samples?
 *
 * Requests of ten spans (a gateway, six spans of shop, three of pay; every thousandth request has
 * 500 spans over ten services) are appended with about ten tagged CPU samples to each span of shop
 * and pay, flushed and compacted once; then each query is asked several times over warm files on
 * one thread. Printed are CPU time of the fastest and of the slowest run.
 *
 *   link_bench [--spans N] [--dir PATH]     (default 1000000 below /tmp; samples are ten times as
 * many)
 *
 * With --dir the store is kept and found there by the next run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/traces.h"
#include "join/cohort.h"
#include "join/compare.h"
#include "join/explain.h"
#include "join/explain_times.h"
#include "join/frame_spans.h"
#include "join/span_ledger.h"
#include "join/span_profile.h"
#include "join/trace_flame.h"
#include "join/trace_hot.h"
#include "join/trace_rows.h"
#include "model/process.h"
#include "store/local/write/compact.h"
#include "support/store_rig.h"

enum {
    SPANS = 10,  /* of a usual request */
    LARGE = 500, /* of every LARGE_EVERY-th */
    LARGE_EVERY = 1000,
    SERVICES = 10,
    PER_BATCH = 200, /* requests */
    PER_SPAN = 11,   /* samples */
    FUNCTIONS = 300,
    STACKS = 400,
    DEPTH = 20,
    ROUNDS = 5
};
#define MS  INT64_C(1000000)
#define GAP (36 * MS / 10) /* between requests */

struct bench {
    struct store_rig rig;
    struct sf_arena scratch, make;
    uint64_t n_requests;
    int64_t from_ns, to_ns;
    uint64_t rng;
};

static void die(const char *what, const struct sf_why *why)
{
    fprintf(stderr, "link_bench: %s: %s\n", what, why->text);
    exit(1);
}

static uint64_t draw(struct bench *b, uint64_t below)
{
    b->rng = b->rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (b->rng >> 33) % below;
}

/* ---- the data: the same request for the same number ---- */

static sf_trace_id trace_of(uint64_t request)
{
    sf_trace_id id = {{0xb0}};
    uint64_t spread = (request + 1) * UINT64_C(0x9e3779b97f4a7c15);
    memcpy(id.b + 8, &spread, 8);
    return id;
}

static sf_span_id span_of(uint64_t request, uint32_t i)
{
    return ((request * 1024 + i + 1) * UINT64_C(0xd6e8feb86659fd93)) | 1;
}

static uint32_t size_of(uint64_t request)
{
    return request % LARGE_EVERY == LARGE_EVERY / 2 ? LARGE : SPANS;
}

static uint32_t service_of(uint64_t request, uint32_t i)
{
    if (size_of(request) == LARGE)
        return i * SERVICES / LARGE;
    return i == 0 ? 0 : i < 7 ? 1 : 2;
}

static bool is_slow(uint64_t request)
{
    return request % 20 == 0;
}

/* Children come one after the other below the first span of their service. */
static struct sf_span span_at(const struct bench *b, uint64_t request, uint32_t i)
{
    static const sf_str names[] = {SF_STR("GET /cart"), SF_STR("totals"), SF_STR("tax"),
                                   SF_STR("rules"), SF_STR("stock")};
    uint32_t n = size_of(request), service = service_of(request, i), first = i;
    uint64_t start_ns = (uint64_t)b->from_ns + request * (uint64_t)GAP;
    uint64_t length_ns = (uint64_t)MS * (is_slow(request) ? 300 : 50 + request % 30);
    while (first > 0 && service_of(request, first - 1) == service)
        first--;
    struct sf_span s = {.trace_id = trace_of(request),
                        .span_id = span_of(request, i),
                        .name = i == 0 ? names[0] : names[1 + (i - first) % 4],
                        .start_ns = start_ns + length_ns * i / n / 2,
                        .kind = SF_KIND_INTERNAL};
    s.end_ns = i == first ? start_ns + length_ns : s.start_ns + length_ns / n;
    s.parent_id = i == 0 ? 0 : span_of(request, i == first ? 0 : first);
    s.resource = service;
    if (is_slow(request) && i == 0)
        s.status = SF_STATUS_ERROR;
    return s;
}

static struct sf_resource resource_of(struct bench *b, uint32_t service)
{
    struct sf_attr *attrs = sf_arena_new_n(&b->make, 2, sizeof(*attrs));
    struct sf_resource r = {.attrs = {attrs, 2}};
    if (!sf_arena_print(&b->make, &r.service, "service-%u", service))
        abort();
    attrs[0] = (struct sf_attr){SF_STR("service.instance.id"),
                                {.type = SF_VALUE_STR, .str = r.service}};
    attrs[1] = (struct sf_attr){SF_STR("service.name"), {.type = SF_VALUE_STR, .str = r.service}};
    return r;
}

static void put_spans(struct bench *b, uint64_t first)
{
    struct sf_resource resources[SERVICES];
    struct sf_scope scope = {0};
    struct sf_span *spans = sf_arena_new_n(&b->make, PER_BATCH * SPANS + LARGE, sizeof(*spans));
    struct sf_span_batch batch = {resources, &scope, spans, SERVICES, 1, 0};
    for (uint32_t i = 0; i < SERVICES; i++)
        resources[i] = resource_of(b, i);
    for (uint64_t k = first; k < first + PER_BATCH; k++)
        for (uint32_t i = 0; i < size_of(k); i++)
            spans[batch.n_spans++] = span_at(b, k, i);
    if (store_put_batch(&b->rig, 0, store_batch(&b->rig, 1, &batch, 0, b->to_ns)))
        die("spans", &b->rig.why);
}

struct tables {
    struct sf_function functions[FUNCTIONS];
    struct sf_line lines[FUNCTIONS];
    struct sf_location locations[FUNCTIONS];
    struct sf_stack stacks[STACKS];
};

static struct tables *make_tables(struct bench *b)
{
    struct tables *t = sf_arena_new(&b->make, sizeof(*t));
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        if (!sf_arena_print(&b->make, &t->functions[i].name, "package/path.Type%u.method%u", i / 20,
                            i))
            abort();
        t->lines[i] = (struct sf_line){i, 10 + i};
        t->locations[i] = (struct sf_location){
            .mapping = SF_NONE, .lines = &t->lines[i], .n_lines = 1};
    }
    for (uint32_t i = 0; i < STACKS; i++) { /* shared upper frames, then its own way */
        uint32_t *chain = sf_arena_new_n(&b->make, DEPTH, sizeof(*chain));
        for (uint32_t k = 0; k < DEPTH; k++)
            chain[DEPTH - 1 - k] = k < 8 ? k : (i * 7 + k * 31) % FUNCTIONS;
        t->stacks[i] = (struct sf_stack){chain, DEPTH};
    }
    return t;
}

/* One profile of one service for these requests. */
static uint64_t put_profile(struct bench *b, uint32_t service, uint64_t first)
{
    struct tables *t = make_tables(b);
    struct sf_resource r = resource_of(b, service);
    struct sf_label labels[] = {{SF_STR("service_name"), r.service}};
    struct sf_process process = {r.service, SF_STR_NONE, false};
    struct sf_series series = {.service = r.service,
                               .type = {SF_STR("process_cpu"), SF_STR("cpu"), SF_STR("nanoseconds"),
                                        SF_STR("cpu"), SF_STR("nanoseconds")},
                               .labels = labels,
                               .n_labels = 1,
                               .time_ns = b->from_ns + (int64_t)first * GAP,
                               .duration_ns = PER_BATCH * GAP,
                               .period = 10 * MS};
    struct sf_sample *samples = sf_arena_new_n(&b->make, (PER_BATCH * SPANS + LARGE) * PER_SPAN,
                                               sizeof(*samples));
    struct sf_profile_batch p = {.functions = t->functions,
                                 .locations = t->locations,
                                 .stacks = t->stacks,
                                 .processes = &process,
                                 .series = &series,
                                 .samples = samples,
                                 .n_functions = FUNCTIONS,
                                 .n_locations = FUNCTIONS,
                                 .n_stacks = STACKS,
                                 .n_processes = 1,
                                 .n_series = 1};
    struct sf_logged rec = {.kind = SF_LOG_PROFILES, .tenant = 1, .recv_ns = b->to_ns};
    struct sf_buf body = {0};
    struct sf_batch *batch = NULL;
    bool is_guess;
    if (!sf_process_key(r.attrs, SF_STR_NONE, SF_STR_NONE, &b->make, &process.key, &is_guess))
        abort();
    for (uint64_t k = first; k < first + PER_BATCH; k++) {
        for (uint32_t i = 0; i < size_of(k); i++) {
            struct sf_span s = service_of(k, i) == service ? span_at(b, k, i) : (struct sf_span){0};
            for (uint32_t m = 0; s.span_id != 0 && m < PER_SPAN; m++)
                samples[p.n_samples++] = (struct sf_sample){
                    .stack = (uint32_t)draw(b, is_slow(k) ? STACKS : STACKS / 2),
                    .value = 10 * MS,
                    .count = 1,
                    .trace_id = s.trace_id,
                    .span_id = s.span_id,
                    .thread = 1 + k % 16,
                    .start_ns = (int64_t)(s.start_ns + (s.end_ns - s.start_ns) * m / PER_SPAN),
                    .has_time = true};
        }
    }
    if (p.n_samples == 0)
        return 0;
    sf_profile_codec_encode(&p, &body);
    rec.body = sf_buf_bytes(&body);
    for (int tries = 0;; tries++) { /* a refusal frees the batch: profiles wait for a flush */
        if (store_replay(NULL, &rec, &batch, &b->rig.why))
            die("profile", &b->rig.why);
        batch->dup_hash = first * SERVICES + service + 1;
        if (!store_put_batch(&b->rig, 1, batch))
            break;
        if (tries == 3 || b->rig.store->ops->flush(b->rig.store, &b->rig.why))
            die("profile", &b->rig.why);
    }
    sf_buf_done(&body);
    return p.n_samples;
}

static void fill(struct bench *b)
{
    int64_t begin_ns = sf_clock_mono_ns();
    uint64_t n_samples = 0;
    for (uint64_t k = 0; k < b->n_requests; k += PER_BATCH) {
        sf_arena_reset(&b->make);
        put_spans(b, k);
        for (uint32_t service = 1; service < SERVICES; service++)
            n_samples += put_profile(b, service, k);
        if (k % (100 * PER_BATCH) == 0 && b->rig.store->ops->flush(b->rig.store, &b->rig.why))
            die("flush", &b->rig.why);
    }
    if (b->rig.store->ops->flush(b->rig.store, &b->rig.why))
        die("flush", &b->rig.why);
    store_rig_local(&b->rig)->tune.closed_delay_ns = 1;
    store_rig_local(&b->rig)->tune.compact_blocks = 1;
    if (sf_compact_all(store_rig_local(&b->rig), &b->rig.why))
        die("compact", &b->rig.why);
    printf("%-34s %10.1f s, %llu requests, %llu samples\n", "making the data",
           (double)(sf_clock_mono_ns() - begin_ns) / 1e9, (unsigned long long)b->n_requests,
           (unsigned long long)n_samples);
    fflush(stdout);
}

/* ---- queries ---- */

struct timing {
    double best_ms, worst_ms, sum_ms;
    unsigned n;
};

static int64_t begin(struct bench *b)
{
    sf_arena_reset(&b->rig.arena);
    sf_arena_reset(&b->scratch);
    b->rig.q = (struct sf_query_ctx){
        .tenants = &b->rig.tenant, .n_tenants = 1, .req = &b->rig.arena};
    return sf_clock_cpu_ns();
}

static void end(struct timing *t, int64_t begin_ns)
{
    double ms = (double)(sf_clock_cpu_ns() - begin_ns) / 1e6;
    t->best_ms = t->n == 0 || ms < t->best_ms ? ms : t->best_ms;
    t->worst_ms = ms > t->worst_ms ? ms : t->worst_ms;
    t->sum_ms += ms;
    t->n++;
}

static void print(const char *name, const struct timing *t, const char *what, uint64_t n)
{
    printf("%-34s %8.2f ms CPU mean (%.2f to %.2f), %llu %s\n", name, t->sum_ms / t->n, t->best_ms,
           t->worst_ms, (unsigned long long)n, what);
    fflush(stdout);
}

static uint64_t usual_request(struct bench *b)
{
    uint64_t k = draw(b, b->n_requests);
    return size_of(k) == LARGE ? k + 1 : k;
}

static void ask_spans(struct bench *b)
{
    struct timing profile = {0}, ledger = {0};
    uint64_t n_samples = 0;
    for (int i = 0; i < 20 * ROUNDS; i++) {
        uint64_t k = usual_request(b);
        struct sf_span_profile_want want = {.trace = trace_of(k), .span = span_of(k, 1)};
        struct sf_span_profile p;
        struct sf_ledger_view l;
        int64_t at = begin(b);
        if (sf_span_profile_make(b->rig.store, &want, &b->rig.q, &p, &b->rig.why))
            die("profile", &b->rig.why);
        end(&profile, at);
        n_samples += p.n_samples;
        at = begin(b);
        if (sf_span_ledger_make(b->rig.store, want.trace, want.span, &b->rig.q, &l, &b->rig.why))
            die("ledger", &b->rig.why);
        end(&ledger, at);
    }
    print("span flame graph", &profile, "samples each", n_samples / (20 * ROUNDS));
    print("span ledger", &ledger, "spans", 20 * ROUNDS);
}

static void ask_traces(struct bench *b)
{
    struct timing small = {0}, large = {0}, hot = {0};
    uint64_t n = 0;
    for (int i = 0; i < 4 * ROUNDS; i++) {
        uint64_t k = draw(b, b->n_requests / LARGE_EVERY) * LARGE_EVERY + LARGE_EVERY / 2;
        struct sf_trace_flame_view v;
        struct sf_trace trace;
        struct sf_trace_rows rows;
        int64_t at = begin(b);
        if (sf_trace_flame_make(b->rig.store, trace_of(k + 1), SF_STR_NONE, SF_TRACE_FLAME_SAMPLES,
                                &b->rig.q, &v, &b->rig.why))
            die("trace", &b->rig.why);
        end(&small, at);
        at = begin(b);
        if (sf_trace_flame_make(b->rig.store, trace_of(k), SF_STR_NONE, SF_TRACE_FLAME_SAMPLES,
                                &b->rig.q, &v, &b->rig.why))
            die("trace", &b->rig.why);
        end(&large, at);
        n += v.n_samples;
        begin(b);
        if (sf_traces_get_one(b->rig.store, trace_of(k), 0, 0, &b->rig.q, &trace, &b->rig.why) ||
            sf_trace_rows_make(trace_of(k), &trace, b->rig.q.req, &rows, &b->rig.why))
            die("trace", &b->rig.why);
        at = sf_clock_cpu_ns();
        if (sf_trace_hot_find(b->rig.store, &trace, SF_STR_NONE, &b->rig.q, &rows, &b->rig.why))
            die("hottest", &b->rig.why);
        end(&hot, at);
    }
    print("trace flame graph, 10 spans", &small, "traces", 4 * ROUNDS);
    print("trace flame graph, 500 spans", &large, "samples each", n / (4 * ROUNDS));
    print("hottest functions, 500 spans", &hot, "traces", 4 * ROUNDS);
}

/* What the waterfall requests, and why a trace or a span of it took so long. */
static void ask_times(struct bench *b)
{
    struct timing ledgers = {0}, trace = {0}, span = {0};
    uint64_t n = 0;
    for (int i = 0; i < 4 * ROUNDS; i++) {
        uint64_t k = draw(b, b->n_requests / LARGE_EVERY) * LARGE_EVERY + LARGE_EVERY / 2;
        struct sf_explain_trace_want whole = {.trace = trace_of(k)};
        struct sf_explain_trace_want one = {.trace = trace_of(k), .span = span_of(k, 1)};
        struct sf_explain_times times = {0};
        struct sf_explain_view view;
        int64_t at = begin(b);
        if (sf_explain_times_load(&times, b->rig.store, trace_of(k), 0, &b->rig.q, &b->rig.why))
            die("ledgers", &b->rig.why);
        n += times.set->n_own;
        sf_explain_times_done(&times);
        end(&ledgers, at);
        at = begin(b);
        if (sf_explain_trace(b->rig.store, &whole, &b->rig.q, &view, &b->rig.why))
            die("explain", &b->rig.why);
        end(&trace, at);
        at = begin(b);
        if (sf_explain_trace(b->rig.store, &one, &b->rig.q, &view, &b->rig.why))
            die("explain", &b->rig.why);
        end(&span, at);
    }
    print("time breakdowns of all spans", &ledgers, "spans each", n / (4 * ROUNDS));
    print("explain a trace of 500 spans", &trace, "traces", 4 * ROUNDS);
    print("explain a span of it", &span, "spans", 4 * ROUNDS);
}

/* Since when both sides have a thousand. */
static int64_t since_enough(struct bench *b, const struct sf_compare_want *of)
{
    struct sf_compare_want want = *of;
    struct sf_comparison c = {0};
    for (int64_t parts = 1024; parts > 0; parts = parts * 3 / 4) {
        want.from_ns = b->to_ns - (b->to_ns - b->from_ns) / parts;
        begin(b);
        if (sf_compare_make(b->rig.store, &want, &b->rig.q, &c, &b->rig.why))
            die("compare", &b->rig.why);
        if (c.left.n_found >= 1000 && c.right.n_found >= 1000)
            break;
    }
    return want.from_ns;
}

static void ask_cohorts(struct bench *b)
{
    struct timing compare = {0}, sampled = {0}, slow = {0}, cohort = {0};
    struct sf_comparison c = {0}, a = {0}, s = {0};
    int64_t since_ns = 0;
    struct sf_cohort_view v = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct sf_compare_want want = {
            .left = SF_STR("{ resource.service.name = \"service-1\" && name = \"tax\" }"),
            .right = SF_STR("{ resource.service.name = \"service-1\" && name = \"rules\" }"),
            .from_ns = b->from_ns,
            .to_ns = b->to_ns,
            .scratch = &b->scratch};
        struct sf_cohort_want one = {
            .query = want.left, .from_ns = b->from_ns, .to_ns = b->to_ns, .scratch = &b->scratch};
        int64_t at = begin(b);
        if (sf_compare_make(b->rig.store, &want, &b->rig.q, &a, &b->rig.why))
            die("compare", &b->rig.why);
        end(&sampled, at);
        since_ns = since_ns ? since_ns : since_enough(b, &want);
        want.from_ns = since_ns;
        at = begin(b);
        if (sf_compare_make(b->rig.store, &want, &b->rig.q, &c, &b->rig.why))
            die("compare", &b->rig.why);
        end(&compare, at);
        want.from_ns = b->from_ns;
        want.query = want.left;
        want.left = want.right = SF_STR_NONE;
        want.split = 0.95;
        at = begin(b);
        if (sf_compare_make(b->rig.store, &want, &b->rig.q, &s, &b->rig.why))
            die("compare", &b->rig.why);
        end(&slow, at);
        at = begin(b);
        if (sf_cohort_make(b->rig.store, &one, &b->rig.q, &v, &b->rig.why))
            die("cohort", &b->rig.why);
        end(&cohort, at);
    }
    print("compare 2 x 1,000 spans", &compare, "spans", c.left.n_spans + c.right.n_spans);
    print("compare two queries of all", &sampled, "spans", a.left.n_spans + a.right.n_spans);
    print("compare slow with fast", &slow, "spans", s.left.n_spans + s.right.n_spans);
    print("cohort flame graph", &cohort, "spans", v.n_spans);
}

static void ask_frames(struct bench *b)
{
    struct timing t = {0};
    struct sf_frame_spans f = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct sf_frame_spans_want want = {.function = SF_STR("package/path.Type12.method247"),
                                           .from_ns = b->from_ns,
                                           .to_ns = b->to_ns,
                                           .limit = 20};
        int64_t at = begin(b);
        if (sf_frame_spans_find(b->rig.store, &want, &b->rig.q, &f, &b->rig.why))
            die("spans-with", &b->rig.why);
        end(&t, at);
    }
    print("spans with a function, of all", &t, "found", f.n_found);
}

int main(int argc, char **argv)
{
    struct bench *b = calloc(1, sizeof(*b));
    const char *dir = NULL;
    uint64_t n_spans = 1000000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--spans") == 0)
            n_spans = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--dir") == 0)
            dir = argv[i + 1];
    }
    if (!b || !sf_arena_init(&b->scratch, (size_t)1 << 30) ||
        !sf_arena_init(&b->make, (size_t)1 << 30))
        return 1;
    b->rng = 1;
    b->n_requests = n_spans / SPANS / LARGE_EVERY * LARGE_EVERY;
    b->from_ns = INT64_C(1763200000) * 1000 * MS;
    b->to_ns = b->from_ns + (int64_t)b->n_requests * GAP + 1000 * MS;
    store_rig_init(&b->rig);
    bool is_there = false;
    if (dir) {
        store_rig_remove(b->rig.path);
        sf_dir_close(b->rig.dir);
        snprintf(b->rig.path, sizeof(b->rig.path), "%s", dir);
        is_there = access(dir, F_OK) == 0;
        store_rig_dir(&b->rig);
    }
    b->rig.config.tuning = (struct sf_local_tuning){.compact_blocks = 1u << 30,
                                                    .slow_blocks = 1u << 30,
                                                    .refuse_blocks = 1u << 30,
                                                    .closed_delay_ns = INT64_MAX / 4};
    if (store_rig_open(&b->rig))
        die("open", &b->rig.why);
    if (!is_there)
        fill(b);
    ask_spans(b);
    ask_traces(b);
    ask_times(b);
    ask_frames(b);
    ask_cohorts(b);
    if (dir)
        store_rig_close(&b->rig);
    else
        store_rig_done(&b->rig);
    sf_arena_done(&b->scratch);
    sf_arena_done(&b->make);
    free(b);
    return 0;
}
