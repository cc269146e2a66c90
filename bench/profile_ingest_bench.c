/* profile_ingest_bench.c - where does the cost of a sample go until it is logged and in memory?
 *
 * Gzip pprofs as `load --profiles` sends them, 20 services in turn, through the steps of an ingest
 * thread: inflate, decode, then intake (redaction, limits, what the log gets), then into the sets
 * that a flush will write, which begin empty as after a flush. With --otlp the same as plain OTLP.
 * CPU time of each step and of all; fixed seed; the fastest of the runs. No sockets, no disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "block/profile/profile_set.h"
#include "decode/profile_format.h"
#include "intake/intake.h"
#include "intake/profile_upload.h"
#include "intake/redact.h"
#include "os/clock.h"
#include "support/profile_wire.h"
#include "wire/deflate.h"

enum { N_PROFILES = 100, SAMPLES = 1000, N_RUNS = 7, SERVICES = SF_PROFILE_WIRE_SERVICES };
static const int64_t NOW_NS = INT64_C(1700000000000000000);

struct costs {
    double inflate, decode, upload, set;
};

static void fail(const struct sf_why *why)
{
    fprintf(stderr, "profile_ingest_bench: %s\n", why->text);
    exit(1);
}

static double us_since(int64_t from_ns)
{
    return (double)(sf_clock_cpu_ns() - from_ns) / 1e3 / (N_PROFILES * SAMPLES);
}

static struct sf_profile_hint hint_of(const char *name)
{
    return (struct sf_profile_hint){
        .service = sf_str_from(name), .from_ns = NOW_NS, .now_ns = NOW_NS, .peer = SF_STR("::1")};
}

/* Inflated and decoded alone: these are part of `upload`, too. */
static void run_parts(const struct sf_buf *sent, char names[][32], struct sf_inflate *in,
                      struct sf_arena *a, struct costs *c, struct sf_why *why)
{
    struct sf_buf plain = {0};
    for (int i = 0; i < N_PROFILES; i++) {
        struct sf_profile_hint hint = hint_of(names[i % SERVICES]);
        struct sf_profile_batch batch;
        int64_t from_ns = sf_clock_cpu_ns();
        sf_str bytes;
        if (sf_profile_format_unwrap(in, sf_buf_str(&sent[i]), SF_LIMIT_INFLATED_LEN, &plain,
                                     &bytes, why))
            fail(why);
        c->inflate += us_since(from_ns);
        from_ns = sf_clock_cpu_ns();
        a->at = 0; /* warm pages, as a thread's arena is */
        if (sf_profile_format_decode(bytes, &hint, a, &batch, why))
            fail(why);
        c->decode += us_since(from_ns);
    }
    sf_buf_done(&plain);
}

static void run_upload(const struct sf_buf *sent, char names[][32],
                       const struct sf_intake_config *config, struct costs *c, uint64_t *log_len,
                       struct sf_why *why)
{
    struct sf_profile_set *sets[SERVICES];
    struct sf_profile_index index = {.recv_ns = NOW_NS};
    struct sf_arena scratch;
    if (!sf_arena_init(&scratch, (size_t)1 << 30))
        exit(1);
    for (uint32_t i = 0; i < SERVICES; i++)
        sets[i] = sf_profile_set_new(1, sf_str_from(names[i]));
    *log_len = 0;
    for (uint32_t i = 0; i < N_PROFILES; i++) {
        struct sf_profile_upload u = {.config = config,
                                      .tools = config->tools,
                                      .tenant = 1,
                                      .recv_ns = NOW_NS,
                                      .max_len = SF_LIMIT_INFLATED_LEN};
        struct sf_profile_hint hint = hint_of(names[i % SERVICES]);
        int64_t from_ns = sf_clock_cpu_ns();
        struct sf_profile_map map;
        struct sf_arena tmp;
        struct sf_batch *b;
        if (sf_profile_upload_add(&u, sf_buf_str(&sent[i]), &hint, why))
            fail(why);
        b = sf_profile_upload_take(&u);
        c->upload += us_since(from_ns);
        *log_len += b->log.body.len;
        from_ns = sf_clock_cpu_ns();
        sf_arena_reset(&scratch);
        tmp = scratch;
        if (!sf_profile_set_map_init(&map, b->profiles, &tmp) ||
            sf_profile_set_add(sets[i % SERVICES], &map, b->profiles, &index, tmp, why))
            fail(why);
        c->set += us_since(from_ns);
        sf_batch_free(b);
    }
    for (uint32_t i = 0; i < SERVICES; i++)
        sf_profile_set_free(sets[i]);
    sf_arena_done(&scratch);
}

static void least(double *best, double now, bool is_first)
{
    if (is_first || now < *best)
        *best = now;
}

int main(int argc, char **argv)
{
    static struct sf_buf sent[N_PROFILES];
    static char names[SERVICES][32];
    bool is_otlp = argc > 1 && strcmp(argv[1], "--otlp") == 0;
    struct sf_profile_wire wire = {.rng = 1, .n_types = 1, .time_ns = NOW_NS};
    struct sf_redact_config secrets = {
        .has_builtin = true, .in_keys = true, .in_values = true, .in_names = true};
    struct sf_redactor *redactor = NULL;
    struct sf_why why = {0};
    struct sf_inflate *in = sf_inflate_new();
    struct sf_deflate *z = sf_deflate_new();
    struct sf_intake_tools *tools = sf_intake_tools_new();
    struct costs best = {0};
    struct sf_arena a;
    uint64_t log_len = 0;
    if (!in || !z || !tools || !sf_arena_init(&a, SF_LIMIT_ARENA_LEN) ||
        sf_redactor_new(&secrets, &redactor, &why))
        fail(&why);
    struct sf_intake_config config = {.redactor = redactor, .tools = tools};
    for (uint32_t i = 0; i < SERVICES; i++)
        snprintf(names[i], sizeof(names[i]), "service-%u", i);
    for (uint32_t i = 0; i < N_PROFILES; i++) {
        struct sf_buf plain = {0};
        wire.service = i % SERVICES;
        if (is_otlp) {
            sf_profile_wire_otlp(&wire, SAMPLES, &sent[i]);
            continue;
        }
        sf_profile_wire_pprof(&wire, SAMPLES, &plain);
        if (sf_deflate_gzip(z, 1, sf_buf_bytes(&plain), &sent[i], &why))
            fail(&why);
        sf_buf_done(&plain);
    }
    for (int i = 0; i < N_RUNS; i++) {
        struct costs c = {0};
        run_parts(sent, names, in, &a, &c, &why);
        run_upload(sent, names, &config, &c, &log_len, &why);
        least(&best.inflate, c.inflate, i == 0);
        least(&best.decode, c.decode, i == 0);
        least(&best.upload, c.upload, i == 0);
        least(&best.set, c.set, i == 0);
    }
    printf("profile_ingest_inflate %.3f us/sample\n", best.inflate);
    printf("profile_ingest_decode %.3f us/sample\n", best.decode);
    printf("profile_ingest_intake %.3f us/sample\n", best.upload - best.inflate - best.decode);
    printf("profile_ingest_set %.3f us/sample\n", best.set);
    printf("profile_ingest_sum %.3f us/sample\n", best.upload + best.set);
    printf("profile_ingest_logged %.1f B/sample\n",
           (double)log_len / ((double)N_PROFILES * SAMPLES));
    for (int i = 0; i < N_PROFILES; i++)
        sf_buf_done(&sent[i]);
    sf_redactor_free(redactor);
    sf_intake_tools_free(tools);
    sf_inflate_free(in);
    sf_deflate_free(z);
    sf_arena_done(&a);
    return 0;
}
