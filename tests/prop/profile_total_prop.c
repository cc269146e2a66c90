/* Totals are preserved from file to store to every export and back: for every shared fixture that
 * can be read, and for profiles made by chance, of every type in them, while they are in memory,
 * in a block, in merged blocks, and after a restart. */
#include <dirent.h>

#include "render/otlp_profile.h"
#include "render/pprof.h"
#include "render/speedscope.h"
#include "store/local/write/compact.h"
#include "support/profile_make.h"
#include "support/profile_rig.h"
#include "support/profile_same.h"
#include "support/profile_wire.h"
#include "support/store_rig.h"

enum { LEAST_FIXTURES = 45 };

struct rig {
    struct store_rig store;
    struct sf_arena req;
    const char *name; /* of what is in hand */
};

static void init(struct rig *r)
{
    *r = (struct rig){0};
    store_rig_init(&r->store);
    r->store.config.n_writers = 1;
    r->store.config.tuning.segment_len = 4 << 20; /* the largest is logged as one record */
    assert_true(sf_arena_init(&r->req, (size_t)4 << 30));
}

static void done(struct rig *r)
{
    sf_dir_close(r->store.dir);
    store_rig_remove(r->store.path);
    sf_arena_done(&r->store.arena);
    sf_condvar_done(&r->store.done);
    sf_mutex_done(&r->store.lock);
    sf_arena_done(&r->req);
}

static void put(struct rig *r, const struct sf_profile_batch *p)
{
    struct sf_logged rec = {.kind = SF_LOG_PROFILES, .tenant = 1, .recv_ns = sf_clock_wall_ns()};
    struct sf_buf body = {0};
    struct sf_batch *b = NULL;
    sf_profile_codec_encode(p, &body);
    rec.body = sf_buf_bytes(&body);
    if (store_replay(NULL, &rec, &b, &r->store.why) || store_put_batch(&r->store, 0, b))
        fail_msg("%s: %s", r->name, r->store.why.text);
    sf_buf_done(&body);
}

static const struct sf_tree *ask(struct rig *r, const struct sf_profile_type *type)
{
    struct sf_prof_query query = {0};
    const struct sf_tree *tree;
    sf_arena_reset(&r->store.arena);
    assert_true(sf_batch_tree_type_print(type, &r->store.arena, &query.type));
    if (r->store.store->ops->prof_merge(r->store.store, &query, &r->store.q, &tree, &r->store.why))
        fail_msg("%s: %s", r->name, r->store.why.text);
    return tree;
}

static void expect_stored(struct rig *r, const struct sf_profile_batch *p, const char *where)
{
    const struct sf_batch_type *types;
    uint32_t n;
    size_t mark = r->req.at;
    assert_ok(sf_batch_tree_types(p, &r->req, &types, &n, NULL));
    for (uint32_t i = 0; i < n; i++) {
        struct sf_tree want;
        const struct sf_tree *got = ask(r, &types[i].type);
        assert_ok(sf_batch_tree(p, &types[i].type, &r->req, &want, NULL));
        if (got->total != want.total)
            fail_msg("%s, %s, type %u: %lld became %lld", r->name, where, i, (long long)want.total,
                     (long long)got->total);
        profile_same_trees(got, &want, &r->req);
    }
    r->req.at = mark;
}

static bool has_negative(const struct sf_tree *t)
{
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        if (t->nodes[i].self < 0)
            return true;
    }
    return false;
}

/* A frame without a name has an address, which is a name in formats that have none. */
static bool has_nameless(const struct sf_tree *t)
{
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        if (t->frames[t->nodes[i].frame].function.len == 0)
            return true;
    }
    return false;
}

static void expect_exports(struct rig *r, const struct sf_profile_batch *p)
{
    static const struct {
        enum sf_err (*write)(const struct sf_profile_view *v, struct sf_arena scratch,
                             struct sf_buf *out, struct sf_why *why);
        bool is_text; /* no negative values, no frames without names */
    } forms[] = {{sf_pprof_render, false},
                 {sf_otlp_profile_render, false},
                 {sf_speedscope_render, true},
                 {profile_write_folded, true}};
    struct sf_profile_hint counts = {.has_sample_rate = true};
    const struct sf_batch_type *types;
    uint32_t n;
    size_t mark = r->req.at;
    assert_ok(sf_batch_tree_types(p, &r->req, &types, &n, NULL));
    for (uint32_t i = 0; i < n; i++) {
        struct sf_profile_view v = {.type = types[i].type,
                                    .service = SF_STR("shop"),
                                    .time_ns = 1700000000000000000,
                                    .duration_ns = 10000000000,
                                    .period = types[i].period};
        /* A count with a period of time is read as time, which is what the eBPF profiler means by
         * it: another number for the same thing. */
        if (sf_str_eq(v.type.sample_unit, SF_STR("count")))
            v.period = 0;
        v.tree = *ask(r, &types[i].type);
        for (size_t k = 0; v.tree.n_nodes > 1 && k < sizeof(forms) / sizeof(forms[0]); k++) {
            struct sf_buf out = {0};
            if (forms[k].is_text && (has_negative(&v.tree) || has_nameless(&v.tree)))
                continue;
            assert_ok(forms[k].write(&v, r->req, &out, &r->store.why));
            profile_same_bytes(&v, sf_buf_str(&out), k == 3 ? &counts : NULL, &r->req);
            sf_buf_done(&out);
        }
    }
    r->req.at = mark;
}

static void check(const char *name, const struct sf_profile_batch *p)
{
    struct rig r;
    init(&r);
    r.name = name;
    assert_ok(store_rig_open(&r.store));
    put(&r, p);
    expect_stored(&r, p, "in memory");
    store_rig_close(&r.store);
    assert_ok(store_rig_open(&r.store));
    expect_stored(&r, p, "after a restart");
    assert_ok(r.store.store->ops->flush(r.store.store, &r.store.why));
    expect_stored(&r, p, "in a block");
    assert_ok(sf_compact_all(store_rig_local(&r.store), &r.store.why));
    expect_stored(&r, p, "after merging");
    expect_exports(&r, p);
    store_rig_close(&r.store);
    done(&r);
}

static void check_folder(struct profile_rig *files, const char *folder, unsigned *n_read)
{
    char path[2048], name[600];
    struct dirent *e;
    DIR *list;
    snprintf(path, sizeof(path), "%s/%s", profile_fixture_dir(), folder);
    list = opendir(path);
    assert_non_null(list);
    while ((e = readdir(list))) {
        if (e->d_name[0] == '.' || strstr(e->d_name, "labels"))
            continue;
        snprintf(name, sizeof(name), "%s/%s", folder, e->d_name);
        files->hint = (struct sf_profile_hint){.now_ns = sf_clock_wall_ns()};
        if (profile_decode_fixture(files, name) || files->got.n_samples == 0)
            continue; /* what is not a profile is another test's matter */
        check(name, &files->got);
        (*n_read)++;
    }
    closedir(list);
}

TEST(profile_total, is_the_same_for_every_fixture)
{
    static const char *const folders[] = {"pprof",     "jfr",        "cpuprofile",   "heapprofile",
                                          "collapsed", "speedscope", "pyroscope-raw"};
    struct profile_rig files = {0};
    unsigned n_read = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        check_folder(&files, folders[i], &n_read);
    printf("# %u files\n", n_read);
    assert_true(n_read >= LEAST_FIXTURES);
    profile_rig_done(&files);
}

TEST(profile_total, is_the_same_for_profiles_made_by_chance)
{
    struct sf_profile_make make = {.rng = 11, .span_percent = 40};
    struct sf_arena a;
    assert_true(sf_arena_init(&a, (size_t)256 << 20));
    for (uint32_t i = 0; i < 4 + test_scaled(16); i++) {
        struct sf_profile_batch p;
        char name[32];
        snprintf(name, sizeof(name), "profile %u", i);
        make.now_ns = sf_clock_wall_ns();
        sf_arena_reset(&a);
        sf_profile_make_one(&make, i % 3, 1 + i * 17, &a, &p);
        check(name, &p);
    }
    sf_arena_done(&a);
}

TEST(profile_total, is_the_same_for_what_clients_send)
{
    struct sf_profile_wire wire = {.rng = 3, .n_types = 2, .time_ns = sf_clock_wall_ns()};
    struct sf_arena a;
    assert_true(sf_arena_init(&a, (size_t)256 << 20));
    for (int i = 0; i < 4; i++) {
        struct sf_profile_batch p;
        struct sf_buf bytes = {0};
        sf_arena_reset(&a);
        if (i % 2)
            sf_profile_wire_otlp(&wire, 500, &bytes);
        else
            sf_profile_wire_pprof(&wire, 500, &bytes);
        assert_ok(sf_profile_format_decode(sf_buf_str(&bytes), NULL, &a, &p, NULL));
        check(i % 2 ? "otlp" : "pprof", &p);
        sf_buf_done(&bytes);
    }
    sf_arena_done(&a);
}
