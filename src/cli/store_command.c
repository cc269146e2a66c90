#include "cli/store_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "store/clickhouse/schema.h"

struct asked {
    struct sf_client client;
    const char *output, *database;
    int64_t since_ns;
};

static int status(struct asked *a)
{
    struct sf_buf path = {0};
    sf_buf_print(&path, "/api/v1/store?");
    return sf_ask_and_print("store", &a->client, a->output, &path);
}

/* Exit code 1 when something is missing: for a cron job or a pipeline. */
static int verify(struct asked *a)
{
    struct sf_buf path = {0}, answer = {0};
    struct sf_why why = {0};
    enum sf_output form = sf_answer_output("store", a->output, false);
    enum sf_err err;
    size_t at;
    bool is_whole;
    if (form == SF_OUTPUT_BAD)
        return 2;
    sf_buf_print(&path, "/api/v1/store/verify?since=%" PRId64 "s", a->since_ns / SF_NS_PER_S);
    err = sf_ask(&a->client, form, &path, &answer, &why);
    sf_buf_done(&path);
    if (err) {
        sf_buf_done(&answer);
        return sf_answer_fault("store", &why);
    }
    is_whole = sf_str_find(sf_buf_str(&answer),
                           form == SF_OUTPUT_JSON ? SF_STR("\"is_whole\":true")
                                                  : SF_STR("every row is there once"),
                           &at);
    return sf_answer_write(&answer) || !is_whole;
}

static int print_schema(const struct asked *a)
{
    struct sf_buf out = {0};
    sf_schema_print(0, a->database ? a->database : "spanflame", &out);
    return sf_answer_write(&out);
}

int sf_store_command_run(int argc, char **argv)
{
    struct asked a = {.since_ns = SF_NS_PER_DAY};
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(a.client),
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "of verify: data received in this time (default 1d)"},
        {"database", SF_FLAG_STR, &a.database, "NAME", "of schema (default spanflame)"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "store",
        .usage = "[status] | verify [--since TIME] | schema [--database NAME]",
        .summary = "Say how far a node's data has reached ClickHouse, verify it, or print the "
                   "schema.",
        .details = "status shows the shards, the lag and what waits. verify counts the rows of "
                   "every batch on every shard and compares them with what was sent; its exit code "
                   "is 1 when something is missing or there twice. schema prints the statements "
                   "that a node runs on an empty shard; it asks no server. All of it needs "
                   "store.remote.url (docs/fleet.md).",
        .examples = "spanflame store status\n"
                    "spanflame store verify --since 7d\n"
                    "spanflame store schema --database spanflame > schema.sql",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words == 0 || (args.n_words == 1 && !strcmp(args.words[0], "status")))
        return status(&a);
    if (args.n_words == 1 && !strcmp(args.words[0], "verify"))
        return verify(&a);
    if (args.n_words == 1 && !strcmp(args.words[0], "schema"))
        return print_schema(&a);
    return sf_answer_usage("store", "say status, verify or schema");
}
