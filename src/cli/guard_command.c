#include "cli/guard_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/setting.h"
#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/guard_bench.h"
#include "cli/guard_files.h"
#include "cli/guard_flame.h"
#include "cli/guard_report.h"
#include "os/clock.h"
#include "os/terminal.h"

enum {
    ARENA_LEN = 64 << 20,
    MIN_SPANS = 30,
    RUNS = 10,
    POLL_MS = 5000,
    EXIT_REGRESSION = 1,
    EXIT_TOO_LITTLE = 3,
    EXIT_UNREACHABLE = 4,
};

typedef void (*writer)(const struct sf_guard_said *, struct sf_buf *);

static writer writer_of(const char *output)
{
    static const struct {
        const char *name;
        writer write;
    } writers[] = {{"text", sf_guard_report_text},
                   {"json", sf_guard_report_json},
                   {"junit", sf_guard_report_junit},
                   {"markdown", sf_guard_report_markdown}};
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        if (!output || !strcmp(output, writers[i].name))
            return writers[i].write;
    }
    return NULL;
}

static bool guard_command_has_enough(const struct sf_guard_report *r, uint64_t min_spans)
{
    return r->n_left >= min_spans && r->n_right >= min_spans;
}

/* The overall verdict: unknown with too few spans, or if the measure `needed` has no interval;
 * otherwise a regression in any measure is one. */
static enum sf_guard_verdict guard_command_judge(struct sf_guard_report *r, double max_increase,
                                                 uint64_t min_spans, unsigned needed)
{
    bool is_worse = false;
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES; i++) {
        struct sf_guard_row *row = &r->rows[i];
        is_worse |= row->is_there && sf_guard_judge(&row->m, max_increase) == SF_GUARD_REGRESSION;
    }
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES && !guard_command_has_enough(r, min_spans); i++)
        r->rows[i].m.verdict = SF_GUARD_UNKNOWN; /* too few spans: do not pass a single measure
                                                  * either */
    if (!guard_command_has_enough(r, min_spans) || !r->rows[needed].m.has_interval)
        return SF_GUARD_UNKNOWN;
    return is_worse ? SF_GUARD_REGRESSION : SF_GUARD_PASS;
}

static void show_waiting(const struct sf_guard_report *r, uint64_t min_spans, int64_t left_ns)
{
    if (sf_terminal_is(STDERR_FILENO))
        fprintf(stderr,
                "\rspanflame guard: %" PRIu64 " and %" PRIu64 " of %" PRIu64
                " spans; waiting %" PRId64 " s more   ",
                r->n_left, r->n_right, min_spans, left_ns / SF_NS_PER_S);
}

/* Repeats the query until both sides have enough spans, or the time is over. The arena is reset
 * between two queries. */
static enum sf_err guard_command_ask(const struct sf_client *client,
                                     const struct sf_guard_question *question, uint64_t min_spans,
                                     int64_t wait_ns, struct sf_arena *req,
                                     struct sf_guard_report *out, struct sf_why *why)
{
    int64_t until_ns = sf_clock_mono_ns() + wait_ns;
    bool has_shown = false;
    for (;;) {
        enum sf_err err = sf_guard_ask(client, question, req, out, why);
        int64_t left_ns = until_ns - sf_clock_mono_ns();
        if (err || guard_command_has_enough(out, min_spans) || left_ns <= 0) {
            if (has_shown && sf_terminal_is(STDERR_FILENO))
                fputc('\n', stderr);
            return err;
        }
        show_waiting(out, min_spans, left_ns);
        has_shown = true;
        sf_clock_sleep_ms(left_ns < POLL_MS * SF_NS_PER_MS ? (unsigned)(left_ns / SF_NS_PER_MS) + 1
                                                           : POLL_MS);
        sf_arena_reset(req);
    }
}

static int exit_code(enum sf_guard_verdict verdict)
{
    return verdict == SF_GUARD_PASS         ? 0
           : verdict == SF_GUARD_REGRESSION ? EXIT_REGRESSION
                                            : EXIT_TOO_LITTLE;
}

int sf_guard_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    struct sf_guard_question question = {.by = "resource.service.version",
                                         .since_ns = SF_NS_PER_HOUR};
    const char *output = NULL, *increase = "5%", *type = NULL;
    const char *before = NULL, *after = NULL, *svg = NULL;
    struct sf_guard_bench bench = {.rate_hz = 100};
    struct sf_guard_flame flame = {0};
    uint64_t min_spans = MIN_SPANS, runs = RUNS;
    int64_t wait_ns = 0;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"q", SF_FLAG_STR, &question.query, "QUERY", "TraceQL query that selects the requests"},
        {"by", SF_FLAG_STR, &question.by, "ATTRIBUTE",
         "attribute that holds the version (default resource.service.version)"},
        {"baseline", SF_FLAG_STR, &question.left, "VALUE",
         "version before: a value of the attribute"},
        {"candidate", SF_FLAG_STR, &question.right, "VALUE",
         "version after: a value of the attribute"},
        {"max-increase", SF_FLAG_STR, &increase, "PERCENT",
         "maximum allowed increase of a measure (default 5%)"},
        {"min-spans", SF_FLAG_U64, &min_spans, "N",
         "minimum number of spans per side (default 30)"},
        {"wait", SF_FLAG_DURATION, &wait_ns, "TIME",
         "how long to wait for that many spans (default 0s)"},
        {"since", SF_FLAG_DURATION, &question.since_ns, "TIME",
         "how far to look back (default 1h)"},
        {"baseline-profiles", SF_FLAG_STR, &before, "PATH",
         "without a server: profile file of the old build, or directory of them, one per run"},
        {"candidate-profiles", SF_FLAG_STR, &after, "PATH", "the same for the new build"},
        {"baseline-command", SF_FLAG_STR, &bench.commands[0], "COMMAND",
         "without a server: benchmark command of the old build, run under spanflame record"},
        {"candidate-command", SF_FLAG_STR, &bench.commands[1], "COMMAND",
         "the same for the new build"},
        {"runs", SF_FLAG_U64, &runs, "N",
         "number of runs of each command, alternating (default 10)"},
        {"type", SF_FLAG_STR, &type, "TYPE",
         "for files and commands: profile type (default CPU time)"},
        {"svg", SF_FLAG_STR, &svg, "FILE",
         "write the differential flame graph to this file; --output markdown embeds it"},
        {"output", SF_FLAG_STR, &output, "FORM", "text, json, junit or markdown (default text)"},
    };
    struct sf_args args = {
        .command = "guard",
        .usage =
            "--q QUERY --baseline VALUE --candidate VALUE [--by ATTRIBUTE] [--max-increase "
            "5%] [--wait 10m] | --baseline-profiles PATH --candidate-profiles PATH [--type TYPE] | "
            "--baseline-command COMMAND --candidate-command COMMAND [--runs 10]",
        .summary = "Fail if a new version of a service costs more per request than the old one.",
        .details =
            "Compares the same requests of two versions per span: duration, CPU, time spent "
            "waiting for locks, allocated bytes, and the share that failed. A measure is a "
            "regression when its confidence interval lies above zero (95 %, corrected for all "
            "measures of time; 99 % for failures) and it grew by more than --max-increase. Exit "
            "code: 0 pass, 1 regression, 2 wrong usage, 3 too little data, 4 the server cannot be "
            "reached. For pipelines: --output junit, or --output markdown for a comment. "
            "--baseline-profiles and --candidate-profiles compare profile files of the same work "
            "instead, each of one run, at least eight of each build: what a run costs in all, and "
            "the function that grew most; two single files are judged by their samples alone. "
            "--baseline-command and --candidate-command make such files: "
            "each command, a program with its arguments, runs --runs times under spanflame record, "
            "in turn with the other.",
        .examples = "spanflame guard --q '{ name = \"POST /orders\" }' --baseline 1.4 --candidate "
                    "1.5 --wait 10m\n"
                    "spanflame guard --q '{ resource.service.name = \"shop\" && kind = server }' "
                    "--by resource.commit --baseline abc123 --candidate def456 --output markdown\n"
                    "spanflame guard --baseline-profiles old/ --candidate-profiles new/\n"
                    "spanflame guard --baseline-command './bench-old -n 5' --candidate-command "
                    "'./bench-new -n 5' --svg diff.svg --output markdown",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_guard_report report = {0};
    struct sf_arena req = {0};
    struct sf_buf out = {0};
    struct sf_why why = {0};
    uint32_t percent;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    writer write = writer_of(output);
    bool has_files = before && after, has_bench = bench.commands[0] && bench.commands[1];
    bool has_query = question.query && question.left && question.right;
    if (args.n_words || (before != NULL) != (after != NULL) ||
        (bench.commands[0] != NULL) != (bench.commands[1] != NULL) ||
        has_files + has_bench + has_query != 1 ||
        (!has_query && (question.query || question.left || question.right)))
        return sf_answer_usage("guard",
                               "give --q QUERY, --baseline VALUE and --candidate VALUE; or "
                               "--baseline-profiles and --candidate-profiles; or "
                               "--baseline-command and --candidate-command");
    if (!sf_args_allow(
            &args,
            has_query   ? "--q"
            : has_bench ? "--baseline-command"
                        : "--baseline-profiles",
            has_query   ? "q by baseline candidate max-increase min-spans wait since svg output"
            : has_bench ? "baseline-command candidate-command runs type max-increase svg "
                          "output"
                        : "baseline-profiles candidate-profiles type max-increase svg output"))
        return 2;
    if (runs < SF_GUARD_FILES_MIN || runs > SF_GUARD_FILES_MAX)
        return sf_answer_usage("guard", "--runs is 8 to 1000");
    if (!write)
        return sf_answer_usage("guard", "--output is text, json, junit or markdown");
    if (!sf_setting_percent_parse(sf_str_from(increase), &percent))
        return sf_answer_usage("guard", "--max-increase expects a percentage such as 5%");
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_answer_fault("guard", &(struct sf_why){.text = "no memory"});
    enum sf_err err;
    int code;
    if (has_files || has_bench) {
        question.left = has_bench ? bench.commands[0] : before;
        question.right = has_bench ? bench.commands[1] : after;
        min_spans = SF_GUARD_FILES_MIN;
        question.by = NULL;
        bench.runs = (unsigned)runs;
        bench.type = type;
        err = has_bench ? sf_guard_bench_run(&bench, &why) : SF_OK;
        if (!err)
            err = sf_guard_files(has_bench ? bench.folders[0] : before,
                                 has_bench ? bench.folders[1] : after, type, &req, &report, &flame,
                                 &why);
        sf_guard_bench_done(&bench);
        min_spans = report.is_by_samples ? 1 : min_spans;
        has_files = true;
    } else {
        err = guard_command_ask(&client, &question, min_spans, wait_ns, &req, &report, &why);
        if (!err && svg && guard_command_has_enough(&report, min_spans))
            err = sf_guard_flame_ask(&client, &question, &req, &flame, &why);
        if (err == SF_ERR_NOT_FOUND && guard_command_has_enough(&report, min_spans)) {
            sf_answer_note("guard", "no flame graph: a side has no CPU profiles");
            svg = NULL;
            err = SF_OK;
        }
    }
    if (!err && svg && guard_command_has_enough(&report, min_spans))
        err = sf_guard_flame_write(&flame, svg, req, &why);
    else
        svg = NULL;
    if (err) {
        sf_answer_fault("guard", &why);
        code = err == SF_ERR_INPUT || err == SF_ERR_LIMIT || has_files ? 2 : EXIT_UNREACHABLE;
    } else {
        struct sf_guard_said said = {
            .question = &question,
            .report = &report,
            .verdict = guard_command_judge(&report, percent / 10000.0, min_spans,
                                           !has_files ? SF_GUARD_DURATION
                                           : report.rows[SF_GUARD_ALLOC].is_there ? SF_GUARD_ALLOC
                                                                                  : SF_GUARD_CPU),
            .max_increase = percent / 10000.0,
            .min_spans = min_spans,
            .server = has_files ? NULL : sf_client_server(&client),
            .things = has_files ? "run" : "span",
            .svg = svg,
        };
        write(&said, &out);
        code = exit_code(said.verdict);
        if (sf_answer_write(&out))
            code = EXIT_UNREACHABLE;
    }
    sf_arena_done(&req);
    return code;
}
