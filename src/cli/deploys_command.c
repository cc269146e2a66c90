#include "cli/deploys_command.h"

#include <inttypes.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "wire/json_write.h"

struct asked {
    struct sf_client client;
    const char *output, *service, *version, *against;
    const char *commit, *environment, *comment, *url, *time;
    int64_t since_ns;
};

static int deploys_command_list(struct asked *a)
{
    struct sf_buf path = {0};
    sf_buf_print(&path, "/api/v1/deploys?from=now-%" PRId64 "s", a->since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "service", a->service);
    return sf_ask_and_print("deploys", &a->client, a->output, &path);
}

/* ---- post ---- */

static int post(const struct asked *a)
{
    const struct {
        const char *key, *val;
    } members[] = {{"service", a->service}, {"version", a->version},
                   {"commit", a->commit},   {"environment", a->environment},
                   {"comment", a->comment}, {"url", a->url},
                   {"time", a->time}};
    struct sf_buf body = {0}, answer = {0};
    struct sf_json_writer j = sf_json_writer_init(&body);
    struct sf_why why = {0};
    enum sf_err err;
    sf_json_write_object(&j);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (members[i].val)
            sf_json_write_key_str(&j, sf_str_from(members[i].key), sf_str_from(members[i].val));
    }
    sf_json_write_object_end(&j);
    err = sf_buf_ok(&body) ? sf_client_post(&a->client, "/api/v1/deploys", "application/json",
                                            sf_buf_bytes(&body), &answer, &why)
                           : sf_no_memory(&why, "a deploy");
    sf_buf_done(&body);
    if (err) {
        sf_buf_done(&answer);
        return sf_answer_fault("deploys", &why);
    }
    sf_buf_add_u8(&answer, '\n');
    return sf_answer_write(&answer);
}

/* ---- compare ---- */

static int deploys_command_compare(struct asked *a)
{
    struct sf_buf path = {0};
    sf_buf_print(&path, "/api/v1/explain?from=now-%" PRId64 "s", a->since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "service", a->service);
    sf_ask_param(&path, "version", a->version);
    sf_ask_param(&path, "against", a->against);
    return sf_ask_and_print("deploys", &a->client, a->output, &path);
}

int sf_deploys_command_run(int argc, char **argv)
{
    struct asked a = {.since_ns = SF_NS_PER_DAY};
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(a.client),
        {"service", SF_FLAG_STR, &a.service, "NAME", "the service"},
        {"version", SF_FLAG_STR, &a.version, "VERSION",
         "post: the deployed version; compare: the newer version"},
        {"against", SF_FLAG_STR, &a.against, "VERSION",
         "compare: the older version (default: the previous one)"},
        {"commit", SF_FLAG_STR, &a.commit, "ID",
         "post: the commit, instead of or in addition to a version"},
        {"environment", SF_FLAG_STR, &a.environment, "NAME", "post: the environment"},
        {"comment", SF_FLAG_STR, &a.comment, "TEXT", "post: a comment"},
        {"url", SF_FLAG_STR, &a.url, "URL", "post: link to the pipeline"},
        {"time", SF_FLAG_STR, &a.time, "TIME", "post: time of the deploy, RFC 3339 (default now)"},
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME",
         "list, compare: how far to look back (default 1d)"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "list, compare: text or json (default text)"},
    };
    struct sf_args args = {
        .command = "deploys",
        .usage = "[list] [--service NAME] | post --service NAME --version VERSION | compare "
                 "--service NAME --version VERSION [--against VERSION]",
        .summary = "List deploys of services, record one, or compare two versions.",
        .details = "A version is taken from service.version or commit of spans, or posted by a "
                   "pipeline. compare shows what the newer version costs more per request and "
                   "whether the difference is significant; spanflame guard does the same for "
                   "pipelines, with an exit code.",
        .examples = "spanflame deploys --since 7d\n"
                    "spanflame deploys post --service cart --version 1.5 --url "
                    "https://ci.example.com/7\n"
                    "spanflame deploys compare --service cart --version 1.5",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words == 0 || (args.n_words == 1 && !strcmp(args.words[0], "list")))
        return sf_args_allow(&args, "list", "service since output") ? deploys_command_list(&a) : 2;
    if (args.n_words == 1 && !strcmp(args.words[0], "post")) {
        if (!sf_args_allow(&args, "post", "service version commit environment comment url time"))
            return 2;
        return a.service && (a.version || a.commit)
                   ? post(&a)
                   : sf_answer_usage("deploys", "post needs --service, and --version or --commit");
    }
    if (args.n_words == 1 && !strcmp(args.words[0], "compare")) {
        if (!sf_args_allow(&args, "compare", "service version against since output"))
            return 2;
        return a.service && a.version
                   ? deploys_command_compare(&a)
                   : sf_answer_usage("deploys", "compare needs --service and --version");
    }
    return sf_answer_usage("deploys", "specify list, post or compare");
}
