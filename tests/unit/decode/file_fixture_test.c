/* The shared files of the formats that came with the files of other tools decode to the facts their
 * list of contents states. */
#include "support/profile_rig.h"

static struct profile_rig rig;

struct fact {
    const char *file, *format, *type; /* "sample_type:unit" */
    int64_t sum;
    uint32_t n_samples; /* events of that type; 0: not asked */
};

static const struct fact facts[] = {
    {"perf-script/perf-dd-stacks-01.txt", "perf-script", "cpu:nanoseconds", 11 * 10101010LL, 11},
    {"perf-script/perf-java-stacks-01.txt", "perf-script", "cycles:count", 46, 46},
    {"perf-script/perf-cycles-instructions-01.txt", "perf-script", "instructions:count", 333, 333},
    {"perf-script/perf-cycles-instructions-01.txt", "perf-script", "cycles:count", 111, 111},
    {"perf-script/perf-js-stacks-01.txt", "perf-script", "samples:count", 2, 2},
    {"perf-script/perf-java-faults-01.txt", "perf-script", "page-faults:count", 0, 23},
    {"perf-script/perf-numa-stacks-01.txt", "perf-script", "samples:count", 200, 200},
    {"perf-script/simple-with-header.linux-perf.txt", "perf-script", "cpu:nanoseconds", 0, 136},
    {"perf-script/simple-with-pid.linux-perf.txt", "perf-script", "samples:count", 137, 137},
    {"perf-script/one-sample.linux-perf.txt", "perf-script", "cpu:nanoseconds", 0, 1},
    {"perf-script/forks.linux-perf.txt.gz", "perf-script", "cpu:nanoseconds", 0, 561},
    {"perf-script/simpleperf.txt.gz", "perf-script", "cpu:nanoseconds", 163000000, 163},
    {"hostile/perfscript-odd.txt", "perf-script", "cycles:count", 250002, 3},
    {"trace-event/simple.json", "trace-event", "wall:nanoseconds", 14000, 0},
    {"trace-event/simple-object.json", "trace-event", "wall:nanoseconds", 14000, 0},
    {"trace-event/simple-partial.json", "trace-event", "wall:nanoseconds", 14000, 0},
    {"trace-event/simple-partial-trailing-comma.json", "trace-event", "wall:nanoseconds", 14000, 0},
    {"trace-event/simple-partial-whitespace.json", "trace-event", "wall:nanoseconds", 14000, 0},
    {"trace-event/multiprocess.json", "trace-event", "wall:nanoseconds", 8000, 8},
    {"trace-event/matching-x.json", "trace-event", "wall:nanoseconds", 10000, 0},
    {"trace-event/x-events-matching-end.json", "trace-event", "wall:nanoseconds", 20000, 0},
    {"trace-event/zero-duration-events.json", "trace-event", "wall:nanoseconds", 10000, 0},
    {"trace-event/unbalanced-name.json", "trace-event", "wall:nanoseconds", 9000, 0},
    {"trace-event/too-many-end-events.json", "trace-event", "wall:nanoseconds", 14000, 0},
    {"trace-event/not-enough-end-events.json", "trace-event", "wall:nanoseconds", 11000, 0},
    {"trace-event/out-of-order.json", "trace-event", "wall:nanoseconds", 10000, 0},
    {"trace-event/invalid-x-nesting.json", "trace-event", "wall:nanoseconds", 10000, 0},
    {"trace-event/simple-with-samples.json", "trace-event", "samples:count", 7, 7},
    {"trace-event/simple-hermes.json", "trace-event", "wall:nanoseconds", 14000, 0},
    {"trace-event/event-reordering-name-match.json", "trace-event", "wall:nanoseconds", 10000, 0},
    {"trace-event/mismatched-args.json", "trace-event", "wall:nanoseconds", 10000, 0},
    /* the sum of the deltas, less the one before the first sample */
    {"chrome-trace/chrome116-trace.json.gz", "trace-event", "wall:nanoseconds", 265139000, 1600},
    {"chrome-trace/chrome141-no-arg-data.json", "trace-event", "wall:nanoseconds", 55862000, 0},
    {"chrome-trace/chrome69-simple.json.gz", "trace-event", "wall:nanoseconds", 276450000, 2051},
    {"chrome-trace/chrome-cpuprofile-event.json", "trace-event", "wall:nanoseconds", 6291251000,
     20},
    {"gecko/gecko-1.json", "gecko", "samples:count", 21, 21},
    {"gecko/gecko-2.json", "gecko", "samples:count", 21, 21},
    {"gecko/processed-1.json", "gecko", "samples:count", 21, 21},
    {"gecko/processed-3.json", "gecko", "samples:count", 21, 21},
    {"gecko/argument-values.json", "gecko", "samples:count", 32, 32},
    {"gecko/processed-68.json", "gecko", "samples:count", 1, 1},
    {"gecko/firefox59-simple.json", "gecko", "samples:count", 38, 38},
    {"pprof-legacy/cppbench.contention", "pprof-legacy", "contentions:count", 3500, 0},
    {"pprof-legacy/cppbench.contention", "pprof-legacy", "delay:nanoseconds", 690508213, 0},
    {"pprof-legacy/cppbench.cpu", "pprof-legacy-cpu", "samples:count", 712, 0},
    {"pprof-legacy/cppbench.cpu", "pprof-legacy-cpu", "cpu:nanoseconds", 7120000000, 0},
    {"pprof-legacy/cppbench.heap", "pprof-legacy", "inuse_objects:count", 41063, 0},
    {"pprof-legacy/cppbench.heap", "pprof-legacy", "inuse_space:bytes", 80935293, 0},
    {"pprof-legacy/go.godoc.thread", "pprof-legacy", "threadcreate:count", 7, 0},
    {"pprof-legacy/gobench.heap", "pprof-legacy", "alloc_objects:count", 83134, 0},
    {"pprof-legacy/gobench.heap", "pprof-legacy", "alloc_space:bytes", 350314738, 0},
    {"pprof-legacy/gobench.heap", "pprof-legacy", "inuse_objects:count", 11445, 0},
    {"pprof-legacy/gobench.heap", "pprof-legacy", "inuse_space:bytes", 7721316, 0},
    {"pprof-legacy/java.heap", "pprof-legacy", "inuse_objects:count", 67347, 0},
    {"pprof-legacy/java.heap", "pprof-legacy", "inuse_space:bytes", 9968703, 0},
    {"pyroscope-raw/checkout.groups.txt", "folded", "samples:count", 788, 0},
    {"pyroscope-raw/checkout.lines.txt", "lines", "samples:count", 788, 0},
    {"pyroscope-raw/checkout.tree.bin", "tree", "samples:count", 788, 0},
    {"pyroscope-raw/checkout.trie.bin", "trie", "samples:count", 788, 0},
};

static uint32_t count_of(const char *type)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rig.got.n_samples; i++) {
        const struct sf_profile_type *t = &rig.got.series[rig.got.samples[i].series].type;
        char name[200];
        snprintf(name, sizeof(name), "%.*s:%.*s", SF_STR_ARG(t->sample_type),
                 SF_STR_ARG(t->sample_unit));
        if (!strcmp(name, type))
            n += rig.got.samples[i].count;
    }
    return n;
}

TEST(file_fixture, totals_and_counts_are_those_stated)
{
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        const struct fact *f = &facts[i];
        sf_str plain;
        if (!profile_is_here(f->file))
            continue;
        rig.hint = (struct sf_profile_hint){0};
        profile_rig_init(&rig);
        assert_ok(profile_unwrap_fixture(&rig, f->file, &rig.file, &rig.plain, &plain));
        if (strcmp(sf_profile_format_find(plain) ? sf_profile_format_find(plain) : "nothing",
                   f->format) != 0)
            fail_msg("%s is taken for %s", f->file, sf_profile_format_find(plain));
        if (profile_decode_fixture(&rig, f->file))
            fail_msg("%s: %s", f->file, rig.why.text);
        if (f->sum && profile_sum(&rig, f->type) != f->sum)
            fail_msg("%s: %s sums to %" PRId64, f->file, f->type, profile_sum(&rig, f->type));
        if (f->n_samples && count_of(f->type) != f->n_samples)
            fail_msg("%s: %u samples of %s", f->file, count_of(f->type), f->type);
    }
    profile_rig_done(&rig);
}

/* "root;...;leaf" as stackcollapse-perf writes it, with its marks of kernel and run-time code. */
static void folded_text(uint32_t stack, struct sf_buf *out)
{
    const struct sf_stack *s = &rig.got.stacks[stack];
    sf_buf_reset(out);
    for (uint32_t i = s->n; i-- > 0;) {
        const struct sf_location *l = &rig.got.locations[s->locations[i]];
        sf_str name = rig.got.functions[l->lines[0].function].name;
        sf_str module = l->mapping == SF_NONE ? SF_STR_NONE : rig.got.mappings[l->mapping].file;
        bool is_jit = sf_str_starts(module, SF_STR("/tmp/perf-"));
        sf_buf_print(out, "%s%.*s%s", out->len ? ";" : "", SF_STR_ARG(name),
                     is_jit                       ? "_[j]"
                     : l->kind == SF_FRAME_KERNEL ? "_[k]"
                                                  : "");
    }
}

static int64_t value_of(sf_str stack, struct sf_buf *text)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < rig.got.n_samples; i++) {
        folded_text(rig.got.samples[i].stack, text);
        if (sf_str_eq(sf_buf_str(text), stack))
            sum += rig.got.samples[i].value;
    }
    return sum;
}

TEST(file_fixture, perf_folds_as_its_own_script_does)
{
    static const char *const names[] = {"dd-stacks-01", "java-stacks-01", "js-stacks-01",
                                        "java-faults-01", "numa-stacks-01"};
    struct sf_buf text = {0};
    for (size_t i = 0; i < 5; i++) {
        char file[200];
        sf_str rest, line;
        int64_t all = 0, most = 0, ours = 0;
        rig.hint = (struct sf_profile_hint){0};
        snprintf(file, sizeof(file), "perf-script/perf-%s.txt", names[i]);
        if (!profile_is_here(file))
            skip();
        assert_ok(profile_decode_fixture(&rig, file));
        snprintf(file, sizeof(file), "perf-script/perf-%s.expected-collapsed-all.txt", names[i]);
        profile_read(file, &rig.prev_file);
        rest = sf_buf_str(&rig.prev_file);
        while (sf_str_split_next(&rest, '\n', &line) && line.len) {
            size_t at = line.len;
            int64_t want, got;
            while (line.p[at - 1] != ' ')
                at--;
            assert_true(sf_str_to_i64(sf_str_from_at(line, at), &want));
            got = value_of(sf_str_part(line, 0, at - 1), &text);
            all += want;
            if (got < want)
                fail_msg("%s: %" PRId64 " of %.*s", file, got, SF_STR_ARG(line));
        }
        for (uint32_t k = 0; k < rig.got.n_samples; k++) {
            ours += rig.got.samples[k].value;
            if (rig.got.samples[k].value > most)
                most = rig.got.samples[k].value;
        }
        if (ours < all || ours > all + most) /* the script forgets the last sample */
            fail_msg("%s: %" PRId64 " in all, not %" PRId64, file, ours, all);
    }
    sf_buf_done(&text);
    profile_rig_done(&rig);
}

TEST(file_fixture, hostile_files_end_with_a_sentence_or_what_is_good_in_them)
{
    static const struct {
        const char *file;
        enum sf_err err;
        const char *says; /* of the error, or of the first drop */
    } files[] = {
        {"hostile/gecko-stack-cycle.json", SF_ERR_INPUT, "circle"},
        {"hostile/trace-event-parent-cycle.json", SF_ERR_INPUT, "each other's parents"},
        {"hostile/json-bracket-bomb.json", SF_ERR_INPUT, "broken at byte"},
        {"hostile/heapprofile-depth-bomb.heapprofile.gz", SF_ERR_INPUT, "nested too deep"},
        {"hostile/cpuprofile-children-cycle.cpuprofile", SF_OK, ""}, /* the first parent counts */
        {"hostile/cpuprofile-length-mismatch.cpuprofile", SF_ERR_INPUT, "3 samples, but 1 time"},
        {"hostile/cpuprofile-unknown-node.cpuprofile", SF_OK, "node 42"},
        {"hostile/cpuprofile-negative-deltas.cpuprofile", SF_OK, ""},
        {"hostile/json-invalid-utf8-and-lone-surrogate.cpuprofile", SF_OK, ""},
        {"hostile/speedscope-frame-equals-length.speedscope.json", SF_OK, "not there"},
        {"hostile/speedscope-close-without-open.speedscope.json", SF_ERR_INPUT, "innermost"},
        {"hostile/collapsed-odd-lines.txt", SF_OK, "no usable count"},
        {"hostile/perfscript-odd.txt", SF_OK, ""},
        {"hostile/pyroscope-tree-name-length-max.bin", SF_ERR_INPUT, "unknown profile format"},
        {"hostile/pyroscope-tree-children-huge.bin", SF_ERR_INPUT, "unknown profile format"},
        {"hostile/pyroscope-trie-truncated.bin", SF_ERR_INPUT, "unknown profile format"},
        {"hostile/jitdump-record-size-zero.dump", SF_ERR_UNSUPPORTED, "a jitdump"},
        {"hostile/jitdump-debug-count-huge.dump", SF_ERR_UNSUPPORTED, "a jitdump"},
        {"hostile/perf-map-odd.map", SF_ERR_UNSUPPORTED, "a perf map"},
        {"speedscope/incomplete-trace.json", SF_OK, ""},
        {"speedscope/out-of-order-events.json", SF_ERR_INPUT, "innermost"},
        {"perf-map/jdk17-perf.map", SF_ERR_UNSUPPORTED, "a perf map"},
        {"jfr/dump2.labels.pb.gz", SF_ERR_UNSUPPORTED, "without its JFR recording"},
        {"jfr/new_spancontext.labels.gz", SF_ERR_UNSUPPORTED, "without its JFR recording"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        enum sf_err err;
        const char *said;
        rig.hint = (struct sf_profile_hint){0};
        err = profile_decode_fixture(&rig, files[i].file);
        said = err ? rig.why.text : rig.got.drops.first;
        if (err != files[i].err || !strstr(said, files[i].says))
            fail_msg("%s: %s, \"%s\"", files[i].file, sf_err_name(err), said);
    }
    profile_rig_done(&rig);
}
