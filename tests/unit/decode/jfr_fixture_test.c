/* The shared recordings decode to the facts their list of contents states. */
#include "support/profile_rig.h"

static struct profile_rig rig;
static struct sf_buf labels_file, labels_plain;

#define MS 1000000

struct fact {
    const char *file;
    struct {
        const char *type; /* name:sample_type:unit */
        double sum;
        double off; /* by how much of it it may differ: ticks are measured */
    } sums[12];
    uint32_t n_parts;
};

static const struct fact facts[] = {
    {"jfr/example.jfr.gz",
     {{"process_cpu:cpu:nanoseconds", 1031.0 * 10 * MS, 0},
      {"memory:alloc_in_new_tlab_objects:count", 30, 0},
      {"memory:alloc_in_new_tlab_bytes:bytes", 27650544, 0},
      {"memory:alloc_outside_tlab_objects:count", 260, 0},
      {"memory:alloc_outside_tlab_bytes:bytes", 139855503616, 0},
      {"mutex:contentions:count", 13, 0},
      {"mutex:delay:nanoseconds", 18443760794 / 2.303974730, 1e-6}},
     0},
    {"jfr/cortex-dev-01__kafka-0__cpu__0.jfr.gz",
     {{"process_cpu:cpu:nanoseconds", 478.0 * 10 * MS, 0}},
     0},
    {"jfr/cortex-dev-01__kafka-0__cpu_lock0_alloc0__0.jfr.gz",
     {{"process_cpu:cpu:nanoseconds", 582.0 * 10 * MS, 0},
      {"memory:alloc_in_new_tlab_objects:count", 7972, 0},
      {"memory:alloc_in_new_tlab_bytes:bytes", 1598335640, 0},
      {"memory:alloc_outside_tlab_objects:count", 2238, 0},
      {"memory:alloc_outside_tlab_bytes:bytes", 43715768, 0},
      {"mutex:contentions:count", 1773, 0},
      {"mutex:delay:nanoseconds", 3908034578 / 2.799998547, 1e-6},
      {"block:contentions:count", 435, 0},
      {"block:delay:nanoseconds", 100900692 / 2.799998547, 1e-5}},
     0},
    {"jfr/cortex-dev-01__kafka-0__cpu_lock_alloc__0.jfr.gz",
     {{"process_cpu:cpu:nanoseconds", 554.0 * 10 * MS, 0},
      {"memory:alloc_in_new_tlab_objects:count", 766, 0},
      {"memory:alloc_in_new_tlab_bytes:bytes", 1606418432, 0}},
     0},
    {"jfr/dump2.jfr.gz",
     {{"wall:wall:nanoseconds", 14723.0 * 10 * MS, 0},
      {"process_cpu:cpu:nanoseconds", 3358.0 * 10 * MS, 0},
      {"memory:alloc_in_new_tlab_objects:count", 4, 0},
      {"memory:alloc_in_new_tlab_bytes:bytes", 2097148, 0},
      {"memory:live:count", 4, 0},
      {"memory:live_bytes:bytes", 416, 0}},
     0},
    {"jfr/new_spancontext.jfr.gz", {{"process_cpu:cpu:nanoseconds", 472.0 * 10 * MS, 0}}, 0},
    {"jfr/nativemem.jfr.gz",
     {{"memory:malloc_objects:count", 57, 0}, {"memory:malloc_bytes:bytes", 34861, 0}},
     0},
    {"jfr/wall.jfr.gz", {{"wall:wall:nanoseconds", 26246.0 * 10 * MS, 0}}, 0},
    {"jfr/FastSlow_2024_01_16_180855.jfr.gz",
     {{"process_cpu:cpu:nanoseconds", 1012.0 * 10 * MS, 0},
      {"wall:wall:nanoseconds", 1012.0 * 10 * MS, 0},
      {"memory:alloc_sample_objects:count", 6, 0},
      {"memory:alloc_sample_bytes:bytes", 4689568, 0}},
     0},
    {"jfr/cpool-uint64-constant-index.jfr.gz",
     {{"process_cpu:cpu:nanoseconds", 88.0 * 9 * MS, 0},
      {"memory:alloc_in_new_tlab_objects:count", 817, 0},
      {"memory:alloc_in_new_tlab_bytes:bytes", 1100879832, 0},
      {"memory:alloc_outside_tlab_bytes:bytes", 626856, 0},
      {"memory:alloc_sample_objects:count", 786, 0},
      {"memory:alloc_sample_bytes:bytes", 1075719696, 0},
      {"block:contentions:count", 75, 0},
      {"block:delay:nanoseconds", 319748015160 / 1.8 / 1.2806, 1e-3},
      {"gc:collections:count", 9, 0}},
     0},
    {"jfr/event-with-type-zero.jfr.gz",
     {{"memory:alloc_in_new_tlab_objects:count", 22079, 0},
      {"memory:alloc_in_new_tlab_bytes:bytes", 25708804360, 0},
      {"memory:alloc_outside_tlab_objects:count", 920, 0},
      {"memory:alloc_outside_tlab_bytes:bytes", 17280056, 0},
      {"block:contentions:count", 1714, 0},
      {"block:delay:nanoseconds", 1303799040646 / 1.8 / 1.28, 1e-3},
      {"gc:collections:count", 188, 0}},
     0},
    {"jfr/jdk17-shop-3chunks.jfr.gz",
     {{"process_cpu:cpu:nanoseconds", 87.0 * 10 * MS, 0},
      {"memory:alloc_in_new_tlab_objects:count", 336, 0},
      {"memory:alloc_in_new_tlab_bytes:bytes", 12836904, 0},
      {"memory:alloc_outside_tlab_objects:count", 1077, 0},
      {"memory:alloc_outside_tlab_bytes:bytes", 124301904, 0},
      {"memory:alloc_sample_objects:count", 359, 0},
      {"memory:alloc_sample_bytes:bytes", 143707280, 0},
      {"mutex:contentions:count", 213, 0},
      {"mutex:delay:nanoseconds", 1442737806, 1e-4},
      {"block:contentions:count", 241, 0},
      {"block:delay:nanoseconds", 1106673975, 1e-4},
      {"gc:collections:count", 20, 0}},
     0},
    {"jfr/minimal.jfr", {{"process_cpu:cpu:nanoseconds", 2.0 * 10 * MS, 0}}, 0},
};

static void check_sums(const struct fact *f)
{
    for (size_t i = 0; i < 12 && f->sums[i].type; i++) {
        double got = (double)profile_sum(&rig, f->sums[i].type), want = f->sums[i].sum;
        if (got < want * (1 - f->sums[i].off) - .5 || got > want * (1 + f->sums[i].off) + .5)
            fail_msg("%s: %s sums to %.0f, not %.0f", f->file, f->sums[i].type, got, want);
    }
    if (rig.got.drops.n_parts != f->n_parts)
        fail_msg("%s: %" PRIu64 " parts dropped: %s", f->file, rig.got.drops.n_parts,
                 rig.got.drops.first);
}

/* Events lie in their recording, give or take what was buffered: the tick rates are right. */
static void check_times(const struct fact *f)
{
    uint32_t n_out = 0;
    for (uint32_t i = 0; i < rig.got.n_samples; i++) {
        const struct sf_sample *s = &rig.got.samples[i];
        const struct sf_series *of = &rig.got.series[s->series];
        if (!s->has_time || s->start_ns > of->time_ns + of->duration_ns + 1000000000)
            n_out++;
    }
    if (n_out)
        fail_msg("%s: %" PRIu32 " samples behind the end", f->file, n_out);
}

TEST(jfr_fixture, recordings_hold_what_is_stated)
{
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        rig.hint = (struct sf_profile_hint){0};
        if (profile_decode_fixture(&rig, facts[i].file))
            fail_msg("%s: %s", facts[i].file, rig.why.text);
        check_sums(&facts[i]);
        check_times(&facts[i]);
    }
}

TEST(jfr_fixture, the_smallest_recording_reads_as_its_description_says)
{
    const struct sf_sample *s;
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_fixture(&rig, "jfr/minimal.jfr"));
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "shop.Cart.checkout;shop.Cart.total"),
                     20 * MS);
    s = &rig.got.samples[0];
    assert_int_equal(s->thread, 4242);
    assert_str(s->thread_name, "worker-1");
    assert_int_equal(s->start_ns, 1700000000000000500);
    assert_int_equal(rig.got.locations[rig.got.stacks[s->stack].locations[0]].lines[0].line, 42);
    assert_int_equal(rig.got.locations[rig.got.stacks[s->stack].locations[1]].lines[0].line, 0);
    assert_int_equal(rig.got.series[0].duration_ns, 1000000000);
}

TEST(jfr_fixture, ids_mean_something_in_their_chunk_only)
{
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_fixture(&rig, "jfr/synthetic-two-chunks-id-reuse.jfr"));
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "shop.Cart.checkout;shop.Cart.total"),
                     20 * MS);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "(truncated);shop.Till.refund"),
                     20 * MS);
    assert_int_equal(profile_value(&rig, "wall:nanoseconds", "(truncated);shop.Till.refund"),
                     20 * MS);
    assert_int_equal(rig.got.n_samples, 4);
    assert_str(rig.got.samples[3].thread_name, "worker-9");
}

static void give_labels(const char *name)
{
    profile_rig_init(&rig);
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(
        profile_unwrap_fixture(&rig, name, &labels_file, &labels_plain, &rig.hint.jfr_labels));
}

/* How many different span ids samples of this profile have. */
static uint32_t count_spans(const char *name)
{
    sf_span_id seen[100];
    uint32_t n = 0, k;
    for (uint32_t i = 0; i < rig.got.n_samples; i++) {
        const struct sf_sample *s = &rig.got.samples[i];
        if (!s->span_id || !sf_str_eq(rig.got.series[s->series].type.name, sf_str_from(name)))
            continue;
        for (k = 0; k < n && seen[k] != s->span_id;)
            k++;
        if (k == n && n < 100)
            seen[n++] = s->span_id;
    }
    return n;
}

TEST(jfr_fixture, contexts_give_labels_and_span_ids)
{
    bool has_label = false;
    give_labels("jfr/new_spancontext.labels.gz");
    assert_ok(profile_decode_fixture(&rig, "jfr/new_spancontext.jfr.gz"));
    assert_int_equal(count_spans("process_cpu"), 2);
    for (uint32_t i = 0; i < rig.got.n_series; i++) {
        for (uint32_t k = 0; k < rig.got.series[i].n_labels; k++)
            has_label |= sf_str_eq(rig.got.series[i].labels[k].key, SF_STR("dyn2")) &&
                         sf_str_eq(rig.got.series[i].labels[k].val, SF_STR("v2"));
    }
    assert_true(has_label);

    give_labels("jfr/dump2.labels.pb.gz"); /* the span id is a label there */
    assert_ok(profile_decode_fixture(&rig, "jfr/dump2.jfr.gz"));
    assert_int_equal(count_spans("wall"), 55);
    rig.hint.jfr_labels = (sf_str){"\x0a\x7f", 2};
    assert_err(profile_decode_fixture(&rig, "jfr/dump2.jfr.gz"), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "jfr: labels"));
    sf_buf_done(&labels_file);
    sf_buf_done(&labels_plain);
}

TEST(jfr_fixture, credentials_do_not_get_past)
{
    static const char *const files[] = {"jfr/jdk17-shop-3chunks.jfr.gz",
                                        "jfr/event-with-type-zero.jfr.gz",
                                        "jfr/cpool-uint64-constant-index.jfr.gz"};
    for (size_t i = 0; i < 3; i++) {
        rig.hint = (struct sf_profile_hint){0};
        assert_ok(profile_decode_fixture(&rig, files[i]));
        for (uint32_t k = 0; k < rig.got.n_functions; k++) {
            sf_str name = rig.got.functions[k].name;
            assert_false(sf_str_find(name, SF_STR("java.class.path"), &(size_t){0}));
            assert_false(sf_str_find(name, SF_STR("-XX:"), &(size_t){0}));
            assert_false(sf_str_find(name, SF_STR("PATH="), &(size_t){0}));
        }
    }
}

TEST(jfr_fixture, hostile_files_do_what_they_should)
{
    static const struct {
        const char *file;
        enum sf_err err;
        uint32_t n_samples, n_parts;
        const char *says;
    } files[] = {
        {"hostile/jfr-chunk-size-zero.jfr", SF_ERR_INPUT, 0, 0, "a size that cannot be"},
        {"hostile/jfr-incomplete-crash.jfr", SF_ERR_INPUT, 0, 0, "unfinished"},
        {"hostile/jfr-good-then-incomplete.jfr", SF_OK, 2, 1, "chunk 1 at byte 1460: it is unf"},
        {"hostile/jfr-checkpoint-cycle.jfr", SF_ERR_INPUT, 0, 0, "checkpoint"},
        {"hostile/jfr-event-size-zero.jfr", SF_OK, 1, 1, "without a size"},
        {"hostile/jfr-event-size-past-chunk.jfr", SF_OK, 2, 1, "byte"},
        {"hostile/jfr-metadata-string-count-huge.jfr", SF_ERR_INPUT, 0, 0, "a count is larger"},
        {"hostile/jfr-metadata-depth-bomb.jfr.gz", SF_ERR_INPUT, 0, 0, "nested too deep"},
        {"hostile/jfr-frames-count-huge.jfr", SF_ERR_INPUT, 0, 0, "a count is larger"},
        {"hostile/jfr-type-recursion.jfr", SF_ERR_INPUT, 0, 0, "a type that holds itself"},
        {"hostile/jfr-dangling-references.jfr", SF_OK, 2, 0, ""},
        {"hostile/jfr-unknown-string-encoding.jfr", SF_ERR_INPUT, 0, 0, "unknown encoding"},
        {"hostile/jfr-truncated.jfr", SF_ERR_INPUT, 0, 0, "cut off"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        const char *said;
        enum sf_err err;
        rig.hint = (struct sf_profile_hint){0};
        err = profile_decode_fixture(&rig, files[i].file);
        said = err ? rig.why.text : rig.got.drops.first;
        if (err != files[i].err || rig.got.n_samples != files[i].n_samples ||
            rig.got.drops.n_parts != files[i].n_parts || !strstr(said, files[i].says))
            fail_msg("%s: %s, %" PRIu32 " samples, %" PRIu64 " parts dropped: %s", files[i].file,
                     sf_err_name(err), rig.got.n_samples, rig.got.drops.n_parts, said);
    }
    profile_rig_done(&rig);
}
