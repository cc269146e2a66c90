#include "support/profile_rig.h"

static struct profile_rig rig;

static enum sf_err decode(const char *json)
{
    rig.hint = (struct sf_profile_hint){0};
    return profile_decode_text(&rig, sf_str_from(json));
}

/* Sum of the cpu values of samples whose leaf is called so (or begins so, with a '*'). */
static int64_t self_ns(const char *type, const char *name)
{
    int64_t sum = 0;
    size_t len = strlen(name);
    bool is_prefix = len && name[len - 1] == '*';
    for (uint32_t i = 0; i < rig.got.n_samples; i++) {
        const struct sf_sample *s = &rig.got.samples[i];
        const struct sf_stack *st = &rig.got.stacks[s->stack];
        const struct sf_location *l = st->n ? &rig.got.locations[st->locations[0]] : NULL;
        sf_str leaf = l ? rig.got.functions[l->lines[0].function].name : SF_STR_NONE;
        if (sf_str_eq(rig.got.series[s->series].type.name, sf_str_from(type)) &&
            (is_prefix ? sf_str_starts(leaf, (sf_str){name, len - 1})
                       : sf_str_eq(leaf, sf_str_from(name))))
            sum += s->value;
    }
    return sum;
}

#define NODES                                                                               \
    "\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"},\"children\":[2,3]}," \
    "{\"id\":2,\"callFrame\":{\"functionName\":\"\",\"url\":\"a.js\",\"lineNumber\":11,"    \
    "\"columnNumber\":2}},{\"id\":3,\"callFrame\":{\"functionName\":\"(idle)\"}}]"

TEST(v8, what_ran_at_a_sample_ran_until_the_next)
{
    assert_ok(decode("{" NODES ",\"startTime\":100,\"endTime\":200,\"samples\":[2,3,2],"
                     "\"timeDeltas\":[10,20,30]}"));
    assert_int_equal(self_ns("process_cpu", "(anonymous:L#12:C#3)"), 60000);
    assert_int_equal(self_ns("process_cpu", "(idle)"), 0);
    assert_int_equal(self_ns("wall", "(idle)"), 30000);
    assert_sum(&rig, "wall:wall:nanoseconds", 90000);
    assert_int_equal(rig.got.series[0].duration_ns, 100000);
    assert_int_equal(rig.got.samples[0].start_ns, 0);
    assert_false(rig.got.samples[0].has_time);
}

TEST(v8, samples_become_moments_when_the_upload_says_when_it_began)
{
    rig.hint = (struct sf_profile_hint){.from_ns = 1700000000000000000};
    assert_ok(profile_decode_text(
        &rig, SF_STR("{" NODES ",\"startTime\":100,\"endTime\":200,\"samples\":[2,2,3],"
                     "\"timeDeltas\":[10,20,30]}")));
    assert_int_equal(rig.got.n_samples, 3);
    assert_true(rig.got.samples[0].has_time);
    assert_int_equal(rig.got.samples[0].start_ns, 1700000000000010000);
    assert_int_equal(rig.got.samples[0].length_ns, 50000);
    assert_int_equal(rig.got.samples[0].count, 2);
    assert_int_equal(rig.got.samples[2].state, SF_STATE_SLEEP);
}

TEST(v8, hits_count_only_where_there_are_no_samples)
{
    assert_ok(decode("{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"},\"hitCount\":3},"
                     "{\"id\":2,\"parent\":1,\"callFrame\":{\"functionName\":\"g\"},"
                     "\"hitCount\":1}],\"startTime\":0,\"endTime\":400}"));
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "f"), 300000);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "f;g"), 100000);
}

TEST(v8, a_heap_profile_is_a_tree_of_sizes)
{
    assert_ok(decode("{\"head\":{\"callFrame\":{\"functionName\":\"(root)\"},\"selfSize\":0,"
                     "\"children\":[{\"children\":[{\"callFrame\":{\"functionName\":\"b\"},"
                     "\"selfSize\":7,\"children\":[]}],\"callFrame\":{\"functionName\":\"a\"},"
                     "\"selfSize\":5}]},\"samples\":[]}"));
    assert_int_equal(profile_value(&rig, "inuse_space:bytes", "a"), 5);
    assert_int_equal(profile_value(&rig, "inuse_space:bytes", "a;b"), 7);
    assert_sum(&rig, "memory:inuse_space:bytes", 12);
}

TEST(v8, a_long_chain_of_nodes_is_cut)
{
    struct sf_buf text = {0};
    sf_buf_print(&text, "{\"startTime\":0,\"endTime\":9,\"samples\":[20000],\"timeDeltas\":[1],"
                        "\"nodes\":[");
    for (int i = 1; i <= 20000; i++)
        sf_buf_print(&text,
                     "%s{\"id\":%d,\"callFrame\":{\"functionName\":\"f%d\"},\"children\":[%d]}",
                     i > 1 ? "," : "", i, i, i + 1);
    sf_buf_print(&text, "]}");
    rig.hint = (struct sf_profile_hint){.max_frames = 40};
    assert_ok(profile_decode_text(&rig, sf_buf_str(&text)));
    assert_int_equal(rig.got.stacks[0].n, 40);
    assert_str(
        rig.got.functions[rig.got.locations[rig.got.stacks[0].locations[39]].lines[0].function]
            .name,
        "f1");
    assert_str(
        rig.got.functions[rig.got.locations[rig.got.stacks[0].locations[24]].lines[0].function]
            .name,
        "f16");
    assert_int_equal(rig.got.locations[rig.got.stacks[0].locations[23]].kind, SF_FRAME_MARKER);
    sf_buf_done(&text);
}

TEST(v8, says_where_it_is_broken)
{
    assert_err(decode("{" NODES ",\"startTime\":100,\"endTime\":200,\"samples\":[2,\"x\"],"
                      "\"timeDeltas\":[1,2]}"),
               SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "samples[1]"));
    assert_err(decode("{" NODES ",\"startTime\":1e300,\"endTime\":200}"), SF_ERR_INPUT);
    assert_err(decode("{\"nodes\":[{\"id\":1,\"children\":[2]},{\"id\":2,\"children\":[1]}],"
                      "\"startTime\":0,\"endTime\":1,\"samples\":[1],\"timeDeltas\":[0]}"),
               SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "each other's parents"));
    assert_err(decode("{\"snapshot\":{},\"nodes\":[],\"edges\":[]}"), SF_ERR_UNSUPPORTED);
}

TEST(v8, survives_every_size_of_arena)
{
    rig.hint = (struct sf_profile_hint){0};
    profile_try_small_arenas(&rig,
                             SF_STR("{" NODES ",\"startTime\":100,\"endTime\":200,\"samples\":[2,3"
                                    ",2],\"timeDeltas\":[10,20,30]}"),
                             200);
    profile_try_small_arenas(&rig,
                             SF_STR("{\"head\":{\"callFrame\":{\"functionName\":\"a\\u0041\"},"
                                    "\"selfSize\":5,\"children\":[{\"selfSize\":7}]}}"),
                             200);
}

TEST(v8, shared_cpu_profiles_hold_what_is_stated)
{
    static const struct {
        const char *file;
        int64_t duration_us, self_us;
        struct {
            const char *name;
            int64_t us;
        } top[3];
    } files[] = {
        {"cpuprofile/chrome65-simple.cpuprofile",
         47892,
         36317,
         {{"d", 35257}, {"(anonymous*", 1060}}},
        {"cpuprofile/chrome65-sucrase.cpuprofile.gz",
         22012290,
         22003906,
         {{"(garbage collector)", 3446216},
          {"Object.keys.forEach", 3353811},
          {"processRegion", 1516920}}},
        {"cpuprofile/node20-checkout.cpuprofile",
         915389,
         912523,
         {{"fib", 426965}, {"handleList", 212523}, {"allocate", 87864}}},
        /* start and end are the first and the last timestamp */
        {"cpuprofile/old-tree-form.cpuprofile", 45920, 45920, {{"d", 34345}}},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        for (int has_anchor = 0; has_anchor < 2; has_anchor++) {
            rig.hint = (struct sf_profile_hint){.from_ns = has_anchor ? 1700000000000000000 : 0};
            if (profile_decode_fixture(&rig, files[i].file))
                fail_msg("%s: %s", files[i].file, rig.why.text);
            if (profile_sum(&rig, "wall:wall:nanoseconds") != files[i].self_us * 1000)
                fail_msg("%s: %" PRId64, files[i].file, profile_sum(&rig, "wall:wall:nanoseconds"));
            assert_int_equal(rig.got.series[0].duration_ns, files[i].duration_us * 1000);
            for (size_t k = 0; k < 3 && files[i].top[k].name; k++) {
                if (self_ns("wall", files[i].top[k].name) != files[i].top[k].us * 1000)
                    fail_msg("%s: %s %" PRId64, files[i].file, files[i].top[k].name,
                             self_ns("wall", files[i].top[k].name));
            }
        }
    }
}

TEST(v8, shared_heap_profiles_hold_what_is_stated)
{
    uint32_t deepest = 0;
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_fixture(&rig, "heapprofile/chrome69.heapprofile"));
    assert_sum(&rig, "memory:inuse_space:bytes", 10030888);
    for (uint32_t k = 0; k < rig.got.n_stacks; k++)
        deepest = rig.got.stacks[k].n > deepest ? rig.got.stacks[k].n : deepest;
    assert_int_equal(deepest, 39); /* "(root)" is not a frame */
    assert_ok(profile_decode_fixture(&rig, "heapprofile/node20-checkout.heapprofile"));
    assert_sum(&rig, "memory:inuse_space:bytes", 427472);
}

TEST(v8, hostile_files_do_what_they_should)
{
    rig.hint = (struct sf_profile_hint){0};
    /* the first to call it its child is the parent, which breaks this circle */
    assert_ok(profile_decode_fixture(&rig, "hostile/cpuprofile-children-cycle.cpuprofile"));
    assert_ok(profile_decode_fixture(&rig, "hostile/cpuprofile-unknown-node.cpuprofile"));
    assert_int_equal(rig.got.drops.n_samples, 1);
    assert_int_equal(rig.got.n_samples, 2); /* one of cpu, one of wall time */
    assert_err(profile_decode_fixture(&rig, "hostile/cpuprofile-length-mismatch.cpuprofile"),
               SF_ERR_INPUT);
    assert_ok(profile_decode_fixture(&rig, "hostile/cpuprofile-negative-deltas.cpuprofile"));
    assert_sum(&rig, "wall:wall:nanoseconds", 400000);
    assert_int_equal(rig.got.samples[0].value, 200000);
    assert_err(profile_decode_fixture(&rig, "hostile/heapprofile-depth-bomb.heapprofile.gz"),
               SF_ERR_INPUT);
    assert_err(profile_decode_fixture(&rig, "hostile/json-bracket-bomb.json"), SF_ERR_INPUT);
    assert_ok(
        profile_decode_fixture(&rig, "hostile/json-invalid-utf8-and-lone-surrogate.cpuprofile"));
    profile_rig_done(&rig);
}
