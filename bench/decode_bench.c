/* decode_bench.c - what does it cost to turn OTLP bytes into spans, against merely walking over
 * them?
 *
 * One request of 2,000 realistic spans (12 attributes), seed 1. Each line is the fastest of the
 * runs and the spread of all of them, in CPU time; ratios compare within this one process. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decode/otlp/otlp_trace.h"
#include "model/batch_codec.h"
#include "os/clock.h"
#include "support/otlp_make.h"
#include "wire/json.h"
#include "wire/pb.h"

enum { N_SPANS = 2000, RUNS = 60 };

struct bench {
    sf_bytes pb, json, batch;
    struct sf_arena req;
    uint8_t *copy;
    struct sf_span_batch made;
    struct sf_buf encoded;
};

/* Every field header at every level that is known to be a message: the least a decoder must do. */
static uint64_t walk(struct sf_pb pb, unsigned level)
{
    uint64_t n = 0;
    while (sf_pb_next(&pb)) {
        bool is_down = (level == 0 && pb.tag == SF_PB_TAG(1, SF_PB_LEN)) ||
                       (level < 3 && level > 0 && pb.tag == SF_PB_TAG(2, SF_PB_LEN)) ||
                       (level == 3 && pb.tag == SF_PB_TAG(9, SF_PB_LEN)) ||
                       (level == 4 && pb.tag == SF_PB_TAG(2, SF_PB_LEN));
        if (is_down)
            n += walk(sf_pb_msg(&pb), level + 1);
        else
            sf_pb_skip(&pb);
        n++;
    }
    return n;
}

static bool run_copy(struct bench *b)
{
    memcpy(b->copy, b->pb.p, b->pb.len);
    __asm__ volatile("" ::"r"(b->copy) : "memory");
    return true;
}

static bool run_walk(struct bench *b)
{
    return walk(sf_pb_init(b->pb), 0) > N_SPANS;
}

static bool run_pb(struct bench *b)
{
    struct sf_span_batch out;
    struct sf_otlp_rejects rejects;
    b->req.at = 0; /* warm pages, as a thread's arena is */
    return !sf_otlp_trace_decode_pb(b->pb, NULL, &b->req, &out, &rejects, NULL) &&
           out.n_spans == N_SPANS;
}

static bool run_json_skip(struct bench *b)
{
    static struct sf_json j;
    sf_json_init(&j, sf_bytes_str(b->json), NULL);
    sf_json_skip(&j);
    return sf_json_end(&j);
}

static bool run_json(struct bench *b)
{
    struct sf_span_batch out;
    struct sf_otlp_rejects rejects;
    b->req.at = 0;
    return !sf_otlp_trace_decode_json(b->json, NULL, &b->req, &out, &rejects, NULL) &&
           out.n_spans == N_SPANS;
}

static bool run_encode(struct bench *b)
{
    sf_buf_reset(&b->encoded);
    sf_batch_codec_encode(&b->made, &b->encoded);
    return sf_buf_ok(&b->encoded);
}

static bool run_batch(struct bench *b)
{
    struct sf_span_batch out;
    b->req.at = 0;
    return !sf_batch_codec_decode(b->batch, &b->req, &out, NULL) && out.n_spans == N_SPANS;
}

static double measure(struct bench *b, const char *name, bool (*run)(struct bench *))
{
    double best = 1e300, worst = 0;
    for (int i = 0; i < RUNS; i++) {
        int64_t from = sf_clock_cpu_ns();
        double ns;
        if (!run(b)) {
            fprintf(stderr, "%s fails\n", name);
            return 0;
        }
        ns = (double)(sf_clock_cpu_ns() - from) / N_SPANS;
        best = ns < best ? ns : best;
        worst = ns > worst ? ns : worst;
    }
    printf("%s %.1f ns/span\n%s_spread %.1f ns/span\n", name, best, name, worst - best);
    return best;
}

int main(void)
{
    struct sf_otlp_make m;
    struct bench b = {0};
    struct sf_arena made = {0};
    struct sf_buf pb = {0}, json = {0}, batch = {0}, copy = {0};
    double walked, decoded, skipped, from_json;
    uint64_t n_attrs = 0;

    sf_otlp_make_init(&m, 1, 0);
    if (!sf_arena_init(&made, 64u << 20) || !sf_arena_init(&b.req, 64u << 20))
        return 1;
    sf_otlp_make_batch(&m, N_SPANS, &made, &b.made);
    sf_otlp_make_pb(&b.made, &pb);
    sf_otlp_make_json(&b.made, &json);
    sf_batch_codec_encode(&b.made, &batch);
    b.copy = sf_buf_take(&copy, pb.len);
    if (!sf_buf_ok(&pb) || !sf_buf_ok(&json) || !sf_buf_ok(&batch) || !b.copy)
        return 1;
    b.pb = sf_buf_bytes(&pb);
    b.json = sf_buf_bytes(&json);
    b.batch = sf_buf_bytes(&batch);
    for (uint32_t i = 0; i < b.made.n_spans; i++)
        n_attrs += b.made.spans[i].attrs.n;

    printf("attributes %.1f per_span\n", (double)n_attrs / N_SPANS);
    printf("protobuf_len %.1f B/span\n", (double)pb.len / N_SPANS);
    printf("json_len %.1f B/span\n", (double)json.len / N_SPANS);
    printf("batch_len %.1f B/span\n", (double)batch.len / N_SPANS);
    measure(&b, "memcpy", run_copy);
    walked = measure(&b, "pb_walk", run_walk);
    decoded = measure(&b, "pb_decode", run_pb);
    skipped = measure(&b, "json_skip", run_json_skip);
    from_json = measure(&b, "json_decode", run_json);
    measure(&b, "batch_encode", run_encode);
    measure(&b, "batch_decode", run_batch);
    printf("pb_decode_to_walk %.2f ratio\n", decoded / walked);
    printf("json_decode_to_skip %.2f ratio\n", from_json / skipped);
    sf_buf_done(&pb);
    sf_buf_done(&json);
    sf_buf_done(&batch);
    sf_buf_done(&copy);
    sf_buf_done(&b.encoded);
    sf_arena_done(&b.req);
    sf_arena_done(&made);
    return 0;
}
