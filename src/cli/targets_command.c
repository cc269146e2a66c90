#include "cli/targets_command.h"

#include "cli/ask.h"

int sf_targets_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "targets",
        .usage = "",
        .summary = "List the targets that a server scrapes for profiles, with their status.",
        .details = "Targets are defined in the server's configuration (scrape). Failed targets and "
                   "failed service discovery are listed with the reason.",
        .examples = "spanflame targets\n"
                    "spanflame targets --output json",
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
        return sf_answer_usage("targets", "takes no words");
    sf_buf_print(&path, "/api/v1/targets");
    return sf_ask_and_print("targets", &client, output, &path);
}
