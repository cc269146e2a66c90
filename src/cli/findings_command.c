#include "cli/findings_command.h"

#include <inttypes.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/ask.h"

struct asked {
    struct sf_client client;
    const char *output, *service, *trace, *span, *query, *left, *right, *baseline, *comparison;
    const char *type;
    struct sf_flag_list thresholds;
    int64_t since_ns;
};

/* Adds NAME=VALUE as a parameter; the server checks the name. */
static bool add_threshold(struct sf_buf *path, const char *text)
{
    char name[32];
    const char *eq = strchr(text, '=');
    size_t len = eq ? (size_t)(eq - text) : 0;
    const char *const known[] = {"leaf",        "stack_depth", "repeated", "callers",
                                 "equal_spans", "gc",          "lock",     "theme"};
    if (len == 0 || len >= sizeof(name) || eq[1] == '\0')
        return false;
    memcpy(name, text, len);
    name[len] = '\0';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i]) == 0) {
            sf_ask_param(path, name, eq + 1);
            return true;
        }
    }
    return false;
}

static int findings_command_ask(const struct asked *a)
{
    struct sf_buf path = {0};
    int n = (a->service != NULL) + (a->trace || a->span) + (a->query != NULL) +
            (a->left || a->right) + (a->baseline || a->comparison);
    if (n != 1 || !a->left != !a->right || !a->baseline != !a->comparison)
        return sf_answer_usage("findings",
                               "name one of: SERVICE, --span, --trace, --q, --left with --right, "
                               "--baseline with --comparison");
    if ((a->trace || a->span) && a->since_ns > 0)
        return sf_answer_usage("findings",
                               "--since is not for a trace or span, which has its own time");
    sf_buf_print(&path, "/api/v1/findings?");
    if (!a->trace && !a->span)
        sf_buf_print(&path, "from=now-%" PRId64 "s",
                     (a->since_ns > 0 ? a->since_ns : SF_NS_PER_HOUR) / SF_NS_PER_S);
    sf_ask_param(&path, "service", a->service);
    sf_ask_param(&path, "trace", a->trace);
    sf_ask_param(&path, "span", a->span);
    sf_ask_param(&path, "q", a->query);
    sf_ask_param(&path, "left", a->left);
    sf_ask_param(&path, "right", a->right);
    sf_ask_param(&path, "baseline", a->baseline);
    sf_ask_param(&path, "comparison", a->comparison);
    sf_ask_param(&path, "type", a->type);
    for (size_t i = 0; i < a->thresholds.n; i++) {
        if (!add_threshold(&path, a->thresholds.items[i])) {
            sf_buf_done(&path);
            return sf_answer_usage("findings",
                                   "--threshold is NAME=VALUE of leaf, stack_depth, repeated, "
                                   "callers, equal_spans, gc, lock, theme: leaf=20%");
        }
    }
    return sf_ask_and_print("findings", &a->client, a->output, &path);
}

int sf_findings_command_run(int argc, char **argv)
{
    struct asked a = {0};
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(a.client),
        {"service", SF_FLAG_STR, &a.service, "NAME", "the same as SERVICE"},
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "how far to look back, except for a trace or span (default 1h)"},
        {"trace", SF_FLAG_STR, &a.trace, "ID", "findings of this trace"},
        {"span", SF_FLAG_STR, &a.span, "ID", "findings of this span; its trace is searched"},
        {"q", SF_FLAG_STR, &a.query, "QUERY", "findings of the spans of this TraceQL query"},
        {"left", SF_FLAG_STR, &a.left, "QUERY", "comparison of two queries: the baseline"},
        {"right", SF_FLAG_STR, &a.right, "QUERY", "the other side of the comparison"},
        {"baseline", SF_FLAG_STR, &a.baseline, "SELECTOR",
         "comparison of two label selectors: the baseline"},
        {"comparison", SF_FLAG_STR, &a.comparison, "SELECTOR", "the other side of the comparison"},
        {"threshold", SF_FLAG_LIST, &a.thresholds, "NAME=VALUE",
         "threshold of a finding, such as leaf=20%; repeatable"},
        {"type", SF_FLAG_STR, &a.type, "TYPE", "profile type: cpu, wall, alloc_space, ..."},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "findings",
        .usage = "SERVICE [--since 1h] | --span ID | --trace ID | --q QUERY | --left QUERY --right "
                 "QUERY | --baseline SELECTOR --comparison SELECTOR",
        .summary = "List performance problems of a service, a trace, a span, a span set or a "
                   "comparison, each with a suggested fix.",
        .details =
            "Reported are: functions with a self share of at least 10 %, functions with five or "
            "more callers, stacks deeper than 100 frames, ten or more identical sibling spans, "
            "data that most requests parse again, garbage collection, allocator and locks from 10 "
            "%, and pattern matching, JSON, serialisation, cryptography and logging from 15 %. The "
            "server's configuration (findings.*) and --threshold change "
            "these.",
        .examples = "spanflame findings order-service --since 15m\n"
                    "spanflame findings --trace 5b8efff798038103d269b633813fc60c\n"
                    "spanflame findings --q '{ name = \"order.calculate_totals\" }' "
                    "--threshold leaf=20%\n"
                    "spanflame findings --baseline 'shop{commit=abc123}' --comparison "
                    "'shop{commit=def456}'",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words > 1 || (args.n_words == 1 && a.service))
        return sf_answer_usage("findings", "name one service");
    if (args.n_words == 1)
        a.service = args.words[0];
    return findings_command_ask(&a);
}
