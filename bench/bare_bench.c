/* bare_bench.c - what would a span cost if there were nothing around it?
 *
 * The bare work on the same bytes that `load` sends: inflate the gzip body (as `load --gzip` makes
 * it), walk the protobuf, hash it, compress it with zstd 1, write and sync it. Two sums: without
 * inflating, to compare with a server that receives plain bodies, and with it, for bodies with
 * gzip. The server end to end may cost at most 2.5 times this (bench/load_bench.py puts the two
 * side by side). CPU time of the process; fixed seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "os/clock.h"
#include "os/dir.h"
#include "support/otlp_make.h"
#include "wire/deflate.h"
#include "wire/inflate.h"
#include "wire/pb.h"

enum { N_REQUESTS = 1000, SPANS_PER_REQUEST = 200, PER_SYNC = 4, N_RUNS = 3, FILE_LEN = 256 << 20 };

static volatile uint64_t sink; /* keeps results alive */

/* Every field of every message an OTLP trace request holds, without giving it a meaning. */
static uint64_t walk(sf_bytes message, unsigned depth)
{
    struct sf_pb pb = sf_pb_init(message);
    uint64_t sum = 0;
    while (sf_pb_next(&pb)) {
        if ((pb.tag & 7) == SF_PB_LEN) {
            sf_bytes content = sf_pb_bytes(&pb);
            /* ResourceSpans, ScopeSpans, Span, KeyValue, AnyValue: five levels, then text. */
            bool is_message = depth < 2    ? true
                              : depth == 2 ? pb.field == 2
                              : depth == 3 ? pb.field == 9
                                           : depth == 4 && pb.field == 2;
            sum += is_message ? walk(content, depth + 1) : content.len;
        } else {
            sf_pb_skip(&pb);
        }
        sum += pb.field;
    }
    return sum;
}

static void fail(const struct sf_why *why)
{
    fprintf(stderr, "bare_bench: %s\n", why->text);
    exit(1);
}

/* Written once, so that syncs move no metadata: as the log does. */
static void prepare(const struct sf_file *file, struct sf_why *why)
{
    static uint8_t zeros[1 << 20];
    for (uint64_t off = 0; off < FILE_LEN; off += sizeof(zeros)) {
        if (sf_file_write_at(file, off, zeros, sizeof(zeros), why))
            fail(why);
    }
    if (sf_file_sync(file, why))
        fail(why);
}

struct costs {
    double inflate, walk, hash, zstd, sync;
};

static double spent_us(int64_t *since_ns)
{
    int64_t now = sf_clock_cpu_ns();
    double us = (double)(now - *since_ns) / 1e3 / (N_REQUESTS * SPANS_PER_REQUEST);
    *since_ns = now;
    return us;
}

/* The same requests, as they are and with gzip. */
static struct sf_buf bodies[N_REQUESTS], zipped[N_REQUESTS];

static struct costs run(const struct sf_file *file, struct sf_deflate *z, struct sf_inflate *unzip,
                        struct sf_why *why)
{
    struct costs c;
    struct sf_buf packed = {0};
    uint64_t off = 0;
    int64_t at = sf_clock_cpu_ns();
    for (int i = 0; i < N_REQUESTS; i++) {
        sf_buf_reset(&packed);
        if (sf_inflate_bytes(unzip, SF_INFLATE_GZIP, sf_buf_bytes(&zipped[i]), bodies[i].len,
                             &packed, why))
            fail(why);
    }
    c.inflate = spent_us(&at);
    for (int i = 0; i < N_REQUESTS; i++)
        sink += walk(sf_buf_bytes(&bodies[i]), 0);
    c.walk = spent_us(&at);
    for (int i = 0; i < N_REQUESTS; i++)
        sink += sf_hash(bodies[i].p, bodies[i].len);
    c.hash = spent_us(&at);
    for (int i = 0; i < N_REQUESTS; i++) {
        sf_buf_reset(&packed);
        if (sf_deflate_zstd(z, 1, false, sf_buf_bytes(&bodies[i]), &packed, why))
            fail(why);
    }
    c.zstd = spent_us(&at);
    for (int i = 0; i < N_REQUESTS; i++) {
        if (off + bodies[i].len > FILE_LEN)
            off = 0;
        if (sf_file_write_at(file, off, bodies[i].p, bodies[i].len, why) ||
            (i % PER_SYNC == PER_SYNC - 1 && sf_file_sync(file, why)))
            fail(why);
        off += (bodies[i].len + 4095) / 4096 * 4096;
    }
    c.sync = spent_us(&at);
    sf_buf_done(&packed);
    return c;
}

static double sum_of(struct costs c)
{
    return c.walk + c.hash + c.zstd + c.sync;
}

static void make_bodies(struct sf_deflate *z, struct sf_why *why)
{
    struct sf_otlp_make make;
    sf_otlp_make_init(&make, 1, (uint64_t)sf_clock_wall_ns());
    for (int i = 0; i < N_REQUESTS; i++) {
        sf_otlp_make_request(&make, SPANS_PER_REQUEST, &bodies[i], NULL);
        if (sf_deflate_gzip(z, 1, sf_buf_bytes(&bodies[i]), &zipped[i], why))
            fail(why);
    }
}

int main(void)
{
    struct sf_why why = {0};
    struct sf_dir *dir = NULL;
    struct sf_file file = SF_FILE_NONE;
    struct sf_deflate *z = sf_deflate_new();
    struct sf_inflate *unzip = sf_inflate_new();
    struct costs best = {0};
    char home[256];

    if (!z || !unzip || sf_dir_make_temporary("spanflame-bare", home, sizeof(home), &why) ||
        sf_dir_open(home, SF_DIR_CREATE, &dir, &why) || sf_dir_create(dir, "log", &file, &why))
        fail(&why);
    prepare(&file, &why);
    make_bodies(z, &why);
    for (int i = 0; i < N_RUNS; i++) {
        struct costs c = run(&file, z, unzip, &why);
        if (i == 0 || c.inflate + sum_of(c) < best.inflate + sum_of(best))
            best = c;
    }
    printf("bare_inflate %.3f us/span\n", best.inflate);
    printf("bare_walk %.3f us/span\n", best.walk);
    printf("bare_hash %.3f us/span\n", best.hash);
    printf("bare_zstd %.3f us/span\n", best.zstd);
    printf("bare_write_and_sync %.3f us/span\n", best.sync);
    printf("bare_sum %.3f us/span\n", sum_of(best));
    printf("bare_sum_gzip %.3f us/span\n", best.inflate + sum_of(best));
    for (int i = 0; i < N_REQUESTS; i++) {
        sf_buf_done(&bodies[i]);
        sf_buf_done(&zipped[i]);
    }
    sf_file_close(&file);
    sf_dir_close(dir);
    sf_deflate_free(z);
    sf_inflate_free(unzip);
    (void)sf_dir_delete_tree(home, NULL);
    return 0;
}
