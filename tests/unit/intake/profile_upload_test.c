#include "intake/profile_upload.h"

#include "base/limits.h"
#include "intake/intake.h"
#include "intake/redact.h"
#include "support/profile_make.h"
#include "support/profile_wire.h"
#include "test.h"
#include "wire/deflate.h"
#include "wire/pb_write.h"

/* Answers and counters tell what became of a request: all of its profiles together. */
TEST(profile_upload, sums_up_what_became_of_all_its_profiles)
{
    const struct sf_profile_hint hint = {.format = SF_STR("folded"),
                                         .service = SF_STR("shop"),
                                         .now_ns = INT64_C(1763200000000000000)};
    struct sf_intake_config config = {0};
    struct sf_profile_upload u = {.config = &config,
                                  .tools = sf_intake_tools_new(),
                                  .tenant = 1,
                                  .recv_ns = hint.now_ns - INT64_C(90000) * 1000000000,
                                  .max_len = 1 << 20};
    struct sf_why why;
    struct sf_buf deep = {0};
    struct sf_batch *b;
    uint32_t n = 0;
    assert_non_null(u.tools);
    for (int i = 0; i < 3000; i++) /* more frames than a stack keeps */
        sf_buf_print(&deep, "%sf%d", i ? ";" : "", i);
    sf_buf_print(&deep, " 5\n");
    assert_ok(sf_profile_upload_add(&u, SF_STR("main;a 3\nmain;b 4\n"), &hint, &why));
    assert_ok(sf_profile_upload_add(&u, sf_buf_str(&deep), &hint, &why));
    /* What cannot be read is stated, and adds nothing. */
    assert_err(sf_profile_upload_add(&u, SF_STR("main;a x\n"), &hint, &why), SF_ERR_INPUT);
    assert_int_equal(u.n, 2);
    assert_int_equal(u.sum.n_samples, 3);
    assert_int_equal(u.sum.n_series, 2);
    assert_int_equal(u.sum.n_retimed, 2); /* they say tomorrow */
    assert_int_equal(u.drops.n_cut_stacks, 1);
    b = sf_profile_upload_take(&u);
    for (const struct sf_batch *at = b; at; at = at->next)
        n++;
    sf_batch_free(b);
    assert_int_equal(n, 2);
    sf_profile_upload_done(&u);
    sf_intake_tools_free(u.tools);
    sf_buf_done(&deep);
}

TEST(profile_upload, knows_what_carries_its_own_time)
{
    static const char *const dated[] = {
        "\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "FLR\0\0\2",
        "{\"meta\":{\"interval\":1,\"startTime\":1,\"version\":24},\"threads\":[],\"libs\":[]}",
        "{\"resourceProfiles\":[]}"};
    for (size_t i = 0; i < sizeof(dated) / sizeof(dated[0]); i++) {
        size_t len = i == 2 ? 6 : strlen(dated[i]);
        if (!sf_profile_upload_is_dated((sf_str){dated[i], len}))
            fail_msg("%zu", i);
    }
    assert_false(sf_profile_upload_is_dated(SF_STR("main;work 7\n")));
    assert_false(sf_profile_upload_is_dated(SF_STR("")));
}

/* ---- what the log keeps ---- */

#define SECRET "AKIAIOSFODNN7EXAMPLE"

/* Every place in a pprof or its request that can hold text which the batch does not store. */
enum place {
    NOWHERE,
    IN_STRINGS,      /* a string that nothing refers to */
    IN_EMPTY_STRING, /* string 0, which must be empty */
    IN_CONTROL,      /* a stored string, from which the control character is removed */
    IN_COMMENT,
    IN_NUMBERS_KEY, /* of a numeric label */
    IN_HIDDEN_LABEL,
    IN_OWN_LABEL,   /* "__x" */
    IN_THREAD_ID,   /* not a number: only its hash is kept */
    IN_ZERO_SAMPLE, /* a label of a sample with value 0 */
    IN_SHAPE,       /* the part of a name that is left out */
    IN_TOP,         /* an unknown field of the profile, ... */
    IN_SAMPLE,
    IN_LABEL,
    IN_MAPPING,
    IN_FUNCTION,
    IN_LOCATION,
    IN_LINE,
    IN_TYPE,
    IN_FUNCTION_NAME, /* text where the number of a string belongs */
    IN_VALUE_TYPE,    /* likewise */
    IN_HINT_LABEL,
    IN_SPY,
    PLACES
};

enum { S_SAMPLES = 1, S_COUNT, S_MAIN, S_FILE, S_ENV, S_DEV, S_BAD, S_OWN, S_SPAN, S_TID, S_CTL };

static void add_hidden(struct sf_buf *b, enum place here, enum place where)
{
    if (here == where)
        sf_pb_write_str(b, 99, SF_STR(SECRET));
}

static void add_label(struct sf_buf *b, int key, int val, enum place where)
{
    size_t m = sf_pb_write_begin(b, 3);
    sf_pb_write_i64(b, 1, key);
    if (val)
        sf_pb_write_i64(b, 2, val);
    else
        sf_pb_write_i64(b, 3, 7);
    add_hidden(b, IN_LABEL, where);
    sf_pb_write_end(b, m);
}

static void add_strings(struct sf_buf *b, enum place where)
{
    const char *name = where == IN_SHAPE     ? "main[go.shape." SECRET "]"
                       : where == IN_CONTROL ? "main\x01" SECRET
                                             : "main";
    sf_pb_write_str(b, 6, where == IN_EMPTY_STRING ? SF_STR(SECRET) : SF_STR_NONE);
    sf_pb_write_str(b, 6, SF_STR("samples"));
    sf_pb_write_str(b, 6, SF_STR("count"));
    sf_pb_write_str(b, 6, sf_str_from(name));
    sf_pb_write_str(b, 6, SF_STR("main.go"));
    sf_pb_write_str(b, 6, SF_STR("env"));
    sf_pb_write_str(b, 6, SF_STR("dev"));
    if (where == IN_STRINGS || where == IN_COMMENT || where == IN_NUMBERS_KEY ||
        where == IN_HIDDEN_LABEL || where == IN_OWN_LABEL || where == IN_THREAD_ID ||
        where == IN_ZERO_SAMPLE)
        sf_pb_write_str(b, 6, SF_STR(SECRET));
    else
        sf_pb_write_str(b, 6, SF_STR("plain"));
    sf_pb_write_str(b, 6, SF_STR("__x"));
    sf_pb_write_str(b, 6, SF_STR("span_name"));
    sf_pb_write_str(b, 6, SF_STR("thread_id"));
}

static void add_sample(struct sf_buf *b, int64_t value, enum place where)
{
    size_t m = sf_pb_write_begin(b, 2);
    sf_pb_write_u64(b, 1, 1);
    sf_pb_write_i64(b, 2, value);
    add_label(b, S_ENV, value ? S_DEV : S_BAD, where);
    if (value && where == IN_HIDDEN_LABEL)
        add_label(b, S_SPAN, S_BAD, where);
    if (value && where == IN_OWN_LABEL)
        add_label(b, S_OWN, S_BAD, where);
    if (value && where == IN_THREAD_ID)
        add_label(b, S_TID, S_BAD, where);
    if (value && where == IN_NUMBERS_KEY)
        add_label(b, S_BAD, 0, where);
    add_hidden(b, IN_SAMPLE, where);
    sf_pb_write_end(b, m);
}

static void add_value_type(struct sf_buf *b, enum place where)
{
    size_t m = sf_pb_write_begin(b, 1);
    if (where == IN_VALUE_TYPE)
        sf_pb_write_str(b, 1, SF_STR(SECRET));
    sf_pb_write_i64(b, 1, S_SAMPLES);
    sf_pb_write_i64(b, 2, S_COUNT);
    add_hidden(b, IN_TYPE, where);
    sf_pb_write_end(b, m);
}

static void add_function(struct sf_buf *b, enum place where)
{
    size_t m = sf_pb_write_begin(b, 5);
    sf_pb_write_u64(b, 1, 1);
    if (where == IN_FUNCTION_NAME)
        sf_pb_write_str(b, 2, SF_STR(SECRET));
    sf_pb_write_i64(b, 2, S_MAIN);
    sf_pb_write_i64(b, 3, S_MAIN);
    sf_pb_write_i64(b, 4, S_FILE);
    add_hidden(b, IN_FUNCTION, where);
    sf_pb_write_end(b, m);
}

static void add_location(struct sf_buf *b, enum place where)
{
    size_t m = sf_pb_write_begin(b, 4), line;
    sf_pb_write_u64(b, 1, 1);
    sf_pb_write_u64(b, 2, 1);
    line = sf_pb_write_begin(b, 4);
    sf_pb_write_u64(b, 1, 1);
    add_hidden(b, IN_LINE, where);
    sf_pb_write_end(b, line);
    add_hidden(b, IN_LOCATION, where);
    sf_pb_write_end(b, m);
}

static void make_pprof(struct sf_buf *b, enum place where)
{
    size_t m;
    add_value_type(b, where);
    add_sample(b, 5, where);
    if (where == IN_ZERO_SAMPLE)
        add_sample(b, 0, where);
    m = sf_pb_write_begin(b, 3);
    sf_pb_write_u64(b, 1, 1);
    sf_pb_write_i64(b, 5, S_FILE);
    add_hidden(b, IN_MAPPING, where);
    sf_pb_write_end(b, m);
    add_location(b, where);
    add_function(b, where);
    add_strings(b, where);
    sf_pb_write_i64(b, 9, INT64_C(1763200000000000000));
    if (where == IN_COMMENT)
        sf_pb_write_i64(b, 13, S_BAD);
    add_hidden(b, IN_TOP, where);
}

static struct sf_batch *upload(const struct sf_redactor *r, struct sf_intake_tools *tools,
                               sf_str bytes, const struct sf_profile_hint *hint)
{
    struct sf_intake_config config = {.redactor = r, .tools = tools};
    struct sf_profile_upload u = {.config = &config,
                                  .tools = tools,
                                  .tenant = 3,
                                  .recv_ns = hint->now_ns,
                                  .dup_hash = 77,
                                  .max_len = 1 << 24};
    struct sf_why why;
    struct sf_batch *b;
    if (sf_profile_upload_add(&u, bytes, hint, &why))
        fail_msg("%s", why.text);
    b = sf_profile_upload_take(&u);
    assert_non_null(b);
    return b;
}

static void check_replay(const struct sf_batch *b)
{
    struct sf_batch *again = NULL;
    struct sf_why why;
    char what[160];
    if (sf_intake_replay(&b->log, &again, &why))
        fail_msg("%s", why.text);
    assert_int_equal(again->dup_hash, 77);
    if (!sf_profile_make_is_same(b->profiles, again->profiles, what))
        fail_msg("%s", what);
    sf_batch_free(again);
}

static struct sf_redactor *new_redactor(void)
{
    struct sf_redact_config config = {
        .has_builtin = true, .in_keys = true, .in_values = true, .in_names = true};
    struct sf_redactor *r = NULL;
    struct sf_why why;
    assert_ok(sf_redactor_new(&config, &r, &why));
    return r;
}

TEST(profile_upload, is_logged_as_received_unless_a_secret_is_anywhere_in_it)
{
    struct sf_redactor *r = new_redactor();
    struct sf_intake_tools *tools = sf_intake_tools_new();
    for (enum place where = NOWHERE; where < PLACES; where++) {
        const struct sf_label label = {SF_STR("__x"),
                                       where == IN_HINT_LABEL ? SF_STR(SECRET) : SF_STR("y")};
        const struct sf_profile_hint hint = {.service = SF_STR("shop"),
                                             .format = SF_STR("pprof"),
                                             .labels = &label,
                                             .n_labels = 1,
                                             .spy = where == IN_SPY ? SF_STR(SECRET)
                                                                    : SF_STR("gospy"),
                                             .peer = SF_STR("::1"),
                                             .now_ns = INT64_C(1763200000000000000)};
        struct sf_buf bytes = {0};
        struct sf_batch *b;
        bool is_there;
        make_pprof(&bytes, where);
        is_there = memmem(bytes.p, bytes.len, SECRET, strlen(SECRET)) || where == IN_HINT_LABEL ||
                   where == IN_SPY;
        assert_true(is_there == (where != NOWHERE));
        b = upload(r, tools, sf_buf_str(&bytes), &hint);
        if ((b->log.kind == SF_LOG_PROFILE_SENT) != (where == NOWHERE))
            fail_msg("place %d is logged as kind %u", (int)where, b->log.kind);
        assert_null(memmem(b->log.body.p, b->log.body.len, SECRET, strlen(SECRET)));
        check_replay(b);
        sf_batch_free(b);
        sf_buf_done(&bytes);
    }
    sf_intake_tools_free(tools);
    sf_redactor_free(r);
}

TEST(profile_upload, comes_back_from_its_logged_bytes_as_it_was_stored)
{
    struct sf_redactor *r = new_redactor();
    struct sf_intake_tools *tools = sf_intake_tools_new();
    struct sf_deflate *z = sf_deflate_new();
    struct sf_why why;
    for (uint32_t i = 0; i < 12; i++) {
        struct sf_profile_wire wire = {.rng = i + 1, .service = i, .n_types = 1 + i % 2};
        const struct sf_label labels[] = {{SF_STR("env"), SF_STR("dev")},
                                          {SF_STR("trace_id"), SF_STR("0123456789abcdef")}};
        const struct sf_profile_hint hint = {.service = SF_STR("shop"),
                                             .labels = labels,
                                             .n_labels = i % 3,
                                             .is_request = i % 3 == 2,
                                             .from_ns = INT64_C(1763200000000000000) * (i % 4 > 1),
                                             .has_sample_rate = i % 2,
                                             .sample_rate = 100,
                                             .peer = SF_STR("::1"),
                                             .max_frames = i % 5 ? 0 : 64,
                                             .now_ns = INT64_C(1763200009000000000)};
        struct sf_buf plain = {0}, packed = {0};
        struct sf_batch *b;
        wire.time_ns = i % 4 ? INT64_C(1763200000000000000) : 0;
        sf_profile_wire_pprof(&wire, 300, &plain);
        assert_ok(sf_deflate_gzip(z, 1, sf_buf_bytes(&plain), &packed, &why));
        b = upload(i % 2 ? r : NULL, tools, sf_buf_str(i % 3 ? &packed : &plain), &hint);
        assert_int_equal(b->log.kind, SF_LOG_PROFILE_SENT);
        check_replay(b);
        sf_batch_free(b);
        sf_buf_done(&plain);
        sf_buf_done(&packed);
    }
    sf_deflate_free(z);
    sf_intake_tools_free(tools);
    sf_redactor_free(r);
}

/* ---- OTLP ---- */

enum otlp_place { /* messages with a field of a later version, then fields that hold text */
                  O_NOWHERE,
                  O_TOP,
                  O_RESOURCES,
                  O_RESOURCE,
                  O_ATTR,
                  O_VALUE,
                  O_SCOPES,
                  O_SCOPE,
                  O_PROFILE,
                  O_TYPE,
                  O_PERIOD_TYPE,
                  O_SAMPLE,
                  O_DICTIONARY,
                  O_MAPPING,
                  O_LOCATION,
                  O_LINE,
                  O_FUNCTION,
                  O_LINK,
                  O_STACK,
                  O_ENTRY,
                  O_ENTRY_VALUE,
                  O_ATTR_TEXT,
                  O_ATTR_KEY,
                  O_ATTR_BYTES,
                  O_ATTR_TWICE,
                  O_SCOPE_NAME,
                  O_SCOPE_VERSION,
                  O_SCHEMA,
                  O_SCOPE_SCHEMA,
                  O_PROFILE_ID,
                  O_FORMAT,
                  O_TRACE_ID,
                  O_ENTRY_TEXT,
                  O_ENTRY_STRING,
                  O_ZERO_STRING,
                  O_STRING,
                  O_CONTROL,
                  O_NAME,
                  O_FILE,
                  O_MAPPING_FILE,
                  O_PLACES
};

static void otlp_hide(struct sf_buf *b, enum otlp_place here, enum otlp_place where)
{
    if (here == where)
        sf_pb_write_str(b, 99, SF_STR(SECRET));
}

static sf_str otlp_text(enum otlp_place here, enum otlp_place where, const char *plain)
{
    return here == where ? SF_STR(SECRET) : sf_str_from(plain);
}

static void otlp_attr(struct sf_buf *b, uint32_t field, const char *key, const char *val,
                      enum otlp_place where)
{
    size_t kv = sf_pb_write_begin(b, field), any;
    sf_pb_write_str(b, 1, otlp_text(O_ATTR_KEY, where, key));
    if (where == O_ATTR_TWICE) {
        any = sf_pb_write_begin(b, 2);
        sf_pb_write_str(b, 1, SF_STR(SECRET));
        sf_pb_write_end(b, any);
    }
    any = sf_pb_write_begin(b, 2);
    sf_pb_write_str(b, where == O_ATTR_BYTES ? 7 : 1,
                    where == O_ATTR_BYTES ? SF_STR(SECRET) : otlp_text(O_ATTR_TEXT, where, val));
    otlp_hide(b, O_VALUE, where);
    sf_pb_write_end(b, any);
    otlp_hide(b, O_ATTR, where);
    sf_pb_write_end(b, kv);
}

static void otlp_profile(struct sf_buf *b, enum otlp_place where)
{
    size_t m = sf_pb_write_begin(b, 1);
    sf_pb_write_u64(b, 1, 1);
    sf_pb_write_u64(b, 2, 2);
    otlp_hide(b, O_TYPE, where);
    sf_pb_write_end(b, m);
    m = sf_pb_write_begin(b, 2);
    sf_pb_write_u64(b, 1, 1); /* stack */
    sf_pb_write_u64(b, 2, 1); /* attribute */
    sf_pb_write_u64(b, 3, 1); /* link */
    sf_pb_write_u64(b, 4, 5); /* value */
    otlp_hide(b, O_SAMPLE, where);
    sf_pb_write_end(b, m);
    sf_pb_write_fixed64(b, 3, UINT64_C(1763200000000000000));
    sf_pb_write_u64(b, 4, 1000000000);
    m = sf_pb_write_begin(b, 5);
    sf_pb_write_u64(b, 1, 1);
    sf_pb_write_u64(b, 2, 2);
    otlp_hide(b, O_PERIOD_TYPE, where);
    sf_pb_write_end(b, m);
    sf_pb_write_str(b, 7, otlp_text(O_PROFILE_ID, where, "0123456789abcdef"));
    if (where == O_FORMAT)
        sf_pb_write_str(b, 9, SF_STR(SECRET));
    otlp_hide(b, O_PROFILE, where);
}

static void otlp_dictionary(struct sf_buf *b, enum otlp_place where)
{
    size_t m;
    for (uint32_t field = 1; field <= 7; field++) { /* entry 0 of each table is empty */
        if (field == 5)
            sf_pb_write_str(b, 5, otlp_text(O_ZERO_STRING, where, ""));
        else
            sf_pb_write_end(b, sf_pb_write_begin(b, field));
    }
    m = sf_pb_write_begin(b, 1);
    sf_pb_write_u64(b, 4, 5);
    otlp_hide(b, O_MAPPING, where);
    sf_pb_write_end(b, m);
    m = sf_pb_write_begin(b, 2);
    sf_pb_write_u64(b, 1, 1);
    sf_pb_write_u64(b, 2, 4096);
    size_t line = sf_pb_write_begin(b, 3);
    sf_pb_write_u64(b, 1, 1);
    sf_pb_write_u64(b, 2, 12);
    otlp_hide(b, O_LINE, where);
    sf_pb_write_end(b, line);
    otlp_hide(b, O_LOCATION, where);
    sf_pb_write_end(b, m);
    m = sf_pb_write_begin(b, 3);
    sf_pb_write_u64(b, 1, 3);
    sf_pb_write_u64(b, 3, 4);
    otlp_hide(b, O_FUNCTION, where);
    sf_pb_write_end(b, m);
    m = sf_pb_write_begin(b, 4);
    sf_pb_write_str(b, 1, otlp_text(O_TRACE_ID, where, "0123456789abcdef"));
    sf_pb_write_str(b, 2, SF_STR("01234567"));
    otlp_hide(b, O_LINK, where);
    sf_pb_write_end(b, m);
    const char *strings[] = {"cpu",     "nanoseconds", "main", "main.go",
                             "main.so", "env",         "dev",  "plain"};
    const enum otlp_place places[] = {O_NOWHERE,      O_NOWHERE, O_NAME,         O_FILE,
                                      O_MAPPING_FILE, O_NOWHERE, O_ENTRY_STRING, O_STRING};
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        sf_pb_write_str(b, 5,
                        where == O_CONTROL && i == 2 ? SF_STR("main\x01" SECRET)
                        : places[i]                  ? otlp_text(places[i], where, strings[i])
                                                     : sf_str_from(strings[i]));
    m = sf_pb_write_begin(b, 6);
    sf_pb_write_u64(b, 1, 6);
    size_t any = sf_pb_write_begin(b, 2);
    if (where == O_ENTRY_TEXT)
        sf_pb_write_str(b, 1, SF_STR(SECRET));
    else
        sf_pb_write_u64(b, 8, 7);
    otlp_hide(b, O_ENTRY_VALUE, where);
    sf_pb_write_end(b, any);
    otlp_hide(b, O_ENTRY, where);
    sf_pb_write_end(b, m);
    m = sf_pb_write_begin(b, 7);
    sf_pb_write_u64(b, 1, 1);
    otlp_hide(b, O_STACK, where);
    sf_pb_write_end(b, m);
    otlp_hide(b, O_DICTIONARY, where);
}

static void make_otlp(struct sf_buf *b, enum otlp_place where)
{
    size_t resources = sf_pb_write_begin(b, 1), scopes, m;
    m = sf_pb_write_begin(b, 1);
    otlp_attr(b, 1, "service.name", "shop", O_NOWHERE);
    otlp_attr(b, 1, "zone", "north", where);
    otlp_hide(b, O_RESOURCE, where);
    sf_pb_write_end(b, m);
    scopes = sf_pb_write_begin(b, 2);
    m = sf_pb_write_begin(b, 1);
    sf_pb_write_str(b, 1, otlp_text(O_SCOPE_NAME, where, "profiler"));
    sf_pb_write_str(b, 2, otlp_text(O_SCOPE_VERSION, where, "1.2"));
    otlp_hide(b, O_SCOPE, where);
    sf_pb_write_end(b, m);
    m = sf_pb_write_begin(b, 2);
    otlp_profile(b, where);
    sf_pb_write_end(b, m);
    sf_pb_write_str(b, 3,
                    otlp_text(O_SCOPE_SCHEMA, where, "https://opentelemetry.io/schemas/1.30"));
    otlp_hide(b, O_SCOPES, where);
    sf_pb_write_end(b, scopes);
    sf_pb_write_str(b, 3, otlp_text(O_SCHEMA, where, "https://opentelemetry.io/schemas/1.30"));
    otlp_hide(b, O_RESOURCES, where);
    sf_pb_write_end(b, resources);
    m = sf_pb_write_begin(b, 2);
    otlp_dictionary(b, where);
    sf_pb_write_end(b, m);
    otlp_hide(b, O_TOP, where);
}

TEST(profile_upload, of_otlp_is_logged_as_received_unless_a_secret_is_anywhere_in_it)
{
    struct sf_redactor *r = new_redactor();
    struct sf_intake_tools *tools = sf_intake_tools_new();
    for (enum otlp_place where = O_NOWHERE; where < O_PLACES; where++) {
        const struct sf_profile_hint hint = {.format = SF_STR("otlp"),
                                             .peer = SF_STR("::1"),
                                             .now_ns = INT64_C(1763200000000000000)};
        struct sf_buf bytes = {0};
        struct sf_batch *b;
        make_otlp(&bytes, where);
        assert_true((memmem(bytes.p, bytes.len, SECRET, strlen(SECRET)) != NULL) ==
                    (where != O_NOWHERE));
        b = upload(r, tools, sf_buf_str(&bytes), &hint);
        if ((b->log.kind == SF_LOG_PROFILE_SENT) != (where == O_NOWHERE))
            fail_msg("place %d is logged as kind %u", (int)where, b->log.kind);
        assert_null(memmem(b->log.body.p, b->log.body.len, SECRET, strlen(SECRET)));
        check_replay(b);
        sf_batch_free(b);
        sf_buf_done(&bytes);
    }
    sf_intake_tools_free(tools);
    sf_redactor_free(r);
}

TEST(profile_upload, of_otlp_comes_back_from_its_logged_bytes_as_it_was_stored)
{
    struct sf_redactor *r = new_redactor();
    struct sf_intake_tools *tools = sf_intake_tools_new();
    for (uint32_t i = 0; i < 8; i++) {
        struct sf_profile_wire wire = {
            .rng = i + 1, .service = i, .n_types = 1, .time_ns = INT64_C(1763200000000000000)};
        const struct sf_profile_hint hint = {.format = i % 2 ? SF_STR("otlp") : SF_STR_NONE,
                                             .peer = SF_STR("::1"),
                                             .max_frames = i % 3 ? 0 : 64,
                                             .now_ns = INT64_C(1763200009000000000)};
        struct sf_buf plain = {0};
        struct sf_batch *b;
        sf_profile_wire_otlp(&wire, 300, &plain);
        b = upload(i % 4 ? r : NULL, tools, sf_buf_str(&plain), &hint);
        assert_int_equal(b->log.kind, SF_LOG_PROFILE_SENT);
        check_replay(b);
        sf_batch_free(b);
        sf_buf_done(&plain);
    }
    sf_intake_tools_free(tools);
    sf_redactor_free(r);
}

TEST(profile_upload, is_not_logged_as_received_with_names_in_its_compression)
{
    /* an empty member of gzip with the name "x" */
    static const uint8_t named[] = {0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3, 'x',
                                    0,    3,    0, 0, 0, 0, 0, 0, 0, 0, 0};
    const struct sf_profile_hint hint = {.now_ns = INT64_C(1763200000000000000)};
    struct sf_intake_tools *tools = sf_intake_tools_new();
    struct sf_deflate *z = sf_deflate_new();
    struct sf_buf plain = {0}, packed = {0}, bytes = {0}, zstd = {0};
    struct sf_why why;
    struct sf_batch *b;
    make_pprof(&plain, NOWHERE);
    assert_ok(sf_deflate_gzip(z, 1, sf_buf_bytes(&plain), &packed, &why));
    for (int at = 0; at < 3; at++) { /* before the profile, after it, and absent */
        sf_buf_reset(&bytes);
        if (at == 0)
            sf_buf_add(&bytes, named, sizeof(named));
        sf_buf_add(&bytes, packed.p, packed.len);
        if (at == 1)
            sf_buf_add(&bytes, named, sizeof(named));
        b = upload(NULL, tools, sf_buf_str(&bytes), &hint);
        assert_int_equal(b->log.kind, at == 2 ? SF_LOG_PROFILE_SENT : SF_LOG_PROFILES);
        check_replay(b);
        sf_batch_free(b);
    }
    assert_ok(sf_deflate_zstd(z, 1, false, sf_buf_bytes(&plain), &zstd, &why));
    b = upload(NULL, tools, sf_buf_str(&zstd), &hint);
    assert_int_equal(b->log.kind, SF_LOG_PROFILES);
    check_replay(b);
    sf_batch_free(b);
    sf_buf_done(&plain);
    sf_buf_done(&packed);
    sf_buf_done(&bytes);
    sf_buf_done(&zstd);
    sf_deflate_free(z);
    sf_intake_tools_free(tools);
}
