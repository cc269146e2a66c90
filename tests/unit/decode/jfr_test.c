/* Recordings made by hand: what writers write that the shared files do not show. */
#include "base/num.h"
#include "model/profile_codec.h"
#include "support/jfr_make.h"
#include "support/profile_rig.h"

static struct profile_rig rig;
static struct jfr_make made;
static uint32_t symbol, class_, method, frame_type, frame, stack, thread_state, thread;

static void common_classes(struct jfr_make *m)
{
    symbol = jfr_make_class(m, "jdk.types.Symbol");
    jfr_make_field(m, "string", "java.lang.String", 0);
    class_ = jfr_make_class(m, "java.lang.Class");
    jfr_make_field(m, "name", "jdk.types.Symbol", JFR_MAKE_POOL);
    method = jfr_make_class(m, "jdk.types.Method");
    jfr_make_field(m, "type", "java.lang.Class", JFR_MAKE_POOL);
    jfr_make_field(m, "name", "jdk.types.Symbol", JFR_MAKE_POOL);
    frame_type = jfr_make_class(m, "jdk.types.FrameType");
    jfr_make_field(m, "description", "java.lang.String", 0);
    frame = jfr_make_class(m, "jdk.types.StackFrame");
    jfr_make_field(m, "method", "jdk.types.Method", JFR_MAKE_POOL);
    jfr_make_field(m, "lineNumber", "int", 0);
    jfr_make_field(m, "type", "jdk.types.FrameType", JFR_MAKE_POOL);
    stack = jfr_make_class(m, "jdk.types.StackTrace");
    jfr_make_field(m, "truncated", "boolean", 0);
    jfr_make_field(m, "frames", "jdk.types.StackFrame", JFR_MAKE_ARRAY);
    thread_state = jfr_make_class(m, "jdk.types.ThreadState");
    jfr_make_field(m, "name", "java.lang.String", 0);
    thread = jfr_make_class(m, "java.lang.Thread");
    jfr_make_field(m, "osThreadId", "long", 0);
    jfr_make_field(m, "javaName", "java.lang.String", 0);
}

static void begin(bool is_plain)
{
    struct sf_buf out = made.out;
    sf_buf_reset(&out);
    made = (struct jfr_make){.out = out,
                             .is_plain = is_plain,
                             .start_ns = 1700000000000000000,
                             .duration_ns = 10000000000,
                             .start_ticks = 5000,
                             .rate = 1000000000};
    jfr_make_begin(&made);
    common_classes(&made);
}

static uint32_t event_class(const char *name)
{
    uint32_t cls = jfr_make_class(&made, name);
    jfr_make_field(&made, "startTime", "long", JFR_MAKE_TICKS);
    return cls;
}

static void thread_and_stack(void)
{
    jfr_make_field(&made, "eventThread", "java.lang.Thread", JFR_MAKE_POOL);
    jfr_make_field(&made, "stackTrace", "jdk.types.StackTrace", JFR_MAKE_POOL);
}

static size_t event(uint32_t cls, int64_t ticks)
{
    size_t mark = jfr_make_event(&made, cls);
    jfr_make_long(&made, 5000 + ticks);
    return mark;
}

/* shop/Main.run > shop/Main.work as stack 1, or `depth` times work. */
static void finish(uint32_t depth)
{
    static const char *const symbols[] = {"shop/Main", "run", "work", "libc.so.6", "malloc"};
    static const char *const frames[] = {"Interpreted", "Native", "Kernel"};
    static const char *const states[] = {"STATE_DEFAULT", "STATE_RUNNABLE", "STATE_SLEEPING"};
    jfr_make_pools(&made, 7);
    jfr_make_pool(&made, symbol, 5);
    for (int i = 0; i < 5; i++) {
        jfr_make_long(&made, i + 1);
        jfr_make_text(&made, symbols[i]);
    }
    jfr_make_pool(&made, class_, 2);
    for (int i = 0; i < 2; i++) {
        jfr_make_long(&made, i + 1);
        jfr_make_long(&made, i ? 4 : 1);
    }
    jfr_make_pool(&made, method, 3);
    for (int i = 0; i < 3; i++) {
        jfr_make_long(&made, i + 1);
        jfr_make_long(&made, i == 2 ? 2 : 1);
        jfr_make_long(&made, i == 2 ? 5 : i + 2);
    }
    jfr_make_pool(&made, frame_type, 3);
    for (int i = 0; i < 3; i++) {
        jfr_make_long(&made, i);
        jfr_make_text(&made, frames[i]);
    }
    jfr_make_pool(&made, thread_state, 3);
    for (int i = 0; i < 3; i++) {
        jfr_make_long(&made, i);
        jfr_make_text(&made, states[i]);
    }
    jfr_make_pool(&made, thread, 1);
    jfr_make_long(&made, -7);
    jfr_make_long(&made, 4242);
    jfr_make_text(&made, "worker");
    jfr_make_pool(&made, stack, 2);
    for (int s = 0; s < 2; s++) {
        jfr_make_long(&made, s + 1);
        jfr_make_byte(&made, 0);
        jfr_make_int(&made, s ? 1 : (int32_t)depth);
        for (uint32_t i = 0; i < (s ? 1 : depth); i++) {
            jfr_make_long(&made, s ? 3 : i + 1 < depth ? 2 : 1);
            jfr_make_int(&made, (int32_t)i + 10);
            jfr_make_long(&made, s);
        }
    }
    jfr_make_end(&made);
}

static enum sf_err decode(void)
{
    assert_true(sf_buf_ok(&made.out));
    rig.hint = (struct sf_profile_hint){0};
    return profile_decode_text(&rig, sf_buf_str(&made.out));
}

static void write_setting(uint32_t cls, const char *name, const char *value)
{
    size_t mark = event(cls, 0);
    jfr_make_long(&made, 1);
    jfr_make_text(&made, name);
    jfr_make_text(&made, value);
    jfr_make_event_end(&made, mark);
}

static uint32_t setting_class(void)
{
    uint32_t cls = event_class("jdk.ActiveSetting");
    jfr_make_field(&made, "id", "long", 0);
    jfr_make_field(&made, "name", "java.lang.String", 0);
    jfr_make_field(&made, "value", "java.lang.String", 0);
    return cls;
}

static uint32_t execution_class(void)
{
    uint32_t cls = event_class("jdk.ExecutionSample");
    jfr_make_field(&made, "sampledThread", "java.lang.Thread", JFR_MAKE_POOL);
    jfr_make_field(&made, "stackTrace", "jdk.types.StackTrace", JFR_MAKE_POOL);
    jfr_make_field(&made, "state", "jdk.types.ThreadState", JFR_MAKE_POOL);
    return cls;
}

static void write_execution(uint32_t cls, int64_t ticks, int64_t in_state)
{
    size_t mark = event(cls, ticks);
    jfr_make_long(&made, -7);
    jfr_make_long(&made, 1);
    jfr_make_long(&made, in_state);
    jfr_make_event_end(&made, mark);
}

TEST(jfr, compressed_and_plain_numbers_say_the_same)
{
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        uint32_t cls;
        begin(is_plain);
        cls = execution_class();
        jfr_make_events(&made);
        write_execution(cls, 1000, 1);
        finish(2);
        assert_ok(decode());
        assert_int_equal(profile_value(&rig, "cpu:nanoseconds", "shop.Main.run;shop.Main.work"),
                         10000000);
        assert_int_equal(rig.got.samples[0].start_ns, 1700000000000001000);
        assert_int_equal(rig.got.samples[0].thread, 4242);
        assert_str(rig.got.samples[0].thread_name, "worker");
        assert_int_equal(rig.got.series[0].time_ns, 1700000000000000000);
    }
}

TEST(jfr, states_tell_cpu_from_wall_when_both_engines_ran)
{
    uint32_t cls, setting;
    begin(false);
    setting = setting_class();
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 1, 0);
    write_execution(cls, 2, 1);
    write_execution(cls, 3, 2);
    write_setting(setting, "event", "cpu"); /* settings count wherever they stand */
    write_setting(setting, "interval", "2000000");
    write_setting(setting, "wall", "0");
    finish(2);
    assert_ok(decode());
    assert_sum(&rig, "process_cpu:cpu:nanoseconds", 2000000);
    assert_sum(&rig, "wall:wall:nanoseconds", 100000000);
}

TEST(jfr, counters_keep_their_own_name_and_unit)
{
    uint32_t cls, setting;
    begin(false);
    setting = setting_class();
    cls = execution_class();
    jfr_make_events(&made);
    write_setting(setting, "event", "cache-misses");
    write_setting(setting, "interval", "0");
    write_execution(cls, 1, 0);
    finish(2);
    assert_ok(decode());
    assert_sum(&rig, "cache-misses:cache-misses:count", 1000);
}

TEST(jfr, settings_reach_into_the_next_chunk)
{
    uint32_t cls, setting;
    begin(false);
    setting = setting_class();
    execution_class();
    jfr_make_events(&made);
    write_setting(setting, "event", "wall");
    write_setting(setting, "interval", "7000000");
    finish(2);
    made.start_ns += 10000000000;
    jfr_make_begin(&made);
    common_classes(&made);
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 1, 2);
    finish(2);
    assert_ok(decode());
    assert_sum(&rig, "wall:wall:nanoseconds", 7000000);
    assert_int_equal(rig.got.series[0].duration_ns, 20000000000);
}

TEST(jfr, ids_are_found_by_the_names_of_fields)
{
    const struct sf_sample *s;
    char hex[33];
    uint32_t cls;
    size_t mark;
    begin(false);
    cls = execution_class();
    jfr_make_field(&made, "spanId", "long", 0);
    jfr_make_field(&made, "spanName", "long", 0);
    jfr_make_field(&made, "contextId", "long", 0);
    jfr_make_field(&made, "traceIdHi", "long", 0);
    jfr_make_field(&made, "traceIdLo", "long", 0);
    jfr_make_events(&made);
    mark = event(cls, 1);
    jfr_make_long(&made, -7);
    jfr_make_long(&made, 1);
    jfr_make_long(&made, 1);
    jfr_make_long(&made, (int64_t)0xfedcba9876543210);
    jfr_make_long(&made, 0);
    jfr_make_long(&made, 0);
    jfr_make_long(&made, 0x0102030405060708);
    jfr_make_long(&made, -1);
    jfr_make_event_end(&made, mark);
    finish(2);
    assert_ok(decode());
    s = &rig.got.samples[0];
    assert_true(s->span_id == 0xfedcba9876543210);
    sf_trace_id_render(s->trace_id, hex);
    assert_string_equal(hex, "0102030405060708ffffffffffffffff");
}

TEST(jfr, spans_of_async_profiler_own_the_samples_inside_them)
{
    uint32_t cls, span;
    size_t mark;
    begin(false);
    cls = execution_class();
    span = event_class("profiler.Span");
    jfr_make_field(&made, "duration", "long", JFR_MAKE_TICKS);
    jfr_make_field(&made, "eventThread", "java.lang.Thread", JFR_MAKE_POOL);
    jfr_make_field(&made, "tag", "java.lang.String", 0);
    jfr_make_events(&made);
    for (int64_t t = 50; t <= 450; t += 100)
        write_execution(cls, t, 1);
    mark = event(span, 100);
    jfr_make_long(&made, 200);
    jfr_make_long(&made, -7);
    jfr_make_text(&made, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    jfr_make_event_end(&made, mark);
    mark = event(span, 300);
    jfr_make_long(&made, 100);
    jfr_make_long(&made, -7);
    jfr_make_text(&made, "checkout"); /* no id */
    jfr_make_event_end(&made, mark);
    finish(2);
    assert_ok(decode());
    assert_int_equal(rig.got.n_samples, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(rig.got.samples[i].span_id == (i == 1 || i == 2 ? 0xb7ad6b7169203331 : 0));
    assert_int_equal(rig.got.samples[1].trace_id.b[0], 0x0a);
}

TEST(jfr, a_wall_sample_stands_for_many)
{
    uint32_t cls;
    size_t mark;
    begin(false);
    cls = event_class("profiler.WallClockSample");
    thread_and_stack();
    jfr_make_field(&made, "state", "jdk.types.ThreadState", JFR_MAKE_POOL);
    jfr_make_field(&made, "samples", "int", 0);
    jfr_make_field(&made, "timeSpan", "long", JFR_MAKE_TICKS);
    jfr_make_events(&made);
    mark = event(cls, 1);
    jfr_make_long(&made, -7);
    jfr_make_long(&made, 1);
    jfr_make_long(&made, 2);
    jfr_make_int(&made, 3);
    jfr_make_long(&made, 140000000);
    jfr_make_event_end(&made, mark);
    finish(2);
    assert_ok(decode());
    assert_sum(&rig, "wall:wall:nanoseconds", 150000000);
    assert_int_equal(rig.got.samples[0].count, 3);
    assert_int_equal(rig.got.samples[0].length_ns, 140000000);
    assert_int_equal(rig.got.samples[0].state, SF_STATE_SLEEP);
}

TEST(jfr, weights_may_be_fractions_and_periods_of_the_event)
{
    uint32_t object, cpu;
    size_t mark;
    begin(false);
    object = event_class("datadog.ObjectSample");
    thread_and_stack();
    jfr_make_field(&made, "size", "long", 0);
    jfr_make_field(&made, "weight", "float", 0);
    jfr_make_field(&made, "localRootSpanId", "long", 0);
    cpu = event_class("jdk.CPUTimeSample");
    thread_and_stack();
    jfr_make_field(&made, "failed", "boolean", 0);
    jfr_make_field(&made, "samplingPeriod", "long", JFR_MAKE_NS);
    jfr_make_events(&made);
    mark = event(object, 1);
    jfr_make_long(&made, -7);
    jfr_make_long(&made, 1);
    jfr_make_long(&made, 100);
    jfr_make_float(&made, 2.5f);
    jfr_make_long(&made, 99);
    jfr_make_event_end(&made, mark);
    mark = event(cpu, 2);
    jfr_make_long(&made, -7);
    jfr_make_long(&made, 0);
    jfr_make_byte(&made, 1);
    jfr_make_long(&made, 3000000);
    jfr_make_event_end(&made, mark);
    finish(2);
    assert_ok(decode());
    assert_sum(&rig, "memory:alloc_sample_bytes:bytes", 250);
    assert_int_equal(rig.got.samples[0].span_id, 99);
    assert_int_equal(profile_value(&rig, "cpu:nanoseconds", ""), 3000000);
}

TEST(jfr, waits_have_a_length_and_c_a_library)
{
    const struct sf_location *l;
    uint32_t lock;
    size_t mark;
    begin(false);
    lock = event_class("profiler.NativeLock");
    jfr_make_field(&made, "duration", "long", JFR_MAKE_TICKS);
    thread_and_stack();
    jfr_make_events(&made);
    mark = event(lock, 1);
    jfr_make_long(&made, 777);
    jfr_make_long(&made, -7);
    jfr_make_long(&made, 2);
    jfr_make_event_end(&made, mark);
    finish(2);
    assert_ok(decode());
    assert_sum(&rig, "native_lock:contentions:count", 1);
    assert_sum(&rig, "native_lock:delay:nanoseconds", 777);
    assert_int_equal(rig.got.samples[0].length_ns, 777);
    assert_int_equal(rig.got.samples[0].state, SF_STATE_LOCK);
    l = &rig.got.locations[rig.got.stacks[rig.got.samples[0].stack].locations[0]];
    assert_int_equal(l->kind, SF_FRAME_NATIVE);
    assert_str(rig.got.mappings[l->mapping].file, "libc.so.6");
    assert_str(rig.got.functions[l->lines[0].function].name, "malloc");
}

TEST(jfr, ticks_are_measured_where_the_header_lies)
{
    uint32_t cls;
    begin(false);
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 11500000000, 1);
    made.end_ticks = 5000 + 23000000000; /* in ten seconds: 2.3 GHz, not 1 */
    finish(2);
    assert_ok(decode());
    assert_int_equal(rig.got.samples[0].start_ns, 1700000005000000000);

    begin(false); /* no help from the checkpoint: the events stand behind the end */
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 10000000000, 1);
    write_execution(cls, 20000000000, 1);
    finish(2);
    assert_ok(decode());
    assert_int_equal(rig.got.samples[0].start_ns, 1700000005000000000);
}

TEST(jfr, a_stack_of_a_million_frames_is_cut)
{
    const struct sf_stack *s;
    uint32_t cls;
    begin(false);
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 1, 1);
    finish(1000000);
    assert_ok(decode());
    assert_int_equal(rig.got.drops.n_cut_stacks, 1);
    s = &rig.got.stacks[rig.got.samples[0].stack];
    assert_int_equal(s->n, SF_LIMIT_FRAMES);
    assert_int_equal(rig.got.locations[s->locations[SF_LIMIT_FRAMES - 17]].kind, SF_FRAME_MARKER);
    assert_str(
        rig.got.functions[rig.got.locations[s->locations[SF_LIMIT_FRAMES - 1]].lines[0].function]
            .name,
        "shop.Main.run");
}

TEST(jfr, a_chunk_that_claims_the_next_one_too)
{
    uint32_t cls;
    size_t first;
    begin(false);
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 1, 1);
    finish(2);
    first = made.out.len;
    jfr_make_begin(&made);
    common_classes(&made);
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 2, 1);
    finish(2);
    sf_store_u64be(made.out.p + 8, made.out.len);
    assert_ok(decode());
    assert_int_equal(rig.got.n_samples, 2);
    assert_int_equal(rig.got.drops.n_parts, 0);
    sf_store_u64be(made.out.p + 8, first + 30); /* or half of its header */
    assert_ok(decode());
    assert_int_equal(rig.got.n_samples, 2);
    assert_int_equal(rig.got.drops.n_parts, 0);
}

TEST(jfr, every_cut_of_a_file_is_said_or_survived)
{
    struct sf_buf whole = {0};
    uint32_t cls;
    begin(false);
    cls = execution_class();
    jfr_make_events(&made);
    write_execution(cls, 1, 1);
    finish(2);
    sf_buf_add(&whole, made.out.p, made.out.len);
    for (size_t len = 0; len < whole.len; len++) {
        rig.hint = (struct sf_profile_hint){.format = SF_STR("jfr")};
        profile_rig_init(&rig);
        assert_err(sf_profile_format_decode((sf_str){(char *)whole.p, len}, &rig.hint, &rig.arena,
                                            &rig.got, &rig.why),
                   len ? SF_ERR_INPUT : SF_OK);
        assert_true(!len || strstr(rig.why.text, "byte"));
    }
    sf_buf_done(&whole);
}

TEST(jfr, secrets_are_not_even_read)
{
    struct sf_buf logged = {0};
    uint32_t cls, property;
    size_t mark;
    begin(false);
    cls = execution_class();
    property = event_class("jdk.InitialEnvironmentVariable");
    jfr_make_field(&made, "key", "java.lang.String", 0);
    jfr_make_field(&made, "value", "java.lang.String", 0);
    jfr_make_events(&made);
    write_execution(cls, 1, 1);
    mark = event(property, 1);
    jfr_make_text(&made, "DB_PASSWORD");
    jfr_make_text(&made, "hunter2");
    jfr_make_event_end(&made, mark);
    mark = event(property, 2); /* broken on top: not examined, not told */
    jfr_make_byte(&made, 9);
    jfr_make_text(&made, "hunter2");
    jfr_make_event_end(&made, mark);
    finish(2);
    assert_ok(decode());
    assert_int_equal(rig.got.n_samples, 1);
    assert_int_equal(rig.got.drops.n_parts, 0);
    sf_profile_codec_encode(&rig.got, &logged); /* as it would reach the disk */
    assert_true(sf_buf_ok(&logged) && logged.len);
    assert_false(sf_str_find(sf_buf_str(&logged), SF_STR("hunter2"), &(size_t){0}));
    assert_true(sf_str_find(sf_buf_str(&logged), SF_STR("shop.Main.work"), &(size_t){0}));
    sf_buf_done(&logged);
}

TEST(jfr, generated_names_are_the_same_in_every_process)
{
    static const struct {
        const char *from, *to;
    } names[] = {
        {"shop/Main$$Lambda$75.0x0000000800c22a28", "shop.Main$$Lambda"},
        {"shop/Main$$Lambda.0x00007f8177090218", "shop.Main$$Lambda"},
        {"shop.Main$$Lambda+0x00007f8177090218/543846639", "shop.Main$$Lambda"},
        {"shop/Main$$Lambda$70/0x0000000800c22a28", "shop.Main$$Lambda"},
        {"jdk/internal/reflect/GeneratedMethodAccessor31",
         "jdk.internal.reflect.GeneratedMethodAccessor"},
        {"com/sun/proxy/$Proxy123", "com.sun.proxy.$Proxy"},
        {"shop/Cart$$EnhancerBySpringCGLIB$$1a2b3c4d", "shop.Cart$$EnhancerBySpringCGLIB"},
        {"shop/Cart$1", "shop.Cart$1"},
        {"G", "G"},
        {"$$Lambda", "$$Lambda"},
    };
    uint32_t cls;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        begin(false);
        cls = execution_class();
        jfr_make_events(&made);
        write_execution(cls, 1, 1);
        jfr_make_pools(&made, 4);
        jfr_make_pool(&made, symbol, 1);
        jfr_make_long(&made, 1);
        jfr_make_text(&made, names[i].from);
        jfr_make_pool(&made, class_, 1);
        jfr_make_long(&made, 1);
        jfr_make_long(&made, 1);
        jfr_make_pool(&made, method, 1);
        jfr_make_long(&made, 1);
        jfr_make_long(&made, 1);
        jfr_make_long(&made, 0);
        jfr_make_pool(&made, stack, 1);
        jfr_make_long(&made, 1);
        jfr_make_byte(&made, 0);
        jfr_make_int(&made, 1);
        jfr_make_long(&made, 1);
        jfr_make_int(&made, -1);
        jfr_make_long(&made, 0);
        jfr_make_end(&made);
        assert_ok(decode());
        if (!sf_str_eq(rig.got.functions[0].name, sf_str_from(names[i].to)))
            fail_msg("%s became %.*s", names[i].from, SF_STR_ARG(rig.got.functions[0].name));
    }
}

TEST(jfr, survives_every_size_of_arena)
{
    uint32_t cls;
    begin(false);
    cls = execution_class();
    jfr_make_events(&made);
    for (int i = 0; i < 50; i++)
        write_execution(cls, i, 1);
    finish(3);
    rig.hint = (struct sf_profile_hint){0};
    profile_try_small_arenas(&rig, sf_buf_str(&made.out), 300);
    sf_buf_done(&made.out);
    profile_rig_done(&rig);
}
