#include "cli/last_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/terminal.h"
#include "os/text_file.h"

#define FILE_NAME  "last-list"
#define FIRST_LINE "spanflame list 1"

enum { PATH_CAP = 1024, MAX_LEN = 1 << 20, MAX_AGE_H = 24 };

/* Whether the word is a row number: 1 to 9999. */
static bool is_row(const char *word, uint32_t *out)
{
    uint32_t n = 0;
    size_t len = strlen(word);
    if (len < 1 || len > 4 || word[0] == '0')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (word[i] < '0' || word[i] > '9')
            return false;
        n = n * 10 + (uint32_t)(word[i] - '0');
    }
    *out = n;
    return true;
}

bool sf_last_list_is_chosen(const char *word)
{
    uint32_t number;
    return is_row(word, &number) && access(word, F_OK) != 0;
}

static bool folder_path(char out[PATH_CAP])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *state = getenv("XDG_STATE_HOME"),
               *home = getenv("HOME");
    int len = -1;
    if (runtime && runtime[0] == '/')
        len = snprintf(out, PATH_CAP, "%s/spanflame", runtime);
    else if (state && state[0] == '/')
        len = snprintf(out, PATH_CAP, "%s/spanflame", state);
    else if (home && home[0] == '/')
        len = snprintf(out, PATH_CAP, "%s/.local/state/spanflame", home);
    return len > 0 && len + (int)sizeof("/" FILE_NAME ".new") < PATH_CAP;
}

/* ---- writing ---- */

static bool is_line(const char *text)
{
    return !text || !strpbrk(text, "\r\n");
}

bool sf_last_list_keep(const struct sf_client *client, const struct sf_last_row *rows, uint32_t n)
{
    const char *server = sf_client_server(client);
    struct sf_buf text = {0};
    struct sf_dir *dir = NULL;
    char path[PATH_CAP];
    bool is_kept = false;
    if (n == 0 || n > SF_LAST_ROWS_MAX || !sf_terminal_is(STDOUT_FILENO) || !folder_path(path) ||
        !is_line(server) || !is_line(client->tenant))
        return false;
    sf_buf_print(&text, FIRST_LINE "\nserver %s\n", server);
    if (client->tenant)
        sf_buf_print(&text, "tenant %s\n", client->tenant);
    for (uint32_t i = 0; i < n; i++) {
        char trace[33], span[17];
        sf_trace_id_render(rows[i].trace, trace);
        sf_span_id_render(rows[i].span, span);
        sf_buf_print(&text, "row %s %s\n", trace, span);
    }
    if (sf_buf_ok(&text) && !sf_dir_open(path, SF_DIR_CREATE, &dir, NULL))
        is_kept = !sf_dir_replace(dir, FILE_NAME, sf_buf_bytes(&text), NULL);
    sf_dir_close(dir);
    sf_buf_done(&text);
    return is_kept;
}

void sf_last_list_hint(const struct sf_client *client, sf_span_id span, bool has_numbers,
                       struct sf_buf *out)
{
    char id[17];
    if (has_numbers) {
        sf_buf_add_str(out, SF_STR("Flame graph of a row: spanflame flame NUMBER\n"));
        return;
    }
    if (!span)
        return;
    sf_span_id_render(span, id);
    sf_buf_print(out, "Flame graph of a span: spanflame flame --span %s%s%s\n", id,
                 client->server ? " --server " : "", client->server ? client->server : "");
}

/* ---- reading ---- */

struct list {
    sf_str server, tenant;
    uint32_t n;
    struct sf_last_row row; /* the requested row */
    bool has_row;
};

static bool last_list_read_row(sf_str line, struct sf_last_row *out)
{
    sf_str trace, span;
    return sf_str_split_next(&line, ' ', &trace) && sf_str_split_next(&line, ' ', &span) &&
           trace.len == 32 && span.len == 16 && sf_trace_id_parse(trace, &out->trace) &&
           sf_span_id_parse(span, &out->span);
}

static bool last_list_read_list(sf_str text, uint32_t number, struct list *out)
{
    sf_str line;
    if (!sf_str_split_next(&text, '\n', &line) || !sf_str_eq(line, SF_STR(FIRST_LINE)))
        return false;
    while (sf_str_split_next(&text, '\n', &line)) {
        if (sf_str_starts(line, SF_STR("server "))) {
            out->server = sf_str_from_at(line, 7);
        } else if (sf_str_starts(line, SF_STR("tenant "))) {
            out->tenant = sf_str_from_at(line, 7);
        } else if (sf_str_starts(line, SF_STR("row "))) {
            out->n++;
            if (out->n == number)
                out->has_row = last_list_read_row(sf_str_from_at(line, 4), &out->row);
            if (out->n == number && !out->has_row)
                return false;
        }
    }
    return out->server.len > 0 && out->n > 0;
}

static enum sf_err last_list_find(uint32_t number, struct sf_arena *req, struct list *out,
                                  struct sf_why *why)
{
    static const char absent[] = "there is no list to take row %u from: run spanflame search or "
                                 "spanflame trace on a terminal first";
    char path[PATH_CAP], file[PATH_CAP + sizeof(FILE_NAME) + 1];
    struct sf_dir *dir = NULL;
    struct sf_buf body = {0};
    int64_t made_ns = 0, age_h;
    uint64_t len;
    bool is_good;
    enum sf_err err;
    sf_str text;
    if (!folder_path(path))
        return sf_fail(why, SF_ERR_NOT_FOUND, absent, number);
    err = sf_dir_open(path, SF_DIR_READ, &dir, NULL);
    if (!err)
        err = sf_dir_stat(dir, FILE_NAME, &len, &made_ns, NULL);
    sf_dir_close(dir);
    if (err)
        return sf_fail(why, SF_ERR_NOT_FOUND, absent, number);
    age_h = (sf_clock_wall_ns() - made_ns) / SF_NS_PER_HOUR;
    if (age_h >= MAX_AGE_H)
        return sf_fail(why, SF_ERR_NOT_FOUND,
                       "the list to take row %u from is %lld hours old: run spanflame search again",
                       number, (long long)age_h);
    snprintf(file, sizeof(file), "%s/" FILE_NAME, path);
    err = sf_text_file_read(file, MAX_LEN, &body, why);
    is_good = !err && sf_arena_copy(req, sf_buf_str(&body), &text) &&
              last_list_read_list(text, number, out);
    sf_buf_done(&body);
    if (!err && !is_good)
        err = sf_fail(why, SF_ERR_INPUT, "%s is damaged: run spanflame search again", file);
    return err;
}

/* The row with that number. Sets the client's server and tenant to those of the list unless given;
 * strings are in `req`. NOT_FOUND: no list, no such row, or too old; INPUT: the list is from
 * another server than the given one. */
static enum sf_err take_row(uint32_t number, struct sf_client *client, struct sf_arena *req,
                            struct sf_last_row *out, struct sf_why *why)
{
    struct list list = {0};
    sf_str server, tenant;
    enum sf_err err = last_list_find(number, req, &list, why);
    if (err)
        return err;
    if (!list.has_row)
        return sf_fail(why, SF_ERR_NOT_FOUND, "the last list has %u row%s, none with number %u",
                       list.n, list.n == 1 ? "" : "s", number);
    if (client->server && !sf_str_eq(sf_str_from(client->server), list.server))
        return sf_fail(why, SF_ERR_INPUT,
                       "row %u is from the server %.*s, not from %s: run spanflame search there",
                       number, SF_STR_ARG(list.server), client->server);
    if (client->tenant && !sf_str_eq(sf_str_from(client->tenant), list.tenant))
        return sf_fail(why, SF_ERR_INPUT,
                       "row %u is not from tenant %s: run spanflame search again", number,
                       client->tenant);
    if (!sf_arena_print(req, &server, "%.*s", SF_STR_ARG(list.server)) ||
        !sf_arena_print(req, &tenant, "%.*s", SF_STR_ARG(list.tenant)))
        return sf_no_memory(why, "the list");
    client->server = server.p;
    if (tenant.len)
        client->tenant = tenant.p;
    *out = list.row;
    return SF_OK;
}

enum sf_last_word sf_last_list_read(const char *word, struct sf_client *client,
                                    struct sf_arena *req, const char **trace, const char **span,
                                    struct sf_why *why)
{
    char trace_text[33], span_text[17];
    struct sf_last_row row = {0};
    sf_str kept_trace, kept_span;
    uint32_t number;
    if (!is_row(word, &number))
        return SF_LAST_OTHER;
    if (take_row(number, client, req, &row, why))
        return SF_LAST_FAULT;
    sf_trace_id_render(row.trace, trace_text);
    sf_span_id_render(row.span, span_text);
    if (!sf_arena_print(req, &kept_trace, "%s", trace_text) ||
        !sf_arena_print(req, &kept_span, "%s", span_text)) {
        (void)sf_no_memory(why, "the list");
        return SF_LAST_FAULT;
    }
    *trace = kept_trace.p;
    *span = row.span ? kept_span.p : NULL;
    return SF_LAST_ROW;
}
