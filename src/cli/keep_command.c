#include "cli/keep_command.h"

#include <inttypes.h>

#include "base/time_unit.h"
#include "cli/ask.h"

int sf_keep_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *slow = NULL, *cpu = NULL, *baseline = NULL;
    bool is_dry_run = false, is_without_errors = false;
    int64_t since_ns = SF_NS_PER_DAY;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"dry-run", SF_FLAG_BOOL, &is_dry_run, NULL, "only say what would be kept"},
        {"since", SF_FLAG_DURATION, &since_ns, "TIME", "look back this long (default 1d)"},
        {"slow", SF_FLAG_STR, &slow, "TIME",
         "keep requests that took this long (default: as configured, 1s)"},
        {"cpu", SF_FLAG_STR, &cpu, "PERCENT",
         "keep requests that used this share of a CPU (default: as configured, 80)"},
        {"no-errors", SF_FLAG_BOOL, &is_without_errors, NULL, "do not keep those that failed"},
        {"baseline", SF_FLAG_STR, &baseline, "PERCENT",
         "keep this share of all requests (default: as configured, 1)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "keep",
        .usage = "--dry-run [--since 1d] [--slow 1s] [--cpu 80] [--baseline 1]",
        .summary = "Say what rules would keep of the samples of single requests.",
        .details = "Samples that name a span are whole for retention.tail_delay (1h). Then only "
                   "those of interesting requests are kept, until retention.detail: failed, slow, "
                   "longer than 99 % of the calls of their operation the day before, CPU-heavy, "
                   "marked with profile.keep=true, and a share of all; totals keep every sample. "
                   "--dry-run says for each rule how many traces, samples and bytes it would keep "
                   "of what is there, and how many traces no other rule would. What is not given "
                   "is as configured (profiling.conditional).",
        .examples = "spanflame keep --dry-run --since 1d\n"
                    "spanflame keep --dry-run --since 6h --slow 500ms --baseline 0.5",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (!is_dry_run || args.n_words > 0)
        return sf_answer_usage(
            "keep", "give --dry-run: rules are set in the configuration (profiling.conditional)");
    sf_buf_print(&path, "/api/v1/keep?from=now-%" PRId64 "s", since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "slow", slow);
    sf_ask_param(&path, "cpu", cpu);
    sf_ask_param(&path, "errors", is_without_errors ? "false" : NULL);
    sf_ask_param(&path, "baseline", baseline);
    return sf_ask_and_print("keep", &client, output, &path);
}
