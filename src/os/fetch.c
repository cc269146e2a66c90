/* fetch.c - HTTP requests through libcurl: one at a time in the caller's thread (sf_fetch_run), or
 * several at once on a multi handle that the caller steps (sf_fetches). Both check scheme, origin
 * of redirects, time and length of the answer the same way. */
#include "os/fetch.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/time_unit.h"

enum { UNKEPT_MAX = 16 << 20 };

struct sf_fetch_line {
    CURL *curl;
};

struct transfer {
    struct sf_fetch f;
    CURL *curl;
    size_t refusal_len;
    size_t body_at; /* for `is_once`: how much of the body libcurl has taken */
    struct curl_slist *headers;
    char detail[CURL_ERROR_SIZE], url[SF_FETCH_URL_CAP];
    unsigned n_moves;
    struct sf_why why;
    enum sf_err err;     /* the result of `take` */
    sf_fetch_done *done; /* for sf_fetches only */
    struct transfer *next;
};

/* ---- kept connections ---- */

struct sf_fetch_line *sf_fetch_line_new(void)
{
    struct sf_fetch_line *l = sf_heap_new(sizeof(*l));
    if (l && !(l->curl = curl_easy_init())) {
        sf_heap_free(l);
        l = NULL;
    }
    return l;
}

void sf_fetch_line_free(struct sf_fetch_line *l)
{
    if (!l)
        return;
    curl_easy_cleanup(l->curl);
    sf_heap_free(l);
}

/* ---- one request ---- */

enum sf_err sf_fetch_check_url(sf_str url, struct sf_why *why)
{
    bool is_http = sf_str_starts(url, SF_STR("http://")), has_host;
    has_host = (is_http || sf_str_starts(url, SF_STR("https://"))) &&
               url.len > (is_http ? 7u : 8u) && url.p[is_http ? 7 : 8] != '/';
    for (size_t i = 0; i < url.len; i++)
        has_host &= (unsigned char)url.p[i] > ' ' && url.p[i] != 127;
    if (!has_host || url.len >= SF_FETCH_URL_CAP)
        return sf_fail(why, SF_ERR_INPUT, "%.*s is not an address: write http://HOST:PORT/PATH",
                       SF_STR_ARG(sf_str_part(url, 0, 100)));
    return SF_OK;
}

static void keep_refusal(struct transfer *t, const char *p, size_t len)
{
    struct sf_fetch_refusal *r = t->f.refusal;
    size_t room = sizeof(r->text) - 1 - t->refusal_len;
    len = len < room ? len : room;
    memcpy(r->text + t->refusal_len, p, len);
    t->refusal_len += len;
}

static size_t fetch_on_piece(char *p, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;
    long status = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    if (t->f.take && status >= 200 && status < 300)
        t->err = t->f.take(t->f.arg, p, size * n, &t->why);
    else if (t->f.refusal && (status < 200 || status >= 300))
        keep_refusal(t, p, size * n);
    return t->err ? 0 : size * n;
}

/* Gives libcurl the body. It cannot rewind it, so it fails instead of sending it again. */
static size_t fetch_on_send(char *p, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;
    size_t left = t->f.body.len - t->body_at, len = size * n < left ? size * n : left;
    if (len)
        memcpy(p, t->f.body.p + t->body_at, len);
    t->body_at += len;
    return len;
}

static int fetch_on_progress(void *arg, curl_off_t all_in, curl_off_t in, curl_off_t all_out,
                             curl_off_t out)
{
    const struct transfer *t = arg;
    long status = 0;
    (void)all_in, (void)all_out, (void)out;
    if (t->f.cancel && atomic_load(t->f.cancel))
        return 1;
    if (in <= UNKEPT_MAX)
        return 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    return !t->f.take || status < 200 || status >= 300;
}

/* Length of "http://host:port/" in a URL: up to the first slash after the host. */
static size_t origin_len(const char *url)
{
    const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
    return slash ? (size_t)(slash - url) + 1 : strlen(url);
}

static bool is_same_origin(const char *a, const char *b)
{
    size_t len = origin_len(a);
    return len == origin_len(b) && strncmp(a, b, len) == 0;
}

static void fetch_set_tls(CURL *c, const struct sf_fetch_tls *tls)
{
    if (tls->ca_file)
        curl_easy_setopt(c, CURLOPT_CAINFO, tls->ca_file);
    if (tls->cert_file)
        curl_easy_setopt(c, CURLOPT_SSLCERT, tls->cert_file);
    if (tls->key_file)
        curl_easy_setopt(c, CURLOPT_SSLKEY, tls->key_file);
    if (tls->is_unchecked) {
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static bool fetch_add_header(struct transfer *t, const char *name, const char *value)
{
    struct sf_buf line = {0};
    struct curl_slist *more = NULL;
    sf_buf_print(&line, value[0] ? "%s %s" : "%s%s", name, value);
    sf_buf_add_u8(&line, 0);
    if (sf_buf_ok(&line))
        more = curl_slist_append(t->headers, (const char *)line.p);
    sf_buf_done(&line);
    if (more)
        t->headers = more;
    return more != NULL;
}

static void fetch_end(struct transfer *t)
{
    curl_slist_free_all(t->headers);
    if (!t->f.line)
        curl_easy_cleanup(t->curl);
}

static bool add_headers(struct transfer *t)
{
    const struct sf_fetch *f = &t->f;
    bool is_ok = (!f->content_type || fetch_add_header(t, "Content-Type:", f->content_type)) &&
                 (!f->bearer || fetch_add_header(t, "Authorization: Bearer", f->bearer));
    for (size_t i = 0; is_ok && i < f->n_headers; i++)
        is_ok = fetch_add_header(t, f->headers[i], "");
    return is_ok;
}

static enum sf_err fetch_begin(struct transfer *t, struct sf_why *why)
{
    const struct sf_fetch *f = &t->f;
    enum sf_err err = sf_fetch_check_url(sf_str_from(f->url), why);
    CURL *c;
    if (err)
        return err;
    snprintf(t->url, sizeof(t->url), "%s", f->url);
    if (f->refusal)
        *f->refusal = (struct sf_fetch_refusal){0};
    t->curl = c = f->line ? f->line->curl : curl_easy_init();
    if (f->line)
        curl_easy_reset(c); /* keeps the connection */
    if (!c || !add_headers(t)) {
        fetch_end(t);
        return sf_no_memory(why, "a request");
    }
    curl_easy_setopt(c, CURLOPT_URL, t->url);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->detail);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)(f->connect_ns / SF_NS_PER_MS));
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)(f->whole_ns / SF_NS_PER_MS));
    curl_easy_setopt(c, CURLOPT_USERAGENT, "spanflame");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers);
    if (f->content_type) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)f->body.len);
        if (f->is_once) {
            curl_easy_setopt(c, CURLOPT_POST, 1L);
            curl_easy_setopt(c, CURLOPT_READFUNCTION, fetch_on_send);
            curl_easy_setopt(c, CURLOPT_READDATA, t);
        } else {
            curl_easy_setopt(c, CURLOPT_POSTFIELDS, f->body.p ? (const char *)f->body.p : "");
        }
    }
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, fetch_on_piece);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, fetch_on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(c, CURLOPT_PRIVATE, t);
    fetch_set_tls(c, &f->tls);
    return SF_OK;
}

/* The result of a finished request; *out_again: repeat it with another path (a redirect). */
static enum sf_err fetch_judge(struct transfer *t, CURLcode code, bool *out_again,
                               struct sf_why *why)
{
    char *next = NULL;
    long status = 0;
    *out_again = false;
    if (t->err)
        return sf_fail(why, t->err, "%.100s: %.120s", t->url, t->why.text);
    if (t->f.cancel && atomic_load(t->f.cancel))
        return sf_fail(why, SF_ERR_CANCELLED, "the server is stopping");
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return sf_fail(why, SF_ERR_LIMIT, "%.100s: the answer is longer than allowed", t->url);
    if (code != CURLE_OK)
        return sf_fail(why, code == CURLE_OPERATION_TIMEDOUT ? SF_ERR_DEADLINE : SF_ERR_IO,
                       "%.100s: %.100s", t->url,
                       t->detail[0] ? t->detail : curl_easy_strerror(code));
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(t->curl, CURLINFO_REDIRECT_URL, &next);
    if (t->f.refusal)
        t->f.refusal->status = status;
    if (status >= 200 && status < 300)
        return SF_OK;
    if (status == 404 || status == 410)
        return sf_fail(why, SF_ERR_NOT_FOUND, "%.100s: status %ld", t->url, status);
    if (!next || !t->f.max_moves)
        return sf_fail(why, SF_ERR_IO, "%.100s: status %ld", t->url, status);
    if (!is_same_origin(t->url, next) || strlen(next) >= sizeof(t->url))
        return sf_fail(why, SF_ERR_IO, "%.100s: redirects to another server", t->url);
    if (t->n_moves++ == t->f.max_moves)
        return sf_fail(why, SF_ERR_IO, "%.100s: more than %u redirects", t->url, t->f.max_moves);
    snprintf(t->url, sizeof(t->url), "%s", next);
    curl_easy_setopt(t->curl, CURLOPT_URL, t->url);
    *out_again = true;
    return SF_OK;
}

enum sf_err sf_fetch_run(const struct sf_fetch *f, struct sf_why *why)
{
    struct transfer t = {.f = *f};
    bool is_again = true;
    enum sf_err err = fetch_begin(&t, why);
    if (err)
        return err;
    while (!err && is_again)
        err = fetch_judge(&t, curl_easy_perform(t.curl), &is_again, why);
    fetch_end(&t);
    return err;
}

/* ---- several requests at once ---- */

struct sf_fetches {
    CURLM *multi;
    struct transfer *first;
    size_t n;
};

struct sf_fetches *sf_fetches_new(void)
{
    struct sf_fetches *s = sf_heap_new(sizeof(*s));
    if (s && !(s->multi = curl_multi_init())) {
        sf_heap_free(s);
        s = NULL;
    }
    return s;
}

enum sf_err sf_fetches_start(struct sf_fetches *s, const struct sf_fetch *f, sf_fetch_done *done,
                             struct sf_why *why)
{
    struct transfer *t = sf_heap_new(sizeof(*t));
    enum sf_err err;
    if (!t)
        return sf_no_memory(why, "a request");
    t->f = *f;
    t->done = done;
    err = fetch_begin(t, why);
    if (!err && curl_multi_add_handle(s->multi, t->curl)) {
        fetch_end(t);
        err = sf_no_memory(why, "a request");
    }
    if (err) {
        sf_heap_free(t);
        return err;
    }
    t->next = s->first;
    s->first = t;
    s->n++;
    return SF_OK;
}

static void fetch_drop(struct sf_fetches *s, struct transfer *t)
{
    struct transfer **at = &s->first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    s->n--;
    curl_multi_remove_handle(s->multi, t->curl);
    fetch_end(t);
    sf_heap_free(t);
}

void sf_fetches_step(struct sf_fetches *s, int64_t wait_ns)
{
    int n = 0;
    CURLMsg *msg;
    curl_multi_perform(s->multi, &n);
    curl_multi_poll(s->multi, NULL, 0, (int)(wait_ns / SF_NS_PER_MS), NULL);
    curl_multi_perform(s->multi, &n);
    while ((msg = curl_multi_info_read(s->multi, &n))) {
        struct transfer *t = NULL;
        struct sf_why why = {0};
        bool is_again;
        enum sf_err err;
        if (msg->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        err = fetch_judge(t, msg->data.result, &is_again, &why);
        if (is_again && !err) {
            curl_multi_remove_handle(s->multi, t->curl);
            if (!curl_multi_add_handle(s->multi, t->curl))
                continue;
            err = sf_no_memory(&why, "a request");
        }
        t->done(t->f.arg, err, &why);
        fetch_drop(s, t);
    }
}

size_t sf_fetches_n(const struct sf_fetches *s)
{
    return s->n;
}

void sf_fetches_free(struct sf_fetches *s)
{
    if (!s)
        return;
    while (s->first)
        fetch_drop(s, s->first);
    curl_multi_cleanup(s->multi);
    sf_heap_free(s);
}
