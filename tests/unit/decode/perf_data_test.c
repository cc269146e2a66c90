/* perf.data, from the seeds of its fuzz target, which are small and made by hand. */
#include "support/profile_rig.h"

static struct profile_rig rig;

static sf_str seed(const char *name)
{
    static struct sf_buf file;
    char path[2048];
    const char *source = getenv("SPANFLAME_SOURCE");
    FILE *f;
    size_t n;
    snprintf(path, sizeof(path), "%s/tests/corpus/perf_data/%s", source ? source : ".", name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be opened", path);
    sf_buf_reset(&file);
    n = fread(sf_buf_take(&file, 8192), 1, 8192, f);
    file.len = n;
    fclose(f);
    return sf_buf_str(&file);
}

/* The same recording in all its forms: plain, compressed, compressed with padding, and of a
 * big-endian machine. */
static void check_two_events(const char *name)
{
    const struct sf_location *l;
    rig.hint = (struct sf_profile_hint){.from_ns = 1000000000000000000};
    assert_ok(profile_decode_text(&rig, seed(name)));
    assert_int_equal(rig.got.n_samples, 2);
    assert_sum(&rig, "process_cpu:cpu:nanoseconds", 250000);
    assert_sum(&rig, "page-faults:page-faults:count", 5);
    /* kernel above a user frame in /bin/app at its offset in the file; 0x500000 is nowhere */
    assert_int_equal(
        profile_value(&rig, "cpu:nanoseconds", "app;[unknown];0x200f;0xffffffff81000010"), 250000);
    /* the child has its parent's maps; the caller's address is the one before the return */
    assert_int_equal(profile_value(&rig, "page-faults:count", "worker;0x2100;0x2010"), 5);
    assert_int_equal(rig.got.samples[0].thread, 7);
    assert_str(rig.got.samples[0].thread_name, "app");
    assert_int_equal(rig.got.samples[1].thread, 9);
    assert_str(rig.got.samples[1].thread_name, "worker");
    assert_int_equal(rig.got.samples[1].start_ns - rig.got.samples[0].start_ns, 100);
    l = &rig.got.locations[rig.got.stacks[rig.got.samples[1].stack].locations[0]];
    assert_str(rig.got.mappings[l->mapping].file, "/bin/app");
    assert_str(rig.got.mappings[l->mapping].build_id, "0102030405060708090a0b0c0d0e0f1011121314");
}

TEST(perf_data, samples_are_resolved_in_order_of_time)
{
    check_two_events("two-events.data");
}

TEST(perf_data, compressed_records_are_one_stream)
{
    check_two_events("zstd.data");
    check_two_events("zstd-padded.data");
    rig.hint = (struct sf_profile_hint){0};
    profile_try_small_arenas(&rig, seed("zstd.data"), 40);
}

TEST(perf_data, a_big_endian_machine_wrote_it)
{
    check_two_events("big-endian.data");
}

TEST(perf_data, pipes_cuts_and_compressed_records)
{
    rig.hint = (struct sf_profile_hint){0};
    assert_ok(profile_decode_text(&rig, seed("pipe.data")));
    assert_sum(&rig, "cpu:nanoseconds", 250005); /* the pipe describes one event only */
    assert_err(profile_decode_text(&rig, seed("cut.data")), SF_ERR_INPUT); /* inside its maps */
    assert_non_null(strstr(rig.why.text, "does not fit"));
    assert_err(profile_decode_text(&rig, seed("zstd-broken.data")), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "perf.data: compressed records: zstd: "));
    assert_err(profile_decode_text(&rig, seed("record-size-zero.data")), SF_ERR_INPUT);
    assert_err(profile_decode_text(&rig, SF_STR("PERFILE2\x68\0\0\0\0\0\0\0")), SF_ERR_INPUT);
    assert_non_null(strstr(rig.why.text, "cut short"));
    rig.hint = (struct sf_profile_hint){0};
    profile_try_small_arenas(&rig, seed("two-events.data"), 40);
    profile_rig_done(&rig);
}
