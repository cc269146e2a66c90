/* Ids that were made to collide cost what others cost. */
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
