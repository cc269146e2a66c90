/* load.c - what does a span, or a sample, cost a server, from socket to acknowledgement?
 *
 * Sends realistic traces (20 services, 200 operations, about 12 attributes, some of high
 * cardinality) or profiles (1,000 stacks, 30 to 60 deep, tagged with spans; gzip pprof or OTLP)
 * over N connections as fast as the server takes them, or at a set rate, and checks every
 * acknowledgement. Works against any OTLP server, profiles also against any that takes Pyroscope's
 * /ingest. Prints `name value unit` lines. */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "cargo.h"
#include "cli/args.h"
#include "os/clock.h"
#include "os/thread.h"
#include "peer.h"
#include "process.h"

enum { MAX_CONNECTIONS = 256, N_LATENCIES = 1 << 16 };

struct options {
    const char *url, *protocol, *token, *data, *format;
    uint64_t connections, per_request, most, rate, pid, seed, sample_types, own_frames;
    int64_t seconds_ns;
    bool is_gzip, is_zstd, is_json, is_profiles;
};

struct counts {
    uint64_t n_requests, n_items, n_busy, n_rejected, sent_len;
};

struct sender {
    const struct options *options;
    struct peer_config config;
    uint64_t number;
    struct counts counts;
    uint32_t *latency_us; /* of the last N_LATENCIES requests */
    struct sf_why why;
    bool has_failed;
    struct sf_thread thread;
};

static atomic_bool is_begun, is_over;
static atomic_uint_fast64_t n_ready;   /* senders with something to send */
static atomic_uint_fast64_t n_claimed; /* spans or samples that some sender has set out to send */
static int64_t started_ns;

static void keep_pace(const struct options *o, uint64_t n_before)
{
    int64_t due_ns;
    if (!o->rate)
        return;
    due_ns = started_ns + (int64_t)((double)n_before / (double)o->rate * 1e9);
    while (!is_over && sf_clock_mono_ns() < due_ns)
        sf_clock_sleep_ms(1);
}

/* One request until the server has taken it: 429, 503, RESOURCE_EXHAUSTED and UNAVAILABLE mean
 * "again later". */
static bool deliver(struct sender *s, struct peer *p, const struct cargo_item *item)
{
    unsigned pause_ms = 5;
    p->config.path = item->path;
    for (;;) {
        struct peer_answer answer;
        int64_t begin_ns = sf_clock_mono_ns();
        if (peer_send(p, item->body, &answer, &s->why))
            return false;
        if (answer.status == 200) {
            s->latency_us[s->counts.n_requests % N_LATENCIES] =
                (uint32_t)((sf_clock_mono_ns() - begin_ns) / 1000);
            s->counts.n_requests++;
            s->counts.n_items += s->options->per_request - answer.n_rejected;
            s->counts.n_rejected += answer.n_rejected;
            s->counts.sent_len += item->body.len;
            return true;
        }
        if (answer.status != 429 && answer.status != 503 && answer.status != 1008 &&
            answer.status != 1014) {
            sf_fail(&s->why, SF_ERR_INPUT, "status %d: %s", answer.status, answer.message);
            return false;
        }
        s->counts.n_busy++;
        if (is_over)
            return true;
        sf_clock_sleep_ms(pause_ms);
        pause_ms = pause_ms < 500 ? pause_ms * 2 : 500;
    }
}

static void run_sender(void *arg)
{
    struct sender *s = arg;
    const struct options *o = s->options;
    struct cargo_config what = {.is_profiles = o->is_profiles,
                                .is_pprof = strcmp(o->format, "pprof") == 0,
                                .is_grpc = s->config.is_grpc,
                                .is_gzip = o->is_gzip,
                                .is_zstd = o->is_zstd,
                                .is_json = o->is_json,
                                .n_items = (uint32_t)o->per_request,
                                .n_types = (uint32_t)o->sample_types,
                                .own_frames = (uint32_t)o->own_frames,
                                .seed = o->seed,
                                .number = s->number};
    struct cargo *cargo = NULL;
    struct peer *p = NULL;

    s->has_failed = cargo_new(&what, &cargo, &s->why) || peer_open(&s->config, &p, &s->why);
    atomic_fetch_add(&n_ready, 1);
    while (!is_begun && !is_over)
        sf_clock_sleep_ms(1);
    while (!s->has_failed && !is_over) {
        struct cargo_item item;
        uint64_t before = atomic_fetch_add(&n_claimed, o->per_request);
        if (o->most && before >= o->most)
            break;
        keep_pace(o, before);
        s->has_failed = cargo_next(cargo, &item, &s->why) || !deliver(s, p, &item);
    }
    if (s->has_failed)
        is_over = true;
    cargo_free(cargo);
    peer_close(p);
}

static bool read_url(struct options *o, struct peer_config *c)
{
    static char host[256];
    sf_str rest = sf_str_from(o->url), name;
    uint64_t port = 0;
    size_t at;
    if (!sf_str_starts(rest, SF_STR("http://")))
        return false;
    rest = sf_str_from_at(rest, 7);
    if (!sf_str_find_char(rest, ':', &at) || at >= sizeof(host))
        return false;
    name = sf_str_part(rest, 0, at);
    memcpy(host, name.p, name.len);
    rest = sf_str_from_at(rest, at + 1);
    if (sf_str_find_char(rest, '/', &at))
        rest = sf_str_part(rest, 0, at);
    if (!sf_str_to_u64(rest, &port) || port == 0 || port > 65535)
        return false;
    c->host = host;
    c->port = (uint16_t)port;
    return true;
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void report_latency(const struct sender *senders, uint64_t n)
{
    uint32_t *all = sf_heap_new_n(n * N_LATENCIES, sizeof(*all));
    size_t n_all = 0;
    if (!all)
        return;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t kept = senders[i].counts.n_requests < N_LATENCIES ? senders[i].counts.n_requests
                                                                   : N_LATENCIES;
        for (uint64_t k = 0; k < kept; k++)
            all[n_all++] = senders[i].latency_us[k];
    }
    qsort(all, n_all, sizeof(*all), compare_u32);
    if (n_all) {
        printf("load_ack_p50 %.3f ms\n", all[n_all / 2] / 1e3);
        printf("load_ack_p99 %.3f ms\n", all[n_all * 99 / 100] / 1e3);
    }
    sf_heap_free(all);
}

/* Of a Spanflame server the threads tell how far a span has got: to durable and acknowledged, then
 * into blocks, then into larger blocks. Other servers show zeros here. */
static const char *const to_durable[] = {"loop-", "ingest-", "wal", NULL};
static const char *const to_blocks[] = {"flush", NULL};
static const char *const to_merged[] = {"compact", NULL};

struct cost {
    uint64_t cpu_ns, disk_len, durable_ns, blocks_ns, merged_ns;
};

static struct cost look(const struct options *o)
{
    struct cost c = {0};
    if (o->pid && !process_cpu_ns(o->pid, &c.cpu_ns))
        fprintf(stderr, "load: process %" PRIu64 " cannot be read\n", o->pid);
    if (o->pid) {
        c.durable_ns = process_threads_cpu_ns(o->pid, to_durable);
        c.blocks_ns = process_threads_cpu_ns(o->pid, to_blocks);
        c.merged_ns = process_threads_cpu_ns(o->pid, to_merged);
    }
    if (o->data)
        c.disk_len = process_disk_len(o->data, false);
    return c;
}

static void print_share(const struct options *o, const char *name, uint64_t ns, uint64_t n)
{
    if (ns)
        printf("%s %.3f us/%s\n", name, (double)ns / 1e3 / (double)n,
               o->is_profiles ? "sample" : "span");
}

static struct counts sum_of(const struct options *o, const struct sender *senders)
{
    struct counts sum = {0};
    for (uint64_t i = 0; i < o->connections; i++) {
        const struct counts *c = &senders[i].counts;
        sum.n_requests += c->n_requests;
        sum.n_items += c->n_items;
        sum.n_busy += c->n_busy;
        sum.n_rejected += c->n_rejected;
        sum.sent_len += c->sent_len;
    }
    return sum;
}

static void report(const struct options *o, const struct sender *senders, struct cost before,
                   int64_t took_ns)
{
    struct counts sum = sum_of(o, senders);
    struct cost after = look(o);
    const char *one = o->is_profiles ? "sample" : "span";
    uint64_t peak_len, cpu_ns = after.cpu_ns - before.cpu_ns;
    double n = (double)sum.n_items;
    printf("load_%ss %" PRIu64 " %ss\n", one, sum.n_items, one);
    printf("load_requests %" PRIu64 " requests\n", sum.n_requests);
    printf("load_rejected %" PRIu64 " %ss\n", sum.n_rejected, one);
    printf("load_pushed_back %" PRIu64 " requests\n", sum.n_busy);
    printf("load_rate %.0f %ss/s\n", n / ((double)took_ns / 1e9), one);
    if (o->is_profiles)
        printf("load_profiles %.1f profiles/s\n", (double)sum.n_requests / ((double)took_ns / 1e9));
    if (sum.n_items == 0)
        return;
    printf("load_wire %.1f B/%s\n", (double)sum.sent_len / n, one);
    report_latency(senders, o->connections);
    if (o->pid) {
        print_share(o, "load_server_cpu", cpu_ns, sum.n_items);
        printf("load_server_cpu_per_million %.2f s\n", (double)cpu_ns / 1e9 / (n / 1e6));
        print_share(o, "load_cpu_to_durable", after.durable_ns - before.durable_ns, sum.n_items);
        print_share(o, "load_cpu_to_blocks", after.blocks_ns - before.blocks_ns, sum.n_items);
        print_share(o, "load_cpu_to_merged", after.merged_ns - before.merged_ns, sum.n_items);
        if (process_peak_memory(o->pid, &peak_len))
            printf("load_server_peak_memory %.1f MB\n", (double)peak_len / 1e6);
    }
    if (o->data)
        printf("load_disk %.2f B/%s\n", (double)(after.disk_len - before.disk_len) / n, one);
}

static int run(struct options *o)
{
    struct peer_config config = {.is_grpc = strcmp(o->protocol, "grpc") == 0,
                                 .is_gzip = o->is_gzip,
                                 .is_zstd = o->is_zstd,
                                 .is_json = o->is_json,
                                 .token = o->token};
    struct sender *senders = sf_heap_new_n(o->connections, sizeof(*senders));
    struct cost before;
    int code = 0;

    if (!senders || !read_url(o, &config)) {
        fprintf(stderr, "load: --url %s is not like http://127.0.0.1:4318\n", o->url);
        sf_heap_free(senders);
        return 2;
    }
    for (uint64_t i = 0; i < o->connections; i++) {
        senders[i] = (struct sender){.options = o, .config = config, .number = i};
        senders[i].latency_us = sf_heap_new_n(N_LATENCIES, sizeof(uint32_t));
        if (!senders[i].latency_us ||
            sf_thread_start(&senders[i].thread, "sender", 0, run_sender, &senders[i], NULL))
            return 1;
    }
    while (!is_over && atomic_load(&n_ready) < o->connections)
        sf_clock_sleep_ms(1);
    before = look(o);
    started_ns = sf_clock_mono_ns();
    is_begun = true;
    while (!is_over && sf_clock_mono_ns() - started_ns < o->seconds_ns &&
           !(o->most && atomic_load(&n_claimed) >= o->most))
        sf_clock_sleep_ms(10);
    if (!o->most || atomic_load(&n_claimed) < o->most)
        is_over = true;
    for (uint64_t i = 0; i < o->connections; i++)
        sf_thread_join(&senders[i].thread);
    report(o, senders, before, sf_clock_mono_ns() - started_ns);
    for (uint64_t i = 0; i < o->connections; i++) {
        if (senders[i].has_failed) {
            fprintf(stderr, "load: connection %" PRIu64 ": %s\n", i, senders[i].why.text);
            code = 1;
        }
        sf_heap_free(senders[i].latency_us);
    }
    sf_heap_free(senders);
    return code;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static bool check(struct options *o)
{
    if (!o->per_request)
        o->per_request = o->is_profiles ? 1000 : 200;
    if (o->connections == 0 || o->connections > MAX_CONNECTIONS || o->per_request > 100000 ||
        !is_one_of(o->protocol, "http", "grpc") || !is_one_of(o->format, "pprof", "otlp") ||
        o->sample_types < 1 || o->sample_types > 2 || o->own_frames > 60) {
        fprintf(stderr,
                "load: 1 to %d connections, 1 to 100000 spans or samples a request, protocol http "
                "or grpc, format pprof or otlp, 1 or 2 sample types, 0 to 60 own frames\n",
                MAX_CONNECTIONS);
        return false;
    }
    if (o->is_profiles && strcmp(o->format, "pprof") == 0 &&
        (o->is_gzip || o->is_zstd || strcmp(o->protocol, "grpc") == 0)) {
        fprintf(stderr, "load: a pprof is compressed in itself and goes to /ingest over HTTP; "
                        "--gzip, --zstd and --protocol grpc are for --format otlp\n");
        return false;
    }
    if (o->is_json && (o->is_profiles || strcmp(o->protocol, "grpc") == 0)) {
        fprintf(stderr, "load: --json is for traces over HTTP\n");
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.url = "http://127.0.0.1:4318",
                        .protocol = "http",
                        .format = "pprof",
                        .connections = 4,
                        .sample_types = 1,
                        .seconds_ns = 10000000000,
                        .seed = 1};
    struct sf_flag flags[] = {
        {"url", SF_FLAG_STR, &o.url, "URL", "the server (default http://127.0.0.1:4318)"},
        {"protocol", SF_FLAG_STR, &o.protocol, "NAME", "http or grpc (default http)"},
        {"gzip", SF_FLAG_BOOL, &o.is_gzip, NULL, "compress OTLP bodies"},
        {"zstd", SF_FLAG_BOOL, &o.is_zstd, NULL, "compress them with zstd instead"},
        {"json", SF_FLAG_BOOL, &o.is_json, NULL, "send traces as JSON instead of protobuf"},
        {"profiles", SF_FLAG_BOOL, &o.is_profiles, NULL, "send profiles instead of traces"},
        {"format", SF_FLAG_STR, &o.format, "NAME",
         "of profiles: pprof, gzipped and to /ingest, or otlp (default pprof)"},
        {"sample-types", SF_FLAG_U64, &o.sample_types, "N",
         "values of a pprof's sample: 1, CPU time, or 2, Go's count too (default 1)"},
        {"own-frames", SF_FLAG_U64, &o.own_frames, "N",
         "frames that a stack shares with no other: 20 is hard on any server (default 4)"},
        {"connections", SF_FLAG_U64, &o.connections, "N", "how many at once (default 4)"},
        {"per-request", SF_FLAG_U64, &o.per_request, "N",
         "spans (default 200) or samples (default 1000)"},
        {"seconds", SF_FLAG_DURATION, &o.seconds_ns, "TIME", "at most this long (default 10s)"},
        {"most", SF_FLAG_U64, &o.most, "N", "at most this many spans or samples"},
        {"rate", SF_FLAG_U64, &o.rate, "N",
         "spans or samples per second, all together (default: full speed)"},
        {"token", SF_FLAG_STR, &o.token, "TOKEN", "bearer token to show"},
        {"pid", SF_FLAG_U64, &o.pid, "PID",
         "the server's process: its CPU time and peak memory are reported"},
        {"data", SF_FLAG_STR, &o.data, "DIR",
         "its data directory: bytes on disk per span or sample are reported"},
        {"seed", SF_FLAG_U64, &o.seed, "N", "other content (default 1)"},
    };
    struct sf_args args = {
        .command = "load",
        .usage = "[--url URL] [--profiles [--format pprof|otlp]] [--protocol http|grpc] [--gzip | "
                 "--zstd] [--json] "
                 "[--connections N] [--seconds 10s | --most N] [--rate N]",
        .summary = "Send realistic traces or profiles to any OTLP or Pyroscope server, check every "
                   "acknowledgement, report what it cost.",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (!check(&o))
        return 2;
    signal(SIGPIPE, SIG_IGN);
    return run(&o);
}
