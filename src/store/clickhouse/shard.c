/* shard.c - a client for ClickHouse's HTTP interface (sf_fetch). Each statement has a query id,
 * so that it can be killed on the server when its deadline passes or the caller cancels it.
 * Errors are classified by ClickHouse's exception code: either the rows are invalid, or a retry
 * may succeed. */
#include "store/clickhouse/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/fetch.h"
#include "os/random.h"
#include "os/thread.h"
#include "wire/row_binary.h"

enum {
    QUERY_LEN = 200000, /* ClickHouse accepts 262144 bytes by default */
    MAX_HEADERS = 5,
    MAX_LINES = 16,              /* sets of connections that are kept while unused */
    STEP_NS = 100 * SF_NS_PER_MS /* how often the cancel flag is checked during a wait */
};

struct sf_shard {
    char *address, *database, *user_header, *key_header, *ca_file; /* the last three may be NULL */
    struct sf_fetch_line *line;
    int64_t connect_ns, whole_ns;
    size_t answer_len; /* 0: no limit */
    uint64_t memory_len;
    const atomic_bool *cancel;
    uint64_t next_query, own; /* parts of query ids */
};

/* ---- open ---- */

static char *shard_copy(const char *prefix, const char *text)
{
    size_t before = strlen(prefix), len = strlen(text);
    char *to = sf_heap_new(before + len + 1);
    if (!to)
        return NULL;
    memcpy(to, prefix, before);
    memcpy(to + before, text, len);
    return to;
}

enum sf_err sf_shard_open(const struct sf_shard_config *config, struct sf_shard **out,
                          struct sf_why *why)
{
    struct sf_shard *s = sf_heap_new(sizeof(*s));
    if (!s)
        return sf_no_memory(why, "a shard");
    s->address = shard_copy("", config->address);
    s->database = shard_copy("", config->database);
    s->user_header = config->user ? shard_copy("X-ClickHouse-User: ", config->user) : NULL;
    s->key_header = config->password ? shard_copy("X-ClickHouse-Key: ", config->password) : NULL;
    s->ca_file = config->ca_file ? shard_copy("", config->ca_file) : NULL;
    s->line = sf_fetch_line_new();
    s->connect_ns = config->connect_ns;
    s->whole_ns = config->whole_ns;
    s->answer_len = config->answer_len;
    s->memory_len = config->memory_len;
    s->cancel = config->cancel;
    sf_random_fill(&s->own, sizeof(s->own));
    if (!s->address || !s->database || !s->line || (config->user && !s->user_header) ||
        (config->password && !s->key_header) || (config->ca_file && !s->ca_file)) {
        sf_shard_close(s);
        return sf_no_memory(why, "a shard");
    }
    *out = s;
    return SF_OK;
}

static void shard_forget(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    sf_heap_free(secret);
}

void sf_shard_close(struct sf_shard *s)
{
    if (!s)
        return;
    sf_fetch_line_free(s->line);
    sf_heap_free(s->address);
    sf_heap_free(s->database);
    sf_heap_free(s->user_header);
    shard_forget(s->key_header);
    sf_heap_free(s->ca_file);
    sf_heap_free(s);
}

const char *sf_shard_address(const struct sf_shard *s)
{
    return s->address;
}

/* ---- one request ---- */

struct taking { /* an answer that is being received */
    const struct sf_shard *shard;
    struct sf_buf *out; /* NULL: it is discarded */
};

struct request {
    const char *type, *encoding; /* of the body; encoding NULL: plain */
    sf_bytes body;
    bool is_once;          /* never send the body twice */
    struct sf_buf *answer; /* NULL: the answer is discarded */
    int64_t whole_ns;
    const atomic_bool *cancel;
    uint64_t code; /* of ClickHouse's exception; 0: none */
};

static enum sf_err shard_keep(void *arg, const void *p, size_t len, struct sf_why *why)
{
    const struct taking *t = arg;
    struct sf_buf *out = t->out;
    size_t max = t->shard->answer_len;
    if (!out)
        return SF_OK;
    if (max && (out->len > max || len > max - out->len))
        return sf_fail(why, SF_ERR_LIMIT,
                       "an answer of more than %zu bytes, a quarter of the setting \"memory\"",
                       max);
    sf_buf_add(out, p, len);
    if (out->err)
        return sf_fail(why, out->err, "an answer of more than %zu bytes", out->max);
    return SF_OK;
}

/* "Code: 60. DB::Exception: ..." */
static uint64_t shard_code_of(const char *text)
{
    sf_str rest = sf_str_from(text), digits;
    uint64_t code = 0;
    size_t at;
    if (!sf_str_starts(rest, SF_STR("Code: ")))
        return 0;
    rest = sf_str_from_at(rest, 6);
    for (at = 0; at < rest.len && rest.p[at] >= '0' && rest.p[at] <= '9'; at++) {
    }
    digits = sf_str_part(rest, 0, at);
    return sf_str_to_u64(digits, &code) ? code : 0;
}

enum { MEMORY_LIMIT_EXCEEDED = 241, TOO_MANY_ROWS_OR_BYTES = 396 };

/* The statement exceeded a limit of its own, not one of the whole server. Servers before 24 write
 * "(for query)". */
static bool is_over_limit(const char *text)
{
    uint64_t code = shard_code_of(text);
    return code == TOO_MANY_ROWS_OR_BYTES ||
           (code == MEMORY_LIMIT_EXCEEDED &&
            (strstr(text, "Query memory limit") || strstr(text, "(for query)")));
}

/* The reason is in the body for an error of ClickHouse, and in `why`, after the address, for an
 * error of the network. */
static enum sf_err shard_say(const struct sf_shard *s, const struct sf_fetch_refusal *refusal,
                             const char *url, enum sf_err err, struct sf_why *why)
{
    struct sf_why said = *why;
    size_t skip = strlen(url) < 100 ? strlen(url) : 100;
    const char *text = said.text;
    if (refusal->status && is_over_limit(refusal->text))
        return sf_fail(why, SF_ERR_LIMIT,
                       "%.60s: the query takes more than store.remote.memory or the largest "
                       "answer; use a shorter time range: %.80s",
                       s->address, refusal->text);
    if (refusal->status)
        return sf_fail(why, err == SF_ERR_NOT_FOUND ? SF_ERR_IO : err, "%.80s: status %ld: %.130s",
                       s->address, refusal->status, refusal->text);
    if (strncmp(text, url, skip) == 0)
        text += skip;
    if (text[0] == ':')
        text += 2;
    return sf_fail(why, err, "%.80s: %.150s", s->address, text);
}

static size_t shard_put_headers(const struct sf_shard *s, const char *headers[MAX_HEADERS])
{
    size_t n = 0;
    headers[n++] = "Expect:";
    if (s->user_header)
        headers[n++] = s->user_header;
    if (s->key_header)
        headers[n++] = s->key_header;
    return n;
}

static enum sf_err send_request(struct sf_shard *s, const char *url, struct request *r,
                                struct sf_why *why)
{
    struct sf_fetch_refusal refusal = {0};
    struct sf_why own = {0};
    char encoding[40];
    const char *headers[MAX_HEADERS];
    struct taking taking = {s, r->answer};
    size_t n = shard_put_headers(s, headers);
    enum sf_err err;
    if (r->encoding) {
        snprintf(encoding, sizeof(encoding), "Content-Encoding: %s", r->encoding);
        headers[n++] = encoding;
    }
    err = sf_fetch_run(&(struct sf_fetch){.url = url,
                                          .content_type = r->type,
                                          .body = r->body,
                                          .is_once = r->is_once,
                                          .headers = headers,
                                          .n_headers = n,
                                          .refusal = &refusal,
                                          .line = s->line,
                                          .tls = {.ca_file = s->ca_file},
                                          .connect_ns = s->connect_ns,
                                          .whole_ns = r->whole_ns ? r->whole_ns : s->whole_ns,
                                          .take = shard_keep,
                                          .arg = &taking,
                                          .cancel = r->cancel ? r->cancel : s->cancel},
                       &own);
    if (!err)
        return SF_OK;
    r->code = shard_code_of(refusal.text);
    err = shard_say(s, &refusal, url, err, &own);
    if (why)
        *why = own;
    return err;
}

static void shard_add_escaped(struct sf_buf *out, sf_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '*';
        if (is_plain)
            sf_buf_add_u8(out, c);
        else
            sf_buf_print(out, "%%%02X", c);
    }
}

enum { SQL_URL_CAP = 500, LIMITS_CAP = 120, RESULT_GROWTH = 16, LEAST_RESULT = 1 << 20 };

/* Limits of a statement. `limit_ns`: how long the answer is waited for. The shard gives up a second
 * later, which matters when the node cannot kill the query. */
static void shard_put_limits(const struct sf_shard *s, int64_t limit_ns, char limits[LIMITS_CAP])
{
    int64_t time_ns = limit_ns > 0 ? limit_ns : s->whole_ns;
    char memory[48] = "";
    if (s->memory_len)
        snprintf(memory, sizeof(memory), "&max_memory_usage=%" PRIu64, s->memory_len);
    snprintf(limits, LIMITS_CAP, "&max_execution_time=%" PRId64 "%s", time_ns / SF_NS_PER_S + 2,
             memory);
}

/* A result is larger in the shard's memory, where it waits until it is complete, than as bytes of
 * the answer. `answer` NULL: it is discarded. */
static void shard_put_url(const struct sf_shard *s, sf_str sql, const char *query_id,
                          int64_t limit_ns, const struct sf_buf *answer, char url[SQL_URL_CAP])
{
    char limits[LIMITS_CAP], result[80] = "";
    shard_put_limits(s, limit_ns, limits);
    if (answer && answer->max) {
        size_t most = answer->max < SIZE_MAX / RESULT_GROWTH ? answer->max * RESULT_GROWTH
                                                             : SIZE_MAX;
        snprintf(result, sizeof(result), "&max_result_bytes=%zu&result_overflow_mode=throw",
                 most > LEAST_RESULT ? most : (size_t)LEAST_RESULT);
    }
    /* A statement with thousands of ids exceeds the default limit. */
    snprintf(url, SQL_URL_CAP, "%s/?wait_end_of_query=1%s%s%s%s%s", s->address,
             query_id ? "&query_id=" : "", query_id ? query_id : "", limits, result,
             sql.len > QUERY_LEN ? "&max_query_size=67108864" : "");
}

static enum sf_err send_sql(struct sf_shard *s, sf_str sql, const char *query_id, int64_t whole_ns,
                            struct sf_buf *answer, struct sf_why *why)
{
    char url[SQL_URL_CAP];
    struct request r = {
        .type = "text/plain", .body = sf_str_bytes(sql), .answer = answer, .whole_ns = whole_ns};
    shard_put_url(s, sql, query_id, whole_ns, answer, url);
    return send_request(s, url, &r, why);
}

/* ---- statements and queries ---- */

enum sf_err sf_shard_run(struct sf_shard *s, sf_str sql, struct sf_why *why)
{
    return send_sql(s, sql, NULL, 0, NULL, why);
}

static const atomic_bool never;

#define KILL_NS (2 * SF_NS_PER_S)
#define QUICK_KILL_NS \
    (SF_NS_PER_S / 4) /* in a round, whose caller has the answers of other shards */
enum { KILL_CAP = 160 };

static void put_kill(const char *query_id, char sql[KILL_CAP])
{
    snprintf(sql, KILL_CAP, "KILL QUERY WHERE query_id = '%s' ASYNC", query_id);
}

/* Uses another connection, for at most two seconds: the first one may still receive an answer. */
static void kill_query(struct sf_shard *s, const char *query_id)
{
    char url[SQL_URL_CAP], sql[KILL_CAP];
    struct request r = {.type = "text/plain", .whole_ns = KILL_NS, .cancel = &never};
    put_kill(query_id, sql);
    shard_put_url(s, sf_str_from(sql), NULL, KILL_NS, NULL, url);
    r.body = sf_str_bytes(sf_str_from(sql));
    /* If this fails, the server stops the query at its own limit. */
    (void)send_request(s, url, &r, NULL);
}

enum { QUERY_ID_CAP = 48 };

static void shard_name_query(struct sf_shard *s, char query_id[QUERY_ID_CAP])
{
    snprintf(query_id, QUERY_ID_CAP, "spanflame-%016" PRIx64 "-%" PRIu64, s->own, s->next_query++);
}

static bool is_left_running(enum sf_err err)
{
    return err == SF_ERR_DEADLINE || err == SF_ERR_CANCELLED || err == SF_ERR_LIMIT;
}

enum sf_err sf_shard_ask(struct sf_shard *s, sf_str sql, int64_t deadline_ns, struct sf_buf *out,
                         struct sf_why *why)
{
    char query_id[QUERY_ID_CAP];
    int64_t left_ns = deadline_ns ? deadline_ns - sf_clock_mono_ns() : s->whole_ns;
    enum sf_err err;
    if (left_ns <= 0)
        return sf_fail(why, SF_ERR_DEADLINE, "%.80s: no time is left to ask", s->address);
    if (s->whole_ns && left_ns > s->whole_ns)
        left_ns = s->whole_ns;
    shard_name_query(s, query_id);
    err = send_sql(s, sql, query_id, left_ns, out, why);
    if (is_left_running(err))
        kill_query(s, query_id);
    return err;
}

/* ---- several queries at once ---- */

struct sf_shard_lines {
    struct sf_mutex lock; /* guards the list; a leaf lock */
    struct sf_fetches *list[MAX_LINES];
    size_t n;
};

struct sf_shard_lines *sf_shard_lines_new(void)
{
    struct sf_shard_lines *l = sf_heap_new(sizeof(*l));
    if (l)
        sf_mutex_init(&l->lock, SF_LOCK_STORE_LINES);
    return l;
}

void sf_shard_lines_free(struct sf_shard_lines *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        sf_fetches_free(l->list[i]);
    sf_mutex_done(&l->lock);
    sf_heap_free(l);
}

static struct sf_fetches *lines_take(struct sf_shard_lines *l)
{
    struct sf_fetches *f = NULL;
    sf_mutex_lock(&l->lock);
    if (l->n)
        f = l->list[--l->n];
    sf_mutex_unlock(&l->lock);
    return f ? f : sf_fetches_new();
}

static void lines_give(struct sf_shard_lines *l, struct sf_fetches *f)
{
    sf_mutex_lock(&l->lock);
    if (f && l->n < MAX_LINES) {
        l->list[l->n++] = f;
        f = NULL;
    }
    sf_mutex_unlock(&l->lock);
    sf_fetches_free(f);
}

struct under_way { /* one of the queries of a round */
    struct sf_shard_query *query;
    struct sf_fetch_refusal refusal;
    char url[SQL_URL_CAP], query_id[QUERY_ID_CAP], kill[KILL_CAP];
    const char *headers[MAX_HEADERS];
};

static enum sf_err keep_answer(void *arg, const void *p, size_t len, struct sf_why *why)
{
    const struct under_way *u = arg;
    struct taking taking = {u->query->shard, u->query->out};
    return shard_keep(&taking, p, len, why);
}

static void end_query(void *arg, enum sf_err err, const struct sf_why *why)
{
    struct under_way *u = arg;
    u->query->err = err;
    u->query->why = *why;
    if (err)
        u->query->err = shard_say(u->query->shard, &u->refusal, u->url, err, &u->query->why);
}

static void start_query(struct under_way *u, struct sf_fetches *fetches)
{
    struct sf_shard_query *q = u->query;
    struct sf_shard *s = q->shard;
    struct sf_fetch f = {.url = u->url,
                         .content_type = "text/plain",
                         .body = sf_str_bytes(q->sql),
                         .headers = u->headers,
                         .n_headers = shard_put_headers(s, u->headers),
                         .refusal = &u->refusal,
                         .tls = {.ca_file = s->ca_file},
                         .connect_ns = s->connect_ns,
                         .whole_ns = q->limit_ns ? q->limit_ns : s->whole_ns,
                         .take = keep_answer,
                         .arg = u,
                         .cancel = s->cancel};
    shard_name_query(s, u->query_id);
    shard_put_url(s, q->sql, u->query_id, f.whole_ns, q->out, u->url);
    q->err = sf_fetches_start(fetches, &f, end_query, &q->why);
}

static void end_kill(void *arg, enum sf_err err, const struct sf_why *why)
{
    (void)arg, (void)err, (void)why; /* if it failed, the server stops the query at its own limit */
}

static void start_kill(struct under_way *u, struct sf_fetches *fetches)
{
    struct sf_shard *s = u->query->shard;
    struct sf_fetch f = {.url = u->url,
                         .content_type = "text/plain",
                         .headers = u->headers,
                         .n_headers = shard_put_headers(s, u->headers),
                         .tls = {.ca_file = s->ca_file},
                         .connect_ns = s->connect_ns,
                         .whole_ns = QUICK_KILL_NS,
                         .arg = u};
    put_kill(u->query_id, u->kill);
    f.body = sf_str_bytes(sf_str_from(u->kill));
    shard_put_url(s, sf_str_from(u->kill), NULL, QUICK_KILL_NS, NULL, u->url);
    (void)sf_fetches_start(fetches, &f, end_kill, NULL);
}

static void finish_all(struct sf_fetches *fetches)
{
    while (fetches && sf_fetches_n(fetches))
        sf_fetches_step(fetches, STEP_NS);
}

void sf_shard_ask_all(struct sf_shard_lines *lines, struct sf_shard_query *list, size_t n)
{
    struct sf_fetches *fetches = lines_take(lines);
    struct under_way *all = sf_heap_new_n(n, sizeof(*all));
    for (size_t i = 0; i < n; i++) {
        if (!fetches || !all) {
            list[i].err = sf_no_memory(&list[i].why, "queries to shards");
            continue;
        }
        all[i].query = &list[i];
        start_query(&all[i], fetches);
    }
    finish_all(fetches);
    for (size_t i = 0; all && fetches && i < n; i++) {
        if (is_left_running(list[i].err))
            start_kill(&all[i], fetches);
    }
    finish_all(fetches);
    lines_give(lines, fetches);
    sf_heap_free(all);
}

/* ---- inserts ---- */

/* Error codes about rows that ClickHouse cannot parse or store. Any other error may be temporary: a
 * full disk, too many parts, a table that does not exist yet, a changed password. */
static bool is_about_rows(uint64_t code)
{
    static const uint16_t codes[] = {
        6,   /* CANNOT_PARSE_TEXT */
        26,  /* CANNOT_PARSE_QUOTED_STRING */
        27,  /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
        33,  /* CANNOT_READ_ALL_DATA */
        38,  /* CANNOT_PARSE_DATE */
        41,  /* CANNOT_PARSE_DATETIME */
        53,  /* TYPE_MISMATCH */
        70,  /* CANNOT_CONVERT_TYPE */
        117, /* INCORRECT_DATA */
        128, /* TOO_LARGE_ARRAY_SIZE */
        131, /* TOO_LARGE_STRING_SIZE */
        190, /* SIZES_OF_ARRAYS_DONT_MATCH */
        349, /* CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN */
        469, /* VIOLATED_CONSTRAINT */
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i] == code)
            return true;
    }
    return false;
}

enum sf_err sf_shard_insert(struct sf_shard *s, sf_str sql, const char *token, sf_bytes rows,
                            enum sf_shard_fault *out_fault, struct sf_why *why)
{
    struct sf_buf url = {.max = SF_FETCH_URL_CAP};
    char limits[LIMITS_CAP];
    struct request r = {
        .type = "application/octet-stream", .encoding = "zstd", .body = rows, .is_once = true};
    enum sf_err err;
    *out_fault = SF_SHARD_RETRY;
    shard_put_limits(s, 0, limits);
    /* One block and one part per partition: a token represents all rows of the request. */
    sf_buf_print(&url,
                 "%s/?wait_end_of_query=1%s&async_insert=0&input_format_parallel_parsing=0"
                 "&max_insert_block_size=4194304&min_insert_block_size_rows=4194304"
                 "&min_insert_block_size_bytes=1073741824&max_partitions_per_insert_block=0"
                 "&insert_deduplicate=1"
                 "&insert_deduplication_token=%s&query=",
                 s->address, limits, token);
    shard_add_escaped(&url, sql);
    sf_buf_add_u8(&url, 0);
    if (!sf_buf_ok(&url))
        err = sf_fail(why, SF_ERR_LIMIT, "a statement of more than %d bytes", SF_FETCH_URL_CAP);
    else
        err = send_request(s, (const char *)url.p, &r, why);
    sf_buf_done(&url);
    if (err && is_about_rows(r.code))
        *out_fault = SF_SHARD_REFUSED;
    return err;
}

/* ---- what it can ---- */

enum sf_err sf_shard_probe(struct sf_shard *s, char version[SF_SHARD_VERSION_CAP],
                           struct sf_why *why)
{
    struct sf_buf answer = {.max = 4096};
    struct sf_row_reader r;
    sf_str text;
    uint64_t has_token;
    enum sf_err err = sf_shard_ask(
        s,
        SF_STR("SELECT version(), toUInt64(countIf(name = 'insert_deduplication_token')) FROM "
               "system.settings FORMAT RowBinary"),
        0, &answer, why);
    if (!err) {
        r = sf_row_reader_init(sf_buf_bytes(&answer));
        text = sf_row_binary_str(&r);
        has_token = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
    }
    if (!err) {
        snprintf(version, SF_SHARD_VERSION_CAP, "%.*s", SF_STR_ARG(text));
        if (!has_token)
            err = sf_fail(why, SF_ERR_UNSUPPORTED,
                          "%.80s: ClickHouse %.20s cannot recognise a repeated insert; 22.2 or "
                          "newer is needed",
                          s->address, version);
    }
    sf_buf_done(&answer);
    return err;
}
