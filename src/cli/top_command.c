#include "cli/top_command.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/time_unit.h"
#include "cli/ask.h"
#include "cli/last_list.h"
#include "cli/profile_source.h"
#include "os/terminal.h"
#include "render/top_text.h"
#include "render/unnamed_text.h"
#include "wire/json_write.h"

struct asked {
    struct sf_profile_flags profile;
    const char *output, *by, *min;
    uint64_t limit;
    bool is_tree, is_json;
    double min_share;
    enum sf_top_by rows_by;
    const char *query; /* spans of a server to merge */
    const char *span, *trace;
    int64_t since_ns;
};

/* {"unit":...,"total":...,"isEstimate":false,"isFew":false,"found":9,"functions":[{"function":...,"self":...,"total":...}]}
 */
static enum sf_err top_command_write_json(const struct asked *a, const struct sf_profile_view *v,
                                          struct sf_arena *req, struct sf_buf *out,
                                          struct sf_why *why)
{
    struct sf_json_writer w = {.out = out};
    const struct sf_top_row *rows;
    uint32_t n;
    enum sf_err err = sf_tree_top(&v->tree, a->rows_by, req, &rows, &n, why);
    if (err)
        return err;
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("profile"));
    sf_json_write_str(&w, v->service);
    sf_json_write_key(&w, SF_STR("type"));
    sf_json_write_str(&w, v->type.sample_type);
    sf_json_write_key(&w, SF_STR("unit"));
    sf_json_write_str(&w, v->tree.unit);
    sf_json_write_key(&w, SF_STR("total"));
    sf_json_write_i64(&w, v->tree.total);
    sf_json_write_key(&w, SF_STR("isEstimate"));
    sf_json_write_bool(&w, v->is_estimate);
    sf_json_write_key(&w, SF_STR("isFew"));
    sf_json_write_bool(&w, v->is_few);
    sf_json_write_key_u64(&w, SF_STR("found"), n);
    sf_json_write_key(&w, SF_STR("functions"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < n && i < a->limit; i++) {
        sf_json_write_object(&w);
        sf_json_write_key(&w, SF_STR("function"));
        sf_json_write_str(&w, v->tree.frames[rows[i].frame].function);
        sf_json_write_key(&w, SF_STR("self"));
        sf_json_write_i64(&w, rows[i].self);
        sf_json_write_key(&w, SF_STR("total"));
        sf_json_write_i64(&w, rows[i].total);
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
    sf_buf_add_u8(out, '\n');
    return SF_OK;
}

static enum sf_err top_command_show(void *arg, struct sf_profile_source *s, struct sf_buf *out,
                                    struct sf_why *why)
{
    const struct asked *a = arg;
    struct sf_profile_view view = {0};
    struct sf_top_text t = {.view = &view,
                            .columns = sf_terminal_width(STDOUT_FILENO, 100),
                            .limit = sf_u32(a->limit),
                            .min_share = a->min_share,
                            .by = a->rows_by,
                            .order = SF_TREE_BY_TOTAL,
                            .has_color = sf_terminal_has_color(STDOUT_FILENO)};
    enum sf_err err = sf_profile_source_grouped(s, &a->profile, &view, why);
    if (err)
        return err;
    if (a->is_json)
        return top_command_write_json(a, &view, &s->req, out, why);
    err = a->is_tree ? sf_top_text_tree(&t, s->req, out, why)
                     : sf_top_text_table(&t, s->req, out, why);
    if (!err)
        sf_unnamed_text(&s->view.tree, out);
    return err;
}

/* The server merges the profiles; the rest is as for a file. */
static int top_command_show_answer(struct asked *a)
{
    struct sf_buf path = {0};
    const char *word;
    int code;
    if (a->query) {
        sf_buf_print(&path, "/api/v1/cohort?format=pprof&from=now-%" PRId64 "s",
                     a->since_ns / SF_NS_PER_S);
        sf_ask_param(&path, "q", a->query);
    } else if (a->span) {
        sf_ask_span(&path, a->trace, a->span, "profile?format=pprof");
    } else {
        sf_buf_add_str(&path, SF_STR("/api/v1/traces/"));
        sf_client_encode(&path, sf_str_from(a->trace));
        sf_buf_add_str(&path, SF_STR("/flame?format=pprof"));
    }
    sf_ask_param(&path, "type", a->profile.type);
    sf_buf_add_u8(&path, 0);
    a->profile.type = NULL; /* the answer has only one type */
    a->profile.is_path = true;
    word = sf_buf_ok(&path) ? (char *)path.p : "/";
    code = sf_profile_source_show("top", &word, &a->profile, 1, top_command_show, a);
    sf_buf_done(&path);
    return code;
}

static int show_row(struct asked *a, const char *word)
{
    struct sf_arena req = {0};
    struct sf_why why = {.text = "no memory"};
    int code;
    if (!sf_arena_init(&req, 1 << 24) ||
        sf_last_list_read(word, &a->profile.client, &req, &a->trace, &a->span, &why) != SF_LAST_ROW)
        code = sf_answer_fault("top", &why);
    else
        code = top_command_show_answer(a);
    sf_arena_done(&req);
    return code;
}

#define OF_PROFILE " type group-by focus ignore hide from tree by limit output"

/* Whether all given flags do something to the requested view. */
static bool top_command_fits(const struct asked *a, const struct sf_args *args)
{
    const char *form = a->query ? "--q" : a->span ? "--span" : a->trace ? "--trace" : NULL;
    if (!a->is_tree && !sf_args_allow(args, "a list (only to --tree)",
                                      "q span trace since input time-range" OF_PROFILE))
        return false;
    if (a->query)
        return sf_args_allow(args, form, "q since min" OF_PROFILE);
    if (form)
        return sf_args_allow(args, form, "span trace min" OF_PROFILE);
    return sf_args_allow(args, "a file, a URL or a selector", "input time-range min" OF_PROFILE);
}

int sf_top_command_run(int argc, char **argv)
{
    struct asked a = {.limit = 20, .min_share = 0.01, .since_ns = SF_NS_PER_HOUR};
    struct sf_flag flags[] = {
        SF_PROFILE_FLAGS(a.profile),
        {"tree", SF_FLAG_BOOL, &a.is_tree, NULL, "show callees nested below their callers"},
        {"by", SF_FLAG_STR, &a.by, "WHAT", "self (default) or total"},
        {"limit", SF_FLAG_U64, &a.limit, "N", "maximum number of rows (default 20)"},
        {"min", SF_FLAG_STR, &a.min, "PERCENT", "with --tree: minimum share to show (default 1)"},
        {"q", SF_FLAG_STR, &a.query, "QUERY", "the profile of the spans of this TraceQL query"},
        {"span", SF_FLAG_STR, &a.span, "ID", "the profile of this span, from a server"},
        {"trace", SF_FLAG_STR, &a.trace, "ID",
         "the profile of this whole trace; with --span: the span's trace (default: searched)"},
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "with --q: how far to look back (default 1h)"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
        SF_PROFILE_SERVER_FLAGS(a.profile),
    };
    struct sf_args args = {
        .command = "top",
        .usage = "FILE|URL|SELECTOR | ROW | --span ID [--trace ID] | --trace ID | --q QUERY "
                 "[--tree] [--by self|total] [--limit N]",
        .summary = "List the most expensive functions of a profile.",
        .details =
            "Self is the cost of a function itself, total includes everything it called. The first "
            "line states what the percentages refer to. Files, URLs and selectors are those of "
            "`spanflame flame`. With --span, --trace or --q, the profile is read from a server; "
            "for a query, values are means per span. ROW is the number of a span in the last "
            "output of `spanflame search` or `spanflame trace` on this user's terminal.",
        .examples = "spanflame top cpu.pb.gz\n"
                    "spanflame top 'order-service{env=prod}' --time-range 15m\n"
                    "spanflame top cpu.pb.gz --tree --focus ServeHTTP\n"
                    "spanflame top heap.pb.gz --type alloc_space --by total --limit 5\n"
                    "spanflame top --span eee19b7ec3c1b174\n"
                    "spanflame top --q '{ name = \"order.calculate_totals\" }' --since 15m",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    enum sf_output form;
    bool is_asked;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    is_asked = a.query || a.span || a.trace;
    if (a.query && (a.span || a.trace))
        return sf_answer_usage("top", "--q selects the spans: remove --span and --trace");
    if (args.n_words != (is_asked ? 0 : 1))
        return sf_answer_usage("top", "name one profile: a file, a URL, a selector, or - for "
                                      "standard input; or --span ID, --trace ID, --q QUERY");
    if (!top_command_fits(&a, &args))
        return 2;
    if (a.by && strcmp(a.by, "self") != 0 && strcmp(a.by, "total") != 0)
        return sf_answer_usage("top", "--by is self or total");
    a.rows_by = a.by && strcmp(a.by, "total") == 0 ? SF_TOP_BY_TOTAL : SF_TOP_BY_SELF;
    form = sf_answer_output("top", a.output, false);
    if (form == SF_OUTPUT_BAD || !sf_profile_source_rows_check("top", a.limit, a.min, &a.min_share))
        return 2;
    a.is_json = form == SF_OUTPUT_JSON;
    if (is_asked)
        return top_command_show_answer(&a);
    if (sf_last_list_is_chosen(args.words[0]))
        return show_row(&a, args.words[0]);
    return sf_profile_source_show("top", args.words, &a.profile, 1, top_command_show, &a);
}
