#include "symbol/debuginfod.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"

enum { URL_CAP = 1024, MAX_MOVES = 3, CONNECT_MS = 10000 };

struct fetch {
    const struct sf_debuginfod *d;
    struct sf_symbol_writer writer;
    struct sf_why *why;
    enum sf_err err;
    CURL *curl;
};

enum sf_err sf_debuginfod_check(const char *url, struct sf_why *why)
{
    sf_str s = sf_str_from(url);
    bool is_http = sf_str_starts(s, SF_STR("http://")), has_host;
    has_host = (is_http || sf_str_starts(s, SF_STR("https://"))) && s.len > (is_http ? 7u : 8u);
    for (size_t i = 0; i < s.len; i++)
        has_host &= (unsigned char)s.p[i] > ' ' && s.p[i] != '?' && s.p[i] != '#';
    if (!has_host)
        return sf_fail(why, SF_ERR_INPUT,
                       "symbols.debuginfod: %.100s is not the address of a server; write "
                       "https://debuginfod.example.com",
                       url);
    if (s.len > URL_CAP / 2)
        return sf_fail(why, SF_ERR_INPUT, "symbols.debuginfod: an address of %zu bytes", s.len);
    return SF_OK;
}

/* What a server says besides 200 is not kept. */
static size_t on_piece(char *p, size_t size, size_t n, void *arg)
{
    struct fetch *f = arg;
    long status = 0;
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        f->err = sf_symbol_writer_add(&f->writer, p, size * n, f->why);
    return f->err ? 0 : size * n;
}

static int on_progress(void *arg, curl_off_t all_in, curl_off_t in, curl_off_t all_out,
                       curl_off_t out)
{
    const struct fetch *f = arg;
    (void)all_in, (void)in, (void)all_out, (void)out;
    return f->d->is_over && atomic_load(f->d->is_over);
}

/* "http://host:port/" of an address: up to the first slash behind the host. */
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

static void set_up(struct fetch *f, char detail[CURL_ERROR_SIZE])
{
    CURL *c = f->curl;
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)(f->d->timeout_ns / SF_NS_PER_MS));
    curl_easy_setopt(c, CURLOPT_USERAGENT, "spanflame");
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_piece);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, f);
}

/* One request and where it is sent on to, as far as that is the same server. */
static enum sf_err run(struct fetch *f, char url[URL_CAP])
{
    char detail[CURL_ERROR_SIZE] = "";
    set_up(f, detail);
    for (int move = 0; move <= MAX_MOVES; move++) {
        char *next = NULL;
        long status = 0;
        CURLcode code;
        curl_easy_setopt(f->curl, CURLOPT_URL, url);
        code = curl_easy_perform(f->curl);
        if (f->err)
            return f->err;
        if (code == CURLE_ABORTED_BY_CALLBACK)
            return sf_fail(f->why, SF_ERR_CANCELLED, "the server is stopping");
        if (code != CURLE_OK)
            return sf_fail(f->why, code == CURLE_OPERATION_TIMEDOUT ? SF_ERR_DEADLINE : SF_ERR_IO,
                           "%.120s: %.90s", url, detail[0] ? detail : curl_easy_strerror(code));
        curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(f->curl, CURLINFO_REDIRECT_URL, &next);
        if (status == 200)
            return SF_OK;
        if (status == 404 || status == 410)
            return sf_fail(f->why, SF_ERR_NOT_FOUND, "%.120s: no such file", url);
        if (!next)
            return sf_fail(f->why, SF_ERR_IO, "%.120s: status %ld", url, status);
        if (!is_same_origin(url, next) || strlen(next) >= URL_CAP)
            return sf_fail(f->why, SF_ERR_IO, "%.120s: sends us to another server", url);
        snprintf(url, URL_CAP, "%s", next);
    }
    return sf_fail(f->why, SF_ERR_IO, "%.120s: sends us on and on", url);
}

static enum sf_err fetch_from(const struct sf_debuginfod *d, const char *server,
                              struct sf_symbol_files *files, const struct sf_symbol_id *id,
                              enum sf_symbol_part part, struct sf_symbol_info *out,
                              struct sf_why *why)
{
    struct fetch f = {.d = d, .why = why};
    char url[URL_CAP];
    int len = (int)strlen(server);
    bool is_new;
    enum sf_err err;
    while (len && server[len - 1] == '/')
        len--;
    snprintf(url, sizeof(url), "%.*s/buildid/%s/%s", len, server, id->hex,
             part == SF_SYMBOL_DEBUG ? "debuginfo" : "executable");
    f.curl = curl_easy_init();
    if (!f.curl)
        return sf_no_memory(why, "a request");
    err = sf_symbol_writer_begin(&f.writer, files, SF_SYMBOL_FETCHED, 0, why);
    if (!err)
        err = run(&f, url);
    if (!err) {
        err = sf_symbol_writer_finish(&f.writer, SF_SYMBOL_FETCHED, id, out, &is_new, why);
        if (err == SF_ERR_INPUT)
            sf_why_prefix(why, "%.100s", url);
    }
    sf_symbol_writer_done(&f.writer);
    curl_easy_cleanup(f.curl);
    return err;
}

enum sf_err sf_debuginfod_fetch(const struct sf_debuginfod *d, struct sf_symbol_files *files,
                                const struct sf_symbol_id *id, enum sf_symbol_part part,
                                struct sf_symbol_info *out, struct sf_why *why)
{
    enum sf_err failed = SF_ERR_NOT_FOUND;
    struct sf_why first = {0};
    for (size_t i = 0; i < d->n_urls; i++) {
        struct sf_why own = {0};
        enum sf_err err = fetch_from(d, d->urls[i], files, id, part, out, &own);
        if (!err || err == SF_ERR_CANCELLED) {
            if (err && why)
                *why = own;
            return err;
        }
        if (failed == SF_ERR_NOT_FOUND) {
            failed = err;
            first = own;
        }
    }
    if (why)
        *why = first;
    return failed;
}
