#include "cli/source_command.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/ask.h"
#include "cli/profile_source.h"
#include "os/file.h"
#include "render/source_text.h"
#include "wire/json_write.h"

enum { CONTEXT = 4 };
#define MAX_SOURCE_LEN ((size_t)16 << 20) /* maximum length of a source file */

struct asked {
    struct sf_profile_flags profile;
    const char *function, *query, *span, *trace, *root, *output;
    int64_t since_ns;
    bool is_json;
};

static bool source_command_read_path(const char *path, struct sf_buf *out)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_why why = {0};
    sf_buf_reset(out);
    bool is_read = sf_file_open_regular(path, &file, &why) == SF_OK &&
                   sf_file_read_all(&file, MAX_SOURCE_LEN, out, &why) == SF_OK;
    sf_file_close(&file);
    return is_read && out->len > 0;
}

/* Without --root reads the path as in the profile; with it, that path below --root, then its last
 * parts, the longest first, because the program may have been built in another folder. */
static bool read_source(const struct asked *a, sf_str file, struct sf_buf *out)
{
    char path[4096];
    if (file.len == 0 || file.len >= sizeof(path))
        return false;
    snprintf(path, sizeof(path), "%.*s", SF_STR_ARG(file));
    if (!a->root)
        return source_command_read_path(path, out);
    for (size_t at = 0; at < file.len; at++) {
        if (at > 0 && file.p[at - 1] != '/')
            continue;
        snprintf(path, sizeof(path), "%s/%.*s", a->root, SF_STR_ARG(sf_str_from_at(file, at)));
        if (source_command_read_path(path, out))
            return true;
    }
    return false;
}

static void show_file(const struct asked *a, const struct sf_profile_view *v,
                      const struct sf_line_cost *rows, uint32_t n, struct sf_buf *out)
{
    struct sf_buf source = {0};
    bool is_read = rows[0].line > 0 && read_source(a, rows[0].file, &source);
    struct sf_source_text t = {
        .rows = rows,
        .n = n,
        .unit = v->tree.unit,
        .whole = v->tree.total,
        .source = is_read ? sf_buf_str(&source) : SF_STR_NONE,
        .why = rows[0].line == 0
                   ? SF_STR("The profile has no line numbers for it: build with debug information, "
                            "or upload the debug file (spanflame symbols)")
               : rows[0].file.len == 0
                   ? SF_STR("The profile does not contain its file name")
                   : SF_STR("The source file cannot be read: set its directory with --root FOLDER"),
        .context = CONTEXT,
        .is_estimate = v->is_estimate};
    sf_source_text(&t, out);
    sf_buf_done(&source);
}

/* {"unit":...,"total":...,"isEstimate":false,"lines":[{"function":...,"file":...,"line":7,"self":1,"total":2}]}
 */
static void source_command_write_json(const struct sf_profile_view *v,
                                      const struct sf_line_cost *rows, uint32_t n,
                                      struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("unit"), v->tree.unit);
    sf_json_write_key(&w, SF_STR("total"));
    sf_json_write_i64(&w, v->tree.total);
    sf_json_write_key(&w, SF_STR("isEstimate"));
    sf_json_write_bool(&w, v->is_estimate);
    sf_json_write_key(&w, SF_STR("lines"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < n; i++) {
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("function"), rows[i].function);
        sf_json_write_key_str(&w, SF_STR("file"), rows[i].file);
        sf_json_write_key_u64(&w, SF_STR("line"), rows[i].line);
        sf_json_write_key(&w, SF_STR("self"));
        sf_json_write_i64(&w, rows[i].self);
        sf_json_write_key(&w, SF_STR("total"));
        sf_json_write_i64(&w, rows[i].total);
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
    sf_buf_add_u8(out, '\n');
}

static enum sf_err source_command_show(void *arg, struct sf_profile_source *s, struct sf_buf *out,
                                       struct sf_why *why)
{
    const struct asked *a = arg;
    const struct sf_line_cost *rows;
    uint32_t n;
    enum sf_err err = sf_tree_lines(&s->view.tree, sf_str_from(a->function), &s->req, &rows, &n,
                                    why);
    if (err)
        return err;
    if (n == 0)
        return sf_fail(why, SF_ERR_NOT_FOUND, "no samples in a function named %.80s", a->function);
    if (s->view.is_few)
        return sf_fail(why, SF_ERR_NOT_FOUND,
                       "%.0f samples are too few for costs per line: use many spans (--q)",
                       s->view.taken);
    if (a->is_json) {
        source_command_write_json(&s->view, rows, n, out);
        return SF_OK;
    }
    for (uint32_t from = 0, to = 0; from < n; from = to) {
        while (to < n && sf_str_eq(rows[to].file, rows[from].file) &&
               sf_str_eq(rows[to].function, rows[from].function))
            to++;
        sf_buf_add_str(out, from > 0 ? SF_STR("\n") : SF_STR_NONE);
        show_file(a, &s->view, rows + from, to - from, out);
    }
    return SF_OK;
}

static int source_command_ask(struct asked *a)
{
    struct sf_buf path = {0};
    if (a->query) {
        sf_buf_print(&path, "/api/v1/cohort?format=pprof&from=now-%" PRId64 "s",
                     a->since_ns / SF_NS_PER_S);
        sf_ask_param(&path, "q", a->query);
    } else {
        sf_ask_span(&path, a->trace, a->span, "profile?format=pprof");
    }
    sf_ask_param(&path, "type", a->profile.type);
    sf_buf_add_u8(&path, 0);
    a->profile.type = NULL; /* the answer has only one type */
    a->profile.is_path = true;
    const char *word = sf_buf_ok(&path) ? (char *)path.p : "/";
    int code = sf_profile_source_show("source", &word, &a->profile, 1, source_command_show, a);
    sf_buf_done(&path);
    return code;
}

int sf_source_command_run(int argc, char **argv)
{
    struct asked a = {.since_ns = SF_NS_PER_HOUR};
    struct sf_flag flags[] = {
        {"type", SF_FLAG_STR, &a.profile.type, "TYPE", "what is measured: cpu, wall, alloc_space"},
        {"q", SF_FLAG_STR, &a.query, "QUERY",
         "cost in the spans of this TraceQL query, mean per span"},
        {"span", SF_FLAG_STR, &a.span, "ID",
         "cost in this span and its child spans in the same process"},
        {"trace", SF_FLAG_STR, &a.trace, "ID", "the span's trace (default: searched)"},
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "with --q: how far to look back (default 1h)"},
        {"root", SF_FLAG_STR, &a.root, "FOLDER",
         "directory of the source, if it was built elsewhere"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
        SF_PROFILE_SERVER_FLAGS(a.profile),
    };
    struct sf_args args = {
        .command = "source",
        .usage = "FUNCTION --span ID | --q QUERY | FUNCTION FILE|URL|SELECTOR",
        .summary = "Show a function's source with what each line cost.",
        .details = "Self is the cost of the line itself, total includes everything called from it. "
                   "The source is read on this machine, from the path in the profile or below "
                   "--root; if it cannot be read, line numbers and costs are listed. FUNCTION is a "
                   "full function name or a word of it. Instead of a span or a query, a profile "
                   "can be given as in `spanflame top`.",
        .examples = "spanflame source checkPriceRules --span eee19b7ec3c1b174\n"
                    "spanflame source RegexMatch --q '{ name = \"GET /price\" }' --root ~/shop\n"
                    "spanflame source checkPriceRules cpu.pb.gz",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    bool is_asked = a.query || a.span;
    if ((a.query && (a.span || a.trace)) || args.n_words != (is_asked ? 1 : 2))
        return sf_answer_usage("source",
                               "name a function, and --span ID, --q QUERY or one profile");
    enum sf_output form = sf_answer_output("source", a.output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    a.is_json = form == SF_OUTPUT_JSON;
    a.function = args.words[0];
    return is_asked ? source_command_ask(&a)
                    : sf_profile_source_show("source", &args.words[1], &a.profile, 1,
                                             source_command_show, &a);
}
