#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/text.h"
#include "collect/lib/library.h"
#include "http_peer.h"
#include "wire/pb.h"

/* What arrives at a server: the library, the exporter and a real socket. One library per process,
 * so the tests share one server. */
static struct http_peer server;

struct seen {
    char name[64];
    uint8_t trace_id[16], span_id[8], parent_id[8];
    uint64_t start_ns, end_ns;
    uint32_t kind, status, flags, n_attrs, n_events, n_links, dropped;
    char attrs[8][2][64]; /* key, text of the value */
    char state[64], message[64];
};
static struct seen seen[64];
static unsigned n_seen;

static void text(char out[64], sf_str s)
{
    snprintf(out, 64, "%.*s", SF_STR_ARG(s));
}

static void read_value(struct sf_pb value, char out[64])
{
    while (sf_pb_next(&value)) {
        switch (value.field) {
        case 1: text(out, sf_pb_str(&value)); break;
        case 2: snprintf(out, 64, "%s", sf_pb_bool(&value) ? "true" : "false"); break;
        case 3: snprintf(out, 64, "%lld", (long long)sf_pb_i64(&value)); break;
        case 4: snprintf(out, 64, "%g", sf_pb_double(&value)); break;
        default: sf_pb_skip(&value);
        }
    }
}

static void read_attr(struct sf_pb kv, struct seen *s)
{
    while (sf_pb_next(&kv)) {
        if (kv.field == 1)
            text(s->attrs[s->n_attrs % 8][0], sf_pb_str(&kv));
        else
            read_value(sf_pb_msg(&kv), s->attrs[s->n_attrs % 8][1]);
    }
    s->n_attrs++;
}

static void read_status(struct sf_pb pb, struct seen *s)
{
    while (sf_pb_next(&pb)) {
        if (pb.field == 2)
            text(s->message, sf_pb_str(&pb));
        else
            s->status = sf_pb_u32(&pb);
    }
}

static void read_span(struct sf_pb pb, struct seen *s)
{
    while (sf_pb_next(&pb)) {
        switch (pb.field) {
        case 1: memcpy(s->trace_id, sf_pb_bytes(&pb).p, 16); break;
        case 2: memcpy(s->span_id, sf_pb_bytes(&pb).p, 8); break;
        case 3: text(s->state, sf_pb_str(&pb)); break;
        case 4: memcpy(s->parent_id, sf_pb_bytes(&pb).p, 8); break;
        case 5: text(s->name, sf_pb_str(&pb)); break;
        case 6: s->kind = sf_pb_u32(&pb); break;
        case 7: s->start_ns = sf_pb_fixed64(&pb); break;
        case 8: s->end_ns = sf_pb_fixed64(&pb); break;
        case 9: read_attr(sf_pb_msg(&pb), s); break;
        case 10:
        case 12:
        case 14: s->dropped += sf_pb_u32(&pb); break;
        case 11:
            s->n_events++;
            sf_pb_skip(&pb);
            break;
        case 13:
            s->n_links++;
            sf_pb_skip(&pb);
            break;
        case 15: read_status(sf_pb_msg(&pb), s); break;
        case 16: s->flags = sf_pb_fixed32(&pb); break;
        default: fail_msg("field %u", pb.field);
        }
    }
    assert_true(sf_pb_ok(&pb));
}

static void read_scope(struct sf_pb pb)
{
    while (sf_pb_next(&pb)) {
        if (pb.field == 2 && n_seen < 64) {
            seen[n_seen] = (struct seen){0};
            read_span(sf_pb_msg(&pb), &seen[n_seen++]);
        } else {
            sf_pb_skip(&pb);
        }
    }
}

static void read_resource_spans(struct sf_pb pb)
{
    while (sf_pb_next(&pb)) {
        if (pb.field == 2)
            read_scope(sf_pb_msg(&pb));
        else
            sf_pb_skip(&pb);
    }
}

/* The thread sanitizer follows no threads into a child. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_FORK 1
#endif
#endif
#ifndef NO_FORK
#define NO_FORK 0
#endif

static void stop_server(void)
{
    sf_flush(20000);
    http_peer_stop(&server);
}

static void begin(void)
{
    char url[64];
    if (server.port) {
        assert_int_equal(sf_start(NULL), 0);
        return;
    }
    http_peer_start(&server);
    atexit(stop_server);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
    assert_int_equal(sf_set("OTEL_EXPORTER_OTLP_ENDPOINT", url), 0);
    assert_int_equal(sf_set("OTEL_EXPORTER_OTLP_COMPRESSION", "none"), 0);
    assert_int_equal(sf_set("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "5"), 0);
    assert_int_equal(sf_set("OTEL_SPAN_EVENT_COUNT_LIMIT", "2"), 0);
    /* Only spans here: profiles would come between them, and valgrind cannot deliver their signals.
     */
    assert_int_equal(sf_set("SPANFLAME_PROFILING_CPU_ENABLED", "false"), 0);
    assert_int_equal(sf_set("SPANFLAME_PROFILING_MEMORY_ENABLED", "false"), 0);
    assert_int_equal(sf_start("unit"), 0);
    assert_int_equal(sf_set("OTEL_SERVICE_NAME", "late"), -1);
}

/* Flushes and reads what came with it. */
static void receive(void)
{
    struct sf_pb pb;
    n_seen = 0;
    assert_int_equal(sf_flush(20000), 0);
    pthread_mutex_lock(&server.lock);
    pb = sf_pb_init(sf_buf_bytes(&server.body));
    while (sf_pb_next(&pb))
        read_resource_spans(sf_pb_msg(&pb));
    assert_true(sf_pb_ok(&pb));
    pthread_mutex_unlock(&server.lock);
}

static const struct seen *find(const char *name)
{
    for (unsigned i = 0; i < n_seen; i++) {
        if (!strcmp(seen[i].name, name))
            return &seen[i];
    }
    fail_msg("no span %s among %u", name, n_seen);
    return NULL;
}

TEST(span, arrives_with_all_it_carries)
{
    sf_span s;
    sf_context c = {.trace_id = {1}, .span_id = {2}};
    sf_attr of_event = {.key = "k", .type = SF_ATTR_INT, .val.i = 4};
    const struct seen *got;
    begin();
    errno = 99;
    s = sf_span_start_with(
        "first", &(sf_span_options){.size = sizeof(sf_span_options), .kind = SF_KIND_SERVER});
    sf_span_set_name(s, "second");
    sf_span_set_str(s, "text", "a");
    sf_span_set_str(s, "text", "b");
    sf_span_set_int(s, "number", -5);
    sf_span_set_double(s, "real", 0.5);
    sf_span_set_bool(s, "truth", 7);
    sf_span_set_strn(s, "bad\xff", "\xc3\x28z", 3);
    sf_span_set_str(s, "too many", "x");
    sf_span_set_str(s, NULL, "x");
    sf_span_set_str(s, "x", NULL);
    sf_span_event_with(s, "happened", &of_event, 1);
    sf_span_link(s, &c, NULL, 0);
    sf_span_set_status(s, SF_STATUS_ERROR, "broken");
    sf_span_end(s);
    assert_int_equal(errno, 99);
    receive();
    got = find("second");
    assert_int_equal(got->kind, SF_KIND_SERVER);
    assert_int_equal(got->status, SF_STATUS_ERROR);
    assert_string_equal(got->message, "broken");
    assert_int_equal(got->n_attrs, 6);
    assert_int_equal(got->dropped, 1);
    assert_string_equal(got->attrs[0][1], "b");
    assert_string_equal(got->attrs[1][1], "-5");
    assert_string_equal(got->attrs[2][1], "0.5");
    assert_string_equal(got->attrs[3][1], "true");
    assert_string_equal(got->attrs[4][0], "bad?");
    assert_string_equal(got->attrs[4][1], "?(z");
    assert_string_equal(got->attrs[5][0], "thread.id");
    assert_int_equal(strtol(got->attrs[5][1], NULL, 10), syscall(SYS_gettid));
    assert_int_equal(got->n_events, 1);
    assert_int_equal(got->n_links, 1);
    assert_true(got->start_ns > 0 && got->end_ns >= got->start_ns);
}

TEST(span, leaves_a_thread_that_the_program_names)
{
    sf_span s;
    begin();
    s = sf_span_start("coroutine");
    sf_span_set_int(s, "thread.id", 7);
    sf_span_end(s);
    receive();
    assert_int_equal(find("coroutine")->n_attrs, 1);
    assert_string_equal(find("coroutine")->attrs[0][1], "7");
}

TEST(span, nests_and_comes_back_to_what_was_under_it)
{
    sf_span a, b, c;
    begin();
    assert_int_equal(sf_current(), 0);
    a = sf_span_start("a");
    b = sf_span_start("b");
    assert_int_equal(sf_current(), b);
    c = sf_span_start_with("c", &(sf_span_options){.flags = SF_SPAN_DETACHED});
    assert_int_equal(sf_current(), b);
    sf_span_end(c);
    sf_span_end(b);
    assert_int_equal(sf_current(), a);
    sf_span_end(b); /* twice is harmless */
    sf_span_set_str(b, "after", "the end");
    assert_int_equal(sf_current(), a);
    sf_span_end(a);
    assert_int_equal(sf_current(), 0);
    receive();
    assert_int_equal(n_seen, 3);
    assert_memory_equal(find("b")->parent_id, find("a")->span_id, 8);
    assert_memory_equal(find("c")->parent_id, find("b")->span_id, 8);
    assert_memory_equal(find("c")->trace_id, find("a")->trace_id, 16);
    assert_int_equal(find("b")->flags, 0x101);
}

static void *work_elsewhere(void *arg)
{
    sf_span given = *(sf_span *)arg, before = sf_activate(given), inner;
    assert_int_equal(before, 0);
    inner = sf_span_start("elsewhere");
    sf_span_end(inner);
    assert_int_equal(sf_current(), given);
    sf_span_end(given);   /* ends where it was not started */
    inner = sf_current(); /* what the job was started under */
    assert_int_equal(sf_activate(before), inner);
    return NULL;
}

TEST(span, moves_to_another_thread_and_may_end_there)
{
    pthread_t thread;
    sf_span root, job;
    begin();
    root = sf_span_start("root");
    job = sf_span_start("job");
    pthread_create(&thread, NULL, work_elsewhere, &job);
    pthread_join(thread, NULL);
    assert_int_equal(sf_current(), root); /* job is over, although nobody here ended it */
    assert_int_equal(sf_thread_self.record[SF_RECORD_VALID], 1);
    sf_span_end(root);
    receive();
    assert_memory_equal(find("elsewhere")->parent_id, find("job")->span_id, 8);
    assert_memory_equal(find("job")->parent_id, find("root")->span_id, 8);
}

TEST(span, shows_the_active_one_to_profilers)
{
    sf_span a, b;
    sf_context c;
    uint8_t trace_id[16], span_id[8];
    const uint8_t *r = sf_thread_self.record;
    char root_hex[16];
    begin();
    assert_int_equal(r[SF_RECORD_VALID], 0);
    a = sf_span_start("a");
    assert_int_equal(sf_span_context(a, &c), 0);
    sf_hex_encode(c.span_id, 8, root_hex);
    b = sf_span_start("b");
    assert_int_equal(sf_span_context(0, &c), 0);
    assert_int_equal(r[SF_RECORD_VALID], 1);
    assert_int_equal(r[SF_RECORD_FLAGS], 1);
    assert_memory_equal(r, c.trace_id, 16);
    assert_memory_equal(r + 16, c.span_id, 8);
    assert_memory_equal(r + SF_RECORD_ATTRS, "\0\x10", 2);
    assert_memory_equal(r + SF_RECORD_ATTRS + 2, root_hex, 16); /* the local root stays a's */
    sf_span_end(b);
    sf_span_end(a);
    assert_int_equal(r[SF_RECORD_VALID], 0);

    memset(trace_id, 0xaa, 16);
    memset(span_id, 0xbb, 8);
    sf_context_set(trace_id, span_id);
    assert_int_equal(r[SF_RECORD_VALID], 1);
    assert_memory_equal(r, trace_id, 16);
    assert_int_equal(sf_current(), 0);
    a = sf_span_start("under another tracer");
    sf_span_end(a);
    assert_int_equal(r[SF_RECORD_VALID], 1); /* the other tracer's span continues */
    assert_memory_equal(r + 16, span_id, 8);
    sf_span_end(sf_span_start("once more"));
    sf_context_clear();
    assert_int_equal(r[SF_RECORD_VALID], 0);
    receive();
    assert_memory_equal(find("under another tracer")->trace_id, trace_id, 16);
    assert_memory_equal(find("under another tracer")->parent_id, span_id, 8);
    assert_memory_equal(find("once more")->parent_id, span_id, 8);
}

TEST(span, continues_a_remote_trace)
{
    sf_context c;
    sf_span s, child;
    begin();
    sf_context_parse("00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01", "v=1", &c);
    s = sf_span_start_with("server", &(sf_span_options){.remote = &c});
    child = sf_span_start("child");
    sf_span_context(child, &c);
    assert_string_equal(c.tracestate, "v=1");
    sf_span_end(child);
    sf_span_end(s);
    receive();
    assert_int_equal(find("server")->flags, 0x301);
    assert_int_equal(find("server")->parent_id[0], 0xee);
    assert_string_equal(find("child")->state, "v=1");
    sf_context_parse("00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-00", NULL, &c);
    s = sf_span_start_with("not wanted", &(sf_span_options){.remote = &c});
    assert_false(sf_span_is_recording(s));
    sf_span_context(s, &c);
    assert_int_equal(c.flags, 0);
    sf_span_end(s);
}

TEST(span, takes_times_from_the_caller)
{
    sf_span s;
    begin();
    s = sf_span_start_with("timed", &(sf_span_options){.start_unix_ns = 1000});
    sf_span_end_at(s, 3000);
    receive();
    assert_int_equal(find("timed")->start_ns, 1000);
    assert_int_equal(find("timed")->end_ns, 3000);
}

TEST(span, does_not_grow_without_bound)
{
    char long_text[20000];
    sf_span s;
    sf_counters c = {.size = sizeof(c)};
    begin();
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = 0;
    s = sf_span_start("big");
    for (int i = 0; i < 5; i++) {
        char key[8];
        snprintf(key, sizeof(key), "k%d", i);
        sf_span_set_str(s, key, long_text); /* cut to 16 KiB; the fifth does not fit a piece */
    }
    for (int i = 0; i < 4; i++)
        sf_span_event(s, "e");
    sf_span_end(s);
    receive();
    assert_in_range(find("big")->n_attrs, 4, 5);
    assert_in_range(find("big")->dropped, 3, 4);
    sf_counters_read(&c);
    assert_true(c.attrs_dropped >= 3);
    assert_int_equal(c.spans_queued, c.spans_sent);
}

TEST(span, of_a_forked_child_is_its_own_and_its_parents_are_not_sent_twice)
{
    int status = 0;
    unsigned before;
    sf_span s;
    pid_t child;
    if (NO_FORK) {
        printf("# the thread sanitizer starts no threads after a fork\n");
        skip();
    }
    begin();
    s = sf_span_start("both know it");
    assert_int_equal(sf_flush(20000), 0);
    pthread_mutex_lock(&server.lock);
    before = server.n_requests;
    pthread_mutex_unlock(&server.lock);
    child = fork();
    if (!child) {
        sf_span mine = sf_span_start("child");
        sf_counters c = {.size = sizeof(c)};
        sf_span_end(mine);
        sf_span_end(s);
        if (sf_flush(20000))
            _exit(1);
        sf_counters_read(&c);
        _exit(c.spans_sent == 1 ? 0 : 2);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_true(http_peer_wait(&server, before + 1));
    n_seen = 0;
    sf_span_end(s);
    receive();
    assert_int_equal(n_seen, 1);
    assert_string_equal(seen[0].name, "both know it");
}

TEST(span, call_from_a_signal_handler_inside_another_call_does_nothing)
{
    sf_counters c = {.size = sizeof(c)};
    uint64_t before;
    begin();
    sf_counters_read(&c);
    before = c.spans_nested;
    sf_thread_self.is_inside = true; /* as if the signal had come in the middle */
    assert_int_equal(sf_span_start("nested"), 0);
    sf_thread_self.is_inside = false;
    sf_counters_read(&c);
    assert_int_equal(c.spans_nested, before + 1);
}

TEST(span, survives_every_allocation_that_fails)
{
    begin();
    for (uint64_t n = 1; n < 40; n++) {
        sf_span s;
        sf_heap_fail_after(n);
        s = sf_span_start("s");
        sf_span_set_str(s, "k", "v");
        sf_span_event(s, "e");
        sf_span_end(s);
        sf_heap_fail_after(0);
        assert_int_equal(sf_current(), 0);
    }
    sf_flush(20000);
}

TEST(span, is_tried_again_when_the_server_is_busy_and_given_up_when_refused)
{
    sf_counters c = {.size = sizeof(c)}, d = {.size = sizeof(d)};
    begin();
    sf_flush(20000);
    sf_counters_read(&c);
    pthread_mutex_lock(&server.lock);
    if (server.n_requests + 2 >= HTTP_PEER_ANSWERS) {
        pthread_mutex_unlock(&server.lock);
        skip();
    }
    server.answers[server.n_requests] =
        "HTTP/1.1 503 X\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    server.answers[server.n_requests + 2] = "HTTP/1.1 400 X\r\nContent-Length: 3\r\n\r\nbad";
    pthread_mutex_unlock(&server.lock);
    sf_span_end(sf_span_start("later"));
    receive();
    assert_string_equal(seen[0].name, "later");
    sf_span_end(sf_span_start("refused"));
    assert_int_equal(sf_flush(20000), 0);
    sf_counters_read(&d);
    assert_int_equal(d.spans_sent, c.spans_sent + 1);
    assert_int_equal(d.spans_refused, c.spans_refused + 1);
    assert_int_equal(d.requests_failed, c.requests_failed + 2);
    assert_int_equal(d.outbox_bytes, 0);
}
