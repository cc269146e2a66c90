/* make_store.c - how does a query's cost grow? Makes a large data directory to ask, quickly.
 *
 * The spans that `load` sends, spread over a day that ends now, are given to the store without a
 * server and without being logged: a third of what it costs to send them. Hours are merged when all
 * is there. The server then opens the directory as its own (bench/growth_bench.py --stores).
 *
 *   make_store DIR MILLIONS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/local/write/compact.h"
#include "support/store_rig.h"

enum { PER_BATCH = 1000, WAVE = 50, WAVE_SPANS = PER_BATCH * WAVE };

struct ticket {
    struct sf_ticket base;
    atomic_uint *n_left;
};

static void count_down(struct sf_ticket *t)
{
    atomic_fetch_sub(((struct ticket *)t)->n_left, 1);
}

static void fail(const struct store_rig *r)
{
    fprintf(stderr, "make_store: %s\n", r->why.text);
    exit(1);
}

/* A batch whose rows are the maker's own, in the rig's arena until the wave is over; of the log
 * there is a byte. */
static struct sf_batch *next_batch(struct store_rig *r, struct sf_otlp_make *m)
{
    struct sf_batch *b = sf_batch_new((size_t)1 << 20);
    struct sf_span_batch *spans = b ? sf_arena_new(&b->arena, sizeof(*spans)) : NULL;
    if (!spans)
        abort();
    sf_otlp_make_batch(m, PER_BATCH, &r->arena, spans);
    b->spans = spans;
    b->log = (struct sf_logged){.kind = SF_LOG_BATCH,
                                .tenant = 1,
                                .recv_ns = (int64_t)m->now_ns,
                                .body = {(const uint8_t *)"-", 1}};
    return b;
}

/* Waves lie apart; no trace continues in the next. */
static void run_wave(struct store_rig *r, struct sf_otlp_make *m, uint64_t gap_ns)
{
    static struct ticket tickets[WAVE];
    atomic_uint n_left = WAVE;
    sf_arena_reset(&r->arena);
    for (unsigned i = 0; i < WAVE; i++) {
        struct sf_batch *b = next_batch(r, m);
        tickets[i] = (struct ticket){{.done = count_down}, &n_left};
        while (r->store->ops->append(r->store, i % 2, &b, &tickets[i].base, &r->why))
            sf_clock_sleep_ms(1);
    }
    while (atomic_load(&n_left))
        sf_clock_sleep_ms(1);
    memset(m->open, 0, sizeof(m->open));
    m->now_ns += gap_ns;
}

int main(int argc, char **argv)
{
    uint64_t n_spans = argc == 3 ? (uint64_t)(atof(argv[2]) * 1e6) : 0, gap_ns;
    struct sf_otlp_make m;
    struct store_rig r;

    if (n_spans == 0) {
        fprintf(stderr, "usage: make_store DIR MILLIONS\n");
        return 2;
    }
    store_rig_init_in(&r, "/tmp");
    rmdir(r.path);
    snprintf(r.path, sizeof(r.path), "%s", argv[1]);
    sf_dir_close(r.dir);
    store_rig_dir(&r);
    r.config.tuning = (struct sf_local_tuning){.compact_blocks = 1u << 30,
                                               .slow_blocks = 1u << 30,
                                               .refuse_blocks = 1u << 30,
                                               .closed_delay_ns = INT64_MAX / 4};
    if (store_rig_open(&r))
        fail(&r);
    gap_ns = UINT64_C(80000000000000) / (n_spans / WAVE_SPANS + 1);
    gap_ns = gap_ns > UINT64_C(100000) * WAVE_SPANS ? gap_ns - UINT64_C(100000) * WAVE_SPANS : 0;
    sf_otlp_make_init(&m, 1, (uint64_t)sf_clock_wall_ns() - UINT64_C(82000000000000));
    for (uint64_t n = 0; n < n_spans; n += WAVE_SPANS)
        run_wave(&r, &m, gap_ns);
    if (r.store->ops->flush(r.store, &r.why))
        fail(&r);
    store_rig_local(&r)->tune.closed_delay_ns = 1;
    if (sf_compact_all(store_rig_local(&r), &r.why))
        fail(&r);
    store_rig_close(&r);
    return 0;
}
