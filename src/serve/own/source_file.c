#include "serve/own/source_file.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "exec/tenant.h"
#include "os/file.h"
#include "serve/params.h"
#include "wire/json_write.h"

enum { PATH_LEN = 4096, MOST_TRIES = 16 };

static bool source_file_is_source(sf_str file)
{
    static const char *const ends[] = {
        "c",   "h",     "cc",  "cpp", "cxx",   "hh",     "hpp", "hxx", "inc", "inl", "m",
        "mm",  "go",    "py",  "pyx", "js",    "cjs",    "mjs", "jsx", "ts",  "tsx", "mts",
        "rs",  "java",  "kt",  "kts", "scala", "groovy", "clj", "cs",  "fs",  "vb",  "rb",
        "php", "swift", "zig", "d",   "ex",    "exs",    "erl", "hs",  "ml",  "mli", "lua",
        "pl",  "pm",    "r",   "jl",  "dart",  "s",      "asm", "sql"};
    sf_str name = file;
    for (size_t at = file.len; at > 0 && file.p[at - 1] != '/'; at--)
        name = sf_str_from_at(file, at - 1);
    size_t dot = name.len;
    while (dot > 0 && name.p[dot - 1] != '.')
        dot--;
    sf_str end = sf_str_from_at(name, dot);
    for (size_t i = 0; dot > 1 && i < sizeof(ends) / sizeof(ends[0]); i++)
        if (sf_str_ieq(end, sf_str_from(ends[i])))
            return true;
    return false;
}

/* Whether no part of the path is empty or begins with a dot ("..", ".git"), and none has control
 * characters. */
static bool source_file_is_plain(sf_str path)
{
    bool is_begin = true;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.p[i];
        if (c < 0x20 || c == 0x7f || c == '\\' || (is_begin && (c == '.' || c == '/')))
            return false;
        is_begin = c == '/';
    }
    return path.len > 0 && !is_begin;
}

static enum sf_err open_source(const struct sf_service *s, sf_str file, struct sf_file *out,
                               sf_str *out_path, struct sf_why *why)
{
    char path[PATH_LEN];
    sf_str root = sf_str_from(s->source_root), rest = file;
    if (root.len > 0 && sf_str_starts(rest, root))
        rest = sf_str_from_at(rest, root.len);
    while (rest.len > 0 && rest.p[0] == '/')
        rest = sf_str_from_at(rest, 1);
    if (rest.len >= sizeof(path) || !source_file_is_plain(rest))
        return sf_fail(why, SF_ERR_INPUT, "file= is not a plain path of a source file");
    if (!source_file_is_source(rest))
        return sf_fail(why, SF_ERR_INPUT, "file= does not have an extension of source code");
    enum sf_err err = SF_ERR_NOT_FOUND;
    for (int i = 0; i < MOST_TRIES && err == SF_ERR_NOT_FOUND && rest.len > 0; i++) {
        snprintf(path, sizeof(path), "%.*s", SF_STR_ARG(rest));
        *out_path = rest;
        err = sf_file_open_beneath(s->source_folder, path, out, NULL);
        size_t at = 0; /* the program may have been built in another folder: try the path's last
                        * parts */
        while (at < rest.len && rest.p[at] != '/')
            at++;
        rest = sf_str_from_at(rest, at < rest.len ? at + 1 : at);
    }
    if (err == SF_ERR_NOT_FOUND)
        return sf_fail(why, err, "no such file below page.source_folder");
    return err ? sf_fail(why, SF_ERR_DENIED, "the file cannot be read") : SF_OK;
}

static bool source_file_is_text(sf_str text)
{
    return text.len == 0 || memchr(text.p, 0, text.len) == NULL;
}

/* {"file":"shop/order.c","first":10,"lines":["..."]} */
static void source_file_write_lines(sf_str path, sf_str text, uint64_t from, uint64_t until,
                                    struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_str rest = text, line;
    uint64_t number = 0;
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("file"), path);
    sf_json_write_key_u64(&w, SF_STR("first"), from);
    sf_json_write_key(&w, SF_STR("lines"));
    sf_json_write_array(&w);
    while (rest.len > 0 && number < until && sf_str_split_next(&rest, '\n', &line)) {
        if (++number < from)
            continue;
        if (line.len > 0 && line.p[line.len - 1] == '\r')
            line.len--;
        line.len = sf_utf8_cut(line, SF_LIMIT_SOURCE_LINE_LEN);
        sf_json_write_str(&w, line);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}

static enum sf_err source_file_read_want(const struct sf_request *r, uint64_t *from,
                                         uint64_t *until, struct sf_why *why)
{
    *from = 1;
    *until = 0;
    enum sf_err err = sf_params_count(r, SF_STR("from"), from, why);
    *from = *from > 0 ? *from : 1;
    *until = *from + SF_LIMIT_SOURCE_LINES - 1;
    if (!err)
        err = sf_params_count(r, SF_STR("until"), until, why);
    if (!err && (*until < *from || *until - *from >= SF_LIMIT_SOURCE_LINES))
        err = sf_fail(why, SF_ERR_INPUT, "from= and until= name 1 to %d lines",
                      SF_LIMIT_SOURCE_LINES);
    return err;
}

bool sf_source_file_handle(struct sf_call *call, struct sf_worker *worker)
{
    const struct sf_service *s = call->service;
    struct sf_why why = {0};
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {0};
    sf_str path = SF_STR_NONE;
    uint64_t from = 1, until = 1;
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = source_file_read_want(call->request, &from, &until, &why);
    if (!err && (!s->source_folder || s->source_folder[0] == 0))
        err = sf_fail(&why, SF_ERR_NOT_FOUND,
                      "this server reads no sources: page.source_folder is not set");
    if (!err)
        err = open_source(s, sf_params_word(call->request, "file", q.req), &file, &path, &why);
    if (!err)
        err = sf_file_read_all(&file, SF_LIMIT_SOURCE_LEN, &text, &why);
    sf_file_close(&file);
    if (!err && !source_file_is_text(sf_buf_str(&text)))
        err = sf_fail(&why, SF_ERR_INPUT, "the file is not text");
    if (!err) {
        sf_call_ok(call, "application/json");
        source_file_write_lines(path, sf_buf_str(&text), from, until, &call->response->body);
    }
    sf_buf_done(&text);
    return err ? sf_call_fail(call, err, &why) : true;
}
