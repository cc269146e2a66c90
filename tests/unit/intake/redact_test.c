#include "test.h"

#include "base/heap.h"
#include "intake/redact.h"
#include "wire/pb_write.h"

static struct sf_why why;
static struct sf_arena arena;

static const struct sf_redact_config usual = {
    .has_builtin = true, .in_keys = true, .in_values = true, .in_names = true};

static struct sf_redactor *new_redactor(struct sf_redact_config config)
{
    struct sf_redactor *r = NULL;
    if (sf_redactor_new(&config, &r, &why))
        fail_msg("%s", why.text);
    return r;
}

static struct sf_value str(const char *text)
{
    return (struct sf_value){.type = SF_VALUE_STR, .str = sf_str_from(text)};
}

/* One attribute through a redactor. */
static struct sf_attr redact_one(const struct sf_redactor *r, const char *key, struct sf_value val)
{
    struct sf_attr attr = {sf_str_from(key), val};
    struct sf_span span = {.attrs = {&attr, 1}};
    struct sf_span_batch in = {.spans = &span, .n_spans = 1}, out;
    uint64_t n;

    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    sf_arena_reset(&arena);
    assert_ok(sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why));
    assert_ptr_equal(span.attrs.list, &attr); /* never in place */
    if (n == 0)
        assert_ptr_equal(out.spans, &span);
    return out.spans[0].attrs.list[0];
}

static void assert_value(const struct sf_redactor *r, const char *key, const char *val,
                         const char *want)
{
    struct sf_attr got = redact_one(r, key, str(val));
    if (got.val.type != SF_VALUE_STR || !sf_str_eq(got.val.str, sf_str_from(want)))
        fail_msg("%s: \"%s\" became \"%.*s\", not \"%s\"", key, val, SF_STR_ARG(got.val.str), want);
}

TEST(redact, hides_values_under_secret_keys_only)
{
    struct sf_redactor *r = new_redactor(usual);
    for (int i = 0; i < 2; i++) { /* the second time from the cache */
        assert_value(r, "auth_token", "abc", "[REDACTED]");
        assert_value(r, "AuthToken", "abc", "[REDACTED]");
        assert_value(r, "http.request.header.cookie", "a=b", "[REDACTED]");
        assert_value(r, "db.password", "", "");
        assert_value(r, "tokenize", "abc", "abc");
        assert_value(r, "http.method", "GET", "GET");
    }
    assert_value(r, "password", "[REDACTED]", "[REDACTED]");
    assert_value(r, "password", "[REDACTED]hunter2", "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, hides_numbers_but_not_counts)
{
    struct sf_redactor *r = new_redactor(usual);
    struct sf_value n = {.type = SF_VALUE_INT, .i64 = 1234};
    assert_str(redact_one(r, "password", n).val.str, "[REDACTED]");
    assert_int_equal(redact_one(r, "gen_ai.usage.input_tokens", n).val.type, SF_VALUE_INT);
    assert_value(r, "auth.tokens", "1234", "[REDACTED]");
    n.i64 = 4111111111111111;
    assert_str(redact_one(r, "order.id", n).val.str, "[REDACTED]");
    n = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = true};
    assert_int_equal(redact_one(r, "has.password", n).val.type, SF_VALUE_BOOL);
    n = (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = 1.5};
    assert_str(redact_one(r, "secret", n).val.str, "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, cuts_secrets_out_of_text)
{
    struct sf_redactor *r = new_redactor(usual);
    assert_value(r, "url.full", "https://a:b@h/?token=xyz&p=1 Bearer abc.123456",
                 "https://a:[REDACTED]@h/?token=[REDACTED]&p=1 Bearer [REDACTED]");
    assert_value(r, "log", "4111 1111 1111 1111", "[REDACTED]");
    assert_value(r, "log", "apiKey=a b apikey=c", "apiKey=[REDACTED] b apikey=[REDACTED]");
    sf_redactor_free(r);
}

/* Keys and values of the spans before are remembered by their place: what is alike but for its
 * content must not be taken for them. */
TEST(redact, is_not_misled_by_the_spans_before)
{
    static const char *const KEYS[] = {"http.route", "auth.token"};
    static const char *const VALUES[] = {"a plain text, long enough", "a pair: password=hunter22"};
    enum { N = 64 };
    struct sf_redactor *r = new_redactor(usual);
    struct sf_attr attrs[N];
    struct sf_span spans[N] = {0};
    struct sf_span_batch in = {.spans = spans, .n_spans = N}, out;
    uint64_t n;

    assert_int_equal(strlen(KEYS[0]), strlen(KEYS[1]));
    assert_int_equal(strlen(VALUES[0]), strlen(VALUES[1]));
    for (unsigned i = 0; i < N; i++) { /* every order of four neighbours occurs */
        unsigned bits = i * 0x9e3779b9u >> 16;
        attrs[i] = (struct sf_attr){sf_str_from(KEYS[bits & 1]), str(VALUES[bits >> 1 & 1])};
        spans[i].attrs = (struct sf_attrs){&attrs[i], 1};
    }
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    sf_arena_reset(&arena);
    assert_ok(sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why));
    for (unsigned i = 0; i < N; i++) {
        unsigned bits = i * 0x9e3779b9u >> 16;
        const char *want = bits & 1   ? "[REDACTED]"
                           : bits & 2 ? "a pair: password=[REDACTED]"
                                      : VALUES[0];
        assert_true(sf_str_eq(out.spans[i].attrs.list[0].val.str, sf_str_from(want)));
    }
    sf_redactor_free(r);
}

/* The same with texts of every length by which they are compared in another way. */
TEST(redact, compares_remembered_texts_to_their_end)
{
    struct sf_redactor *r = new_redactor(usual);
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    for (size_t len = 8; len < 80; len++) {
        char plain[80], secret[80];
        struct sf_attr attrs[2];
        struct sf_span spans[2] = {{.attrs = {&attrs[0], 1}}, {.attrs = {&attrs[1], 1}}};
        struct sf_span_batch in = {.spans = spans, .n_spans = 2}, out;
        uint64_t n;
        memset(plain, '.', sizeof(plain));
        memset(secret, '.', sizeof(secret));
        memcpy(secret + len - 8, " token=a", 8);
        attrs[0] = (struct sf_attr){SF_STR("note"), str("")};
        attrs[1] = attrs[0];
        attrs[0].val.str = (sf_str){plain, len};
        attrs[1].val.str = (sf_str){secret, len};
        sf_arena_reset(&arena);
        assert_ok(sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why));
        if (n != 1 || out.spans[1].attrs.list[0].val.str.len != len - 1 + 10)
            fail_msg("%zu bytes", len);
    }
    assert_value(r, "note", "plain 7", "plain 7");
    sf_redactor_free(r);
}

TEST(redact, replaces_what_several_expressions_find)
{
    static const char *const patterns[] = {"/cc+/", "/aa+/", "/abc/", "/bcd/"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    config.patterns = patterns;
    config.n_patterns = 4;
    r = new_redactor(config);
    assert_value(r, "note", "aaa x ccc y aa", "[REDACTED] x [REDACTED] y [REDACTED]");
    assert_value(r, "note", "xabcdy", "x[REDACTED]y");
    assert_value(r, "note", "cc aa cc aa cc",
                 "[REDACTED] [REDACTED] [REDACTED] [REDACTED] [REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, looks_for_own_words_and_expressions_everywhere)
{
    static const char *const patterns[] = {"acme", "/cust-[0-9]+/", "password"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    struct sf_attr got;
    config.patterns = patterns;
    config.n_patterns = 3;
    r = new_redactor(config);
    assert_value(r, "acme.plan", "gold", "[REDACTED]");
    assert_value(r, "note", "for ACME only", "[REDACTED]");
    assert_value(r, "note", "macmed", "macmed");
    assert_value(r, "note", "see CUST-12 and cust-345.", "see [REDACTED] and [REDACTED].");
    assert_value(r, "note", "a password is", "a password is"); /* as the built-in word */
    got = redact_one(r, "cust-77.plan", str("gold"));
    assert_str(got.key, "[REDACTED].plan");
    assert_str(got.val.str, "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, treats_a_pattern_that_gives_up_as_a_match)
{
    static const char *const patterns[] = {"/(a+)+$/"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    config.patterns = patterns;
    config.n_patterns = 1;
    r = new_redactor(config);
    assert_value(r, "note", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
                 "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, never_leaves_half_a_character)
{
    static const char *const patterns[] = {"/\xa4/"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    config.patterns = patterns;
    config.n_patterns = 1;
    r = new_redactor(config);
    assert_value(r, "note", "x\xc3\xa4y", "x[REDACTED]y");
    sf_redactor_free(r);
}

TEST(redact, matches_bluntly_when_asked)
{
    static const char *const patterns[] = {"acme"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    config.patterns = patterns;
    config.n_patterns = 1;
    config.is_substring = true;
    r = new_redactor(config);
    assert_value(r, "tokenize", "abc", "[REDACTED]");
    assert_value(r, "note", "macmed", "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, leaves_allowed_keys_alone)
{
    static const char *const allow[] = {"token.type", "public.*", "*.cookie", "ZONE.AZ.*"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    config.allow = allow;
    config.n_allow = 4;
    r = new_redactor(config);
    assert_value(r, "zone.AZ.token", "x", "x");
    assert_value(r, "token.type", "bearer", "bearer");
    assert_value(r, "Token.Type", "bearer", "bearer");
    assert_value(r, "public.api_key", "pk", "pk");
    assert_value(r, "http.cookie", "4111111111111111", "4111111111111111");
    assert_value(r, "token.types", "x", "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, looks_only_where_it_is_told)
{
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    struct sf_span span = {.name = SF_STR("pay 4111111111111111")};
    struct sf_span_batch in = {.spans = &span, .n_spans = 1}, out;
    uint64_t n;

    config.in_keys = config.in_names = false;
    r = new_redactor(config);
    assert_value(r, "password", "abc", "abc");
    assert_value(r, "x", "4111111111111111", "[REDACTED]");
    assert_ok(sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why));
    assert_true(n == 0);
    sf_redactor_free(r);
    config.in_names = true;
    config.in_values = false;
    r = new_redactor(config);
    assert_value(r, "x", "4111111111111111", "4111111111111111");
    assert_ok(sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why));
    assert_str(out.spans[0].name, "pay [REDACTED]");
    sf_redactor_free(r);
    config = (struct sf_redact_config){.in_keys = true, .in_values = true, .in_names = true};
    r = new_redactor(config);
    assert_value(r, "password", "4111111111111111", "4111111111111111");
    sf_redactor_free(r);
}

TEST(redact, hashes_equal_secrets_equally)
{
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    char first[64];
    sf_str got;
    config.hash_key = sf_str_bytes(SF_STR("0123456789abcdef"));
    r = new_redactor(config);
    got = redact_one(r, "password", str("hunter2")).val.str;
    assert_int_equal(got.len, 27);
    snprintf(first, sizeof(first), "%.*s", SF_STR_ARG(got));
    assert_true(sf_str_starts(got, SF_STR("[REDACTED:")));
    assert_value(r, "token", "hunter2", first);
    assert_value(r, "token", first, first); /* not again */
    assert_false(sf_str_eq(redact_one(r, "token", str("hunter3")).val.str, sf_str_from(first)));
    sf_redactor_free(r);
    config.hash_key = sf_str_bytes(SF_STR("fedcba9876543210"));
    r = new_redactor(config);
    assert_false(sf_str_eq(redact_one(r, "token", str("hunter2")).val.str, sf_str_from(first)));
    sf_redactor_free(r);
}

/* {"note": "x", "card": {"password": "hunter2", "n": [1, "Bearer abc.12345678"]}} */
static void write_nested(struct sf_buf *b)
{
    size_t kv = sf_pb_write_begin(b, 1), any, list, inner;
    sf_pb_write_str(b, 1, SF_STR("note"));
    any = sf_pb_write_begin(b, 2);
    sf_pb_write_str(b, 1, SF_STR("x"));
    sf_pb_write_end(b, any);
    sf_pb_write_end(b, kv);
    kv = sf_pb_write_begin(b, 1);
    sf_pb_write_str(b, 1, SF_STR("card"));
    any = sf_pb_write_begin(b, 2);
    list = sf_pb_write_begin(b, 6);
    inner = sf_pb_write_begin(b, 1);
    sf_pb_write_str(b, 1, SF_STR("password"));
    {
        size_t val = sf_pb_write_begin(b, 2);
        sf_pb_write_str(b, 1, SF_STR("hunter2"));
        sf_pb_write_end(b, val);
    }
    sf_pb_write_end(b, inner);
    inner = sf_pb_write_begin(b, 1);
    sf_pb_write_str(b, 1, SF_STR("n"));
    {
        size_t val = sf_pb_write_begin(b, 2), array = sf_pb_write_begin(b, 5), item;
        item = sf_pb_write_begin(b, 1);
        sf_pb_write_i64(b, 3, 1);
        sf_pb_write_end(b, item);
        item = sf_pb_write_begin(b, 1);
        sf_pb_write_str(b, 1, SF_STR("Bearer abc.12345678"));
        sf_pb_write_end(b, item);
        sf_pb_write_end(b, array);
        sf_pb_write_end(b, val);
    }
    sf_pb_write_end(b, inner);
    sf_pb_write_end(b, list);
    sf_pb_write_end(b, any);
    sf_pb_write_end(b, kv);
}

TEST(redact, reaches_into_nested_values)
{
    struct sf_redactor *r = new_redactor(usual);
    struct sf_buf nested = {0};
    struct sf_attr got;
    size_t at;

    write_nested(&nested);
    assert_true(sf_buf_ok(&nested));
    got = redact_one(r, "payload",
                     (struct sf_value){.type = SF_VALUE_KVLIST, .str = sf_buf_str(&nested)});
    assert_int_equal(got.val.type, SF_VALUE_KVLIST);
    assert_false(sf_str_find(got.val.str, SF_STR("hunter2"), &at));
    assert_false(sf_str_find(got.val.str, SF_STR("abc.12345678"), &at));
    assert_true(sf_str_find(got.val.str, SF_STR("Bearer [REDACTED]"), &at));
    assert_true(sf_str_find(got.val.str, SF_STR("note"), &at));
    got = redact_one(r, "secrets",
                     (struct sf_value){.type = SF_VALUE_KVLIST, .str = sf_buf_str(&nested)});
    assert_str(got.val.str, "[REDACTED]");
    sf_buf_done(&nested);
    sf_redactor_free(r);
}

static uint64_t n_seen;
static void see(void *arg, const struct sf_redact_change *change)
{
    const char *const *places = arg;
    assert_string_equal(change->place, places[n_seen]);
    assert_non_null(change->rule);
    n_seen++;
}

TEST(redact, reaches_every_place_of_a_batch)
{
    static const char *const places[] = {
        "resource.attributes", "scope.name",       "scope.version",    "scope.attributes",
        "span.name",           "span.attributes",  "span.status",      "span.trace_state",
        "event.name",          "event.attributes", "link.trace_state", "link.attributes"};
    struct sf_redactor *r = new_redactor(usual);
    struct sf_redact_watch watch = {see, (void *)(uintptr_t)places};
    struct sf_attr attr = {SF_STR("password"), str("hunter2")};
    struct sf_attr service[2] = {{SF_STR("service.name"), str("api")},
                                 {SF_STR("db.password"), str("hunter2")}};
    struct sf_resource res = {.attrs = {service, 2}, .service = service[0].val.str};
    struct sf_scope scope = {
        .name = SF_STR("token=hunter2"), .version = SF_STR("token=hunter2"), .attrs = {&attr, 1}};
    struct sf_event event = {.name = SF_STR("token=hunter2"), .attrs = {&attr, 1}};
    struct sf_link links[2] = {{.trace_state = SF_STR("clean")},
                               {.trace_state = SF_STR("token=hunter2"), .attrs = {&attr, 1}}};
    struct sf_span spans[2] = {{.name = SF_STR("clean")},
                               {.name = SF_STR("token=hunter2"),
                                .attrs = {&attr, 1},
                                .status_msg = SF_STR("password: hunter2"),
                                .trace_state = SF_STR("secret=hunter2"),
                                .events = &event,
                                .n_events = 1,
                                .links = links,
                                .n_links = 2}};
    struct sf_span_batch in = {&res, &scope, spans, 1, 1, 2}, out;
    uint64_t n, n_by_rules = 0, n_rule;

    n_seen = 0;
    assert_ok(sf_redact_spans(r, &in, &arena, &watch, &out, &n, &why));
    assert_true(n == 12 && n_seen == 12);
    for (size_t i = 0; sf_redactor_rule(r, i, &n_rule); i++)
        n_by_rules += n_rule;
    assert_true(n_by_rules == 12);
    assert_str(out.resources[0].service, "api");
    assert_str(out.resources[0].attrs.list[1].val.str, "[REDACTED]");
    assert_str(out.spans[0].name, "clean");
    assert_str(out.spans[1].events[0].name, "token=[REDACTED]");
    assert_str(out.spans[1].links[0].trace_state, "clean");
    assert_str(out.spans[1].links[1].attrs.list[0].val.str, "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, reaches_every_resource_and_scope)
{
    struct sf_redactor *r = new_redactor(usual);
    struct sf_attr clean = {SF_STR("note"), str("x")}, attr = {SF_STR("password"), str("hunter2")};
    struct sf_resource res[3] = {
        {.attrs = {&clean, 1}}, {.attrs = {&attr, 1}}, {.attrs = {&attr, 1}}};
    struct sf_scope scopes[3] = {
        {.name = SF_STR("x")}, {.name = SF_STR("token=hunter2")}, {.attrs = {&attr, 1}}};
    struct sf_span_batch in = {.resources = res, .n_resources = 3, .scopes = scopes, .n_scopes = 3},
                         out;
    uint64_t n;
    assert_ok(sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why));
    assert_int_equal(n, 4);
    assert_str(out.resources[0].attrs.list[0].val.str, "x");
    assert_str(out.resources[2].attrs.list[0].val.str, "[REDACTED]");
    assert_str(out.scopes[1].name, "token=[REDACTED]");
    assert_str(out.scopes[2].attrs.list[0].val.str, "[REDACTED]");
    sf_redactor_free(r);
}

/* Each represents itself when nothing built in is searched for: no digits, no pairs. */
TEST(redact, copies_nothing_that_it_does_not_change)
{
    static const char *const patterns[] = {"cookie"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r;
    config.patterns = patterns;
    config.n_patterns = 1;
    r = new_redactor(config); /* a word that is built in anyway adds nothing */
    assert_value(r, "note", "the cookie jar", "the cookie jar");
    sf_redactor_free(r);
    config.has_builtin = false;
    r = new_redactor(config);
    struct sf_attr got = redact_one(
        r, "n", (struct sf_value){.type = SF_VALUE_INT, .i64 = 4111111111111111});
    assert_int_equal(got.val.type, SF_VALUE_INT);
    assert_value(r, "note", "the cookie jar", "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, keeps_the_service_in_step_with_its_attribute)
{
    struct sf_redactor *r = new_redactor(usual);
    struct sf_attr attr = {SF_STR("service.name"), str("api 4111111111111111")};
    struct sf_resource res = {.attrs = {&attr, 1}, .service = attr.val.str};
    struct sf_span_batch in = {.resources = &res, .n_resources = 1}, out;
    uint64_t n;
    assert_ok(sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why));
    assert_str(out.resources[0].service, "api [REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, hides_secrets_inside_keys)
{
    struct sf_redactor *r = new_redactor(usual);
    struct sf_attr got = redact_one(r, "password=hunter2", str("x"));
    assert_str(got.key, "password=[REDACTED]");
    assert_str(got.val.str, "[REDACTED]"); /* the word is in the key as well */
    got = redact_one(r, "run --password hunter2", str("x"));
    assert_str(got.key, "run --password [REDACTED]");
    got = redact_one(r, "at postgres://a:hunter2@h", str("x"));
    assert_str(got.key, "at postgres://a:[REDACTED]@h");
    assert_str(got.val.str, "x");
    got = redact_one(r, "a=b", str("x"));
    assert_str(got.key, "a=b");
    got = redact_one(r, "tokens=15", str("x"));
    assert_str(got.key, "tokens=15");
    sf_redactor_free(r);
}

/* A flag of nothing but dashes is not a name of a name of a name. */
TEST(redact, survives_a_flag_without_end)
{
    struct sf_redactor *r = new_redactor(usual);
    struct sf_buf text = {0};
    struct sf_attr got;
    for (int i = 0; i < 300000; i++)
        sf_buf_add_u8(&text, '-');
    sf_buf_add_str(&text, SF_STR("password x"));
    sf_buf_add_u8(&text, 0);
    got = redact_one(r, (const char *)text.p, str("x"));
    assert_int_equal(got.val.type, SF_VALUE_STR);
    sf_buf_done(&text);
    sf_redactor_free(r);
}

static struct sf_value list_of(struct sf_buf *out, const char *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t mark = sf_pb_write_begin(out, 1);
        sf_pb_write_str(out, 1, sf_str_from(items[i]));
        sf_pb_write_end(out, mark);
    }
    return (struct sf_value){.type = SF_VALUE_ARRAY, .str = sf_buf_str(out)};
}

TEST(redact, knows_the_arguments_of_a_command_in_a_list)
{
    static const char *const SECRET[][4] = {{"/usr/bin/mysql", "-uroot", "-phunter2", "shop"},
                                            {"tool", "--password", "hunter2", "-v"},
                                            {"curl", "-u", "alice:hunter2", "http://h/"}};
    static const char *const CLEAN[] = {"find", ".", "-print", "-path"};
    struct sf_redactor *r = new_redactor(usual);
    for (size_t i = 0; i < 3; i++) {
        struct sf_buf list = {0};
        struct sf_attr got = redact_one(r, "process.command_args", list_of(&list, SECRET[i], 4));
        assert_null(memmem(got.val.str.p, got.val.str.len, "hunter2", 7));
        assert_non_null(memmem(got.val.str.p, got.val.str.len, SECRET[i][0], strlen(SECRET[i][0])));
        sf_buf_done(&list);
    }
    struct sf_buf list = {0};
    struct sf_value val = list_of(&list, CLEAN, 4);
    assert_ptr_equal(redact_one(r, "process.command_args", val).val.str.p, val.str.p);
    sf_buf_done(&list);
    sf_redactor_free(r);
}

static sf_str redact_function(const struct sf_redactor *r, const char *name, sf_str *file)
{
    struct sf_function f = {.name = sf_str_from(name), .file = *file};
    struct sf_profile_batch b = {.functions = &f, .n_functions = 1};
    uint64_t n;
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    sf_arena_reset(&arena);
    assert_ok(sf_redact_profiles(r, &b, &arena, NULL, &n, &why));
    *file = b.functions[0].file;
    return b.functions[0].name;
}

/* Functions of one file share its name: each of them is redacted, and clean ones stay. */
TEST(redact, finds_the_secret_of_a_file_in_each_function)
{
    sf_str secret = SF_STR("/x?token=abc123def456"), clean = SF_STR("/src/main.go");
    struct sf_function f[4] = {{.name = SF_STR("a"), .file = clean},
                               {.name = SF_STR("b"), .file = secret},
                               {.name = SF_STR("c"), .file = secret},
                               {.name = SF_STR("d"), .file = clean}};
    struct sf_profile_batch b = {.functions = f, .n_functions = 4};
    struct sf_redactor *r = new_redactor(usual);
    uint64_t n;
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    sf_arena_reset(&arena);
    assert_ok(sf_redact_profiles(r, &b, &arena, NULL, &n, &why));
    assert_int_equal(n, 2);
    assert_str(b.functions[0].file, "/src/main.go");
    assert_str(b.functions[1].file, "/x?token=[REDACTED]");
    assert_str(b.functions[2].file, "/x?token=[REDACTED]");
    assert_str(b.functions[3].file, "/src/main.go");
    sf_redactor_free(r);
}

static void assert_hidden(bool is_hidden, sf_str got, const char *was)
{
    if (!sf_str_eq(got, sf_str_from(is_hidden ? "[REDACTED]" : was)))
        fail_msg("%s became \"%.*s\"", was, SF_STR_ARG(got));
}

TEST(redact, looks_for_words_in_code_as_it_was_chosen)
{
    static const char *const PATTERNS[] = {"acme", "password"};
    static const struct {
        enum sf_redact_code how;
        bool is_part, is_word, is_listed;
    } CASES[] = {{SF_REDACT_CODE_MATCH, false, true, false},
                 {SF_REDACT_CODE_WORDS, false, true, true},
                 {SF_REDACT_CODE_SUBSTRING, true, true, true},
                 {SF_REDACT_CODE_NONE, false, false, false}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sf_redact_config config = usual;
        struct sf_redactor *r;
        sf_str none = SF_STR_NONE, part = SF_STR("/src/acmecorp/a.c"),
               word = SF_STR("/src/acme/a.c");
        config.patterns = PATTERNS;
        config.n_patterns = 2;
        config.functions = config.files = CASES[i].how;
        r = new_redactor(config);
        assert_hidden(CASES[i].is_part, redact_function(r, "_ZN8acmecorp3runEv", &part),
                      "_ZN8acmecorp3runEv");
        assert_hidden(CASES[i].is_part, part, "/src/acmecorp/a.c");
        assert_hidden(CASES[i].is_word, redact_function(r, "acme_run", &word), "acme_run");
        assert_hidden(CASES[i].is_word, word, "/src/acme/a.c");
        assert_hidden(CASES[i].is_listed, redact_function(r, "check_password", &none),
                      "check_password");
        assert_str(redact_function(r, "f(AKIAIOSFODNN7EXAMPLE)", &none), "f([REDACTED])");
        sf_redactor_free(r);
    }
}

/* What was chosen for code holds where names and values are not examined, too. */
TEST(redact, looks_in_code_alone_when_only_that_was_chosen)
{
    static const char *const PATTERNS[] = {"acme"};
    struct sf_redact_config config = {.patterns = PATTERNS, .n_patterns = 1};
    sf_str file = SF_STR("/src/acme/a.c");
    struct sf_redactor *r = new_redactor(config);
    assert_str(redact_function(r, "acme_run", &file), "acme_run");
    assert_str(file, "/src/acme/a.c");
    sf_redactor_free(r);
    config.functions = SF_REDACT_CODE_WORDS;
    r = new_redactor(config);
    assert_str(redact_function(r, "acme_run", &file), "[REDACTED]");
    assert_str(file, "/src/acme/a.c");
    sf_redactor_free(r);
    config.functions = SF_REDACT_CODE_MATCH;
    config.files = SF_REDACT_CODE_WORDS;
    r = new_redactor(config);
    assert_str(redact_function(r, "acme_run", &file), "acme_run");
    assert_str(file, "[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, looks_in_mappings_alone_when_only_that_was_chosen)
{
    static const char *const PATTERNS[] = {"acme"};
    struct sf_redact_config config = {.patterns = PATTERNS, .n_patterns = 1};
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    for (int i = 0; i < 2; i++) {
        struct sf_mapping m = {.file = SF_STR("/lib/acme/a.so")};
        struct sf_profile_batch b = {.mappings = &m, .n_mappings = 1};
        uint64_t n = 0;
        config.files = i ? SF_REDACT_CODE_WORDS : SF_REDACT_CODE_MATCH;
        struct sf_redactor *r = new_redactor(config);
        sf_arena_reset(&arena);
        assert_ok(sf_redact_profiles(r, &b, &arena, NULL, &n, &why));
        assert_int_equal(n, i);
        if (i)
            assert_str(b.mappings[0].file, "[REDACTED]");
        else
            assert_str(b.mappings[0].file, "/lib/acme/a.so");
        sf_redactor_free(r);
    }
}

TEST(redact, reaches_every_mapping_of_a_profile)
{
    struct sf_mapping m[] = {{.file = SF_STR("/lib/a")},
                             {.file = SF_STR("/lib?token=a4")},
                             {.file = SF_STR("/lib?token=a5")}};
    struct sf_profile_batch b = {.mappings = m, .n_mappings = 3};
    struct sf_redactor *r = new_redactor(usual);
    uint64_t n;
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    sf_arena_reset(&arena);
    assert_ok(sf_redact_profiles(r, &b, &arena, NULL, &n, &why));
    assert_int_equal(n, 2);
    assert_str(b.mappings[0].file, "/lib/a");
    assert_str(b.mappings[1].file, "/lib?token=[REDACTED]");
    assert_str(b.mappings[2].file, "/lib?token=[REDACTED]");
    sf_redactor_free(r);
}

TEST(redact, reaches_every_place_of_a_profile)
{
    struct sf_function f = {SF_STR("f(token=a1)"), SF_STR("s(token=a2)"), SF_STR("/x?token=a3"), 0};
    struct sf_mapping m = {.file = SF_STR("/lib?token=a4")};
    struct sf_label labels[] = {{SF_STR("password"), SF_STR("a5")},
                                {SF_STR("token=a6"), SF_STR("a7")}};
    struct sf_series s = {.service = SF_STR("shop token=a8"),
                          .type = {.name = SF_STR("token=a9")},
                          .labels = labels,
                          .n_labels = 2};
    struct sf_process process = {.service = SF_STR("shop token=b1"),
                                 .key = SF_STR("instance=x token=b2")};
    sf_str thread = SF_STR("w token=b3"); /* names that begin at the same byte */
    struct sf_sample samples[] = {{.thread_name = sf_str_part(thread, 0, 1)},
                                  {.thread_name = thread}};
    struct sf_profile_batch b = {.mappings = &m,
                                 .functions = &f,
                                 .processes = &process,
                                 .series = &s,
                                 .samples = samples,
                                 .n_mappings = 1,
                                 .n_functions = 1,
                                 .n_processes = 1,
                                 .n_series = 1,
                                 .n_samples = 2};
    struct sf_redactor *r = new_redactor(usual);
    uint64_t n;
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 20));
    sf_arena_reset(&arena);
    assert_ok(sf_redact_profiles(r, &b, &arena, NULL, &n, &why));
    assert_int_equal(n, 12);
    assert_str(b.functions[0].name, "f(token=[REDACTED]");
    assert_str(b.functions[0].system_name, "s(token=[REDACTED]");
    assert_str(b.functions[0].file, "/x?token=[REDACTED]");
    assert_str(b.mappings[0].file, "/lib?token=[REDACTED]");
    assert_str(b.series[0].labels[0].val, "[REDACTED]");
    assert_str(b.series[0].labels[1].key, "token=[REDACTED]");
    assert_str(b.series[0].service, "shop token=[REDACTED]");
    assert_str(b.series[0].type.name, "token=[REDACTED]");
    assert_str(b.processes[0].service, "shop token=[REDACTED]");
    assert_str(b.processes[0].key, "instance=x token=[REDACTED]");
    assert_str(b.samples[0].thread_name, "w");
    assert_str(b.samples[1].thread_name, "w token=[REDACTED]");
    assert_str(f.name, "f(token=a1)"); /* never in place */
    sf_redactor_free(r);
}

TEST(redact, refuses_bad_patterns_in_words)
{
    static const char *const bad[] = {"/a(?=b)/", "/a(b/", "...", "/x{2000}/"};
    struct sf_redact_config config = usual;
    struct sf_redactor *r = NULL;
    for (size_t i = 0; i < 4; i++) {
        config.patterns = &bad[i];
        config.n_patterns = 1;
        assert_err(sf_redactor_new(&config, &r, &why), SF_ERR_INPUT);
        assert_true(sf_str_starts(sf_str_from(why.text), SF_STR("redact.patterns: ")));
        assert_null(r);
    }
    config = usual;
    config.hash_key = sf_str_bytes(SF_STR("short"));
    assert_err(sf_redactor_new(&config, &r, &why), SF_ERR_INPUT);
}

TEST(redact, says_when_the_arena_is_full)
{
    struct sf_redactor *r = new_redactor(usual);
    struct sf_attr attr = {SF_STR("password"), str("hunter2")};
    struct sf_span span = {.attrs = {&attr, 1}};
    struct sf_span_batch in = {.spans = &span, .n_spans = 1}, out = {0};
    for (size_t cap = 0; cap < 400; cap += 8) {
        struct sf_arena small = {.base = arena.base, .cap = cap};
        uint64_t n;
        enum sf_err err = sf_redact_spans(r, &in, &small, NULL, &out, &n, &why);
        if (err)
            assert_int_equal(err, SF_ERR_LIMIT);
        else
            assert_str(out.spans[0].attrs.list[0].val.str, "[REDACTED]");
    }
    for (size_t cap = 0; cap < 400; cap += 8) { /* the same of a profile, and of a setting */
        struct sf_arena small = {.base = arena.base, .cap = cap};
        struct sf_function f = {.name = SF_STR("f(token=hunter2)")};
        struct sf_profile_batch b = {.functions = &f, .n_functions = 1};
        struct sf_attr one = attr;
        uint64_t n;
        enum sf_err err = sf_redact_profiles(r, &b, &small, NULL, &n, &why);
        if (err)
            assert_int_equal(err, SF_ERR_LIMIT);
        else
            assert_str(b.functions[0].name, "f(token=[REDACTED]");
        small = (struct sf_arena){.base = arena.base, .cap = cap};
        err = sf_redact_attr(r, &small, &one, &n, &why);
        if (err)
            assert_int_equal(err, SF_ERR_LIMIT);
        else
            assert_str(one.val.str, "[REDACTED]");
    }
    sf_redactor_free(r);
}

TEST(redact, survives_every_failed_allocation)
{
    static const char *const patterns[] = {"acme", "/cust-[0-9]+/"};
    struct sf_redact_config config = usual;
    struct sf_attr attr = {SF_STR("note"), str("cust-1")};
    struct sf_span span = {.attrs = {&attr, 1}};
    struct sf_span_batch in = {.spans = &span, .n_spans = 1}, out;
    config.patterns = patterns;
    config.n_patterns = 2;
    for (uint64_t i = 1; i < 120; i++) {
        struct sf_redactor *r = NULL;
        uint64_t n;
        enum sf_err err;
        sf_arena_reset(&arena);
        sf_heap_fail_after(i);
        err = sf_redactor_new(&config, &r, &why);
        if (!err)
            err = sf_redact_spans(r, &in, &arena, NULL, &out, &n, &why);
        sf_heap_fail_after(0);
        if (err)
            assert_int_equal(err, SF_ERR_NOMEM);
        else
            assert_str(out.spans[0].attrs.list[0].val.str, "[REDACTED]");
        sf_redactor_free(r);
    }
}

/* What was judged of one key is remembered at a place that other keys share. */
TEST(redact, judges_each_key_by_itself_however_many_there_are)
{
    struct sf_redactor *r = new_redactor(usual);
    char key[40];
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof(key), i % 2 ? "db.n%d.password" : "plain.n%d.key", i);
        assert_value(r, key, "abc", i % 2 ? "[REDACTED]" : "abc");
    }
    sf_redactor_free(r);
}

TEST(redact, leaves_texts_alone_when_it_is_off)
{
    sf_str text = SF_STR("password=hunter2hunter2");
    uint64_t n = 0;
    assert_ok(sf_redact_text(NULL, &arena, "note", &text, &n, &why));
    assert_str(text, "password=hunter2hunter2");
    assert_int_equal(n, 0);
}
