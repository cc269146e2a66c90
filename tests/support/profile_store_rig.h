/* profile_store_rig.h - a store in a temporary directory that gets profiles of three services under
 * a clock that the test sets, and notes what was acknowledged. */
#pragma once
#include "base/time_unit.h"
#include "flame/batch_tree.h"
#include "store/local/write/compact.h"
#include "support/profile_lines.h"
#include "support/profile_make.h"
#include "support/store_rig.h"

#define PROFILE_STORE_START_NS (INT64_C(1763200000) * 1000000000)
static int64_t profile_store_now_ns;

static inline int64_t profile_store_wall_ns(void)
{
    return profile_store_now_ns;
}

static inline int64_t profile_store_mono_ns(void)
{
    return profile_store_now_ns - PROFILE_STORE_START_NS + SF_NS_PER_DAY;
}

struct profile_store {
    struct store_rig r;
    struct sf_profile_make make;
    struct sf_arena a;
    struct profile_lines cpu[3],
        spans; /* what was acknowledged: CPU of each service, of one span */
};

static inline void profile_store_init(struct profile_store *r)
{
    *r = (struct profile_store){0};
    profile_store_now_ns = PROFILE_STORE_START_NS;
    store_rig_init(&r->r);
    r->r.config.tuning.wall_ns = profile_store_wall_ns;
    r->r.config.tuning.mono_ns = profile_store_mono_ns;
    r->r.config.n_writers = 1;
    assert_ok(store_rig_open(&r->r));
    r->make = (struct sf_profile_make){.rng = 5, .span_percent = 30};
    if (!sf_arena_init(&r->a, (size_t)1 << 30))
        fail();
}

static inline void profile_store_done(struct profile_store *r)
{
    for (int i = 0; i < 3; i++)
        profile_lines_done(&r->cpu[i]);
    profile_lines_done(&r->spans);
    sf_arena_done(&r->a);
    store_rig_done(&r->r);
}

static inline void profile_store_lines_of_tree(struct profile_lines *l, const struct sf_tree *t)
{
    struct sf_buf text = {0};
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t path[2048], n = 0;
        if (t->nodes[i].self == 0)
            continue;
        for (uint32_t at = i; at; at = t->nodes[at].parent)
            path[n++] = at;
        sf_buf_reset(&text);
        while (n > 0) {
            const struct sf_frame *f = &t->frames[t->nodes[path[--n]].frame];
            sf_buf_print(&text, "%.*s@%.*s:%u;", SF_STR_ARG(f->function), SF_STR_ARG(f->file),
                         f->line);
        }
        profile_lines_add(l, &text, t->nodes[i].self);
    }
    sf_buf_done(&text);
    profile_lines_settle(l);
}

static inline struct sf_profile_type profile_store_cpu_type(const struct sf_profile_batch *b)
{
    for (uint32_t i = 0; i < b->n_series; i++) {
        if (sf_str_eq(b->series[i].type.sample_type, SF_STR("cpu")))
            return b->series[i].type;
    }
    fail();
    return b->series[0].type;
}

static inline struct sf_batch *profile_store_logged(struct profile_store *r,
                                                    const struct sf_profile_batch *p,
                                                    uint64_t dup_hash)
{
    struct sf_logged rec = {.kind = SF_LOG_PROFILES, .tenant = 1, .recv_ns = profile_store_now_ns};
    struct sf_buf body = {0};
    struct sf_batch *b = NULL;
    uint8_t *meta;
    sf_profile_codec_encode(p, &body);
    rec.body = sf_buf_bytes(&body);
    if (store_replay(NULL, &rec, &b, &r->r.why))
        fail_msg("%s", r->r.why.text);
    sf_buf_done(&body);
    meta = sf_arena_raw(&b->arena, 8, 8);
    memcpy(meta, &dup_hash, 8);
    b->log.meta = (sf_bytes){meta, 8};
    b->dup_hash = dup_hash;
    return b;
}

static inline sf_span_id profile_store_watched(void)
{
    return sf_profile_make_span(1, 3);
}

/* Sends profiles of all three services and notes what they hold. */
static inline void profile_store_send(struct profile_store *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sf_profile_batch p;
        struct sf_profile_type type;
        struct sf_tree tree;
        struct sf_profile_batch of_span;
        struct sf_sample *some;
        profile_store_now_ns += 10 * SF_NS_PER_S;
        r->make.now_ns = profile_store_now_ns - 10 * SF_NS_PER_S;
        sf_profile_make_one(&r->make, i % 3, 120, &r->a, &p);
        assert_ok(store_put_batch(&r->r, 0, profile_store_logged(r, &p, 0)));
        type = profile_store_cpu_type(&p);
        assert_ok(sf_batch_tree(&p, &type, &r->a, &tree, &r->r.why));
        profile_store_lines_of_tree(&r->cpu[i % 3], &tree);
        if (i % 3 != 1)
            continue;
        some = sf_arena_new_n(&r->a, p.n_samples + 1, sizeof(*some));
        of_span = p;
        of_span.samples = some;
        of_span.n_samples = 0;
        for (uint32_t k = 0; k < p.n_samples; k++) {
            if (p.samples[k].span_id == profile_store_watched())
                some[of_span.n_samples++] = p.samples[k];
        }
        assert_ok(sf_batch_tree(&of_span, &type, &r->a, &tree, &r->r.why));
        profile_store_lines_of_tree(&r->spans, &tree);
    }
}

static inline void profile_store_ask(struct profile_store *r, struct sf_prof_query *query,
                                     struct profile_lines *out)
{
    const struct sf_tree *tree;
    sf_arena_reset(&r->r.arena);
    if (r->r.store->ops->prof_merge(r->r.store, query, &r->r.q, &tree, &r->r.why))
        fail_msg("%s", r->r.why.text);
    profile_store_lines_of_tree(out, tree);
}

static inline void profile_store_check_service(struct profile_store *r, uint32_t service,
                                               const struct profile_lines *want)
{
    char name[32];
    struct sf_matcher match = {.key = SF_STR("service_name"), .op = SF_OP_EQ};
    struct sf_prof_query query = {
        .type = SF_STR("process_cpu:cpu:nanoseconds"), .match = &match, .n_match = 1};
    struct profile_lines got = {0};
    snprintf(name, sizeof(name), "service-%u", service);
    match.val = sf_str_from(name);
    profile_store_ask(r, &query, &got);
    assert_true(profile_lines_same(want, &got));
    profile_lines_done(&got);
}

/* Everything that was acknowledged is there, once. */
static inline void profile_store_check(struct profile_store *r)
{
    sf_span_id id = profile_store_watched();
    struct sf_prof_query query = {
        .type = SF_STR("process_cpu:cpu:nanoseconds"), .span_ids = &id, .n_spans = 1};
    struct profile_lines got = {0};
    for (uint32_t i = 0; i < 3; i++)
        profile_store_check_service(r, i, &r->cpu[i]);
    profile_store_ask(r, &query, &got);
    assert_true(r->spans.n > 0);
    assert_true(profile_lines_same(&r->spans, &got));
    profile_lines_done(&got);
}

static inline void profile_store_reopen(struct profile_store *r)
{
    store_rig_close(&r->r);
    assert_ok(store_rig_open(&r->r));
}

static inline void profile_store_no_finding(void *arg, const char *sentence)
{
    (void)arg;
    if (strncmp(sentence, "note", 4) != 0)
        fail_msg("%s", sentence);
}

static inline void profile_store_check_disk(struct profile_store *r)
{
    uint64_t n_faults = 1;
    store_rig_close(&r->r);
    assert_ok(sf_local_fsck(r->r.dir, profile_store_no_finding, NULL, &n_faults, &r->r.why));
    assert_int_equal(n_faults, 0);
    assert_ok(store_rig_open(&r->r));
}
static inline void profile_store_compact(struct profile_store *r)
{
    for (int i = 0; i < 4; i++)
        assert_ok(sf_compact_all(store_rig_local(&r->r), &r->r.why));
}
