#include "cli/labels_command.h"

#include <unistd.h>

#include "cli/answer.h"
#include "cli/querier_question.h"
#include "os/terminal.h"
#include "render/units.h"
#include "wire/json.h"

enum { ARENA_LEN = 256 << 20 };

struct asked {
    struct sf_client client;
    const char *name, *selector, *range, *output;
    bool has_own;
    enum sf_output form;
};

/* Prints {"names":[...]}, one per line, without the labels derived from the profile type. */
static enum sf_err labels_command_show(const struct asked *a, sf_str body, struct sf_arena *req,
                                       struct sf_buf *out, struct sf_why *why)
{
    size_t columns = sf_terminal_width(STDOUT_FILENO, 120), n = 0;
    struct sf_json j;
    sf_str key;
    sf_json_init(&j, body, req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (!sf_str_eq(key, SF_STR("names")) || !sf_json_array(&j)) {
                sf_json_skip(&j);
                continue;
            }
            while (sf_json_item(&j)) {
                sf_str name = sf_json_str(&j);
                if (!a->name && !a->has_own && sf_str_starts(name, SF_STR("__")))
                    continue;
                sf_units_text(out, name, columns);
                sf_buf_add_u8(out, '\n');
                n++;
            }
        }
    }
    if (n == 0)
        sf_buf_add_str(out, SF_STR("(none in this time; widen it with --time-range 24h)\n"));
    return sf_json_why(&j, "the server's answer", why);
}

static enum sf_err labels_command_ask(const struct asked *a, struct sf_buf *out, struct sf_why *why)
{
    struct sf_querier_question q = {
        .client = &a->client, .selector = a->selector, .range = a->range};
    struct sf_arena req = {0};
    struct sf_buf body = {0};
    enum sf_err err = sf_arena_init(&req, ARENA_LEN) ? sf_querier_question_begin(&q, &req, why)
                                                     : sf_fail(why, SF_ERR_NOMEM, "no memory");
    if (!err) {
        sf_querier_question_selector(&q, "matchers", true);
        if (a->name)
            sf_json_write_key_str(&q.w, SF_STR("name"), sf_str_from(a->name));
        err = sf_querier_question_ask(&q, a->name ? "LabelValues" : "LabelNames", &body, why);
    }
    if (!err && a->form == SF_OUTPUT_JSON) {
        sf_buf_add_str(out, sf_buf_str(&body));
        sf_buf_add_u8(out, '\n');
    } else if (!err) {
        err = labels_command_show(a, sf_buf_str(&body), &req, out, why);
    }
    sf_buf_done(&body);
    sf_arena_done(&req);
    return err;
}

int sf_labels_command_run(int argc, char **argv)
{
    struct asked a = {0};
    struct sf_flag flags[] = {
        {"of", SF_FLAG_STR, &a.selector, "SELECTOR", "only for these series: 'shop{env=prod}'"},
        {"time-range", SF_FLAG_STR, &a.range, "RANGE",
         "time range: 1h (default, back from now) or FROM..UNTIL: now-2h..now-1h"},
        {"all", SF_FLAG_BOOL, &a.has_own, NULL,
         "include labels derived from the profile type: __type__, ..."},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
        SF_CLIENT_FLAGS(a.client),
    };
    struct sf_args args = {
        .command = "labels",
        .usage = "[NAME] [--of SELECTOR] [--time-range 1h]",
        .summary = "List the labels of profiles, or the values of one.",
        .details = "Labels identify series of profiles: service_name, env, version, and others set "
                   "by the sender. The values of service_name are the services, those of "
                   "__profile_type__ the profile types.",
        .examples = "spanflame labels\n"
                    "spanflame labels service_name\n"
                    "spanflame labels commit --of 'order-service{env=prod}' --time-range 24h",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf out = {0};
    struct sf_why why = {0};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words > 1)
        return sf_answer_usage("labels", "give one name, or none");
    a.name = args.n_words ? args.words[0] : NULL;
    a.form = sf_answer_output("labels", a.output, false);
    if (a.form == SF_OUTPUT_BAD)
        return 2;
    return sf_answer_end("labels", labels_command_ask(&a, &out, &why), &out, &why);
}
