#include "cli/erase_command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "model/ids.h"
#include "os/terminal.h"
#include "wire/json.h"
#include "wire/json_write.h"

struct what {
    const char *service, *from, *until;
    const struct sf_args *args; /* words are trace ids */
    bool is_all;
};

static void write_request(const struct what *w, bool is_dry_run, struct sf_buf *out)
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
    if (is_dry_run) {
        sf_json_write_key(&j, SF_STR("dry_run"));
        sf_json_write_bool(&j, true);
    }
    sf_json_write_object_end(&j);
}

static void erase_command_describe(const struct what *w, FILE *to)
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

/* Counts in the server's answer: "1234 spans and 5 profiles", estimated or exact. */
struct counted {
    uint64_t n_spans, n_profiles, n_samples, n_adhoc;
    bool is_exact, is_known;
};

static struct counted erase_command_read_answer(const struct sf_buf *answer)
{
    struct counted c = {0};
    struct sf_json j;
    sf_str key;
    sf_json_init(&j, sf_buf_str(answer), NULL);
    if (!sf_json_object(&j))
        return c;
    while (sf_json_key(&j, &key)) {
        if (sf_str_eq(key, SF_STR("spans"))) {
            c.n_spans = sf_json_u64(&j);
            c.is_known = true;
        } else if (sf_str_eq(key, SF_STR("profiles")))
            c.n_profiles = sf_json_u64(&j);
        else if (sf_str_eq(key, SF_STR("samples")))
            c.n_samples = sf_json_u64(&j);
        else if (sf_str_eq(key, SF_STR("adhocProfiles")))
            c.n_adhoc = sf_json_u64(&j);
        else if (sf_str_eq(key, SF_STR("isExact")))
            c.is_exact = sf_json_bool(&j);
        else
            sf_json_skip(&j);
    }
    c.is_known = c.is_known && sf_json_end(&j);
    return c;
}

static void print_counted(const struct counted *c, FILE *to)
{
    if (!c->is_known) {
        fprintf(to, "an uncounted number of spans and profiles");
        return;
    }
    fprintf(to, "%s%llu span%s, %llu profile%s, %llu sample%s", c->is_exact ? "" : "~",
            (unsigned long long)c->n_spans, c->n_spans == 1 ? "" : "s",
            (unsigned long long)c->n_profiles, c->n_profiles == 1 ? "" : "s",
            (unsigned long long)c->n_samples, c->n_samples == 1 ? "" : "s");
    if (c->n_adhoc)
        fprintf(to, ", %llu ad hoc profile%s", (unsigned long long)c->n_adhoc,
                c->n_adhoc == 1 ? "" : "s");
}

static enum sf_err erase_command_ask(const struct sf_client *client, const struct what *w,
                                     bool is_dry_run, struct sf_buf *answer, struct sf_why *why)
{
    struct sf_buf request = {0};
    write_request(w, is_dry_run, &request);
    enum sf_err err = sf_buf_ok(&request)
                          ? sf_client_post(client, "/api/v1/erase", "application/json",
                                           sf_buf_bytes(&request), answer, why)
                          : sf_fail(why, SF_ERR_NOMEM, "no memory");
    sf_buf_done(&request);
    return err;
}

static bool is_confirmed(const struct what *w, const struct counted *c)
{
    char line[16] = "";
    fprintf(stderr, "Erase ");
    erase_command_describe(w, stderr);
    fprintf(stderr, ": ");
    print_counted(c, stderr);
    fprintf(stderr, "? This cannot be undone. [y/N] ");
    return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static const char *find_fault(const struct what *w)
{
    sf_trace_id id;
    for (size_t i = 0; i < w->args->n_words; i++) {
        if (!sf_trace_id_parse(sf_str_from(w->args->words[i]), &id))
            return "a trace id is 1 to 32 hexadecimal digits";
    }
    /* An unset variable in a script must not widen the selection. */
    if (w->service && !w->service[0])
        return "--service is empty";
    if ((w->from && !w->from[0]) || (w->until && !w->until[0]))
        return "--from and --until expect a time";
    if ((w->args->n_words > 0) + (w->service != NULL) + w->is_all > 1)
        return "specify only one of: trace ids, --service, --all";
    if (!w->args->n_words && !w->service && !w->is_all)
        return w->from || w->until ? "to erase everything in a time range, add --all; otherwise "
                                     "add trace ids or --service"
                                   : "specify what to erase: trace ids, --service, or --all";
    return NULL;
}

static int erase_command_run(const struct sf_client *client, const struct what *w, bool is_sure,
                             bool is_dry_run, bool is_json)
{
    struct sf_buf answer = {0};
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    if (!is_sure && !is_dry_run) {
        err = erase_command_ask(client, w, true, &answer, &why);
        struct counted found = {0};
        if (!err)
            found = erase_command_read_answer(&answer);
        sf_buf_done(&answer);
        answer = (struct sf_buf){0};
        if (!err && !is_confirmed(w, &found)) {
            fprintf(stderr, "Nothing was erased.\n");
            return 1;
        }
    }
    if (!err)
        err = erase_command_ask(client, w, is_dry_run, &answer, &why);
    if (!err && is_json)
        return sf_answer_write(&answer);
    struct counted c = {0};
    if (!err)
        c = erase_command_read_answer(&answer);
    sf_buf_done(&answer);
    if (err)
        return sf_answer_fault("erase", &why);
    printf(is_dry_run ? "Would erase " : "Erased ");
    erase_command_describe(w, stdout);
    printf(": ");
    print_counted(&c, stdout);
    printf(is_dry_run
               ? ". Nothing was erased.\n"
               : ". It is hidden from now on and removed from disk as blocks are rewritten.\n");
    return 0;
}

int sf_erase_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    struct what w = {0};
    bool is_sure = false, is_dry_run = false;
    const char *output = NULL, *fault;
    enum sf_output form;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"service", SF_FLAG_STR, &w.service, "NAME", "everything of this service"},
        {"from", SF_FLAG_STR, &w.from, "TIME",
         "start of the time range: unix seconds, RFC 3339 or now-15m"},
        {"until", SF_FLAG_STR, &w.until, "TIME", "end of the time range"},
        {"all", SF_FLAG_BOOL, &w.is_all, NULL, "everything of the tenant"},
        {"dry-run", SF_FLAG_BOOL, &is_dry_run, NULL, "only count what would be erased"},
        {"yes", SF_FLAG_BOOL, &is_sure, NULL, "do not ask for confirmation"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "erase",
        .usage = "TRACE-ID... | --service NAME | --all [--from TIME] [--until TIME] [--dry-run]",
        .summary = "Erase traces, a service or a time range. The data is hidden at once and "
                   "removed from disk soon after.",
        .details = "Needs a token with scope admin where tokens are in use. Each form can be "
                   "limited to a time range; to erase everything in a range, use --all with the "
                   "range. On a terminal the command counts what would be erased and asks for "
                   "confirmation; otherwise it requires --yes.",
        .examples = "spanflame erase 5b8efff798038103d269b633813fc60c\n"
                    "spanflame erase --service checkout --dry-run\n"
                    "spanflame erase --service checkout --from 2026-01-01T00:00:00Z --until "
                    "2026-01-02T00:00:00Z --yes",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    form = sf_answer_output("erase", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    w.args = &args;
    fault = find_fault(&w);
    if (fault)
        return sf_answer_usage("erase", fault);
    if (!is_sure && !is_dry_run && !sf_terminal_is(STDIN_FILENO))
        return sf_answer_usage("erase", "without a terminal to ask on, --yes is needed");
    return erase_command_run(&client, &w, is_sure, is_dry_run, form == SF_OUTPUT_JSON);
}
