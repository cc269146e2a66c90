#include "cli/keep_command.h"

#include <inttypes.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/ask.h"

enum { PIN_DAYS = 7 };

/* "pin" and "unpin": one call, whose result is printed as a word. */
static int change_pin(const struct sf_client *client, const char *trace, bool is_pin,
                      int64_t for_ns, const char *note)
{
    struct sf_buf path = {0}, answer = {0};
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    sf_buf_print(&path, "/api/v1/pins/");
    sf_client_encode(&path, sf_str_from(trace));
    if (is_pin)
        sf_buf_print(&path, "?for=%" PRId64 "s", for_ns / SF_NS_PER_S);
    if (is_pin)
        sf_ask_param(&path, "note", note);
    sf_buf_add_u8(&path, 0);
    if (!sf_buf_ok(&path))
        err = sf_fail(&why, SF_ERR_NOMEM, "no memory");
    if (!err)
        err = is_pin ? sf_client_post(client, (char *)path.p, "application/json",
                                      sf_str_bytes(SF_STR("{}")), &answer, &why)
                     : sf_client_delete(client, (char *)path.p, &answer, &why);
    sf_buf_done(&path);
    if (err) {
        sf_buf_done(&answer);
        return sf_answer_fault("keep", &why);
    }
    sf_buf_reset(&answer);
    sf_buf_print(&answer, is_pin ? "pinned %s\n" : "unpinned %s\n", trace);
    return sf_answer_write(&answer);
}

int sf_keep_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *slow = NULL, *cpu = NULL, *baseline = NULL;
    bool is_dry_run = false, is_without_errors = false;
    const char *trace = NULL, *note = NULL;
    int64_t since_ns = SF_NS_PER_DAY, for_ns = PIN_DAYS * SF_NS_PER_DAY;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"dry-run", SF_FLAG_BOOL, &is_dry_run, NULL, "only show what would be kept"},
        {"since", SF_FLAG_DURATION, &since_ns, "TIME", "how far to look back (default 1d)"},
        {"slow", SF_FLAG_STR, &slow, "TIME",
         "keep requests at least this slow (default: as configured, 1s)"},
        {"cpu", SF_FLAG_STR, &cpu, "PERCENT",
         "keep requests that used at least this share of a CPU (default: as configured, 80)"},
        {"no-errors", SF_FLAG_BOOL, &is_without_errors, NULL, "do not keep failed requests"},
        {"baseline", SF_FLAG_STR, &baseline, "PERCENT",
         "keep this share of all requests (default: as configured, 1)"},
        {"trace", SF_FLAG_STR, &trace, "ID", "show whether a trace was kept, and by which rule"},
        {"for", SF_FLAG_DURATION, &for_ns, "TIME", "pin: how long (default 7d)"},
        {"note", SF_FLAG_STR, &note, "TEXT", "pin: a note"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "keep",
        .usage = "--dry-run [--since 1d] [--slow 1s] [--cpu 80] [--baseline 1] | --trace ID | "
                 "pin ID [--for 7d] [--note TEXT] | unpin ID | list",
        .summary = "Show which requests' samples the retention rules keep; pin requests.",
        .details =
            "Samples that carry a span id are all kept for retention.tail_delay (1h). After that, "
            "only those of interesting requests stay, until retention.detail: requests that "
            "failed, "
            "were slow, took longer than 99 % of the calls of their operation the day before, used "
            "much CPU time, or were marked with profile.keep=true, and a random share of the rest. "
            "Totals include every sample. --dry-run shows for each rule how many of the stored "
            "traces, samples and bytes it would keep, and how many traces it alone would keep; "
            "rules not given are taken from the configuration (profiling.conditional). --trace "
            "shows whether a trace was kept, and with which probability. pin keeps the spans and "
            "samples of a trace for a time whatever the rules say, unpin ends that, list shows "
            "the pins.",
        .examples =
            "spanflame keep --dry-run --since 1d\n"
            "spanflame keep --dry-run --since 6h --slow 500ms --baseline 0.5\n"
            "spanflame keep --trace 4bf92f3577b34da6a3ce929d0e0e4736\n"
            "spanflame keep pin 4bf92f3577b34da6a3ce929d0e0e4736 --for 30d --note incident-7",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    const char *verb = args.n_words > 0 ? args.words[0] : "";
    bool is_pin = strcmp(verb, "pin") == 0;
    if (args.n_words == 2 && (is_pin || strcmp(verb, "unpin") == 0)) {
        if (!sf_args_allow(&args, verb, is_pin ? "for note" : ""))
            return 2;
        return change_pin(&client, args.words[1], is_pin, for_ns, note);
    }
    if (args.n_words == 1 && strcmp(verb, "list") == 0) {
        if (!sf_args_allow(&args, "list", "output"))
            return 2;
        sf_buf_print(&path, "/api/v1/pins");
        return sf_ask_and_print("keep", &client, output, &path);
    }
    if (trace && !is_dry_run && args.n_words == 0) {
        if (!sf_args_allow(&args, "--trace", "trace output"))
            return 2;
        sf_buf_print(&path, "/api/v1/keep/");
        sf_client_encode(&path, sf_str_from(trace));
        return sf_ask_and_print("keep", &client, output, &path);
    }
    if (!is_dry_run || trace || args.n_words > 0)
        return sf_answer_usage("keep",
                               "give --dry-run, --trace ID, pin ID, unpin ID or list; rules "
                               "are set in the configuration (profiling.conditional)");
    if (!sf_args_allow(&args, "--dry-run", "dry-run since slow cpu no-errors baseline output"))
        return 2;
    sf_buf_print(&path, "/api/v1/keep?from=now-%" PRId64 "s", since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "slow", slow);
    sf_ask_param(&path, "cpu", cpu);
    sf_ask_param(&path, "errors", is_without_errors ? "false" : NULL);
    sf_ask_param(&path, "baseline", baseline);
    return sf_ask_and_print("keep", &client, output, &path);
}
