#include "cli/spans_with_command.h"

#include <inttypes.h>

#include "base/time_unit.h"
#include "cli/ask.h"

int sf_spans_with_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *service = NULL, *type = NULL;
    bool is_pattern = false;
    int64_t since_ns = SF_NS_PER_HOUR;
    uint64_t limit = 20;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"regex", SF_FLAG_BOOL, &is_pattern, NULL,
         "FUNCTION is a regular expression that matches full names"},
        {"service", SF_FLAG_STR, &service, "NAME", "only spans of this service"},
        {"type", SF_FLAG_STR, &type, "TYPE", "profile type: cpu, wall, alloc_space, ..."},
        {"since", SF_FLAG_DURATION, &since_ns, "TIME", "how far to look back (default 1h)"},
        {"limit", SF_FLAG_U64, &limit, "N", "maximum number of spans (default 20)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "spans-with",
        .usage = "FUNCTION [--regex] [--service NAME] [--since 1h]",
        .summary = "List the spans that ran a function, most expensive first.",
        .details = "Based on samples that carry a span id: the time of samples with the function "
                   "anywhere in the stack, and its share of the span's samples. If no function has "
                   "this full name, functions that contain it as a word match: RegexMatch finds "
                   "regexp.(*Regexp).RegexMatch. Use `spanflame trace` and `spanflame flame "
                   "--span` for details.",
        .examples = "spanflame spans-with checkPriceRules\n"
                    "spanflame spans-with 'json.*' --regex --service order-service --since 15m",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 1)
        return sf_answer_usage("spans-with", "name one function");
    sf_buf_print(&path, "/api/v1/frames/spans?from=now-%" PRId64 "s&limit=%" PRIu64,
                 since_ns / SF_NS_PER_S, limit);
    sf_ask_param(&path, is_pattern ? "pattern" : "function", args.words[0]);
    sf_ask_param(&path, "service", service);
    sf_ask_param(&path, "type", type);
    return sf_ask_and_print("spans-with", &client, output, &path);
}
