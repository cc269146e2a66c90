#include "cli/findings_command.h"

#include <inttypes.h>

#include "cli/ask.h"

int sf_findings_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *service = NULL, *trace = NULL, *span = NULL, *type = NULL;
    int64_t since_ns = 3600000000000;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"service", SF_FLAG_STR, &service, "NAME", "look at this service's profiles"},
        {"since", SF_FLAG_DURATION, &since_ns, "TIME",
         "of a service: look back this long (default 1h)"},
        {"trace", SF_FLAG_STR, &trace, "ID", "look at this trace"},
        {"span", SF_FLAG_STR, &span, "ID", "look at this span of the trace"},
        {"type", SF_FLAG_STR, &type, "TYPE", "profile type: cpu, wall, alloc_space, ..."},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "findings",
        .usage = "--service NAME [--since 1h] | --trace ID [--span ID]",
        .summary = "Say what stands out in a service, a trace or a span, and what people do about "
                   "it.",
        .details = "Functions with at least 10 % by themselves, one function under many callers, "
                   "very deep stacks, many equal sibling spans, shares of garbage collection, "
                   "allocator and locks from 10 %, and of pattern matching, JSON, serialisation, "
                   "cryptography and logging from 15 %.",
        .examples = "spanflame findings --service order-service --since 15m\n"
                    "spanflame findings --trace 5b8efff798038103d269b633813fc60c",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words)
        return sf_answer_usage("findings", "it takes no arguments; use --service or --trace");
    if (!service && !trace)
        return sf_answer_usage("findings", "name a --service or a --trace");
    sf_buf_print(&path, "/api/v1/findings?from=now-%" PRId64 "s", since_ns / 1000000000);
    sf_ask_param(&path, "service", service);
    sf_ask_param(&path, "trace", trace);
    sf_ask_param(&path, "span", span);
    sf_ask_param(&path, "type", type);
    return sf_ask_and_print("findings", &client, output, &path);
}
