/* redact_bench.c - what does searching for secrets cost per span, when there are none to find, and
 * against decoding it?
 *
 * One request of 2,000 realistic spans (12 attributes), seed 1, with the built-in rules. Each line
 * is the fastest of the runs and the spread of all of them. */
#include <stdio.h>

#include "decode/otlp/otlp_trace.h"
#include "intake/redact.h"
#include "os/clock.h"
#include "support/otlp_make.h"

enum { N_SPANS = 2000, RUNS = 100 };

struct bench {
    struct sf_buf body;
    struct sf_arena req;
    struct sf_span_batch spans;
    struct sf_redactor *builtin, *own;
};

static bool run_decode(struct bench *b)
{
    struct sf_otlp_rejects rejects = {0};
    sf_arena_reset(&b->req);
    return !sf_otlp_trace_decode_pb(sf_buf_bytes(&b->body), NULL, &b->req, &b->spans, &rejects,
                                    NULL) &&
           b->spans.n_spans == N_SPANS;
}

static bool redact_with(struct bench *b, const struct sf_redactor *r)
{
    struct sf_arena scratch = b->req;
    struct sf_span_batch out;
    uint64_t n;
    return !sf_redact_spans(r, &b->spans, &scratch, NULL, &out, &n, NULL) && n == 0;
}

static bool run_builtin(struct bench *b)
{
    return redact_with(b, b->builtin);
}

static bool run_own(struct bench *b)
{
    return redact_with(b, b->own);
}

static double measure(const char *name, bool (*run)(struct bench *), struct bench *b)
{
    int64_t best = INT64_MAX, worst = 0;
    for (int i = 0; i < RUNS; i++) {
        int64_t start = sf_clock_mono_ns(), took;
        if (!run(b)) {
            fprintf(stderr, "redact_bench: %s failed\n", name);
            return 0;
        }
        took = sf_clock_mono_ns() - start;
        best = took < best ? took : best;
        worst = took > worst ? took : worst;
    }
    printf("%s %.1f ns/span\n%s_spread %.1f ns/span\n", name, (double)best / N_SPANS, name,
           (double)(worst - best) / N_SPANS);
    return (double)best;
}

int main(void)
{
    static const char *const patterns[] = {"acme", "/cust-[0-9]+/"};
    struct sf_redact_config config = {
        .has_builtin = true, .in_keys = true, .in_values = true, .in_names = true};
    struct bench b = {0};
    struct sf_otlp_make make;
    struct sf_why why;
    double decode, builtin;

    sf_otlp_make_init(&make, 1, 0);
    sf_otlp_make_request(&make, N_SPANS, &b.body, NULL);
    if (!sf_buf_ok(&b.body) || !sf_arena_init(&b.req, 64 << 20) ||
        sf_redactor_new(&config, &b.builtin, &why))
        return 1;
    config.patterns = patterns;
    config.n_patterns = 2;
    if (sf_redactor_new(&config, &b.own, &why))
        return 1;
    decode = measure("decode", run_decode, &b);
    builtin = measure("redact", run_builtin, &b);
    measure("redact_own_patterns", run_own, &b);
    printf("redact_to_decode %.2f ratio\n", decode > 0 ? builtin / decode : 0);
    sf_redactor_free(b.builtin);
    sf_redactor_free(b.own);
    sf_arena_done(&b.req);
    sf_buf_done(&b.body);
    return 0;
}
