/* Ids that were made to collide cost what others cost. */
#include "decode/profile_build.h"
#include "support/profile_rig.h"

#include "support/collide.h"

static struct profile_rig rig;
static char text[1 << 20];
static size_t text_len;

static void add(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_len += (size_t)vsnprintf(text + text_len, sizeof(text) - text_len, format, args);
    va_end(args);
    assert_true(text_len < sizeof(text));
}

static uint64_t decode(void)
{
    uint64_t before = sf_table_steps;
    rig.hint = (struct sf_profile_hint){0};
    if (profile_decode_text(&rig, (sf_str){text, text_len}))
        fail_msg("%s", rig.why.text);
    assert_true(rig.got.n_samples > 0);
    assert_int_equal(rig.got.drops.n_parts, 0);
    return sf_table_steps - before;
}

static uint64_t stackprof(bool is_colliding)
{
    char id[COLLIDE_LEN];
    uint64_t at = 0;
    text_len = 0;
    add("{\"version\":1.2,\"mode\":\"cpu\",\"interval\":1000,\"frames\":{");
    for (int i = 0; i < COLLIDE_KEYS; i++) {
        collide_text(id, &at, is_colliding);
        add("%s\"%s\":{\"name\":\"f\",\"samples\":1}", i ? "," : "", id);
    }
    add("},\"raw\":[");
    for (uint64_t i = at = 0; i < COLLIDE_KEYS; i++) {
        sf_str s = collide_text(id, &at, is_colliding);
        add("%s1,\"%s\",1", i ? "," : "", s.p);
    }
    add("]}");
    return decode();
}

TEST(collide, frame_ids_of_stackprof)
{
    collide_check(stackprof(true), stackprof(false));
}

static uint64_t stack_frames(bool is_colliding)
{
    char id[COLLIDE_LEN];
    uint64_t at = 0;
    text_len = 0;
    add("{\"stackFrames\":{");
    for (int i = 0; i < COLLIDE_KEYS; i++) {
        collide_text(id, &at, is_colliding);
        add("%s\"%s\":{\"name\":\"f\"}", i ? "," : "", id);
    }
    add("},\"traceEvents\":[");
    for (uint64_t i = at = 0; i < COLLIDE_KEYS; i++) {
        collide_text(id, &at, is_colliding);
        add("%s{\"ph\":\"X\",\"name\":\"g\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,\"sf\":\"%s\"}",
            i ? "," : "", (int)i * 10, id);
    }
    add("]}");
    return decode();
}

TEST(collide, stack_frames_of_a_trace)
{
    collide_check(stack_frames(true), stack_frames(false));
}

/* ---- functions and mappings that differ in one thing only ---- */

static uint64_t steps_of(bool (*add_one)(struct sf_profile_build *b, uint32_t i))
{
    struct sf_arena a;
    struct sf_profile_hint hint = {0};
    struct sf_profile_build b;
    uint64_t before = sf_table_steps;
    assert_true(sf_arena_init(&a, 8 << 20));
    sf_profile_build_init(&b, &hint, &a, &rig.why);
    for (uint32_t i = 0; i < COLLIDE_KEYS; i++)
        assert_true(add_one(&b, i));
    sf_arena_done(&a);
    return sf_table_steps - before;
}

static sf_str number_text(char room[16], uint32_t i)
{
    return (sf_str){room, (size_t)snprintf(room, 16, "f%u", i)};
}

static bool add_function(struct sf_profile_build *b, uint32_t i, sf_str name, sf_str system_name,
                         sf_str file, uint32_t line)
{
    struct sf_function f = {.name = name, .system_name = system_name, .file = file};
    f.start_line = line;
    return sf_profile_build_function(b, &f) == i;
}

static char kept[COLLIDE_KEYS][16];

static bool by_line(struct sf_profile_build *b, uint32_t i)
{
    return add_function(b, i, SF_STR("f"), SF_STR("f"), SF_STR("a.c"), i);
}

static bool by_name_and_file(struct sf_profile_build *b, uint32_t i)
{
    sf_str s = number_text(kept[i], i);
    return add_function(b, i, s, s, s, 1);
}

static bool by_system_name(struct sf_profile_build *b, uint32_t i)
{
    return add_function(b, i, SF_STR("f"), number_text(kept[i], i), SF_STR("a.c"), 1);
}

TEST(collide, functions_that_differ_in_one_name)
{
    collide_check(steps_of(by_name_and_file), steps_of(by_line));
    collide_check(steps_of(by_system_name), steps_of(by_line));
}

static bool by_start(struct sf_profile_build *b, uint32_t i)
{
    return sf_profile_build_mapping(b, &(struct sf_mapping){.start = i << 12, .limit = 1}) == i;
}

static bool by_limit(struct sf_profile_build *b, uint32_t i)
{
    return sf_profile_build_mapping(b, &(struct sf_mapping){.start = 1, .limit = i << 12}) == i;
}

static bool by_start_and_offset(struct sf_profile_build *b, uint32_t i)
{
    return sf_profile_build_mapping(
               b, &(struct sf_mapping){.start = i << 13, .file_off = i << 12}) == i;
}

TEST(collide, mappings_that_differ_in_one_number)
{
    collide_check(steps_of(by_limit), steps_of(by_start));
    collide_check(steps_of(by_start_and_offset), steps_of(by_start));
}
