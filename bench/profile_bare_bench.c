/* profile_bare_bench.c - what would a sample cost if there were nothing around it?
 *
 * The bare work on the gzip pprofs that `load --profiles` sends: inflate, walk every number of the
 * protobuf, intern strings and stacks in one table a service, compress the plain bytes with zstd 1.
 * The server end to end may cost at most three times this (bench/profile_load_bench.py puts the two
 * side by side). CPU time of the process; fixed seed; the fastest of the runs. */
#include <stdio.h>
#include <stdlib.h>

#include "block/format/dict.h"
#include "os/clock.h"
#include "support/profile_wire.h"
#include "wire/deflate.h"
#include "wire/inflate.h"
#include "wire/pb.h"

enum { N_PROFILES = 400, SAMPLES = 1000, N_RUNS = 3 };

static volatile uint64_t sink; /* keeps results alive */
static struct sf_dict strings[SF_PROFILE_WIRE_SERVICES], stacks[SF_PROFILE_WIRE_SERVICES];

static void fail(const struct sf_why *why)
{
    fprintf(stderr, "profile_bare_bench: %s\n", why->text);
    exit(1);
}

static uint64_t walk_sample(struct sf_pb *pb)
{
    struct sf_pb m = sf_pb_msg(pb), run;
    uint64_t sum = 0, v;
    while (sf_pb_next(&m)) {
        run = m.field == 3 ? sf_pb_msg(&m) : sf_pb_run(&m);
        while (m.field != 3 && sf_pb_run_varint(&run, &v))
            sum += v;
        while (m.field == 3 && sf_pb_next(&run))
            sum += sf_pb_u64(&run);
    }
    return sum;
}

static uint64_t walk(sf_bytes message)
{
    struct sf_pb pb = sf_pb_init(message), m;
    uint64_t sum = 0;
    while (sf_pb_next(&pb)) {
        if (pb.field == 2) {
            sum += walk_sample(&pb);
        } else if (pb.field == 4 || pb.field == 5) {
            m = sf_pb_msg(&pb);
            while (sf_pb_next(&m)) {
                sum += m.field;
                sf_pb_skip(&m);
            }
        } else {
            sf_pb_skip(&pb);
        }
    }
    return sum;
}

/* Strings by their text, stacks by the bytes of their locations: as little as can be done. */
static void intern(sf_bytes message, uint32_t service)
{
    struct sf_pb pb = sf_pb_init(message), m;
    uint32_t place = 0;
    while (sf_pb_next(&pb)) {
        if (pb.field == 6) {
            sf_dict_add(&strings[service], sf_pb_str(&pb), &place);
        } else if (pb.field == 2) {
            m = sf_pb_msg(&pb);
            while (sf_pb_next(&m)) {
                if (m.field == 1)
                    sf_dict_add(&stacks[service], sf_pb_str(&m), &place);
                else
                    sf_pb_skip(&m);
            }
        } else {
            sf_pb_skip(&pb);
        }
        sink += place;
    }
}

struct costs {
    double inflate, parse, intern, compress;
};

static double spent_us(int64_t *since_ns)
{
    int64_t now = sf_clock_cpu_ns();
    double us = (double)(now - *since_ns) / 1e3 / (N_PROFILES * SAMPLES);
    *since_ns = now;
    return us;
}

static struct costs run(const struct sf_buf *sent, struct sf_inflate *in, struct sf_deflate *z,
                        struct sf_buf *plain, struct sf_why *why)
{
    struct costs c;
    struct sf_buf packed = {0};
    int64_t at = sf_clock_cpu_ns();
    for (int i = 0; i < N_PROFILES; i++) {
        sf_buf_reset(&plain[i]);
        if (sf_inflate_bytes(in, SF_INFLATE_GZIP, sf_buf_bytes(&sent[i]), 64 << 20, &plain[i], why))
            fail(why);
    }
    c.inflate = spent_us(&at);
    for (int i = 0; i < N_PROFILES; i++)
        sink += walk(sf_buf_bytes(&plain[i]));
    c.parse = spent_us(&at);
    for (uint32_t i = 0; i < N_PROFILES; i++)
        intern(sf_buf_bytes(&plain[i]), i % SF_PROFILE_WIRE_SERVICES);
    c.intern = spent_us(&at);
    for (int i = 0; i < N_PROFILES; i++) {
        sf_buf_reset(&packed);
        if (sf_deflate_zstd(z, 1, false, sf_buf_bytes(&plain[i]), &packed, why))
            fail(why);
    }
    c.compress = spent_us(&at);
    sf_buf_done(&packed);
    for (int i = 0; i < SF_PROFILE_WIRE_SERVICES; i++) {
        sf_dict_done(&strings[i]);
        sf_dict_done(&stacks[i]);
    }
    return c;
}

static double sum_of(struct costs c)
{
    return c.inflate + c.parse + c.intern + c.compress;
}

int main(void)
{
    static struct sf_buf sent[N_PROFILES], plain[N_PROFILES];
    struct sf_profile_wire wire = {.rng = 1, .n_types = 1};
    struct sf_why why = {0};
    struct sf_inflate *in = sf_inflate_new();
    struct sf_deflate *z = sf_deflate_new();
    struct costs best = {0};
    uint64_t sent_len = 0, plain_len = 0;

    if (!in || !z)
        return 1;
    for (uint32_t i = 0; i < N_PROFILES; i++) {
        wire.service = i % SF_PROFILE_WIRE_SERVICES;
        sf_profile_wire_pprof(&wire, SAMPLES, &plain[i]);
        if (sf_deflate_gzip(z, 1, sf_buf_bytes(&plain[i]), &sent[i], &why))
            fail(&why);
        sent_len += sent[i].len;
        plain_len += plain[i].len;
    }
    for (int i = 0; i < N_RUNS; i++) {
        struct costs c = run(sent, in, z, plain, &why);
        if (i == 0 || sum_of(c) < sum_of(best))
            best = c;
    }
    printf("profile_bare_sent %.1f B/sample\n", (double)sent_len / (N_PROFILES * SAMPLES));
    printf("profile_bare_plain %.1f B/sample\n", (double)plain_len / (N_PROFILES * SAMPLES));
    printf("profile_bare_inflate %.3f us/sample\n", best.inflate);
    printf("profile_bare_parse %.3f us/sample\n", best.parse);
    printf("profile_bare_intern %.3f us/sample\n", best.intern);
    printf("profile_bare_compress %.3f us/sample\n", best.compress);
    printf("profile_bare_sum %.3f us/sample\n", sum_of(best));
    for (int i = 0; i < N_PROFILES; i++) {
        sf_buf_done(&sent[i]);
        sf_buf_done(&plain[i]);
    }
    sf_inflate_free(in);
    sf_deflate_free(z);
    return 0;
}
