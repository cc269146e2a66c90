#include "cli/erase_command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "model/ids.h"
#include "os/terminal.h"
#include "wire/json_writer.h"

struct what {
    const char *service, *from, *until;
    const struct sf_args *args; /* words are trace ids */
    bool is_all;
};

static void write_request(const struct what *w, struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    sf_json_write_object(&j);
    if (w->args->n_words) {
        sf_json_write_key(&j, SF_STR("traces"));
        sf_json_write_array(&j);
        for (size_t i = 0; i < w->args->n_words; i++)
            sf_json_write_str(&j, sf_str_from(w->args->words[i]));
        sf_json_write_array_end(&j);
    }
    if (w->service)
        sf_json_write_key_str(&j, SF_STR("service"), sf_str_from(w->service));
    if (w->from)
        sf_json_write_key_str(&j, SF_STR("from"), sf_str_from(w->from));
    if (w->until)
        sf_json_write_key_str(&j, SF_STR("until"), sf_str_from(w->until));
    if (w->is_all) {
        sf_json_write_key(&j, SF_STR("all"));
        sf_json_write_bool(&j, true);
    }
    sf_json_write_object_end(&j);
}

static void describe(const struct what *w, FILE *to)
{
    if (w->args->n_words)
        fprintf(to, "%zu trace%s", w->args->n_words, w->args->n_words == 1 ? "" : "s");
    else if (w->service)
        fprintf(to, "everything of service %s", w->service);
    else
        fprintf(to, "everything");
    if (w->from)
        fprintf(to, " from %s", w->from);
    if (w->until)
        fprintf(to, " until %s", w->until);
}

static bool is_confirmed(const struct what *w)
{
    char line[16] = "";
    fprintf(stderr, "Erase ");
    describe(w, stderr);
    fprintf(stderr, "? This cannot be undone. [y/N] ");
    return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

int sf_erase_run(int argc, char **argv)
{
    struct sf_client client = {0};
    struct what w = {0};
    bool is_sure = false;
    const char *output = NULL;
    enum sf_output form;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"service", SF_FLAG_STR, &w.service, "NAME", "everything of this service"},
        {"from", SF_FLAG_STR, &w.from, "TIME",
         "only from here on: unix seconds, RFC 3339 or now-15m"},
        {"until", SF_FLAG_STR, &w.until, "TIME", "only up to here"},
        {"all", SF_FLAG_BOOL, &w.is_all, NULL, "everything of the tenant"},
        {"yes", SF_FLAG_BOOL, &is_sure, NULL, "do not ask"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "erase",
        .usage = "TRACE-ID... | --service NAME | --from TIME --until TIME | --all",
        .summary =
            "Erase traces, a service or a time range: hidden at once, gone from disk soon after.",
        .details = "Needs a token with scope admin where tokens are in use. A time range narrows "
                   "the other forms.",
        .examples = "spanflame erase 5b8efff798038103d269b633813fc60c\n"
                    "spanflame erase --service checkout --from 2026-01-01T00:00:00Z --until "
                    "2026-01-02T00:00:00Z --yes",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf request = {0}, answer = {0};
    struct sf_why why = {0};
    sf_trace_id id;
    enum sf_err err;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    form = sf_answer_output("erase", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    w.args = &args;
    for (size_t i = 0; i < args.n_words; i++) {
        if (!sf_trace_id_parse(sf_str_from(args.words[i]), &id))
            return sf_answer_usage("erase", "a trace id is 1 to 32 hexadecimal digits");
    }
    if (!args.n_words && !w.service && !w.from && !w.until && !w.is_all)
        return sf_answer_usage("erase",
                               "say what: trace ids, --service, --from and --until, or --all");
    if (!is_sure && sf_terminal_is(STDIN_FILENO) && !is_confirmed(&w)) {
        fprintf(stderr, "Nothing was erased.\n");
        return 1;
    }
    if (!is_sure && !sf_terminal_is(STDIN_FILENO))
        return sf_answer_usage("erase", "without a terminal to ask on, --yes is needed");
    write_request(&w, &request);
    err = sf_buf_ok(&request) ? sf_client_post(&client, "/api/v1/erase", "application/json",
                                               sf_buf_bytes(&request), &answer, &why)
                              : sf_fail(&why, SF_ERR_NOMEM, "no memory");
    sf_buf_done(&request);
    if (!err && form == SF_OUTPUT_JSON)
        return sf_answer_write(&answer);
    sf_buf_done(&answer);
    if (err)
        return sf_answer_fault("erase", &why);
    printf("Erased ");
    describe(&w, stdout);
    printf(". Hidden from now on; the bytes leave the disk as blocks are rewritten.\n");
    return 0;
}
