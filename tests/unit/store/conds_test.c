#include "store/local/read/conds.h"

#include "test.h"

enum { ROWS = 6 };

static const sf_str KEY = {"k", 1};
static struct sf_arena scratch;

static struct sf_value whole(int64_t i)
{
    return (struct sf_value){.type = SF_VALUE_INT, .i64 = i};
}

static struct sf_value real(double d)
{
    return (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = d};
}

static struct sf_value text(const char *s)
{
    return (struct sf_value){.type = SF_VALUE_STR, .str = sf_str_from(s)};
}

/* Rows whose resources have these values under KEY, and kinds and statuses 0, 1, 2, ... */
static void judge(const struct sf_value have[ROWS], struct sf_cond cond, const char *want)
{
    static const uint8_t numbers[ROWS] = {0, 1, 2, 3, 4, 5}, statuses[ROWS] = {0, 1, 2, 0, 1, 2};
    static const uint64_t starts[ROWS] = {100, 100, 100, 100, 100, 100},
                          ends[ROWS] = {99, 100, 105, 110, 111, UINT64_MAX};
    struct sf_attr attrs[ROWS];
    struct sf_resource resources[ROWS];
    uint32_t place[ROWS], where;
    uint8_t out[ROWS] = {0};
    char got[ROWS + 1] = "";
    struct sf_key keys[1];
    struct sf_conds c = {.list = &cond, .n = 1, .is_all = true};
    struct sf_span_rows rows = {.n_rows = ROWS,
                                .start_ns = starts,
                                .end_ns = ends,
                                .kind = numbers,
                                .status = statuses,
                                .resource = place,
                                .resources = resources,
                                .n_resources = ROWS};
    if (!scratch.cap)
        assert_true(sf_arena_init(&scratch, 1 << 20));
    for (uint32_t i = 0; i < ROWS; i++) {
        attrs[i] = (struct sf_attr){KEY, have ? have[i] : whole(0)};
        resources[i] = (struct sf_resource){.attrs = {&attrs[i], 1}};
        place[i] = i;
    }
    (void)sf_conds_prepare(&c, keys, 0, &where);
    assert_true(sf_conds_judge(&c, &rows, 0, ROWS, scratch, out));
    for (size_t i = 0; i < ROWS; i++)
        got[i] = out[i] ? '1' : '0';
    assert_string_equal(got, want);
}

static void resource(enum sf_op op, struct sf_value val, const char *want)
{
    const struct sf_value have[ROWS] = {whole(4), whole(5),     whole(6),
                                        real(5),  text("five"), {.type = SF_VALUE_NONE}};
    judge(have, (struct sf_cond){SF_SCOPE_RESOURCE, op, KEY, &val, 1, {0}}, want);
}

/* What cannot be compared is left to the layer above: only a certain no is a no. */
TEST(conds, order_numbers_of_both_kinds)
{
    resource(SF_OP_LT, whole(5), "100010");
    resource(SF_OP_LE, whole(5), "110110");
    resource(SF_OP_GT, whole(5), "001010");
    resource(SF_OP_GE, whole(5), "011110");
    resource(SF_OP_EQ, whole(5), "010100");
    resource(SF_OP_LT, real(5.5), "110110");
    resource(SF_OP_GE, real(4.5), "011110");
    resource(SF_OP_EQ, real(6), "001000");
    resource(SF_OP_NE, whole(5), "111111");
}

TEST(conds, order_texts)
{
    const struct sf_value have[ROWS] = {text("a"), text("b"), text("c"),
                                        whole(1),  text(""),  text("bb")};
    const struct sf_value b = text("b");
    judge(have, (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_LT, KEY, &b, 1, {0}}, "100110");
    judge(have, (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_GE, KEY, &b, 1, {0}}, "011101");
    judge(have, (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_EQ, KEY, &b, 1, {0}}, "010000");
}

/* As doubles these are equal. */
TEST(conds, tell_large_whole_numbers_apart)
{
    const int64_t big = INT64_C(1) << 60;
    const struct sf_value have[ROWS] = {whole(big - 1), whole(big), whole(big + 1),
                                        whole(-big),    whole(0),   whole(INT64_MAX)};
    const struct sf_value v = whole(big);
    judge(have, (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_EQ, KEY, &v, 1, {0}}, "010000");
    judge(have, (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_LT, KEY, &v, 1, {0}}, "100110");
    judge(have, (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_GT, KEY, &v, 1, {0}}, "001001");
}

TEST(conds, know_kinds_and_statuses_by_name_and_number)
{
    const struct sf_value two[] = {text("server"), whole(4)}, error = text("error"),
                          odd = text("nothing we know");
    const sf_str kind = SF_STR("kind"), status = SF_STR("status");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, kind, two, 1, {0}}, "001000");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, kind, two, 2, {0}}, "001010");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_NE, kind, two, 1, {0}}, "111111");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, kind, two, 0, {0}}, "111111");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, kind, &odd, 1, {0}}, "111111");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, status, &error, 1, {0}}, "001001");
}

/* 0 when a span ends before it begins. */
TEST(conds, know_durations)
{
    const struct sf_value ten = whole(10), none = whole(0);
    const sf_str key = SF_STR("duration");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_GT, key, &ten, 1, {0}}, "000011");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_GE, key, &ten, 1, {0}}, "000111");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_LT, key, &ten, 1, {0}}, "111000");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_LE, key, &ten, 1, {0}}, "111100");
    judge(NULL, (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, key, &none, 1, {0}}, "110000");
}
