/* The shared pprof files decode to the facts their list of contents states. */
#include "support/profile_rig.h"

static struct profile_rig rig;

struct fact {
    const char *file;
    int64_t time_ns, duration_ns, period;
    struct {
        const char *type; /* name:sample_type:unit */
        int64_t sum;
    } sums[5];
};

static const struct fact facts[] = {
    {"pprof/go-cpu-sample.pb.gz",
     1506718679257235370,
     2002012950,
     10000000,
     {{"process_cpu:samples:count", 176}, {"process_cpu:cpu:nanoseconds", 1760000000}}},
    {"pprof/go-heap-nomappings.pb.gz",
     1487351731621578004,
     0,
     524288,
     {{"memory:alloc_objects:count", 2},
      {"memory:alloc_space:bytes", 1765955},
      {"memory:inuse_objects:count", 2},
      {"memory:inuse_space:bytes", 1765955}}},
    {"pprof/go-cpu-simple.pb.gz",
     1537130863468834518,
     1911739507,
     10000000,
     {{"process_cpu:samples:count", 150}, {"process_cpu:cpu:nanoseconds", 1500000000}}},
    {"pprof/go-cpu-labels.pb.gz",
     1632307136744183000,
     10128946734,
     10000000,
     {{"process_cpu:samples:count", 2722}, {"process_cpu:cpu:nanoseconds", 27220000000}}},
    {"pprof/go-allocs.pb.gz",
     1643836387950906000,
     0,
     524288,
     {{"memory:alloc_objects:count", 247747},
      {"memory:alloc_space:bytes", 1374249148},
      {"memory:inuse_objects:count", 48375},
      {"memory:inuse_space:bytes", 330314096}}},
    {"pprof/go-contention.pb",
     1632327097171548727,
     0,
     1,
     {{"mutex:contentions:count", 387153502}, {"mutex:delay:nanoseconds", 4114869210214492}}},
    {"pprof/go-cpu-lines.pb.gz",
     1626190561563157444,
     1108441652,
     10000000,
     {{"process_cpu:samples:count", 308}, {"process_cpu:cpu:nanoseconds", 3080000000}}},
    {"pprof/folded-made.pb.gz", 1632313968845909000, 0, 0, {{"process_cpu:samples:count", 12}}},
    {"pprof/go-heap-delta-pair1.before.pb",
     1668005247669705000,
     0,
     524288,
     {{"memory:alloc_objects:count", 26358302},
      {"memory:alloc_space:bytes", 5892614820},
      {"memory:inuse_objects:count", 194417},
      {"memory:inuse_space:bytes", 5244896}}},
    {"pprof/go-heap-delta-pair1.after.pb",
     1668005247898934000,
     0,
     524288,
     {{"memory:alloc_objects:count", 26813091},
      {"memory:alloc_space:bytes", 5960396036},
      {"memory:inuse_objects:count", 194419},
      {"memory:inuse_space:bytes", 5887529}}},
    {"pprof/go-block-delta-pair2.before.pb",
     1663184810713960000,
     0,
     1,
     {{"mutex:contentions:count", 4}, {"mutex:delay:nanoseconds", 3336989}}},
    {"pprof/go-block-delta-pair2.after.pb",
     1663184811858888000,
     0,
     1,
     {{"mutex:contentions:count", 5}, {"mutex:delay:nanoseconds", 3340939}}},
    {"pprof/go-heap-bytes-labels.pb",
     1662655785795910000,
     0,
     524288,
     {{"memory:alloc_objects:count", 12093902},
      {"memory:alloc_space:bytes", 1563150773},
      {"memory:inuse_objects:count", 27657},
      {"memory:inuse_space:bytes", 3672576}}},
    {"pprof/go-heap-delta-negative.pb.gz",
     1650470085555167000,
     30059194000,
     524288,
     {{"memory:alloc_objects:count", 153434653},
      {"memory:alloc_space:bytes", 80453753612},
      {"memory:inuse_objects:count", 535448},
      {"memory:inuse_space:bytes", 666938665}}},
    {"pprof/go-fgprof.pb.gz",
     1669885092670395000,
     30001091459,
     10101010,
     {{"process_cpu:samples:count", 208335}, {"process_cpu:time:nanoseconds", 2104393918350}}},
    {"pprof/ebpf-thread-labels.pb.gz",
     1691239006664000000,
     0,
     0,
     {{"process_cpu:samples:count", 462}}},
    {"pprof/ebpf-node-unsymbolised.pb.gz",
     1693307883846545167,
     9994752020,
     52631578,
     {{"process_cpu:samples:count", 190}, {"process_cpu:cpu:nanoseconds", 190 * 52631578LL}}},
    {"pprof/go-cpu-stripped.pb.gz",
     1634537965547567741,
     8935979353,
     10000000,
     {{"process_cpu:samples:count", 907}, {"process_cpu:cpu:nanoseconds", 9070000000}}},
    {"pprof/two-stacks.pb.gz",
     1716289943109000000,
     0,
     0,
     {{"process_cpu:cpu:nanoseconds", 368421046}}},
    {"pprof/go-heap-series-1.pb.gz",
     1644509272337470000,
     0,
     524288,
     {{"memory:alloc_objects:count", 83487},
      {"memory:alloc_space:bytes", 51965338},
      {"memory:inuse_objects:count", 73788},
      {"memory:inuse_space:bytes", 48928729}}},
    {"pprof/go-heap-series-2.pb.gz",
     1644509275338070000,
     0,
     524288,
     {{"memory:alloc_objects:count", 83487},
      {"memory:alloc_space:bytes", 51965338},
      {"memory:inuse_objects:count", 73788},
      {"memory:inuse_space:bytes", 48928729}}},
};

TEST(pprof_fixture, totals_times_and_names_are_those_stated)
{
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        const struct fact *f = &facts[i];
        rig.hint = (struct sf_profile_hint){0};
        if (profile_decode_fixture(&rig, f->file))
            fail_msg("%s: %s", f->file, rig.why.text);
        if (rig.got.drops.first[0])
            fail_msg("%s: %s", f->file, rig.got.drops.first);
        for (size_t t = 0; f->sums[t].type; t++) {
            if (profile_sum(&rig, f->sums[t].type) != f->sums[t].sum)
                fail_msg("%s: %s sums to %" PRId64, f->file, f->sums[t].type,
                         profile_sum(&rig, f->sums[t].type));
        }
        assert_int_equal(rig.got.series[0].time_ns, f->time_ns);
        assert_int_equal(rig.got.series[0].duration_ns, f->duration_ns);
        assert_int_equal(rig.got.series[0].period, f->period);
        assert_false(rig.got.series[0].is_cumulative);
    }
    profile_rig_done(&rig);
}

TEST(pprof_fixture, a_pair_of_dumps_gives_what_happened_between_them)
{
    static const struct {
        const char *before, *after;
        int64_t duration_ns;
        struct {
            const char *type;
            int64_t sum;
        } sums[4];
    } pairs[] = {
        {"pprof/go-heap-delta-pair1.before.pb",
         "pprof/go-heap-delta-pair1.after.pb",
         229229000,
         {{"alloc_objects:count", 454789},
          {"alloc_space:bytes", 67781216},
          {"inuse_objects:count", 194419},
          {"inuse_space:bytes", 5887529}}},
        {"pprof/go-block-delta-pair2.before.pb",
         "pprof/go-block-delta-pair2.after.pb",
         1144928000,
         {{"contentions:count", 1}, {"delay:nanoseconds", 3950}}},
    };
    for (size_t i = 0; i < 2; i++) {
        profile_rig_init(&rig);
        rig.hint = (struct sf_profile_hint){0};
        assert_ok(profile_unwrap_fixture(&rig, pairs[i].before, &rig.prev_file, &rig.prev,
                                         &rig.hint.prev));
        if (profile_decode_fixture(&rig, pairs[i].after))
            fail_msg("%s: %s", pairs[i].after, rig.why.text);
        for (size_t t = 0; t < 4 && pairs[i].sums[t].type; t++)
            assert_sum(&rig, pairs[i].sums[t].type, pairs[i].sums[t].sum);
        assert_int_equal(rig.got.series[0].duration_ns, pairs[i].duration_ns);
        for (uint32_t k = 0; k < rig.got.n_samples; k++)
            assert_true(rig.got.samples[k].value > 0);
    }
    profile_rig_done(&rig);
}

TEST(pprof_fixture, negative_values_are_kept_and_flagged)
{
    uint32_t n = 0;
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_fixture(&rig, "pprof/go-heap-delta-negative.pb.gz"));
    for (uint32_t i = 0; i < rig.got.n_samples; i++)
        n += rig.got.samples[i].value < 0;
    assert_int_equal(n, 288);
    profile_rig_done(&rig);
}

TEST(pprof_fixture, totals_of_a_scraped_endpoint_are_marked)
{
    rig.hint = (struct sf_profile_hint){.is_scrape = true};
    assert_ok(profile_decode_fixture(&rig, "pprof/go-allocs.pb.gz"));
    for (uint32_t i = 0; i < rig.got.n_series; i++)
        assert_int_equal(rig.got.series[i].is_cumulative,
                         sf_str_starts(rig.got.series[i].type.sample_type, SF_STR("alloc_")));
    assert_ok(profile_decode_fixture(&rig, "pprof/go-heap-delta-negative.pb.gz"));
    for (uint32_t i = 0; i < rig.got.n_series; i++)
        assert_false(rig.got.series[i].is_cumulative); /* it has a duration: a difference already */
    profile_rig_done(&rig);
}

TEST(pprof_fixture, threads_are_of_the_sample_and_labels_of_the_series)
{
    bool has_label = false;
    rig.hint = (struct sf_profile_hint){.service = SF_STR("shop")};
    assert_ok(profile_decode_fixture(&rig, "pprof/ebpf-thread-labels.pb.gz"));
    assert_int_equal(rig.got.n_series, 1);
    for (uint32_t i = 0; i < rig.got.n_samples; i++)
        assert_true(rig.got.samples[i].thread && rig.got.samples[i].thread_name.len);
    assert_ok(profile_decode_fixture(&rig, "pprof/go-cpu-labels.pb.gz"));
    for (uint32_t i = 0; i < rig.got.n_series; i++) {
        for (uint32_t k = 0; k < rig.got.series[i].n_labels; k++)
            has_label |= sf_str_eq(rig.got.series[i].labels[k].key, SF_STR("mylabel"));
        assert_str(rig.got.series[i].service, "shop");
    }
    assert_true(has_label);
    profile_rig_done(&rig);
}

TEST(pprof_fixture, hostile_files_do_what_they_should)
{
    static const struct {
        const char *file;
        enum sf_err err;
        int64_t sum;      /* of what was decoded */
        const char *says; /* of the error, or of the first drop */
    } files[] = {
        {"hostile/pprof-gzip-bomb.pb.gz", SF_ERR_LIMIT, 0, "inflates to more than"},
        {"hostile/pprof-gzip-two-members.pb.gz", SF_OK, 7, ""},
        {"hostile/pprof-gzip-trailing-garbage.pb.gz", SF_ERR_INPUT, 0, "at byte 99"},
        {"hostile/pprof-string-index-out-of-range.pb", SF_OK, 7, "name is string 999, of 6"},
        {"hostile/pprof-dangling-location.pb", SF_OK, 14, "location 77"},
        {"hostile/pprof-value-count-mismatch.pb", SF_OK, 7, "sample 0 at byte 7"},
        {"hostile/pprof-ids-zero.pb", SF_OK, 7, ""},
        {"hostile/pprof-length-overrun.pb", SF_ERR_INPUT, 0, "at byte 88"},
        {"hostile/pprof-many-tiny-samples.pb.gz", SF_ERR_LIMIT, 0, "2000000 samples"},
        {"hostile/pprof-concatenated.pb", SF_ERR_INPUT, 0, "2 profiles"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        enum sf_err err;
        int64_t sum = 0;
        rig.hint = (struct sf_profile_hint){.format = SF_STR("pprof")};
        err = profile_decode_fixture(&rig, files[i].file);
        if (err != files[i].err)
            fail_msg("%s gives %s: %s", files[i].file, sf_err_name(err), rig.why.text);
        for (uint32_t k = 0; !err && k < rig.got.n_samples; k++)
            sum += rig.got.samples[k].value;
        if (sum != files[i].sum)
            fail_msg("%s sums to %" PRId64, files[i].file, sum);
        if (!strstr(err ? rig.why.text : rig.got.drops.first, files[i].says))
            fail_msg("%s says \"%s\"", files[i].file, err ? rig.why.text : rig.got.drops.first);
    }
    profile_rig_done(&rig);
}
