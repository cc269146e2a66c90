#include "cli/why_command.h"

#include <inttypes.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "cli/last_list.h"

struct asked {
    const char *trace, *span, *query, *split, *service, *deploy, *against, *focus;
    int64_t since_ns;
};

/* A trace has up to 32 digits, a span up to 16. */
static bool why_command_is_trace_id(const char *id)
{
    return strlen(id) > 16;
}

static void why_command_add_path(const struct asked *a, struct sf_buf *path)
{
    const char *first = a->trace ? a->trace : a->span;
    if (first) {
        sf_buf_print(path, "/api/v1/explain?%s=", a->trace ? "trace" : "span");
        sf_client_encode(path, sf_str_from(first));
        sf_ask_param(path, "span", a->trace ? a->span : NULL);
        sf_ask_param(path, "focus", a->focus);
        return;
    }
    sf_buf_print(path, "/api/v1/explain?from=now-%" PRId64 "s",
                 (a->since_ns > 0 ? a->since_ns : SF_NS_PER_HOUR) / SF_NS_PER_S);
    sf_ask_param(path, "q", a->query);
    sf_ask_param(path, "split", a->split);
    sf_ask_param(path, "service", a->service);
    sf_ask_param(path, "version", a->deploy);
    sf_ask_param(path, "against", a->against);
    sf_ask_param(path, "focus", a->focus);
}

/* A row of the last list, or an id. */
static void why_command_read_word(const char *word, struct sf_client *client, struct sf_arena *req,
                                  struct asked *a)
{
    const char *trace = NULL, *span = word;
    struct sf_why why = {0};
    if (!a->trace && sf_last_list_read(word, client, req, &trace, &span, &why) == SF_LAST_ROW) {
        a->trace = trace;
        a->span = span;
    } else if (!a->trace && why_command_is_trace_id(word)) {
        a->trace = word;
    } else {
        a->span = word;
    }
}

int sf_why_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL;
    struct asked a = {0};
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"trace", SF_FLAG_STR, &a.trace, "ID", "the span's trace (default: searched)"},
        {"q", SF_FLAG_STR, &a.query, "QUERY",
         "explain the mean of the spans of this TraceQL query"},
        {"split", SF_FLAG_STR, &a.split, "QUANTILE",
         "with --q: compare spans from this quantile on with the others (p95)"},
        {"service", SF_FLAG_STR, &a.service, "NAME", "with --deploy: the service"},
        {"deploy", SF_FLAG_STR, &a.deploy, "VERSION",
         "a service.version, compared with the previous one"},
        {"against", SF_FLAG_STR, &a.against, "VERSION",
         "with --deploy: the version to compare with"},
        {"focus", SF_FLAG_STR, &a.focus, "NAME",
         "also report the total of this function, or of child spans of this name"},
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "how far to look back, except for a trace or span (default 1h)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "why",
        .usage = "SPAN|TRACE|ROW | --q QUERY [--split p95] | --service NAME --deploy VERSION",
        .summary = "Explain why a span, a trace, a span set or a deploy is slow.",
        .details =
            "Prints one sentence, then a table whose parts add up to the duration: running, with "
            "the functions, waiting for a CPU, a lock, a disk, the network or "
            "other services, sleeping, in child spans, unknown. Time in libraries is attributed to "
            "the service's function that called them. For a trace, the spans on its critical path "
            "are expanded; for a query, values are means per span; with --split or --deploy, "
            "differences per span with their 95 % intervals. A range in "
            "parentheses is a 95 % interval; an estimate is marked with ~. ROW is the number of a "
            "span in the last output of `spanflame trace` or `spanflame search` on this user's "
            "terminal.",
        .examples = "spanflame why eee19b7ec3c1b174\n"
                    "spanflame why 5b8efff798038103d269b633813fc60c\n"
                    "spanflame why --q '{ name = \"GET /price\" }' --split p95\n"
                    "spanflame why --service order-service --deploy 1.5",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    struct sf_arena req = {0};
    struct sf_why why = {.text = "no memory"};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    bool has_deploy = a.service || a.deploy || a.against;
    if ((args.n_words == 1) + (a.query != NULL) + has_deploy != 1 || args.n_words > 1 ||
        (a.split && !a.query) || (a.trace && args.n_words == 0) ||
        (has_deploy && (!a.service || !a.deploy)))
        return sf_answer_usage("why", "name one span or trace, or give --q QUERY (and --split), or "
                                      "--service NAME and --deploy VERSION");
    if (args.n_words == 1 && a.since_ns > 0)
        return sf_answer_usage("why", "--since is not for a trace or span, which has its own time");
    if (a.focus && (a.split || has_deploy))
        return sf_answer_usage("why",
                               "--focus goes with a span, a trace or --q, not with a difference");
    if (!sf_arena_init(&req, 1 << 24))
        return sf_answer_fault("why", &why);
    if (args.n_words == 1)
        why_command_read_word(args.words[0], &client, &req, &a);
    why_command_add_path(&a, &path);
    int code = sf_ask_and_print("why", &client, output, &path);
    sf_arena_done(&req);
    return code;
}
