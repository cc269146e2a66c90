#include "cli/alerts_command.h"

#include <inttypes.h>

#include "base/time_unit.h"
#include "cli/ask.h"

int sf_alerts_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *rule = NULL;
    int64_t since_ns = SF_NS_PER_DAY;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"test", SF_FLAG_STR, &rule, "RULE", "show when this rule would have fired"},
        {"since", SF_FLAG_DURATION, &since_ns, "TIME",
         "with --test: how far to look back (default 1d)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "alerts",
        .usage = "[--test RULE [--since 7d]]",
        .summary = "List pending and firing alerts, or show when a rule would have fired.",
        .details = "Rules are defined in the server's configuration (alerts.rules). --test "
                   "evaluates one of them over past data at up to 500 points in time and prints "
                   "the interval between them; a condition that held only between two points is "
                   "missed. A rule of TraceQL is tried by "
                   "one window after the other where moments would leave gaps between windows.",
        .examples = "spanflame alerts\n"
                    "spanflame alerts --test errors --since 7d",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words > 0)
        return sf_answer_usage("alerts", "takes no arguments; did you mean --test RULE?");
    if (!rule && !sf_args_allow(&args, "the list of alerts (only to --test)", "output"))
        return 2;
    if (rule) {
        sf_buf_print(&path, "/api/v1/alerts/test?from=now-%" PRId64 "s", since_ns / SF_NS_PER_S);
        sf_ask_param(&path, "rule", rule);
    } else {
        sf_buf_print(&path, "/api/v1/alerts");
    }
    return sf_ask_and_print("alerts", &client, output, &path);
}
