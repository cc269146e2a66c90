#include "cli/flame_command.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/ask.h"
#include "cli/last_list.h"
#include "cli/profile_source.h"
#include "os/terminal.h"
#include "render/flame_text.h"
#include "render/profile_json.h"
#include "render/top_text.h"
#include "render/unnamed_text.h"

struct asked {
    struct sf_profile_flags profile;
    const char *output, *order, *min;
    const char *span, *trace, *by, *query, *part; /* parameters for a server */
    int64_t since_ns;
    bool is_self, has_waits;
    enum sf_output form;
    double min_share;
};

static bool order_of(const struct asked *a, const struct sf_profile_source *s, enum sf_tree_by *out)
{
    /* Text formats keep their order; otherwise the largest comes first. */
    bool is_text = s->format && strcmp(s->format, "folded") == 0;
    const char *order = a->order ? a->order : is_text ? "seen" : "total";
    *out = strcmp(order, "name") == 0   ? SF_TREE_BY_NAME
           : strcmp(order, "seen") == 0 ? SF_TREE_AS_SEEN
                                        : SF_TREE_BY_TOTAL;
    return *out != SF_TREE_BY_TOTAL || strcmp(order, "total") == 0;
}

static enum sf_err flame_command_draw(void *arg, struct sf_profile_source *s, struct sf_buf *out,
                                      struct sf_why *why)
{
    const struct asked *a = arg;
    struct sf_profile_view view = {0};
    struct sf_flame_text f = {.tree = &view.tree,
                              .lines = &s->view.tree,
                              .columns = sf_terminal_width(STDOUT_FILENO, 100),
                              .min_share = a->min_share,
                              .has_color = sf_terminal_has_color(STDOUT_FILENO)};
    struct sf_flame_text_rest rest = {0};
    enum sf_err err;
    if (a->form == SF_OUTPUT_JSON)
        return sf_profile_json_render(&s->view, out, why);
    err = sf_profile_source_grouped(s, &a->profile, &view, why);
    f.is_estimate = view.is_estimate;
    f.has_no_marks = view.is_few || view.is_estimate;
    if (!err && !order_of(a, s, &f.order))
        err = sf_fail(why, SF_ERR_INPUT, "--order %.40s: use total, name or seen", a->order);
    if (!err)
        err = sf_flame_text_render(&f, s->req, out, &rest, why);
    if (err)
        return err;
    if (out->len == 0)
        sf_buf_add_str(out, SF_STR("(no samples)\n"));
    sf_buf_add_u8(out, '\n');
    sf_top_text_base(&view, out);
    if (rest.n_hidden)
        sf_buf_print(out, "%u frames below %.3g %% are not drawn; --min 0 draws them\n",
                     rest.n_hidden, a->min_share * 100);
    sf_unnamed_text(&s->view.tree, out);
    return SF_OK;
}

/* A profile may have arrived without its spans: then shows the samples with the id. False: there
 * are none either. */
static bool show_samples(struct asked *a, int *out_code)
{
    struct sf_buf path = {0}, found = {0};
    const char *word;
    bool is_there;
    sf_buf_add_str(&path, SF_STR("/api/v1/profile?format=pprof"));
    sf_ask_param(&path, "span_id", a->span);
    sf_ask_param(&path, "trace_id", a->trace);
    sf_ask_param(&path, "type", a->profile.type);
    sf_buf_add_u8(&path, 0);
    word = sf_buf_ok(&path) ? (char *)path.p : "/";
    is_there = sf_client_get(&a->profile.client, word, "*/*", &found, NULL) == SF_OK;
    sf_buf_done(&found);
    if (is_there) {
        sf_answer_note("flame", a->span ? "the span itself is not here, samples with its id are"
                                        : "the trace itself is not here, samples with its id are");
        a->profile.type = NULL; /* the answer has but one */
        a->profile.is_path = true;
        *out_code = sf_profile_source_show("flame", &word, &a->profile, 1, flame_command_draw, a);
    }
    sf_buf_done(&path);
    return is_there;
}

/* For a span or a trace: the server joins and draws. */
static int ask_server(struct asked *a)
{
    struct sf_buf path = {0}, body = {0};
    struct sf_why why = {0};
    enum sf_err err;
    int code;
    if (a->span && a->by)
        return sf_answer_usage("flame", "--by is for a whole trace, not for a span");
    if (a->has_waits && (a->span || !a->by))
        return sf_answer_usage("flame", "--waits is for a query, or for a trace with --by "
                                        "critical-path; for a span, use spanflame why");
    if (!a->span && (a->is_self || a->part))
        return sf_answer_usage("flame", "--self and --part are for a span: add --span ID");
    if (a->span) {
        sf_ask_span(&path, a->trace, a->span, "profile?");
    } else {
        sf_buf_add_str(&path, SF_STR("/api/v1/traces/"));
        sf_client_encode(&path, sf_str_from(a->trace));
        sf_buf_add_str(&path, SF_STR("/flame?"));
    }
    sf_ask_param(&path, "self", a->is_self ? "true" : NULL);
    sf_ask_param(&path, "part", a->part);
    sf_ask_param(&path, "by", a->by);
    sf_ask_param(&path, "waits", a->has_waits ? "true" : NULL);
    sf_ask_param(&path, "type", a->profile.type);
    a->form = sf_answer_output("flame", a->output, false);
    err = a->form == SF_OUTPUT_BAD ? SF_OK
                                   : sf_ask(&a->profile.client, a->form, &path, &body, &why);
    sf_buf_done(&path);
    if (a->form != SF_OUTPUT_BAD && !err)
        return sf_answer_write(&body);
    sf_buf_done(&body);
    if (a->form == SF_OUTPUT_BAD)
        return 2;
    if (err == SF_ERR_NOT_FOUND && !a->is_self && !a->part && !a->by && show_samples(a, &code))
        return code;
    return sf_answer_fault("flame", &why);
}

static int ask_row(struct asked *a, const char *word)
{
    struct sf_arena req = {0};
    struct sf_why why = {.text = "no memory"};
    int code;
    if (!sf_arena_init(&req, 1 << 24) ||
        sf_last_list_read(word, &a->profile.client, &req, &a->trace, &a->span, &why) != SF_LAST_ROW)
        code = sf_answer_fault("flame", &why);
    else
        code = ask_server(a);
    sf_arena_done(&req);
    return code;
}

/* For the spans of a query: the server merges and draws. */
static int ask_cohort(const struct asked *a)
{
    struct sf_buf path = {0};
    if (a->span || a->trace || a->by || a->part)
        return sf_answer_usage("flame",
                               "--q selects the spans: remove --span, --trace, --by, --part");
    sf_buf_print(&path, "/api/v1/cohort?from=now-%" PRId64 "s", a->since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "q", a->query);
    sf_ask_param(&path, "type", a->profile.type);
    sf_ask_param(&path, "self", a->is_self ? "true" : NULL);
    sf_ask_param(&path, "time", a->has_waits ? "all" : NULL);
    return sf_ask_and_print("flame", &a->profile.client, a->output, &path);
}

/* Whether all given flags do something to the requested view: the server draws those of spans,
 * traces and queries. */
static bool flags_fit(const struct asked *a, const struct sf_args *args)
{
    if (a->query) /* ask_cohort() names those that select other spans */
        return sf_args_allow(args, "--q", "q since self waits type output span trace by part");
    if (a->span || a->trace)
        return sf_args_allow(args, a->span ? "--span" : "--trace",
                             "span trace part self by waits type output");
    if (args->n_words == 1 && sf_last_list_is_chosen(args->words[0]))
        return sf_args_allow(args, "a row of the last list", "part self by waits type output");
    return sf_args_allow(
        args, "a file, a URL or a selector",
        "type input group-by focus ignore hide from order min output time-range part");
}

int sf_flame_command_run(int argc, char **argv)
{
    struct asked a = {.min_share = 0.01, .since_ns = SF_NS_PER_HOUR};
    struct sf_flag flags[] = {
        SF_PROFILE_FLAGS(a.profile),
        {"order", SF_FLAG_STR, &a.order, "ORDER",
         "order of siblings: total (largest first), name, or seen (as in the file; default for "
         "text)"},
        {"min", SF_FLAG_STR, &a.min, "PERCENT", "minimum share of a frame to be drawn (default 1)"},
        {"span", SF_FLAG_STR, &a.span, "ID", "the profile of this span, from a server"},
        {"trace", SF_FLAG_STR, &a.trace, "ID",
         "the profile of this whole trace; with --span: the span's trace (default: searched)"},
        {"part", SF_FLAG_STR, &a.part, "PART",
         "with --span: only one part of its time breakdown: cpu, lock, disk, net, sleep, gc, ..."},
        {"q", SF_FLAG_STR, &a.query, "QUERY",
         "the profile of the spans of this TraceQL query, mean per span"},
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "with --q: how far to look back (default 1h)"},
        {"self", SF_FLAG_BOOL, &a.is_self, NULL, "with --span or --q: without child spans"},
        {"by", SF_FLAG_STR, &a.by, "WEIGHT",
         "with --trace: weight by samples (default), wall or critical-path"},
        {"waits", SF_FLAG_BOOL, &a.has_waits, NULL,
         "with --q, or --trace by wall or critical-path: include waiting time as frames"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
        SF_PROFILE_SERVER_FLAGS(a.profile),
    };
    struct sf_args args = {
        .command = "flame",
        .usage = "FILE|URL|SELECTOR | ROW | --span ID [--trace ID] | --trace ID "
                 "[--by critical-path] | --q QUERY",
        .summary = "Draw a flame graph of a profile in the terminal.",
        .details =
            "FILE is a profile; its format is detected from its content: pprof (protobuf, "
            "legacy, "
            "-raw, -traces), JFR, OTLP, perf.data and perf script, V8 .cpuprofile and "
            ".heapprofile, Chrome and Firefox profiles, trace events, speedscope, stackprof, "
            "Austin, py-spy, async-profiler, Pyroscope and folded stacks; compressed or not; - is "
            "standard input. A URL is fetched, with a countdown while the profile is being taken. "
            "No "
            "server is needed for these. SELECTOR selects series on a server: a service, and "
            "labels in braces, with or without quotes. With --span, --trace or --q, the profile is "
            "read from a server; ROW is the number of a span in the last output of `spanflame "
            "search` or `spanflame trace` on this user's terminal.\n\n"
            "Percentages are shares of the whole view. At most five frames are marked "
            "<-- HOT PATH: those with at least 10 % of the view in themselves.",
        .examples = "spanflame flame cpu.pb.gz\n"
                    "spanflame flame 'http://localhost:6060/debug/pprof/profile?seconds=30'\n"
                    "perf script | spanflame flame -\n"
                    "spanflame flame 'order-service{env=prod}' --time-range 15m\n"
                    "spanflame flame heap.pb.gz --type inuse_space --focus json\n"
                    "spanflame flame 3\n"
                    "spanflame flame --span eee19b7ec3c1b174\n"
                    "spanflame flame --span eee19b7ec3c1b174 --part lock\n"
                    "spanflame flame --trace 5b8efff798038103d269b633813fc60c --by "
                    "critical-path\n"
                    "spanflame flame --q '{ name = \"order.calculate_totals\" && duration > 1s }'",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (!flags_fit(&a, &args))
        return 2;
    if (args.n_words == 0 && a.query)
        return ask_cohort(&a);
    if (args.n_words == 0 && (a.span || a.trace))
        return ask_server(&a);
    if (args.n_words == 1 && !a.span && !a.trace && !a.query &&
        sf_last_list_is_chosen(args.words[0]))
        return ask_row(&a, args.words[0]);
    if (args.n_words != 1 || a.span || a.trace || a.query || a.part)
        return sf_answer_usage("flame", "name one profile: a file, a URL, a selector, or - for "
                                        "standard input");
    if (a.min && !sf_profile_source_share(a.min, &a.min_share))
        return sf_answer_usage("flame", "--min is a percentage from 0 to 100");
    a.form = sf_answer_output("flame", a.output, false);
    if (a.form == SF_OUTPUT_BAD)
        return 2;
    return sf_profile_source_show("flame", args.words, &a.profile, 1, flame_command_draw, &a);
}
