#include "store/clickhouse/profile_answer.h"

#include "test.h"
#include "wire/row_binary.h"

static void add_texts(struct sf_buf *b, uint32_t n, const char *const *list)
{
    sf_buf_add_varint(b, n);
    for (uint32_t i = 0; i < n; i++)
        sf_row_add_str(b, sf_str_from(list[i]));
}

static void add_u32s(struct sf_buf *b, uint32_t n, uint32_t val)
{
    sf_buf_add_varint(b, n);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_u32le(b, val);
}

struct entry {
    uint8_t what;
    uint64_t id;
    const char *a, *b;
    uint32_t n_k, n_v, n_w, n_frames, n_lines;
    uint8_t kind;
};

static void add_entry(struct sf_buf *b, struct entry e)
{
    static const char *const keys[] = {"env", "service_name"}, *const vals[] = {"prod", "shop"},
                             *const files[] = {"a.c", "b.c"};
    sf_buf_add_u8(b, e.what);
    sf_buf_add_u64le(b, e.id);
    sf_row_add_str(b, sf_str_from(e.a));
    sf_row_add_str(b, sf_str_from(e.b));
    add_texts(b, e.n_k, keys);
    add_texts(b, e.n_v, vals);
    add_texts(b, e.n_w, files);
    sf_buf_add_varint(b, e.n_frames);
    for (uint32_t i = 0; i < e.n_frames; i++)
        sf_buf_add_u64le(b, 70 + i);
    add_u32s(b, e.n_lines, 7);
    add_u32s(b, e.n_lines, 3);
    sf_buf_add_u64le(b, 0x40);
    sf_buf_add_u8(b, e.kind);
}

static void add_key(struct sf_buf *b, uint64_t process, int64_t start_ns)
{
    sf_buf_add_u64le(b, 5);
    sf_buf_add_u64le(b, process);
    sf_buf_add_u8(b, 1); /* uploaded for a request */
    sf_buf_add_u64le(b, (uint64_t)start_ns);
}

static void add_detail(struct sf_buf *b, uint8_t has_time, uint64_t stack, uint8_t state)
{
    add_key(b, 9, 1000);
    sf_buf_add_u64le(b, 20);
    sf_buf_add_u8(b, has_time);
    sf_buf_add_u64le(b, 77);
    sf_buf_add(b, "0123456789abcdef", 16);
    sf_buf_add_u64le(b, 4);
    sf_buf_add_u64le(b, stack);
    sf_buf_add_u64le(b, (uint64_t)-6);
    sf_buf_add_u32le(b, 2);
    sf_buf_add_u8(b, state);
    sf_buf_add_u64le(b, 11);
    sf_row_add_str(b, SF_STR("worker"));
    sf_buf_add_u8(b, 1);
    sf_buf_add_u8(b, 0);
    sf_row_add_str(b, SF_STR("pod=x"));
    sf_buf_add_u8(b, has_time); /* the process is a guess: of any row */
}

static const struct entry series = {0, 5, "shop", "a:b:cpu:ns:cpu:ns", 2, 2, 0, 0, 0, 0};
static const struct entry stack = {1, 60, "", "", 0, 0, 0, 2, 0, 0};
static const struct entry frame = {2, 71, "lib.so", "f00d", 2, 2, 2, 0, 2, SF_FRAME_GO};
static const struct entry process = {3, 9, "pod=x", "", 0, 0, 0, 0, 0, 1};

TEST(profile_answer, gives_the_samples_that_were_sent)
{
    struct sf_arena req;
    struct sf_buf entries = {0}, rows = {0};
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 20));
    struct sf_profile_answer a = {.req = &req};
    add_entry(&entries, series);
    add_entry(&entries, stack);
    add_entry(&entries, frame);
    add_entry(&entries, process);
    assert_ok(sf_profile_answer_add_entries(&a, sf_buf_bytes(&entries), &why));
    add_detail(&rows, 0, 60, SF_STATE_LOCK);
    add_detail(&rows, 1, 60, SF_STATE_LOCK);
    add_detail(&rows, 0, 61, SF_STATE_LOCK); /* a stack that nobody explained */
    assert_ok(sf_profile_answer_add_details(&a, sf_buf_bytes(&rows), &why));
    struct sf_profile_batch b = sf_profile_answer_batch(&a);
    assert_int_equal(b.n_samples, 3);
    assert_int_equal(b.n_series, 2); /* a time of its own says nothing of the profile's */
    const struct sf_series *s = &b.series[b.samples[0].series];
    assert_true(sf_str_eq(s->service, SF_STR("shop")) && s->is_request);
    assert_true(sf_str_eq(s->type.name, SF_STR("a:b")) &&
                sf_str_eq(s->type.sample_type, SF_STR("cpu")) &&
                sf_str_eq(s->type.period_unit, SF_STR("ns")));
    assert_int_equal(s->n_labels, 2);
    assert_int_equal(s->time_ns, 1000);
    assert_int_equal(s->duration_ns, 20);
    assert_true(sf_str_eq(b.processes[s->process].key, SF_STR("pod=x")) &&
                b.processes[s->process].is_guess &&
                sf_str_eq(b.processes[s->process].service, SF_STR("shop")));
    const struct sf_sample *p = &b.samples[1];
    assert_true(p->has_time && p->is_lent && p->start_ns == 1000 && p->length_ns == 20);
    assert_true(p->value == -6 && p->count == 2 && p->thread == 4 && p->runtime_thread == 11);
    assert_int_equal(b.stacks[p->stack].n, 2);
    const struct sf_location *unknown = &b.locations[b.stacks[p->stack].locations[0]],
                             *known = &b.locations[b.stacks[p->stack].locations[1]];
    assert_true(unknown->n_lines == 0 && unknown->mapping == SF_NONE);
    assert_true(known->n_lines == 2 && known->kind == SF_FRAME_GO && known->addr == 0x40);
    assert_true(sf_str_eq(b.functions[known->lines[1].function].file, SF_STR("b.c")));
    assert_true(sf_str_eq(b.mappings[known->mapping].build_id, SF_STR("f00d")));
    assert_int_equal(b.stacks[b.samples[2].stack].n, 0);
    sf_profile_answer_done(&a);
    a = (struct sf_profile_answer){.req = &req}; /* rows alone have their process */
    assert_ok(sf_profile_answer_add_details(&a, sf_buf_bytes(&rows), &why));
    b = sf_profile_answer_batch(&a);
    assert_int_equal(b.n_processes, 1);
    assert_true(sf_str_eq(b.processes[0].key, SF_STR("pod=x")) && b.processes[0].is_guess);
    sf_profile_answer_done(&a);
    sf_buf_done(&entries);
    sf_buf_done(&rows);
    sf_arena_done(&req);
}

TEST(profile_answer, finds_the_profile_of_a_sum)
{
    struct sf_arena req;
    struct sf_buf profiles = {0}, sums = {0};
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 20));
    struct sf_profile_answer a = {.req = &req};
    add_key(&profiles, 0, 1000);
    sf_buf_add_u64le(&profiles, 20);
    sf_buf_add_u64le(&profiles, 99);
    sf_buf_add(&profiles, "0123456789abcdef", 16);
    sf_buf_add_u64le(&profiles, 50);
    sf_buf_add_u64le(&profiles, UINT64_C(1) << 40);
    sf_buf_add_u8(&profiles, 1);
    assert_ok(sf_profile_answer_add_profiles(&a, sf_buf_bytes(&profiles), false, &why));
    add_key(&sums, 0, 1000);
    sf_buf_add_u64le(&sums, 60);
    sf_buf_add_u64le(&sums, 50);
    sf_buf_add_u64le(&sums, 3);
    assert_ok(sf_profile_answer_add_stacks(&a, sf_buf_bytes(&sums), &why));
    struct sf_profile_batch b = sf_profile_answer_batch(&a);
    assert_int_equal(b.n_series, 1);
    assert_true(b.series[0].duration_ns == 20 && b.series[0].period == 99 && b.series[0].is_diff);
    assert_true(b.n_samples == 1 && b.samples[0].value == 50 && b.samples[0].count == 3);
    assert_int_equal(b.series[0].process, SF_NONE);
    assert_ok(sf_profile_answer_add_profiles(&a, sf_buf_bytes(&profiles), true, &why));
    b = sf_profile_answer_batch(&a);
    assert_int_equal(b.n_series, 2); /* another profile of the same time */
    assert_true(b.n_samples == 2 && b.samples[1].value == 50 && b.samples[1].count == UINT32_MAX);
    sf_profile_answer_done(&a);
    sf_buf_done(&profiles);
    sf_buf_done(&sums);
    sf_arena_done(&req);
}

TEST(profile_answer, refuses_what_does_not_fit_together)
{
    struct sf_arena req;
    struct sf_buf b = {0};
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 20));
    struct sf_profile_answer a = {.req = &req};
    const struct entry wrong[] = {{.what = 4, .a = "", .b = ""},
                                  {.what = 0, .a = "", .b = "", .n_k = 1},
                                  {.what = 2, .a = "", .b = "", .n_k = 1, .n_v = 1, .n_w = 1},
                                  {.what = 2, .a = "", .b = "", .kind = SF_FRAME_SERVICE}};
    for (size_t i = 0; i < 4; i++) {
        sf_buf_reset(&b);
        add_entry(&b, wrong[i]);
        assert_int_equal(sf_profile_answer_add_entries(&a, sf_buf_bytes(&b), &why), SF_ERR_CORRUPT);
    }
    sf_buf_reset(&b);
    add_detail(&b, 0, 1, SF_STATES);
    assert_int_equal(sf_profile_answer_add_details(&a, sf_buf_bytes(&b), &why), SF_ERR_CORRUPT);
    sf_buf_reset(&b);
    add_detail(&b, 0, 1, 0);
    for (size_t len = 1; len < b.len; len++)
        assert_int_equal(sf_profile_answer_add_details(&a, (sf_bytes){b.p, len}, &why),
                         SF_ERR_CORRUPT);
    assert_int_equal(a.n_samples, 0);
    sf_profile_answer_done(&a);
    sf_buf_done(&b);
    sf_arena_done(&req);
}
