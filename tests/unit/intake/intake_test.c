#include "test.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "intake/intake.h"
#include "intake/redact.h"
#include "support/otlp_make.h"
#include "wire/deflate.h"
#include "wire/pb_write.h"

static struct sf_why why;

enum coding { PLAIN, GZIP, ZSTD };

static void compress(struct sf_buf *body, enum coding coding)
{
    struct sf_deflate *z = sf_deflate_new();
    struct sf_buf out = {0};
    if (coding == GZIP)
        assert_ok(sf_deflate_gzip(z, 1, sf_buf_bytes(body), &out, &why));
    else if (coding == ZSTD)
        assert_ok(sf_deflate_zstd(z, 1, false, sf_buf_bytes(body), &out, &why));
    sf_deflate_free(z);
    if (coding != PLAIN) {
        sf_buf_done(body);
        *body = out;
    }
}

static struct sf_redactor *new_redactor(void)
{
    struct sf_redact_config config = {
        .has_builtin = true, .in_keys = true, .in_values = true, .in_names = true};
    struct sf_redactor *r = NULL;
    assert_ok(sf_redactor_new(&config, &r, &why));
    return r;
}

static struct sf_intake_result take(const struct sf_redactor *r, enum sf_log_kind kind,
                                    enum coding coding, struct sf_buf *body)
{
    struct sf_intake_config config = {.redactor = r};
    struct sf_intake_request request = {.kind = kind,
                                        .coding = (enum sf_log_encoding)coding,
                                        .tenant = 3,
                                        .recv_ns = 77,
                                        .body = body};
    struct sf_intake_result result = {0};
    if (sf_intake_traces(&config, &request, &result, &why))
        fail_msg("%s", why.text);
    assert_null(body->p); /* taken */
    return result;
}

static void assert_replays(const struct sf_batch *b)
{
    struct sf_batch *again = NULL;
    char what[160];
    if (sf_intake_replay(&b->log, &again, &why))
        fail_msg("%s", why.text);
    if (!sf_otlp_make_is_same(b->spans, again->spans, what))
        fail_msg("replay differs: %s", what);
    assert_true(again->dup_hash == b->dup_hash);
    assert_true(again->log.tenant == 3 && again->log.recv_ns == 77);
    sf_batch_free(again);
}

TEST(intake, logs_what_it_received_and_finds_the_same_rows_again)
{
    struct sf_redactor *r = new_redactor();
    for (int json = 0; json < 2; json++) {
        for (enum coding coding = PLAIN; coding <= ZSTD; coding++) {
            enum sf_log_kind kind = json ? SF_LOG_OTLP_TRACES_JSON : SF_LOG_OTLP_TRACES_PB;
            struct sf_buf body = {0}, sent = {0};
            struct sf_intake_result got;
            struct sf_otlp_make make;
            sf_otlp_make_init(&make, 7, 0);
            (json ? sf_otlp_make_request_json : sf_otlp_make_request)(&make, 100, &body, NULL);
            compress(&body, coding);
            sf_buf_add(&sent, body.p, body.len);
            got = take(coding == GZIP ? NULL : r, kind, coding, &body);
            assert_true(got.n_spans == 100 && got.rejects.n_rejected == 0);
            if (got.n_redacted)
                fail_msg("realistic spans were redacted %d times", (int)got.n_redacted);
            if (json && coding != GZIP) { /* JSON is never kept while secrets are searched for */
                assert_int_equal(got.batch->log.kind, SF_LOG_BATCH);
            } else {
                assert_int_equal(got.batch->log.kind, kind);
                assert_int_equal(got.batch->log.encoding, coding);
                assert_int_equal(got.batch->log.body.len, sent.len);
                assert_memory_equal(got.batch->log.body.p, sent.p, sent.len);
            }
            assert_replays(got.batch);
            sf_batch_free(got.batch);
            sf_buf_done(&sent);
        }
    }
    sf_redactor_free(r);
}

static bool holds(sf_bytes in, const char *secret)
{
    size_t at;
    return sf_str_find(sf_bytes_str(in), sf_str_from(secret), &at);
}

/* The rows and the logged bytes, inflated by replay, in one protobuf each: searched for a secret.
 */
static void assert_hidden(const struct sf_batch *b, const char *secret)
{
    struct sf_buf rows = {0};
    for (; b; b = b->next) {
        struct sf_batch *again = NULL;
        if (holds(b->log.body, secret))
            fail_msg("\"%s\" is in the log", secret);
        assert_ok(sf_intake_replay(&b->log, &again, &why));
        if (holds(sf_buf_bytes(&again->plain), secret))
            fail_msg("\"%s\" is in the log, compressed", secret);
        sf_buf_reset(&rows);
        sf_otlp_make_pb(b->spans ? b->spans : again->spans, &rows);
        if (holds(sf_buf_bytes(&rows), secret))
            fail_msg("\"%s\" is in the rows", secret);
        sf_batch_free(again);
    }
    sf_buf_done(&rows);
}

static struct sf_value str(const char *text)
{
    return (struct sf_value){.type = SF_VALUE_STR, .str = sf_str_from(text)};
}

/* A secret in one place of an otherwise ordinary batch. Returns how many places there are. */
static int plant(struct sf_span_batch *b, int place, struct sf_arena *req)
{
    static struct sf_attr attrs[3], more[1];
    static struct sf_event event;
    static struct sf_link link;
    static struct sf_buf nested;
    struct sf_resource *res = sf_arena_new_n(req, b->n_resources, sizeof(*res));
    struct sf_scope *scope = sf_arena_new_n(req, b->n_scopes, sizeof(*scope));
    struct sf_span *spans = sf_arena_new_n(req, b->n_spans, sizeof(*spans)), *s = &spans[1];
    size_t kv, any;

    memcpy(res, b->resources, b->n_resources * sizeof(*res));
    memcpy(scope, b->scopes, b->n_scopes * sizeof(*scope));
    memcpy(spans, b->spans, b->n_spans * sizeof(*spans));
    attrs[0] = (struct sf_attr){SF_STR("service.name"), str("api")};
    attrs[1] = (struct sf_attr){SF_STR("plain"), str("value")};
    attrs[2] = (struct sf_attr){SF_STR("db.password"), str("hunter2")};
    more[0] = (struct sf_attr){SF_STR("token=hunter2"), str("x")};
    event = (struct sf_event){.name = SF_STR("login"), .attrs = {attrs, 3}};
    link = (struct sf_link){.trace_id = s->trace_id, .span_id = 5, .attrs = {attrs, 3}};
    sf_buf_reset(&nested);
    kv = sf_pb_write_begin(&nested, 1);
    sf_pb_write_str(&nested, 1, SF_STR("secret"));
    any = sf_pb_write_begin(&nested, 2);
    sf_pb_write_str(&nested, 1, SF_STR("hunter2"));
    sf_pb_write_end(&nested, any);
    sf_pb_write_end(&nested, kv);

    switch (place) {
    case 0: s->name = SF_STR("login password=hunter2"); break;
    case 1: s->attrs = (struct sf_attrs){attrs, 3}; break;
    case 2:
        attrs[2] = (struct sf_attr){SF_STR("plain"), str("Bearer hunter2.hunter2")};
        s->attrs = (struct sf_attrs){attrs, 3};
        break;
    case 3: res[s->resource].attrs = (struct sf_attrs){attrs, 3}; break;
    case 4: scope[s->scope].attrs = (struct sf_attrs){attrs, 3}; break;
    case 5: scope[s->scope].name = SF_STR("lib token=hunter2"); break;
    case 6: s->status_msg = SF_STR("cannot log in, password: hunter2"); break;
    case 7: s->trace_state = SF_STR("vendor=1,token=hunter2"); break;
    case 8:
        s->events = &event;
        s->n_events = 1;
        break;
    case 9:
        event.attrs.n = 2;
        event.name = SF_STR("apiKey=hunter2");
        s->events = &event;
        s->n_events = 1;
        break;
    case 10:
        s->links = &link;
        s->n_links = 1;
        break;
    case 11:
        link.attrs.n = 2;
        link.trace_state = SF_STR("secret=hunter2");
        s->links = &link;
        s->n_links = 1;
        break;
    case 12:
        attrs[2] = (struct sf_attr){SF_STR("payload"),
                                    {.type = SF_VALUE_KVLIST, .str = sf_buf_str(&nested)}};
        s->attrs = (struct sf_attrs){attrs, 3};
        break;
    case 13: /* a key that is a secret itself */
        more[0].key = SF_STR("ghp_hunter2hunter2hunter2hunter2");
        s->attrs = (struct sf_attrs){more, 1};
        break;
    case 14: /* bytes */
        attrs[2] = (struct sf_attr){SF_STR("raw"),
                                    {.type = SF_VALUE_BYTES, .str = SF_STR("password=hunter2")}};
        s->attrs = (struct sf_attrs){attrs, 3};
        break;
    case 15: res[s->resource].schema_url = SF_STR("https://u:hunter2@host/"); break;
    case 16: scope[s->scope].version = SF_STR("1 token=hunter2"); break;
    default: break;
    }
    b->resources = res;
    b->scopes = scope;
    b->spans = spans;
    return 17;
}

TEST(intake, keeps_planted_secrets_out_of_rows_and_log)
{
    struct sf_redactor *r = new_redactor();
    struct sf_arena req;
    int n_places = 1;

    assert_true(sf_arena_init(&req, 16 << 20));
    for (int place = 0; place < n_places; place++) {
        for (int json = 0; json < 2; json++) {
            struct sf_span_batch made;
            struct sf_buf body = {0};
            struct sf_otlp_make make;
            struct sf_intake_result got;
            sf_arena_reset(&req);
            sf_otlp_make_init(&make, 7, 0);
            sf_otlp_make_batch(&make, 20, &req, &made);
            n_places = plant(&made, place, &req);
            (json ? sf_otlp_make_json : sf_otlp_make_pb)(&made, &body);
            assert_true(holds(sf_buf_bytes(&body), "hunter2") || (json && place == 14));
            compress(&body, place % 2 ? GZIP : PLAIN);
            got = take(r, json ? SF_LOG_OTLP_TRACES_JSON : SF_LOG_OTLP_TRACES_PB,
                       place % 2 ? GZIP : PLAIN, &body);
            if (got.n_redacted == 0)
                fail_msg("place %d: nothing was redacted", place);
            assert_int_equal(got.batch->log.kind, SF_LOG_BATCH);
            assert_true(got.n_spans == 20);
            assert_hidden(got.batch, "hunter2");
            assert_replays(got.batch);
            sf_batch_free(got.batch);
        }
    }
    sf_arena_done(&req);
    sf_redactor_free(r);
}

/* A request of one good span and one whose trace id is too short, with a secret in it. */
static void write_half_bad(struct sf_buf *b)
{
    size_t resource = sf_pb_write_begin(b, 1), scope = sf_pb_write_begin(b, 2), span, kv, any;
    for (int i = 0; i < 2; i++) {
        span = sf_pb_write_begin(b, 2);
        sf_pb_write_str(b, 1, i ? SF_STR("short") : SF_STR("0123456789abcdef"));
        sf_pb_write_str(b, 2, SF_STR("01234567"));
        sf_pb_write_str(b, 5, SF_STR("GET /"));
        if (i) {
            kv = sf_pb_write_begin(b, 9);
            sf_pb_write_str(b, 1, SF_STR("password"));
            any = sf_pb_write_begin(b, 2);
            sf_pb_write_str(b, 1, SF_STR("hunter2"));
            sf_pb_write_end(b, any);
            sf_pb_write_end(b, kv);
        }
        sf_pb_write_end(b, span);
    }
    sf_pb_write_end(b, scope);
    sf_pb_write_end(b, resource);
}

TEST(intake, finds_the_same_rejected_spans_again)
{
    struct sf_buf body = {0};
    struct sf_intake_result got;
    write_half_bad(&body);
    got = take(NULL, SF_LOG_OTLP_TRACES_PB, PLAIN, &body);
    assert_true(got.n_spans == 1 && got.rejects.n_rejected == 1);
    assert_int_equal(got.batch->log.kind, SF_LOG_OTLP_TRACES_PB);
    assert_replays(got.batch);
    sf_batch_free(got.batch);
}

TEST(intake, does_not_log_rejected_spans_unseen)
{
    struct sf_redactor *r = new_redactor();
    struct sf_buf body = {0};
    struct sf_intake_result got;
    write_half_bad(&body);
    got = take(r, SF_LOG_OTLP_TRACES_PB, PLAIN, &body);
    assert_true(got.n_spans == 1 && got.rejects.n_rejected == 1);
    assert_int_equal(got.batch->log.kind, SF_LOG_BATCH);
    assert_hidden(got.batch, "hunter2");
    assert_replays(got.batch);
    sf_batch_free(got.batch);
    sf_redactor_free(r);
}

/* One good span, with a secret where OTLP has no meaning for it. Returns how many such places. */
static int write_unknown(struct sf_buf *b, int place)
{
    sf_str secret = SF_STR("hunter2");
    size_t resource, scope, span, kv, any, list;

    if (place == 0)
        sf_pb_write_str(b, 99, secret);
    resource = sf_pb_write_begin(b, 1);
    if (place == 1)
        sf_pb_write_str(b, 99, secret);
    scope = sf_pb_write_begin(b, 2);
    if (place == 2)
        sf_pb_write_str(b, 99, secret);
    span = sf_pb_write_begin(b, 2);
    if (place == 3)
        sf_pb_write_str(b, 99, secret);
    if (place == 4)
        sf_pb_write_str(b, 5, secret); /* a name that another one follows */
    if (place == 5)
        sf_pb_write_str(b, 1, secret); /* an id likewise */
    sf_pb_write_str(b, 1, SF_STR("0123456789abcdef"));
    sf_pb_write_str(b, 2, SF_STR("01234567"));
    sf_pb_write_str(b, 5, SF_STR("GET /"));
    kv = sf_pb_write_begin(b, 9);
    if (place == 6)
        sf_pb_write_str(b, 99, secret);
    if (place == 7)
        sf_pb_write_str(b, 1, secret);
    sf_pb_write_str(b, 1, SF_STR("plain"));
    any = sf_pb_write_begin(b, 2);
    if (place == 8)
        sf_pb_write_str(b, 99, secret);
    if (place == 9)
        sf_pb_write_str(b, 1, secret);
    if (place == 10) { /* inside an array */
        list = sf_pb_write_begin(b, 5);
        sf_pb_write_str(b, 99, secret);
        sf_pb_write_end(b, list);
    } else {
        sf_pb_write_str(b, 1, SF_STR("value"));
    }
    sf_pb_write_end(b, any);
    sf_pb_write_end(b, kv);
    if (place == 11) {
        size_t event = sf_pb_write_begin(b, 11);
        sf_pb_write_str(b, 99, secret);
        sf_pb_write_end(b, event);
    }
    if (place == 12) { /* a link without ids */
        size_t link = sf_pb_write_begin(b, 13);
        sf_pb_write_str(b, 3, secret);
        sf_pb_write_end(b, link);
    }
    sf_pb_write_end(b, span);
    sf_pb_write_end(b, scope);
    sf_pb_write_end(b, resource);
    if (place == 13 || place == 14) { /* a resource, or a scope, without spans */
        resource = sf_pb_write_begin(b, 1);
        any = sf_pb_write_begin(b, place == 13 ? 1 : 2);
        scope = sf_pb_write_begin(b, 1);
        sf_pb_write_str(b, 1, secret);
        sf_pb_write_end(b, scope);
        sf_pb_write_end(b, any);
        sf_pb_write_end(b, resource);
    }
    return 15;
}

TEST(intake, does_not_log_what_nobody_looked_at)
{
    static const char *const json[] = {
        "{\"x\":\"hunter2\",\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":"
        "\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\"}]}]}]}",
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"hunter2\",\"traceId\":"
        "\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\",\"name\":"
        "\"hunter2\",\"name\":\"a\"}]}]}]}"};
    struct sf_redactor *r = new_redactor();
    struct sf_intake_result got;
    struct sf_buf body = {0};
    int n_places = 1;

    for (int place = -1; place < n_places; place++) {
        n_places = write_unknown(&body, place);
        got = take(r, SF_LOG_OTLP_TRACES_PB, PLAIN, &body);
        assert_true(got.n_spans == 1);
        if ((got.batch->log.kind == SF_LOG_BATCH) != (place >= 0))
            fail_msg("place %d: logged as kind %d", place, got.batch->log.kind);
        assert_hidden(got.batch, "hunter2");
        assert_replays(got.batch);
        sf_batch_free(got.batch);
    }
    for (size_t i = 0; i < 2; i++) {
        sf_buf_add_str(&body, sf_str_from(json[i]));
        got = take(r, SF_LOG_OTLP_TRACES_JSON, PLAIN, &body);
        if (got.batch)
            assert_hidden(got.batch, "hunter2");
        sf_batch_free(got.batch);
    }
    sf_redactor_free(r);
}

TEST(intake, gives_no_batch_for_no_spans)
{
    struct sf_buf body = {0};
    struct sf_intake_result got;
    sf_buf_add(&body, "{}", 2);
    got = take(NULL, SF_LOG_OTLP_TRACES_JSON, PLAIN, &body);
    assert_null(got.batch);
    assert_true(got.n_spans == 0);
}

TEST(intake, leaves_the_body_with_the_caller_when_it_refuses)
{
    struct sf_intake_config config = {0};
    struct sf_buf body = {0};
    struct sf_intake_request request = {.kind = SF_LOG_OTLP_TRACES_PB, .body = &body};
    struct sf_intake_result got;

    sf_buf_add(&body, "\x0a\xff", 2);
    assert_err(sf_intake_traces(&config, &request, &got, &why), SF_ERR_INPUT);
    assert_int_equal(body.len, 2);
    request.coding = SF_LOG_GZIP;
    assert_err(sf_intake_traces(&config, &request, &got, &why), SF_ERR_INPUT);
    assert_int_equal(body.len, 2);
    request.coding = SF_LOG_PLAIN;
    config.max_inflated_len = 1;
    assert_err(sf_intake_traces(&config, &request, &got, &why), SF_ERR_LIMIT);
    sf_buf_done(&body);
}

TEST(intake, knows_a_repeat_by_its_bytes)
{
    uint64_t hashes[3];
    for (uint32_t i = 0; i < 3; i++) {
        struct sf_otlp_make make;
        struct sf_buf body = {0};
        struct sf_intake_config config = {0};
        struct sf_intake_request request = {
            .kind = SF_LOG_OTLP_TRACES_PB, .tenant = i == 2 ? 2 : 1, .body = &body};
        struct sf_intake_result got;
        sf_otlp_make_init(&make, 7, 0);
        sf_otlp_make_request(&make, 3, &body, NULL);
        assert_ok(sf_intake_traces(&config, &request, &got, &why));
        hashes[i] = got.batch->dup_hash;
        sf_batch_free(got.batch);
    }
    assert_true(hashes[0] == hashes[1] && hashes[0] != hashes[2] && hashes[0] != 0);
}

TEST(intake, cuts_a_large_request_into_pieces)
{
    struct sf_redactor *r = new_redactor();
    for (int planted = 0; planted < 2; planted++) {
        struct sf_otlp_make make;
        struct sf_buf body = {0};
        struct sf_intake_result got;
        uint64_t n_spans = 0, n_made = 40000, first_dup = 0;
        sf_otlp_make_init(&make, 7, 0);
        sf_otlp_make_request(&make, (uint32_t)n_made, &body, NULL);
        assert_true(body.len > SF_LIMIT_LOGGED_BODY_LEN);
        if (planted) {
            write_half_bad(&body); /* a further ResourceSpans */
            n_made++;
        }
        compress(&body, ZSTD);
        got = take(r, SF_LOG_OTLP_TRACES_PB, ZSTD, &body);
        assert_true(got.n_spans == n_made);
        assert_non_null(got.batch->next);
        for (struct sf_batch *b = got.batch; b; b = b->next) {
            struct sf_batch *again = NULL;
            assert_true(b->is_replay_only && !b->spans);
            assert_true(b->log.meta.len + b->log.body.len <= SF_LIMIT_RECORD_LEN);
            assert_ok(sf_intake_replay(&b->log, &again, &why));
            n_spans += again->spans->n_spans;
            if (b == got.batch)
                first_dup = again->dup_hash;
            else
                assert_true(again->dup_hash == 0 && b->dup_hash == 0);
            sf_batch_free(again);
        }
        assert_true(n_spans == n_made);
        assert_true(first_dup == got.batch->dup_hash);
        assert_hidden(got.batch, "hunter2");
        sf_batch_free(got.batch);
    }
    sf_redactor_free(r);
}

/* A small server decodes in pieces what a larger one takes whole. */
TEST(intake, cuts_what_does_not_fit_its_share_of_the_memory)
{
    static const struct sf_intake_config SMALL[] = {{.max_whole_len = 100 << 10},
                                                    {.arena_len = 2 << 20}};
    for (int i = 0; i < 3; i++) {
        struct sf_otlp_make make;
        struct sf_buf body = {0};
        struct sf_intake_config config = i < 2 ? SMALL[i] : (struct sf_intake_config){0};
        struct sf_intake_request request = {
            .kind = SF_LOG_OTLP_TRACES_PB, .body = &body, .tenant = 1};
        struct sf_intake_result got;
        uint64_t n_spans = 0;
        sf_otlp_make_init(&make, 7, 0);
        sf_otlp_make_request(&make, 8000, &body, NULL);
        assert_true(body.len < SF_LIMIT_LOGGED_BODY_LEN);
        assert_ok(sf_intake_traces(&config, &request, &got, &why));
        assert_int_equal(got.n_spans, 8000);
        assert_int_equal(got.batch->is_replay_only, i < 2);
        for (struct sf_batch *b = got.batch; b; b = b->next) {
            struct sf_batch *again = NULL;
            assert_ok(sf_intake_replay(&b->log, &again, &why));
            n_spans += again->spans->n_spans;
            sf_batch_free(again);
        }
        assert_int_equal(n_spans, 8000);
        sf_batch_free(got.batch);
        sf_buf_done(&body);
    }
}

/* Spans so long that a piece does not fit a record and is halved, more than once. */
TEST(intake, halves_a_piece_that_is_too_long_and_keeps_both_halves)
{
    enum { N = 1000, TEXT_LEN = 30000 };
    static struct sf_span spans[N];
    static char text[N * TEXT_LEN];
    static struct sf_attr attrs[N];
    struct sf_resource res = {.service = SF_STR("shop")};
    struct sf_scope scope = {0};
    struct sf_span_batch batch = {&res, &scope, spans, 1, 1, N};
    struct sf_buf body = {0};
    struct sf_intake_result got;
    uint32_t n_seen[N] = {0}, n_pieces = 0;

    for (size_t i = 0; i < sizeof(text); i++) /* hardly compresses */
        text[i] = (char)('!' + (sf_hash_mix(7, i) >> 20) % 90);
    for (uint32_t i = 0; i < N; i++) {
        attrs[i] = (struct sf_attr){SF_STR("text"),
                                    {.type = SF_VALUE_STR, .str = {text + i * TEXT_LEN, TEXT_LEN}}};
        spans[i] = (struct sf_span){.trace_id = {{1}},
                                    .span_id = i + 1,
                                    .name = SF_STR("op"),
                                    .start_ns = 1,
                                    .end_ns = 2,
                                    .attrs = {&attrs[i], 1}};
    }
    sf_otlp_make_pb(&batch, &body);
    got = take(NULL, SF_LOG_OTLP_TRACES_PB, 0, &body);
    assert_int_equal(got.n_spans, N);
    for (struct sf_batch *b = got.batch; b; b = b->next, n_pieces++) {
        struct sf_batch *again = NULL;
        assert_ok(sf_intake_replay(&b->log, &again, &why));
        for (uint32_t i = 0; i < again->spans->n_spans; i++)
            n_seen[again->spans->spans[i].span_id - 1]++;
        sf_batch_free(again);
    }
    assert_true(n_pieces > 1);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(n_seen[i], 1);
    sf_batch_free(got.batch);
    sf_buf_done(&body);
}

TEST(intake, replays_only_what_is_whole)
{
    struct sf_logged rec = {.kind = SF_LOG_OTLP_TRACES_PB, .tenant = 1};
    struct sf_batch *b = NULL;
    rec.body = sf_str_bytes(SF_STR("\x0a\xff"));
    assert_err(sf_intake_replay(&rec, &b, &why), SF_ERR_CORRUPT);
    rec.kind = SF_LOG_BATCH;
    assert_err(sf_intake_replay(&rec, &b, &why), SF_ERR_UNSUPPORTED); /* of another version */
    rec.kind = 200;
    assert_err(sf_intake_replay(&rec, &b, &why), SF_ERR_UNSUPPORTED);
    rec.kind = SF_LOG_OTLP_TRACES_PB;
    rec.encoding = 9;
    assert_err(sf_intake_replay(&rec, &b, &why), SF_ERR_CORRUPT);
    rec.encoding = 0;
    rec.meta = sf_str_bytes(SF_STR("v\0002\0"));
    assert_err(sf_intake_replay(&rec, &b, &why), SF_ERR_CORRUPT);
    rec.meta = sf_str_bytes(SF_STR("garbage"));
    assert_err(sf_intake_replay(&rec, &b, &why), SF_ERR_CORRUPT);
    assert_null(b);
}

TEST(intake, replays_with_the_limits_of_the_day)
{
    struct sf_intake_config config = {.limits = {.max_attrs = 2, .max_value_len = 16}};
    struct sf_otlp_make make;
    struct sf_buf body = {0};
    struct sf_intake_request request = {
        .kind = SF_LOG_OTLP_TRACES_PB, .tenant = 3, .recv_ns = 77, .body = &body};
    struct sf_intake_result got;
    sf_otlp_make_init(&make, 7, 0);
    sf_otlp_make_request(&make, 20, &body, NULL);
    assert_ok(sf_intake_traces(&config, &request, &got, &why));
    assert_true(got.rejects.n_cut_attrs > 0);
    assert_replays(got.batch);
    sf_batch_free(got.batch);
}

TEST(intake, survives_every_failed_allocation)
{
    struct sf_redactor *r = new_redactor();
    struct sf_intake_config config = {.redactor = r};
    enum sf_err err = SF_ERR_NOMEM;
    for (uint64_t n = 1; n < 400 && err; n++) {
        struct sf_buf body = {0};
        struct sf_intake_request request = {
            .kind = SF_LOG_OTLP_TRACES_PB, .coding = SF_LOG_GZIP, .tenant = 3, .body = &body};
        struct sf_intake_result got = {0};
        struct sf_batch *again = NULL;
        struct sf_otlp_make make;
        sf_otlp_make_init(&make, 7, 0);
        sf_otlp_make_request(&make, 20, &body, NULL);
        write_half_bad(&body);
        compress(&body, GZIP);
        sf_heap_fail_after(n);
        err = sf_intake_traces(&config, &request, &got, &why);
        if (!err)
            err = sf_intake_replay(&got.batch->log, &again, &why);
        sf_heap_fail_after(0);
        if (err)
            assert_int_equal(err, SF_ERR_NOMEM);
        else
            assert_int_equal(again->spans->n_spans, 21);
        sf_batch_free(got.batch);
        sf_batch_free(again);
        sf_buf_done(&body);
    }
    assert_ok(err);
    sf_redactor_free(r);
}
