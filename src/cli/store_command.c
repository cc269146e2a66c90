#include "cli/store_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "cli/store_move.h"
#include "os/text_file.h"
#include "store/clickhouse/remote_address.h"
#include "store/clickhouse/schema.h"

enum { PASSWORD_LEN = 4096 };
#define CONNECT_NS      (5 * SF_NS_PER_S)
#define STEP_NS         (600 * SF_NS_PER_S)
#define STEP_MEMORY_LEN (UINT64_C(4) << 30) /* as the default of store.remote.memory */

struct asked {
    struct sf_client client;
    const char *output, *database;
    const char *url, *user, *password_file, *to;
    bool is_dry_run;
    int64_t since_ns;
};

static int status(struct asked *a)
{
    struct sf_buf path = {0};
    sf_buf_print(&path, "/api/v1/store?");
    return sf_ask_and_print("store", &a->client, a->output, &path);
}

/* Exit code 1 when data is missing, for use in cron jobs and pipelines. */
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
                                                  : SF_STR("every row is stored exactly once"),
                           &at);
    return sf_answer_write(&answer) || !is_whole;
}

static int print_schema(const struct asked *a)
{
    struct sf_buf out = {0};
    sf_schema_print(0, a->database ? a->database : "spanflame", &out);
    return sf_answer_write(&out);
}

/* ---- migrate ---- */

static enum sf_err store_command_read_password(const char *path, struct sf_buf *out,
                                               struct sf_why *why)
{
    size_t at;
    enum sf_err err = path ? sf_text_file_read(path, PASSWORD_LEN, out, why) : SF_OK;
    if (err || !path)
        return err;
    if (sf_str_find_char(sf_buf_str(out), '\n', &at))
        out->len = at;
    sf_buf_add_u8(out, 0);
    return sf_buf_ok(out) ? SF_OK : sf_no_memory(why, "a password");
}

/* Prints the schema version of a shard and the missing statements; runs them unless it is a dry
 * run. */
static enum sf_err migrate_shard(const struct asked *a, const struct sf_remote_address *address,
                                 uint32_t i, const char *password, struct sf_buf *out,
                                 struct sf_why *why)
{
    struct sf_shard *shard = NULL;
    char version[SF_SHARD_VERSION_CAP] = "";
    uint32_t schema = 0;
    enum sf_err err = sf_shard_open(&(struct sf_shard_config){.address = address->shards[i],
                                                              .database = address->database,
                                                              .user = a->user,
                                                              .password = password,
                                                              .ca_file = a->client.ca_file,
                                                              .connect_ns = CONNECT_NS,
                                                              .whole_ns = STEP_NS,
                                                              .memory_len = STEP_MEMORY_LEN},
                                    &shard, why);
    if (!err)
        err = sf_shard_probe(shard, version, why);
    if (!err)
        err = sf_schema_version(shard, address->database, &schema, why);
    if (!err)
        sf_buf_print(out, "-- %s (ClickHouse %s): schema %" PRIu32 ", this program's is %d%s\n",
                     address->shards[i], version, schema, SF_SCHEMA_VERSION,
                     schema == SF_SCHEMA_VERSION  ? ": nothing to do"
                     : schema > SF_SCHEMA_VERSION ? ": a newer program is needed"
                     : a->is_dry_run              ? ": these statements are missing"
                                                  : ": these statements were run");
    if (!err && schema < SF_SCHEMA_VERSION)
        sf_schema_print(schema, address->database, out);
    if (!err && !a->is_dry_run)
        err = sf_schema_migrate(shard, address->database, why);
    sf_shard_close(shard);
    return err;
}

static int migrate(const struct asked *a)
{
    struct sf_remote_address address;
    struct sf_buf password = {0}, out = {0};
    struct sf_why why = {0};
    enum sf_err err;
    if (a->to && !a->url && !a->is_dry_run)
        return sf_store_move_run(&a->client, a->to, a->output);
    if (!a->url || a->to)
        return sf_answer_usage("store", "migrate needs either --to or --url, and "
                                        "clickhouse://HOST:PORT/DATABASE; --dry-run goes with "
                                        "--url");
    err = sf_remote_address_parse(sf_str_from(a->url), &address, &why);
    if (!err)
        err = store_command_read_password(a->password_file, &password, &why);
    for (uint32_t i = 0; !err && i < address.n_shards; i++)
        err = migrate_shard(a, &address, i, a->password_file ? (const char *)password.p : NULL,
                            &out, &why);
    if (password.p)
        explicit_bzero(password.p, password.len);
    sf_buf_done(&password);
    if (err) {
        (void)sf_answer_write(&out);
        return sf_answer_fault("store", &why);
    }
    return sf_answer_write(&out);
}

int sf_store_command_run(int argc, char **argv)
{
    struct asked a = {.since_ns = SF_NS_PER_DAY};
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(a.client),
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "verify: only data received in this time (default 1d)"},
        {"database", SF_FLAG_STR, &a.database, "NAME", "schema: database name (default spanflame)"},
        {"to", SF_FLAG_STR, &a.to, "URL",
         "migrate: move the data that the server had before it began to ship; its "
         "store.remote.url"},
        {"url", SF_FLAG_STR, &a.url, "URL", "migrate: change the tables there; store.remote.url"},
        {"user", SF_FLAG_STR, &a.user, "NAME", "migrate: store.remote.user"},
        {"password-file", SF_FLAG_STR, &a.password_file, "FILE",
         "of migrate: store.remote.password_file"},
        {"dry-run", SF_FLAG_BOOL, &a.is_dry_run, NULL,
         "migrate: print the statements and change nothing"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "store",
        .usage = "[status] | verify [--since TIME] | schema [--database NAME] | migrate --to URL | "
                 "migrate --url URL [--dry-run]",
        .summary = "Show how much of a node's data has reached ClickHouse, verify it, move older "
                   "data there, print the schema, or migrate shards to it.",
        .details =
            "status shows the shards, the lag and the amount of pending data. verify counts the "
            "rows of "
            "every batch on every shard and compares them with what was sent; the exit code is 1 "
            "if rows are missing or duplicated. schema prints the statements that a node runs on "
            "an empty shard; it needs no server. migrate --to moves the data that a server had "
            "before store.remote.url was set, while it serves; the command shows the progress, and "
            "the move continues in the server if the command is stopped or the server is "
            "restarted. migrate --url reads the schema version of each shard "
            "and runs the missing steps, as a node does when it starts; with --dry-run it only "
            "prints them. See store.remote.url (docs/fleet.md).",
        .examples =
            "spanflame store status\n"
            "spanflame store verify --since 7d\n"
            "spanflame store migrate --to clickhouse://ch1:8123,ch2:8123/spanflame\n"
            "spanflame store schema --database spanflame > schema.sql\n"
            "spanflame store migrate --dry-run --url clickhouse://ch1:8123,ch2:8123/spanflame",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words == 0 || (args.n_words == 1 && !strcmp(args.words[0], "status")))
        return sf_args_allow(&args, "status", "output") ? status(&a) : 2;
    if (args.n_words == 1 && !strcmp(args.words[0], "verify"))
        return sf_args_allow(&args, "verify", "since output") ? verify(&a) : 2;
    if (args.n_words == 1 && !strcmp(args.words[0], "schema"))
        return sf_args_allow(&args, "schema", "database") ? print_schema(&a) : 2;
    if (args.n_words == 1 && !strcmp(args.words[0], "migrate")) {
        if (!sf_args_allow(&args, a.to ? "migrate --to" : "migrate --url",
                           a.to ? "to url dry-run output" : "url user password-file dry-run"))
            return 2;
        return migrate(&a);
    }
    return sf_answer_usage("store", "specify an action: status, verify, schema or migrate");
}
