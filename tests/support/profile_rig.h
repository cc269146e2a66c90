/* profile_rig.h - profile files read, unwrapped and decoded for unit tests, and their content as
 * text to compare.
 *
 * The files are in tests/data/profiles, but for those whose licence keeps them out of the tree:
 * SPANFLAME_FIXTURES names a folder that has them too. */
#pragma once
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

#include "base/limits.h"
#include "decode/profile_format.h"
#include "support/profile_check.h"

struct profile_rig {
    struct sf_arena arena;
    struct sf_buf file, plain, prev_file, prev;
    struct sf_inflate *z;
    struct sf_profile_hint hint;
    struct sf_profile_batch got;
    struct sf_why why;
};

static inline const char *profile_fixture_dir(void)
{
    static char dir[1024];
    const char *given = getenv("SPANFLAME_FIXTURES"), *source = getenv("SPANFLAME_SOURCE");
    if (given)
        snprintf(dir, sizeof(dir), "%s/profiles", given);
    else
        snprintf(dir, sizeof(dir), "%s/tests/data/profiles", source ? source : ".");
    return dir;
}

/* False for a file that is not in the tree because of its licence. */
static inline bool profile_is_here(const char *name)
{
    char path[2048];
    snprintf(path, sizeof(path), "%s/%s", profile_fixture_dir(), name);
    if (access(path, R_OK) == 0)
        return true;
    if (getenv("SPANFLAME_FIXTURES"))
        fail_msg("%s is not there", path);
    printf("# %s is not in the tree\n", name);
    return false;
}

static inline void profile_rig_init(struct profile_rig *r)
{
    if (!r->arena.base)
        assert_true(sf_arena_init(&r->arena, SF_LIMIT_ARENA_LEN));
    if (!r->z)
        r->z = sf_inflate_new();
    assert_non_null(r->z);
    sf_arena_reset(&r->arena);
    memset(&r->got, 0, sizeof(r->got));
    r->why.text[0] = 0;
}

static inline void profile_rig_done(struct profile_rig *r)
{
    sf_arena_done(&r->arena);
    sf_buf_done(&r->file);
    sf_buf_done(&r->plain);
    sf_buf_done(&r->prev_file);
    sf_buf_done(&r->prev);
    sf_inflate_free(r->z);
    *r = (struct profile_rig){0};
}

static inline void profile_read(const char *name, struct sf_buf *out)
{
    char path[2048];
    FILE *f;
    size_t n;
    snprintf(path, sizeof(path), "%s/%s", profile_fixture_dir(), name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be opened", path);
    sf_buf_reset(out);
    do {
        uint8_t *to = sf_buf_take(out, 1 << 16);
        assert_non_null(to);
        n = fread(to, 1, 1 << 16, f);
        out->len -= (1 << 16) - n;
    } while (n);
    fclose(f);
}

static inline enum sf_err profile_unwrap_fixture(struct profile_rig *r, const char *name,
                                                 struct sf_buf *file, struct sf_buf *plain,
                                                 sf_str *out)
{
    profile_read(name, file);
    return sf_profile_format_unwrap(r->z, sf_buf_str(file), SF_LIMIT_INFLATED_LEN, plain, out,
                                    &r->why);
}

/* Decodes shared fixture `name` under r->hint. */
static inline enum sf_err profile_decode_fixture(struct profile_rig *r, const char *name)
{
    sf_str plain;
    enum sf_err err;
    profile_rig_init(r);
    err = profile_unwrap_fixture(r, name, &r->file, &r->plain, &plain);
    if (!err)
        err = sf_profile_format_decode(plain, &r->hint, &r->arena, &r->got, &r->why);
    if (!err)
        profile_check(&r->got);
    return err;
}

static inline enum sf_err profile_decode_text(struct profile_rig *r, sf_str bytes)
{
    enum sf_err err;
    profile_rig_init(r);
    err = sf_profile_format_decode(bytes, &r->hint, &r->arena, &r->got, &r->why);
    if (!err)
        profile_check(&r->got);
    return err;
}

/* Sum of the values of one sample type ("cpu:nanoseconds"; "name:type:unit" also checks the name).
 */
static inline int64_t profile_sum(const struct profile_rig *r, const char *type)
{
    int64_t sum = 0;
    char name[300];
    for (uint32_t i = 0; i < r->got.n_samples; i++) {
        const struct sf_series *s = &r->got.series[r->got.samples[i].series];
        int skip = snprintf(name, sizeof(name), "%.*s:", SF_STR_ARG(s->type.name));
        snprintf(name + skip, sizeof(name) - (size_t)skip, "%.*s:%.*s",
                 SF_STR_ARG(s->type.sample_type), SF_STR_ARG(s->type.sample_unit));
        if (!strcmp(name, type) || !strcmp(name + skip, type))
            sum += r->got.samples[i].value;
    }
    return sum;
}

#define assert_sum(r, type, want)                                                  \
    do {                                                                           \
        int64_t assert_sum_got = profile_sum(r, type);                             \
        if (assert_sum_got != (want))                                              \
            fail_msg("%s sums to %" PRId64 ", not %" PRId64, type, assert_sum_got, \
                     (int64_t)(want));                                             \
    } while (0)

/* "root;...;leaf" of stack `at`, into `out`; inlined calls as frames of their own. */
static inline void profile_stack_text(const struct sf_profile_batch *b, uint32_t at,
                                      struct sf_buf *out)
{
    const struct sf_stack *s = &b->stacks[at];
    bool is_first = true;
    for (uint32_t i = s->n; i-- > 0;) {
        const struct sf_location *l = &b->locations[s->locations[i]];
        for (uint32_t k = l->n_lines; k-- > 0;) {
            sf_buf_print(out, "%s%.*s", is_first ? "" : ";",
                         SF_STR_ARG(b->functions[l->lines[k].function].name));
            is_first = false;
        }
        if (!l->n_lines) {
            sf_buf_print(out, "%s0x%" PRIx64, is_first ? "" : ";", l->addr);
            is_first = false;
        }
    }
}

/* The value of the samples of `type` whose stack reads `stack`. */
static inline int64_t profile_value(const struct profile_rig *r, const char *type,
                                    const char *stack)
{
    struct sf_buf text = {0};
    int64_t sum = 0;
    for (uint32_t i = 0; i < r->got.n_samples; i++) {
        const struct sf_sample *s = &r->got.samples[i];
        const struct sf_profile_type *t = &r->got.series[s->series].type;
        char name[200];
        snprintf(name, sizeof(name), "%.*s:%.*s", SF_STR_ARG(t->sample_type),
                 SF_STR_ARG(t->sample_unit));
        sf_buf_reset(&text);
        profile_stack_text(&r->got, s->stack, &text);
        if (!strcmp(name, type) && sf_str_eq(sf_buf_str(&text), sf_str_from(stack)))
            sum += s->value;
    }
    sf_buf_done(&text);
    return sum;
}

/* Decodes with every arena from nothing to enough, in `steps`: each fails with LIMIT and leaves the
 * result alone, or succeeds. */
static inline void profile_try_small_arenas(struct profile_rig *r, sf_str bytes, unsigned steps)
{
    size_t cap, need;
    assert_ok(profile_decode_text(r, bytes));
    cap = r->arena.cap;
    need = sf_arena_used(&r->arena);
    for (unsigned i = 0; i < steps; i++) {
        struct sf_profile_batch before;
        enum sf_err err;
        sf_arena_reset(&r->arena);
        r->arena.cap = need * i / steps;
        memset(&r->got, 0x5a, sizeof(r->got));
        before = r->got;
        err = sf_profile_format_decode(bytes, &r->hint, &r->arena, &r->got, &r->why);
        r->arena.cap = cap;
        if (err) {
            assert_int_equal(err, SF_ERR_LIMIT);
            assert_memory_equal(&before, &r->got, sizeof(before));
        } else {
            profile_check(&r->got);
        }
    }
    memset(&r->got, 0, sizeof(r->got));
}
