#include "cli/compare_command.h"

#include <inttypes.h>

#include "base/time_unit.h"
#include "cli/ask.h"

int sf_compare_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *query = NULL, *at = NULL, *left = NULL, *right = NULL, *type = NULL,
               *errors = NULL, *query_by = NULL, *by = NULL;
    int64_t since_ns = SF_NS_PER_HOUR;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"slow-vs-fast", SF_FLAG_STR, &query, "QUERY",
         "compare the slow spans of this TraceQL query with its other spans"},
        {"errors-vs-ok", SF_FLAG_STR, &errors, "QUERY",
         "compare the failed spans of this TraceQL query with its other spans"},
        {"q", SF_FLAG_STR, &query_by, "QUERY",
         "a TraceQL query; --by divides its spans into two sets"},
        {"by", SF_FLAG_STR, &by, "ATTRIBUTE",
         "with --q: the attribute; --left and --right are its values"},
        {"split", SF_FLAG_STR, &at, "QUANTILE",
         "quantile from which a span counts as slow (default p95)"},
        {"left", SF_FLAG_STR, &left, "QUERY", "TraceQL query of the baseline (with --by: a value)"},
        {"right", SF_FLAG_STR, &right, "QUERY",
         "TraceQL query compared with the baseline (with --by: a value)"},
        {"type", SF_FLAG_STR, &type, "TYPE", "profile type: cpu, wall, alloc_space, ..."},
        {"since", SF_FLAG_DURATION, &since_ns, "TIME", "how far to look back (default 1h)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "compare",
        .usage = "--slow-vs-fast QUERY [--split p95] | --errors-vs-ok QUERY | --left QUERY "
                 "--right QUERY | --q QUERY --by ATTRIBUTE --left VALUE --right VALUE",
        .summary = "Compare the time and the code of two sets of spans, per span.",
        .details = "A TraceQL query selects a set of spans. The first table shows the duration: "
                   "the mean per span of "
                   "both sides, divided into parts (running, lock, child spans, unknown and so "
                   "on) whose differences add up to the difference in duration, with the functions "
                   "and child spans in each part. The second table shows the functions of one "
                   "profile type. \"At "
                   "least\" and \"at most\" are the 95 % confidence interval of a difference, "
                   "corrected for all rows of a table (block bootstrap over time); a difference "
                   "whose interval includes 0 is not significant. An estimate is marked with ~.",
        .examples = "spanflame compare --slow-vs-fast '{ name = \"order.calculate_totals\" }'\n"
                    "spanflame compare --errors-vs-ok '{ resource.service.name = \"shop\" }'\n"
                    "spanflame compare --q '{ name = \"GET /cart\" }' --by "
                    "resource.service.version --left 1.4 --right 1.5\n"
                    "spanflame compare --left '{ resource.service.version = \"1.4\" }' "
                    "--right '{ resource.service.version = \"1.5\" }'",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    int n_ways = (query != NULL) + (errors != NULL) + (by != NULL || query_by != NULL) +
                 (!by && (left || right));
    bool needs_two = by || query_by || left || right;
    if (args.n_words || n_ways != 1 || (needs_two && (!left || !right)) ||
        (by != NULL) != (query_by != NULL) || (at && !query))
        return sf_answer_usage("compare",
                               "give --slow-vs-fast QUERY, --errors-vs-ok QUERY, --left QUERY and "
                               "--right QUERY, or --q, --by, --left and --right");
    sf_buf_print(&path, "/api/v1/compare?from=now-%" PRId64 "s", since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "q", query ? query : errors ? errors : query_by);
    sf_ask_param(&path, "split", errors ? "errors" : at);
    sf_ask_param(&path, "by", by);
    sf_ask_param(&path, "left", left);
    sf_ask_param(&path, "right", right);
    sf_ask_param(&path, "type", type);
    return sf_ask_and_print("compare", &client, output, &path);
}
