/* main.c - spanflame COMMAND ...: finds the command and runs it. */
#include <stdio.h>
#include <string.h>

#include "app/check_config_command.h"
#include "app/redact_command.h"
#include "app/serve_command.h"
#include "app/token_command.h"
#include "app/version.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/manual.h"

static int run_version(int argc, char **argv)
{
    const char *output = NULL;
    struct sf_flag flags[] = {
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"}};
    struct sf_args args = {.command = "version",
                           .usage = "[--output text|json]",
                           .summary = "Print the version of this program.",
                           .examples = "spanflame version --output json",
                           .flags = flags,
                           .n_flags = 1};
    enum sf_output form;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    form = sf_answer_output("version", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    printf(form == SF_OUTPUT_JSON ? "{\"version\":\"%s\"}\n" : "spanflame %s\n", sf_version());
    return 0;
}

static const struct sf_command own[] = {
    {"serve", "run the server", sf_serve_command_run, NULL},
    {"server", "run the server", sf_serve_command_run, "serve"},
    {"check-config", "check the configuration and show the values in effect",
     sf_check_config_command_run, NULL},
    {"redact", "show what redaction would change in a file", sf_redact_command_run, NULL},
    {"token", "create a token for a server with token authentication", sf_token_command_run, NULL},
    {"version", "print the version", run_version, NULL},
};
enum { N_OWN = sizeof(own) / sizeof(own[0]), MAX_COMMANDS = 64 };

static size_t all_commands(const struct sf_command **out)
{
    size_t n = 0;
    for (size_t i = 0; i < N_OWN; i++)
        out[n++] = &own[i];
    for (size_t i = 0; i < sf_cli_n_commands && n < MAX_COMMANDS; i++)
        out[n++] = &sf_cli_commands[i];
    return n;
}

static int main_print_help(FILE *to)
{
    const struct sf_command *commands[MAX_COMMANDS];
    size_t n = all_commands(commands);
    fprintf(to, "Spanflame keeps traces and profiles in one place and shows why requests are "
                "slow.\n\nUsage: spanflame COMMAND [options]\n\nCommands:\n");
    for (size_t i = 0; i < n; i++) {
        if (!commands[i]->alias_of)
            fprintf(to, "  %-14s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(to, "\n`spanflame COMMAND --help` explains one of them.\n");
    return 0;
}

/* For tools/manual and shell completion; not shown in --help. */
static int main_print_manual(void)
{
    const struct sf_command *commands[MAX_COMMANDS];
    size_t n = all_commands(commands);
    struct sf_buf out = {0};
    sf_manual_main(commands, n, &out);
    fwrite(out.p, 1, out.len, stdout);
    sf_buf_done(&out);
    return 0;
}

static int list_commands(void)
{
    const struct sf_command *commands[MAX_COMMANDS];
    size_t n = all_commands(commands);
    for (size_t i = 0; i < n; i++)
        printf("%s\n", commands[i]->name);
    return 0;
}

static int unknown_command(const char *word)
{
    const struct sf_command *commands[MAX_COMMANDS];
    const char *names[MAX_COMMANDS];
    size_t n = all_commands(commands);
    for (size_t i = 0; i < n; i++)
        names[i] = commands[i]->name;
    const char *nearest = sf_text_nearest(sf_str_from(word), names, n);
    fprintf(stderr, "spanflame: unknown command %s", word);
    if (nearest)
        fprintf(stderr, "; did you mean %s?\n", nearest);
    else
        fprintf(stderr, "; `spanflame --help` lists them\n");
    return 2;
}

int main(int argc, char **argv)
{
    const struct sf_command *commands[MAX_COMMANDS];
    size_t n = all_commands(commands);
    if (argc < 2) {
        main_print_help(stderr);
        return 2;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return main_print_help(stdout);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return run_version(1, argv);
    if (strcmp(word, "--manual") == 0)
        return main_print_manual();
    if (strcmp(word, "--list-commands") == 0)
        return list_commands();
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, commands[i]->name) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    }
    return unknown_command(word);
}
