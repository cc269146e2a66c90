#include "cli/ledger_command.h"

#include "cli/ask.h"
#include "cli/last_list.h"

int sf_ledger_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *trace = NULL;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"trace", SF_FLAG_STR, &trace, "ID", "the span's trace (default: searched)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "ledger",
        .usage = "SPAN|ROW [--trace ID]",
        .summary = "Show where a span's time went: CPU, locks, I/O, sleep, children, unknown.",
        .details = "The parts add up to the span's duration. They are computed from the profiles "
                   "of its service: off-CPU or wall clock profiles for waits, CPU profiles for "
                   "time on the CPU; the rest is unknown. `spanflame trace ID` "
                   "shows the spans of a trace with their ids; ROW is the number of a span in the "
                   "last output of that command or of `spanflame search` on this user's terminal.",
        .examples = "spanflame ledger eee19b7ec3c1b174\n"
                    "spanflame ledger 3\n"
                    "spanflame ledger eee19b7ec3c1b174 --trace 5b8efff798038103d269b633813fc60c",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0};
    struct sf_arena req = {0};
    struct sf_why why = {.text = "no memory"};
    const char *span;
    int code;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 1)
        return sf_answer_usage(
            "ledger", "name one span: its id, up to 16 hex digits, or its row in the last list");
    if (!sf_arena_init(&req, 1 << 24))
        return sf_answer_fault("ledger", &why);
    span = args.words[0];
    if (!trace && sf_last_list_read(span, &client, &req, &trace, &span, &why) == SF_LAST_ROW &&
        !span) {
        code = sf_answer_usage("ledger", "this row has no span: name one by its id");
    } else { /* not a row number: an id */
        sf_ask_span(&path, trace, span, "ledger");
        code = sf_ask_and_print("ledger", &client, output, &path);
    }
    sf_arena_done(&req);
    return code;
}
