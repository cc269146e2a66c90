#include "cli/coverage_command.h"

#include <inttypes.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "cli/balance_parts.h"

int sf_coverage_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *trace = NULL, *span = NULL, *type = NULL, *service = NULL;
    int64_t since_ns = SF_NS_PER_HOUR;
    bool has_balance = false;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"service", SF_FLAG_STR, &service, "NAME", "the same as SERVICE"},
        {"since", SF_FLAG_DURATION, &since_ns, "TIME", "how far to look back (default 1h)"},
        {"span", SF_FLAG_STR, &span, "ID", "check one span instead of a service"},
        {"trace", SF_FLAG_STR, &trace, "ID", "the span's trace (default: searched)"},
        {"type", SF_FLAG_STR, &type, "TYPE", "profile type: cpu, wall, alloc_space, ..."},
        {"balance", SF_FLAG_BOOL, &has_balance, NULL,
         "account for all samples: attributed to spans, and to none"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "coverage",
        .usage = "SERVICE [--since 1h] [--balance] | --span ID [--trace ID]",
        .summary =
            "Report how well a service's traces and profiles are linked, and what is missing.",
        .details =
            "Shows which profiles arrive and how often, with gaps; how many of the expected "
            "samples spans have; how many samples carry span ids and symbols; and clocks that "
            "disagree. For everything missing, it prints the lines to add in the service's "
            "language. With --balance, all samples are accounted for: those attributed to spans, "
            "by match quality, and those attributed to none. This takes a while.",
        .examples = "spanflame coverage order-service --since 15m\n"
                    "spanflame coverage order-service --since 15m --balance\n"
                    "spanflame coverage --span eee19b7ec3c1b174",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words + (service != NULL) + (span != NULL) != 1 || (trace && !span))
        return sf_answer_usage("coverage", "name one service, or a span with --span ID");
    if (has_balance && span)
        return sf_answer_usage("coverage", "--balance needs a service");
    if (span && !sf_args_allow(&args, "--span", "span trace type output"))
        return 2;
    if (args.n_words == 1)
        service = args.words[0];
    if (has_balance)
        return sf_balance_parts_run(
            &client, &(struct sf_balance_ask){"coverage", service, type, output, since_ns});
    if (span) {
        sf_ask_span(&path, trace, span, "coverage?");
    } else {
        sf_buf_print(&path, "/api/v1/coverage?from=now-%" PRId64 "s", since_ns / SF_NS_PER_S);
        sf_ask_param(&path, "service", service);
    }
    sf_ask_param(&path, "type", type);
    return sf_ask_and_print("coverage", &client, output, &path);
}
