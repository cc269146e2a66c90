#include "symbol/debuginfod.h"

#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"
#include "os/fetch.h"

enum { URL_CAP = 1024, MAX_MOVES = 3 };

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

static enum sf_err debuginfod_on_piece(void *arg, const void *p, size_t len, struct sf_why *why)
{
    return sf_symbol_files_writer_add(arg, p, len, why);
}

static enum sf_err fetch_from(const struct sf_debuginfod *d, const char *server,
                              struct sf_symbol_files *files, const struct sf_symbol_id *id,
                              enum sf_symbol_part part, struct sf_symbol_info *out,
                              struct sf_why *why)
{
    struct sf_symbol_writer writer;
    char url[URL_CAP];
    struct sf_fetch f = {.url = url,
                         .connect_ns = 10 * SF_NS_PER_S,
                         .whole_ns = d->timeout_ns,
                         .max_moves = MAX_MOVES,
                         .take = debuginfod_on_piece,
                         .arg = &writer,
                         .cancel = d->is_over};
    int len = (int)strlen(server);
    bool is_new;
    enum sf_err err;
    while (len && server[len - 1] == '/')
        len--;
    snprintf(url, sizeof(url), "%.*s/buildid/%s/%s", len, server, id->hex,
             part == SF_SYMBOL_DEBUG ? "debuginfo" : "executable");
    err = sf_symbol_files_writer_begin(&writer, files, SF_SYMBOL_FETCHED, 0, why);
    if (!err)
        err = sf_fetch_run(&f, why);
    if (!err) {
        err = sf_symbol_files_writer_finish(&writer, SF_SYMBOL_FETCHED, id, out, &is_new, why);
        if (err == SF_ERR_INPUT)
            sf_why_prefix(why, "%.100s", url);
    }
    sf_symbol_files_writer_done(&writer);
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
