#include "cli/symbols_command.h"

#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/client.h"
#include "render/units.h"
#include "symbol/symbol_files.h"
#include "wire/json.h"

enum { ARENA_LEN = 64 << 20, LONG_TIMEOUT_S = 600 };

struct asked {
    struct sf_client client;
    const char *output;
    enum sf_output form;
    struct sf_args args;
};

static void symbols_command_make_path(const char *id, struct sf_buf *out)
{
    sf_buf_add_str(out, SF_STR("/api/v1/symbols"));
    if (id) {
        sf_buf_add_u8(out, '/');
        sf_client_encode(out, sf_str_from(id));
    }
    sf_buf_add_u8(out, 0);
}

/* ---- lines of text ---- */

struct shown { /* one file in the server's answer */
    sf_str id, kind, note, changed;
    uint64_t size;
    bool has_names, has_lines;
};

static void read_shown(struct sf_json *j, struct shown *out)
{
    sf_str key;
    *out = (struct shown){0};
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("buildId")))
            out->id = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("kind")))
            out->kind = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("note")))
            out->note = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("changed")))
            out->changed = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("size")))
            out->size = sf_json_u64(j);
        else if (sf_str_eq(key, SF_STR("hasNames")))
            out->has_names = sf_json_bool(j);
        else if (sf_str_eq(key, SF_STR("hasLines")))
            out->has_lines = sf_json_bool(j);
        else
            sf_json_skip(j);
    }
}

static void write_shown(const struct shown *s, struct sf_buf *out)
{
    const char *has = s->has_lines ? "names, lines" : s->has_names ? "names" : "no names";
    size_t before;
    sf_buf_print(out, "%-40.*s  %-7.*s  ", SF_STR_ARG(s->id), SF_STR_ARG(s->kind));
    before = out->len;
    sf_units_bytes(out, s->size);
    while (sf_buf_ok(out) && out->len - before < 9)
        sf_buf_add_u8(out, ' ');
    sf_buf_print(out, "  %-12s", has);
    if (s->changed.len)
        sf_buf_print(out, "  %.*s", SF_STR_ARG(s->changed));
    if (s->note.len)
        sf_buf_print(out, "  (%.*s)", SF_STR_ARG(s->note));
    while (out->len && out->p[out->len - 1] == ' ')
        out->len--;
    sf_buf_add_u8(out, '\n');
}

/* ---- upload ---- */

static enum sf_err symbols_command_show_answer(const struct asked *a, const struct sf_buf *answer,
                                               struct sf_buf *out, struct sf_why *why)
{
    struct sf_arena req = {0};
    struct sf_json j;
    struct shown s;
    enum sf_err err;
    if (a->form == SF_OUTPUT_JSON) {
        sf_buf_add_str(out, sf_buf_str(answer));
        return SF_OK;
    }
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_no_memory(why, "the answer");
    sf_json_init(&j, sf_buf_str(answer), &req);
    read_shown(&j, &s);
    err = sf_json_why(&j, "the server's answer", why);
    if (!err)
        write_shown(&s, out);
    sf_arena_done(&req);
    return err;
}

/* A .dwp file has no build id: it belongs to the program with the same base name. */
static enum sf_err symbols_command_find_program(const char *path, struct sf_symbol_info *io,
                                                struct sf_why *why)
{
    sf_str name = sf_str_from(path), ending = SF_STR(".dwp");
    struct sf_symbol_info program;
    char other[4096];
    if (!sf_str_ends(name, ending) || name.len >= sizeof(other))
        return sf_fail(why, SF_ERR_INPUT,
                       "a .dwp file has no build id: call it PROGRAM.dwp, beside its program");
    snprintf(other, sizeof(other), "%.*s", (int)(name.len - ending.len), name.p);
    if (sf_symbol_files_inspect(other, &program, why))
        return sf_fail(why, SF_ERR_INPUT,
                       "a .dwp file has no build id, and its program %s is not beside it", other);
    io->id = program.id;
    return SF_OK;
}

static enum sf_err upload_one(const struct asked *a, const char *file_path, struct sf_buf *out,
                              struct sf_why *why)
{
    struct sf_symbol_info info;
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf path = {0}, answer = {0};
    uint64_t len = 0;
    enum sf_err err = sf_file_open_path(file_path, &file, why);
    if (!err)
        err = sf_file_len(&file, &len, why);
    if (!err) {
        err = sf_symbol_files_inspect(file_path, &info, why);
        if (!err && info.part == SF_SYMBOL_SPLIT)
            err = symbols_command_find_program(file_path, &info, why);
        if (err)
            sf_why_prefix(why, "%s", file_path);
    }
    if (!err) {
        symbols_command_make_path(info.id.hex, &path);
        err = sf_buf_ok(&path) ? sf_client_put(&a->client, (char *)path.p, &file, len, &answer, why)
                               : sf_no_memory(why, "the request");
    }
    if (!err)
        err = symbols_command_show_answer(a, &answer, out, why);
    sf_file_close(&file);
    sf_buf_done(&path);
    sf_buf_done(&answer);
    return err;
}

/* Uploads all files, also after one was refused; returns the first error. */
static enum sf_err symbols_command_upload(const struct asked *a, struct sf_buf *out,
                                          struct sf_why *why)
{
    enum sf_err first = SF_OK;
    for (size_t i = 1; i < a->args.n_words; i++) {
        struct sf_why own = {0};
        enum sf_err err = upload_one(a, a->args.words[i], out, &own);
        if (err && first)
            sf_answer_note("symbols", own.text);
        else if (err)
            *why = own;
        first = first ? first : err;
    }
    return first;
}

/* ---- list, delete ---- */

static enum sf_err show_list(const struct sf_buf *answer, struct sf_buf *out, struct sf_why *why)
{
    struct sf_arena req = {0};
    struct sf_json j;
    struct shown s;
    sf_str key;
    uint64_t n = 0;
    enum sf_err err;
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_no_memory(why, "the answer");
    sf_json_init(&j, sf_buf_str(answer), &req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (!sf_str_eq(key, SF_STR("files")) || !sf_json_array(&j)) {
                sf_json_skip(&j);
                continue;
            }
            while (sf_json_item(&j)) {
                read_shown(&j, &s);
                write_shown(&s, out);
                n++;
            }
        }
    }
    err = sf_json_why(&j, "the server's answer", why);
    if (!err && n == 0)
        sf_buf_add_str(out, SF_STR("no symbol files; send some with `spanflame symbols upload "
                                   "FILE...`\n"));
    sf_arena_done(&req);
    return err;
}

static enum sf_err symbols_command_list(const struct asked *a, struct sf_buf *out,
                                        struct sf_why *why)
{
    struct sf_buf answer = {0};
    enum sf_err err = sf_client_get(&a->client, "/api/v1/symbols", "application/json", &answer,
                                    why);
    if (!err && a->form == SF_OUTPUT_JSON)
        sf_buf_add_str(out, sf_buf_str(&answer));
    else if (!err)
        err = show_list(&answer, out, why);
    sf_buf_done(&answer);
    return err;
}

static enum sf_err delete_all(const struct asked *a, struct sf_buf *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 1; i < a->args.n_words && !err; i++) {
        struct sf_buf path = {0}, answer = {0};
        symbols_command_make_path(a->args.words[i], &path);
        err = sf_buf_ok(&path) ? sf_client_delete(&a->client, (char *)path.p, &answer, why)
                               : sf_no_memory(why, "the request");
        if (!err && a->form == SF_OUTPUT_JSON)
            sf_buf_add_str(out, sf_buf_str(&answer));
        else if (!err)
            sf_buf_print(out, "deleted %s\n", a->args.words[i]);
        sf_buf_done(&path);
        sf_buf_done(&answer);
    }
    return err;
}

int sf_symbols_command_run(int argc, char **argv)
{
    struct asked a = {0};
    const struct sf_flag flags[] = {
        {"output", SF_FLAG_STR, &a.output, "FORM", "text (default) or json"},
        SF_CLIENT_FLAGS(a.client),
    };
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err;
    a.args = (struct sf_args){
        .command = "symbols",
        .usage = "upload FILE... | list | delete BUILD-ID...",
        .summary = "Upload, list or delete executables and debug files used to symbolize profiles.",
        .details =
            "Profilers such as OpenTelemetry's eBPF profiler report native code as build ids and "
            "offsets. The server symbolizes such frames, with lines and inlined functions, from "
            "files with the same build id, including in profiles received before the file.\n\n"
            "Upload the file with the debug information: the linked program, or the debug file "
            "split off from it (objcopy --only-keep-debug, a distribution's -dbgsym package). "
            "A stripped program has no symbols, but its unwind tables give the boundaries of its "
            "functions. A build id can have one file of each kind.",
        .examples = "spanflame symbols upload build/shop /usr/lib/debug/.build-id/93/ac61ec.debug\n"
                    "spanflame symbols list\n"
                    "spanflame symbols delete 93ac61ec5a8eb1396f9fbd350e3169a558528a40\n",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0])};
    switch (sf_args_parse(&a.args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    a.form = sf_answer_output("symbols", a.output, false);
    if (a.form == SF_OUTPUT_BAD)
        return 2;
    if (!a.client.timeout_ns)
        a.client.timeout_ns = LONG_TIMEOUT_S * SF_NS_PER_S;
    if (a.args.n_words > 1 && !strcmp(a.args.words[0], "upload"))
        err = symbols_command_upload(&a, &out, &why);
    else if (a.args.n_words == 1 && !strcmp(a.args.words[0], "list"))
        err = symbols_command_list(&a, &out, &why);
    else if (a.args.n_words > 1 && !strcmp(a.args.words[0], "delete"))
        err = delete_all(&a, &out, &why);
    else
        return sf_answer_usage("symbols",
                               "specify an action: upload FILE..., list or delete BUILD-ID...");
    if (err && out.len) { /* print what was done before the error */
        (void)sf_answer_write(&out);
        return sf_answer_fault("symbols", &why);
    }
    return sf_answer_end("symbols", err, &out, &why);
}
