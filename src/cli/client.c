/* client.c - HTTP client of the commands, on libcurl. One call per function; address, token and
 * tenant come from flags or the environment. Failures become one sentence that names the server and
 * what to try; error bodies in JSON are reduced to their message. */
#include "cli/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/text_file.h"
#include "wire/json.h"

enum { MAX_ANSWER_LEN = 1 << 30, MAX_TOKEN_LEN = 4096 };

const char *sf_client_server(const struct sf_client *c)
{
    const char *set = c->server ? c->server : getenv("SPANFLAME_SERVER");
    return set && *set ? set : "http://127.0.0.1:4040";
}

static size_t client_collect(char *data, size_t size, size_t n, void *arg)
{
    struct sf_buf *body = arg;
    sf_buf_add(body, data, size * n);
    return sf_buf_ok(body) ? size * n : 0; /* curl aborts when fewer bytes than given are
                                            * consumed */
}

static enum sf_err client_read_token(const struct sf_client *c, struct sf_buf *out,
                                     struct sf_why *why)
{
    const char *set = getenv("SPANFLAME_TOKEN");
    if (c->token_file) {
        enum sf_err err = sf_text_file_read(c->token_file, MAX_TOKEN_LEN, out, why);
        if (err)
            return err;
        out->len = sf_str_trim(sf_buf_str(out)).len;
    } else if (set) {
        sf_buf_add_str(out, sf_str_from(set));
    }
    return SF_OK;
}

static enum sf_err client_add_header(struct curl_slist **list, const char *name, sf_str val,
                                     struct sf_why *why)
{
    struct sf_buf line = {0};
    struct curl_slist *longer = NULL;
    sf_buf_print(&line, "%s: %.*s", name, SF_STR_ARG(val));
    sf_buf_add_u8(&line, 0);
    if (sf_buf_ok(&line))
        longer = curl_slist_append(*list, (char *)line.p);
    sf_buf_done(&line);
    if (!longer)
        return sf_no_memory(why, "the request");
    *list = longer;
    return SF_OK;
}

static enum sf_err client_make_headers(const struct sf_client *c, const char *accept,
                                       const char *content_type, struct curl_slist **list,
                                       struct sf_why *why)
{
    struct sf_buf token = {0};
    struct sf_buf bearer = {0};
    enum sf_err err = c->is_foreign ? SF_OK : client_read_token(c, &token, why);
    if (!err && token.len) {
        sf_buf_print(&bearer, "Bearer %.*s", SF_STR_ARG(sf_buf_str(&token)));
        err = client_add_header(list, "Authorization", sf_buf_str(&bearer), why);
    }
    if (!err && c->tenant)
        err = client_add_header(list, "X-Scope-OrgID", sf_str_from(c->tenant), why);
    if (!err && accept)
        err = client_add_header(list, "Accept", sf_str_from(accept), why);
    if (!err && content_type)
        err = client_add_header(list, "Content-Type", sf_str_from(content_type), why);
    sf_buf_done(&token);
    sf_buf_done(&bearer);
    return err;
}

static enum sf_err client_explain(const struct sf_client *c, CURLcode code, const char *detail,
                                  struct sf_why *why)
{
    const char *server = sf_client_server(c);
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        if (c->is_foreign)
            return sf_fail(why, SF_ERR_IO, "no response from %s", server);
        return sf_fail(why, SF_ERR_IO,
                       "no server answers at %s; start one with `spanflame serve`, or name another "
                       "with --server URL",
                       server);
    case CURLE_COULDNT_RESOLVE_HOST:
        return sf_fail(why, SF_ERR_IO, "the host in %s is not known; check --server", server);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return sf_fail(why, SF_ERR_INPUT, "--server %s is not a URL such as http://127.0.0.1:4040",
                       server);
    case CURLE_OPERATION_TIMEDOUT:
        return sf_fail(why, SF_ERR_DEADLINE, "%s did not answer in time; try a longer --timeout",
                       server);
    case CURLE_WRITE_ERROR:
        return sf_fail(why, SF_ERR_LIMIT, "the answer of %s is larger than 1 GiB", server);
    default:
        return sf_fail(why, SF_ERR_IO, "%s: %s", server,
                       detail && *detail ? detail : curl_easy_strerror(code));
    }
}

static int see_progress(void *arg, __attribute__((unused)) curl_off_t all_in,
                        __attribute__((unused)) curl_off_t in, curl_off_t all_out, curl_off_t out)
{
    const struct sf_client *c = arg;
    if (all_out > 0 && out >= 0)
        c->progress(c->progress_arg, (uint64_t)out, (uint64_t)all_out);
    return 0;
}

struct sent {                   /* body of a request; all zero: GET */
    const sf_bytes *body;       /* POST */
    const struct sf_file *file; /* PUT */
    uint64_t file_len, file_at;
    bool is_delete;
};

static size_t client_read_file(char *p, size_t size, size_t n, void *arg)
{
    struct sent *s = arg;
    uint64_t left = s->file_len - s->file_at;
    size_t len = size * n, got = 0;
    if (len > left)
        len = (size_t)left;
    if (len && (sf_file_read_some(s->file, s->file_at, p, len, &got, NULL) || !got))
        return CURL_READFUNC_ABORT;
    s->file_at += got;
    return got;
}

/* curl rewinds the file to send it again after the connection was closed. */
static int seek_file(void *arg, curl_off_t off, int origin)
{
    struct sent *s = arg;
    if (origin != SEEK_SET || off < 0 || (uint64_t)off > s->file_len)
        return CURL_SEEKFUNC_FAIL;
    s->file_at = (uint64_t)off;
    return CURL_SEEKFUNC_OK;
}

static void set_sent(CURL *curl, struct sent *s)
{
    if (s->body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, s->body->p ? (const char *)s->body->p : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->body->len);
    } else if (s->file) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)s->file_len);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, client_read_file);
        curl_easy_setopt(curl, CURLOPT_READDATA, s);
        curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_file);
        curl_easy_setopt(curl, CURLOPT_SEEKDATA, s);
    } else if (s->is_delete) {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
    }
}

static void set_up(CURL *curl, const struct sf_client *c, const char *url,
                   struct curl_slist *headers, char *detail, struct sf_buf *answer)
{
    int64_t timeout_ns = c->timeout_ns ? c->timeout_ns : 30 * SF_NS_PER_S;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(timeout_ns / SF_NS_PER_MS));
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "spanflame-cli");
    if (c->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca_file);
    if (c->progress) {
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, see_progress);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, c);
    }
}

static void client_read_note(CURL *curl, struct sf_client_answer *out)
{
    struct curl_header *header;
    out->note[0] = 0;
    if (curl_easy_header(curl, "x-spanflame-partial", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        snprintf(out->note, sizeof(out->note), "%s", header->value);
    if (curl_easy_header(curl, "x-spanflame-symbols", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        sf_answer_note_once(header->value);
    if (curl_easy_header(curl, "x-spanflame-samples", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        (void)sf_str_to_u64(sf_str_from(header->value), &out->n_samples);
    if (curl_easy_header(curl, "x-spanflame-few", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        (void)sf_str_to_u64(sf_str_from(header->value), &out->n_few);
    out->is_estimate = curl_easy_header(curl, "x-spanflame-estimate", 0, CURLH_HEADER, -1,
                                        &header) == CURLHE_OK &&
                       strcmp(header->value, "true") == 0;
}

/* `content_type` is that of the body, if any. `path` begins with '/' and is already encoded. Any
 * HTTP status is SF_OK; without an answer it fails with IO, and the message names the server and
 * what to try. */
static enum sf_err client_call(const struct sf_client *c, const char *path, const char *accept,
                               const char *content_type, struct sent *sent,
                               struct sf_client_answer *out, struct sf_why *why)
{
    char detail[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = NULL;
    struct sf_buf url = {0};
    struct sf_buf answer = {.max = MAX_ANSWER_LEN};
    sf_str server = sf_str_from(sf_client_server(c));
    enum sf_err err;
    CURLcode code;
    CURL *curl = curl_easy_init();

    if (!curl)
        return sf_no_memory(why, "the request");
    while (server.len && server.p[server.len - 1] == '/')
        server.len--;
    sf_buf_print(&url, "%.*s%s", SF_STR_ARG(server), path);
    sf_buf_add_u8(&url, 0);
    err = client_make_headers(c, accept, content_type, &headers, why);
    if (err)
        goto done;
    if (!sf_buf_ok(&url)) {
        err = sf_no_memory(why, "the request");
        goto done;
    }
    set_up(curl, c, (char *)url.p, headers, detail, &answer);
    set_sent(curl, sent);
    code = curl_easy_perform(curl);
    if (code != CURLE_OK) {
        err = client_explain(c, code, detail, why);
        goto done;
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->status);
    client_read_note(curl, out);
    out->body = answer;
    answer = (struct sf_buf){0};
done:
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    sf_buf_done(&url);
    sf_buf_done(&answer);
    return err;
}

static enum sf_err client_finish(const struct sf_client *c, struct sf_client_answer *answer,
                                 struct sf_buf *out, struct sf_why *why)
{
    sf_str words = sf_str_trim(sf_buf_str(&answer->body));
    enum sf_err err;
    if (answer->status >= 200 && answer->status < 300) {
        sf_buf_done(out);
        *out = answer->body;
        return SF_OK;
    }
    switch (c->is_foreign ? 0 : answer->status) {
    case 401:
        err = sf_fail(why, SF_ERR_DENIED,
                      "%s requires a token: set SPANFLAME_TOKEN or --token-file FILE",
                      sf_client_server(c));
        break;
    case 403:
        err = sf_fail(why, SF_ERR_DENIED, "the token lacks permission: %.*s", SF_STR_ARG(words));
        break;
    case 404:
        err = sf_fail(why, SF_ERR_NOT_FOUND, "%.*s",
                      SF_STR_ARG(words.len ? words : SF_STR("not found")));
        break;
    default:
        err = sf_fail(why,
                      answer->status == 413   ? SF_ERR_LIMIT
                      : answer->status < 500  ? SF_ERR_INPUT
                      : answer->status == 501 ? SF_ERR_UNSUPPORTED
                                              : SF_ERR_IO,
                      "%s answers %ld: %.*s", sf_client_server(c), answer->status,
                      SF_STR_ARG(words));
    }
    sf_buf_done(&answer->body);
    return err;
}

/* Prints the note about a partial answer, for callers that do not. */
static enum sf_err finish_said(const struct sf_client *c, struct sf_client_answer *answer,
                               struct sf_buf *out, struct sf_why *why)
{
    if (answer->note[0])
        sf_answer_note_once(answer->note);
    return client_finish(c, answer, out, why);
}

enum sf_err sf_client_get(const struct sf_client *c, const char *path, const char *accept,
                          struct sf_buf *out, struct sf_why *why)
{
    struct sf_client_answer answer = {0};
    enum sf_err err = client_call(c, path, accept, NULL, &(struct sent){0}, &answer, why);
    return err ? err : finish_said(c, &answer, out, why);
}

enum sf_err sf_client_ask(const struct sf_client *c, const char *path, const char *accept,
                          struct sf_client_answer *out, struct sf_why *why)
{
    struct sf_client_answer answer = {0};
    struct sf_buf body = {0};
    enum sf_err err = client_call(c, path, accept, NULL, &(struct sent){0}, &answer, why);
    if (!err)
        err = client_finish(c, &answer, &body, why);
    if (err && answer.note[0])
        sf_answer_note_once(answer.note);
    if (err)
        return err;
    *out = answer;
    out->body = body;
    return SF_OK;
}

enum sf_err sf_client_post(const struct sf_client *c, const char *path, const char *content_type,
                           sf_bytes body, struct sf_buf *out, struct sf_why *why)
{
    struct sf_client_answer answer = {0};
    enum sf_err err = client_call(c, path, NULL, content_type, &(struct sent){.body = &body},
                                  &answer, why);
    return err ? err : finish_said(c, &answer, out, why);
}

enum sf_err sf_client_put(const struct sf_client *c, const char *path, const struct sf_file *file,
                          uint64_t len, struct sf_buf *out, struct sf_why *why)
{
    struct sf_client_answer answer = {0};
    struct sent sent = {.file = file, .file_len = len};
    enum sf_err err = client_call(c, path, NULL, "application/octet-stream", &sent, &answer, why);
    return err ? err : finish_said(c, &answer, out, why);
}

enum sf_err sf_client_delete(const struct sf_client *c, const char *path, struct sf_buf *out,
                             struct sf_why *why)
{
    struct sf_client_answer answer = {0};
    enum sf_err err = client_call(c, path, NULL, NULL, &(struct sent){.is_delete = true}, &answer,
                                  why);
    return err ? err : finish_said(c, &answer, out, why);
}

/* {"code":"...","message":"..."}: only the message is shown to the user. */
static void keep_message(struct sf_buf *body)
{
    struct sf_arena req = {0};
    struct sf_json j;
    sf_str key, message = SF_STR_NONE;
    if (!sf_arena_init(&req, 1 << 20))
        return;
    sf_json_init(&j, sf_buf_str(body), &req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("message")))
                message = sf_json_str(&j);
            else
                sf_json_skip(&j);
        }
    }
    if (sf_json_ok(&j) && message.len && sf_arena_copy(&req, message, &message)) {
        sf_buf_reset(body);
        sf_buf_add_str(body, message);
    }
    sf_arena_done(&req);
}

enum sf_err sf_client_connect(const struct sf_client *c, const char *path, sf_str json,
                              struct sf_buf *out, struct sf_why *why)
{
    struct sf_client_answer answer = {0};
    sf_bytes body = sf_str_bytes(json);
    enum sf_err err = client_call(c, path, "application/json; allow-utf8-labelnames=true",
                                  "application/json", &(struct sent){.body = &body}, &answer, why);
    if (!err && answer.status >= 400)
        keep_message(&answer.body);
    return err ? err : finish_said(c, &answer, out, why);
}

void sf_client_encode(struct sf_buf *out, sf_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char b = (unsigned char)text.p[i];
        if ((b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') ||
            (b && strchr("-._~", b)))
            sf_buf_add_u8(out, b);
        else
            sf_buf_print(out, "%%%02X", b);
    }
}
