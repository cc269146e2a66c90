/* control_command.c - the command `control`: shows and changes what running programs profile, lists
 * collectors and changes, and takes a capture (requests a profile of the next seconds, waits until
 * the collectors have delivered it). */
#include "cli/control_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/setting.h"
#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "os/clock.h"
#include "os/file.h"
#include "wire/json.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum { ARENA_LEN = 4 << 20, CAPTURE_S = 30, CAPTURE_HZ = 100, GRACE_S = 30 };
#define NOT_GIVEN UINT64_MAX

struct asked {
    struct sf_client client;
    const char *output, *instance, *budget, *type, *format, *to;
    uint64_t rate, wall_rate, seconds;
    int64_t for_ns;
    enum sf_output form;
    struct sf_args args;
};

static const char *control_command_service_of(const struct asked *a)
{
    return a->args.n_words > 1 ? a->args.words[1] : NULL;
}

/* "/api/v1/profiling?service=shop&instance=..." */
static void add_target(const struct asked *a, const char *path, struct sf_buf *out)
{
    sf_buf_print(out, "%s?service=", path);
    sf_client_encode(out, sf_str_from(control_command_service_of(a)));
    sf_ask_param(out, "instance", a->instance);
}

/* ---- documents ---- */

static enum sf_err write_document(const struct asked *a, struct sf_buf *out, struct sf_why *why)
{
    uint32_t budget;
    int n = 0;
    bool has_cpu = a->rate != NOT_GIVEN, has_wall = a->wall_rate != NOT_GIVEN;
    if (!has_cpu && !has_wall && !a->budget)
        return sf_fail(why, SF_ERR_INPUT, "specify what to set: --rate, --wall-rate or --budget");
    if (a->budget && !sf_setting_percent_parse(sf_str_from(a->budget), &budget))
        return sf_fail(why, SF_ERR_INPUT, "--budget expects a percentage such as 1%%");
    sf_buf_add_u8(out, '{');
    if (has_cpu || has_wall) {
        sf_buf_print(out, "\"rate\":{");
        if (has_cpu)
            n += (sf_buf_print(out, "\"cpu\":%" PRIu64, a->rate), 1);
        if (has_wall)
            sf_buf_print(out, "%s\"wall\":%" PRIu64, n ? "," : "", a->wall_rate);
        sf_buf_print(out, "}");
        n = 1;
    }
    if (a->budget)
        sf_buf_print(out, "%s\"budget\":\"%g%%\"", n ? "," : "", budget / 100.0);
    if (a->for_ns)
        sf_buf_print(out, ",\"for\":\"%" PRId64 "s\"", a->for_ns / SF_NS_PER_S);
    sf_buf_add_u8(out, '}');
    return SF_OK;
}

/* "cpu 200 Hz, wall 50 Hz" */
static void show_rates(struct sf_json *j, struct sf_buf *out)
{
    sf_str key;
    bool has_one = false;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        sf_buf_print(out, "%s%.*s %" PRIu64 " Hz", has_one ? ", " : "", SF_STR_ARG(key),
                     sf_json_u64(j));
        has_one = true;
    }
}

/* "cpu until 2026-01-01T10:00:00Z, wall without an end" */
static void show_ends(struct sf_json *j, struct sf_buf *out)
{
    sf_str key;
    bool has_one = false;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        uint64_t ms = sf_json_u64(j);
        sf_buf_print(out, "%s%.*s %s", has_one ? ", " : "", SF_STR_ARG(key),
                     ms ? "until " : "without an end");
        if (ms)
            sf_time_text_add(out, ms * SF_NS_PER_MS);
        has_one = true;
    }
}

/* The members of an object on one line: "enabled true, rate cpu 200 Hz, rates end at ...". */
static void show_object(struct sf_json *j, struct sf_buf *out)
{
    sf_str key;
    size_t begin = out->len;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        const char *from;
        if (sf_str_eq(key, SF_STR("service")) || sf_str_eq(key, SF_STR("instance"))) {
            sf_json_skip(j);
            continue;
        }
        sf_buf_add_str(out, out->len > begin ? SF_STR(", ") : SF_STR_NONE);
        if (sf_str_eq(key, SF_STR("rate"))) {
            sf_buf_print(out, "rate ");
            show_rates(j, out);
        } else if (sf_str_eq(key, SF_STR("rateUntilMs"))) {
            sf_buf_print(out, "rates end at ");
            sf_time_text_add(out, sf_json_u64(j) * SF_NS_PER_MS);
        } else if (sf_str_eq(key, SF_STR("rateUntil"))) {
            show_ends(j, out);
        } else {
            sf_json_peek(j);
            from = j->at;
            sf_json_skip(j);
            sf_buf_print(out, "%.*s %.*s", SF_STR_ARG(key), (int)(j->at - from), from);
        }
    }
    if (out->len == begin)
        sf_buf_print(out, "as configured");
}

static enum sf_err show_state(const struct sf_buf *answer, struct sf_buf *out, struct sf_why *why)
{
    struct sf_arena req = {0};
    struct sf_json j;
    sf_str key, service = SF_STR_NONE, instance = SF_STR_NONE;
    enum sf_err err;
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_no_memory(why, "the answer");
    sf_json_init(&j, sf_buf_str(answer), &req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("service"))) {
                service = sf_json_str(&j);
            } else if (sf_str_eq(key, SF_STR("instance"))) {
                instance = sf_json_str(&j);
            } else if (sf_str_eq(key, SF_STR("effective"))) {
                sf_buf_print(out, "%.*s/%.*s: ", SF_STR_ARG(service), SF_STR_ARG(instance));
                show_object(&j, out);
                sf_buf_add_u8(out, '\n');
            } else if (sf_str_eq(key, SF_STR("collectors"))) {
                sf_buf_print(out, "collectors: %" PRIu64 "\n", sf_json_u64(&j));
            } else {
                sf_json_skip(&j);
            }
        }
    }
    err = sf_json_why(&j, "the server's answer", why);
    sf_arena_done(&req);
    return err;
}

static enum sf_err document(const struct asked *a, struct sf_buf *out, struct sf_why *why)
{
    const char *what = a->args.words[0];
    struct sf_buf path = {0}, body = {0}, answer = {0};
    enum sf_err err = SF_OK;
    add_target(a, "/api/v1/profiling", &path);
    sf_buf_add_u8(&path, 0);
    if (!strcmp(what, "on") || !strcmp(what, "off"))
        sf_buf_print(&body, "{\"enabled\":%s}", what[1] == 'n' ? "true" : "false");
    else if (!strcmp(what, "set"))
        err = write_document(a, &body, why);
    if (!err && (!sf_buf_ok(&path) || !sf_buf_ok(&body)))
        err = sf_no_memory(why, "the request");
    if (!err && !strcmp(what, "get"))
        err = sf_client_get(&a->client, (char *)path.p, "application/json", &answer, why);
    else if (!err && !strcmp(what, "reset"))
        err = sf_client_delete(&a->client, (char *)path.p, &answer, why);
    else if (!err)
        err = sf_client_post(&a->client, (char *)path.p, "application/json", sf_buf_bytes(&body),
                             &answer, why);
    if (!err && a->form == SF_OUTPUT_JSON)
        sf_buf_add_str(out, sf_buf_str(&answer));
    else if (!err)
        err = show_state(&answer, out, why);
    sf_buf_done(&path);
    sf_buf_done(&body);
    sf_buf_done(&answer);
    return err;
}

/* ---- lists ---- */

static enum sf_err control_command_list(const struct asked *a, const char *path, struct sf_buf *out,
                                        struct sf_why *why)
{
    struct sf_buf to = {0};
    enum sf_err err;
    sf_buf_print(&to, "%s?format=%s", path, a->form == SF_OUTPUT_JSON ? "json" : "text");
    sf_ask_param(&to, "service", control_command_service_of(a));
    sf_buf_add_u8(&to, 0);
    err = sf_buf_ok(&to) ? sf_client_get(&a->client, (char *)to.p, "*/*", out, why)
                         : sf_no_memory(why, "the request");
    sf_buf_done(&to);
    return err;
}

/* ---- captures ---- */

struct capture {
    char id[17], state[16], from[24], until[24];
    uint64_t left_s, n, n_done;
};

static void control_command_copy(char *to, size_t cap, sf_str from)
{
    snprintf(to, cap, "%.*s", SF_STR_ARG(from));
}

static enum sf_err control_command_read_capture(const struct sf_buf *answer, struct capture *out,
                                                struct sf_why *why)
{
    struct sf_arena req = {0};
    struct sf_json j;
    sf_str key;
    enum sf_err err;
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_no_memory(why, "the answer");
    sf_json_init(&j, sf_buf_str(answer), &req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("id")))
                control_command_copy(out->id, sizeof(out->id), sf_json_str(&j));
            else if (sf_str_eq(key, SF_STR("state")))
                control_command_copy(out->state, sizeof(out->state), sf_json_str(&j));
            else if (sf_str_eq(key, SF_STR("fromNs")))
                control_command_copy(out->from, sizeof(out->from), sf_json_str(&j));
            else if (sf_str_eq(key, SF_STR("untilNs")))
                control_command_copy(out->until, sizeof(out->until), sf_json_str(&j));
            else if (sf_str_eq(key, SF_STR("secondsLeft")))
                out->left_s = sf_json_u64(&j);
            else if (sf_str_eq(key, SF_STR("collectors")))
                out->n = sf_json_u64(&j);
            else if (sf_str_eq(key, SF_STR("collectorsDone")))
                out->n_done = sf_json_u64(&j);
            else
                sf_json_skip(&j);
        }
    }
    err = sf_json_why(&j, "the server's answer", why);
    sf_arena_done(&req);
    return err;
}

static enum sf_err control_command_begin(const struct asked *a, struct capture *out,
                                         struct sf_why *why)
{
    struct sf_buf path = {0}, answer = {0};
    enum sf_err err;
    add_target(a, "/api/v1/profiling/capture", &path);
    sf_buf_print(&path, "&wait=false&seconds=%" PRIu64 "&rate=%" PRIu64, a->seconds,
                 a->rate != NOT_GIVEN ? a->rate : CAPTURE_HZ);
    sf_ask_param(&path, "type", a->type);
    sf_ask_param(&path, "format", a->format && strcmp(a->format, "text") != 0 ? a->format : NULL);
    sf_buf_add_u8(&path, 0);
    err = sf_buf_ok(&path) ? sf_client_post(&a->client, (char *)path.p, "application/json",
                                            (sf_bytes){0}, &answer, why)
                           : sf_no_memory(why, "the request");
    if (!err)
        err = control_command_read_capture(&answer, out, why);
    sf_buf_done(&path);
    sf_buf_done(&answer);
    return err;
}

static void control_command_show(const struct asked *a, const struct capture *c)
{
    char left[48] = "waiting for the profile";
    if (c->left_s)
        snprintf(left, sizeof(left), "%" PRIu64 " s left", c->left_s);
    fprintf(stderr, "\r%s: %s, %" PRIu64 " of %" PRIu64 " collectors done\033[K",
            control_command_service_of(a), left, c->n_done, c->n);
}

static enum sf_err control_command_wait_for(const struct asked *a, struct capture *c,
                                            struct sf_why *why)
{
    int64_t end_ns = sf_clock_mono_ns() +
                     (int64_t)(a->seconds + GRACE_S) * SF_NS_PER_S; /* the server bounds it */
    bool is_shown = isatty(STDERR_FILENO);
    char path[80];
    enum sf_err err = SF_OK;
    snprintf(path, sizeof(path), "/api/v1/profiling/capture/%s", c->id);
    while (!err && !strcmp(c->state, "running") && sf_clock_mono_ns() < end_ns) {
        struct sf_buf answer = {0};
        if (is_shown)
            control_command_show(a, c);
        sf_clock_sleep_ms(500);
        err = sf_client_get(&a->client, path, "application/json", &answer, why);
        if (!err)
            err = control_command_read_capture(&answer, c, why);
        sf_buf_done(&answer);
    }
    if (is_shown)
        fprintf(stderr, "\r\033[K");
    if (!err && !c->from[0])
        err = sf_fail(why, SF_ERR_DEADLINE, "no collector sent the capture in time");
    return err;
}

/* Fetches the captured profile of one instance ("": of those whose profiles name none), or, with
 * NULL, of all instances of the service. */
static enum sf_err control_command_fetch(const struct asked *a, const struct capture *c,
                                         const char *instance, struct sf_buf *out,
                                         struct sf_why *why)
{
    struct sf_buf path = {0}, selector = {0};
    enum sf_err err;
    sf_buf_print(&path, "/api/v1/profile?from=%s&until=%s", c->from, c->until);
    sf_ask_param(&path, "type", a->type);
    sf_ask_param(&path, "format",
                 a->format && strcmp(a->format, "text") != 0 ? a->format
                 : a->to && !a->format                       ? "pprof"
                                                             : "flamegraph");
    if (instance) {
        struct sf_json_writer w = sf_json_writer_init(&selector);
        sf_buf_print(&selector, "{service_name=");
        sf_json_write_str(&w, sf_str_from(control_command_service_of(a)));
        w.needs_comma = false;
        sf_buf_print(&selector, ",service.instance.id=");
        sf_json_write_str(&w, sf_str_from(instance));
        sf_buf_print(&selector, "}");
        sf_buf_add_u8(&selector, 0);
        sf_ask_param(&path, "selector", sf_buf_ok(&selector) ? (char *)selector.p : NULL);
    } else {
        sf_ask_param(&path, "service", control_command_service_of(a));
    }
    sf_buf_add_u8(&path, 0);
    err = sf_buf_ok(&path) && sf_buf_ok(&selector)
              ? sf_client_get(&a->client, (char *)path.p, "*/*", out, why)
              : sf_no_memory(why, "the request");
    sf_buf_done(&path);
    sf_buf_done(&selector);
    return err;
}

static enum sf_err capture(const struct asked *a, struct sf_buf *out, struct sf_why *why)
{
    struct capture c = {0};
    enum sf_err err = control_command_begin(a, &c, why);
    if (!err)
        err = control_command_wait_for(a, &c, why);
    if (err)
        return err;
    if (strcmp(c.state, "done") != 0)
        sf_answer_note("control", "some collectors did not send their part in time");
    err = control_command_fetch(a, &c, a->instance, out, why);
    if (err == SF_ERR_NOT_FOUND && a->instance) { /* maybe its profiles do not name it */
        sf_buf_reset(out);
        err = control_command_fetch(a, &c, "", out, why);
    }
    if (err == SF_ERR_NOT_FOUND)
        sf_fail(why, err,
                "no samples were captured: the program used no CPU time, or its host is overloaded "
                "and profiling pauses (profiling.load_shedding); `spanflame control collectors` "
                "says which");
    return err;
}

/* ---- the command ---- */

static enum sf_err control_command_write_file(const char *path, struct sf_buf *out,
                                              struct sf_why *why)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(out->p, 1, out->len, f) == out->len;
    if (f && fclose(f))
        ok = false;
    if (!ok)
        return sf_fail(why, SF_ERR_IO, "%s: cannot be written", path);
    sf_buf_reset(out);
    sf_buf_print(out, "wrote %s\n", path);
    return SF_OK;
}

static bool control_command_is_one_of(const char *word, const char *words)
{
    sf_str rest = sf_str_from(words), one;
    while (sf_str_split_next(&rest, ' ', &one)) {
        if (sf_str_eq(one, sf_str_from(word)))
            return true;
    }
    return false;
}

/* The flags of an action; others would be ignored. */
static const char *control_command_flags_of(const char *what)
{
    if (!strcmp(what, "set"))
        return "instance rate wall-rate budget for output";
    if (!strcmp(what, "capture"))
        return "instance rate seconds type format to";
    return control_command_is_one_of(what, "collectors audit") ? "output" : "instance output";
}

static int control_command_run(struct asked *a)
{
    const char *what = a->args.n_words ? a->args.words[0] : "";
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err;
    bool has_service = a->args.n_words == 2;
    if (what[0] && !sf_args_allow(&a->args, what, control_command_flags_of(what)))
        return 2;
    if (control_command_is_one_of(what, "get on off set reset") && has_service)
        err = document(a, &out, &why);
    else if (!strcmp(what, "capture") && has_service)
        err = capture(a, &out, &why);
    else if (!strcmp(what, "collectors") && a->args.n_words <= 2)
        err = control_command_list(a, "/api/v1/collectors", &out, &why);
    else if (!strcmp(what, "audit") && a->args.n_words <= 2)
        err = control_command_list(a, "/api/v1/profiling/audit", &out, &why);
    else
        return sf_answer_usage(
            "control",
            "specify an action: get, on, off, set, reset or capture SERVICE, collectors or audit");
    if (!err && a->to && !strcmp(what, "capture"))
        err = control_command_write_file(a->to, &out, &why);
    return sf_answer_end("control", err, &out, &why);
}

int sf_control_command_run(int argc, char **argv)
{
    struct asked a = {
        .type = "cpu", .rate = NOT_GIVEN, .wall_rate = NOT_GIVEN, .seconds = CAPTURE_S};
    const struct sf_flag flags[] = {
        {"instance", SF_FLAG_STR, &a.instance, "ID", "one instance of the service (default: all)"},
        {"rate", SF_FLAG_U64, &a.rate, "HZ",
         "set: CPU samples per second; capture: samples per second"},
        {"wall-rate", SF_FLAG_U64, &a.wall_rate, "HZ",
         "set: samples per second for each waiting thread"},
        {"budget", SF_FLAG_STR, &a.budget, "SHARE",
         "set: maximum CPU share of profiling itself, such as 1%"},
        {"for", SF_FLAG_DURATION, &a.for_ns, "TIME",
         "set: how long the rates apply (raised rates: default 10m, at most 1h)"},
        {"seconds", SF_FLAG_U64, &a.seconds, "N", "capture: its length (default 30)"},
        {"type", SF_FLAG_STR, &a.type, "TYPE", "capture: cpu (default) or wall"},
        {"format", SF_FLAG_STR, &a.format, "FORM",
         "capture: text (default), pprof, folded, json, ..."},
        {"to", SF_FLAG_STR, &a.to, "FILE",
         "capture: write the profile to this file, as pprof unless --format is given"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text (default) or json; not for capture"},
        SF_CLIENT_FLAGS(a.client),
    };
    a.args = (struct sf_args){
        .command = "control",
        .usage = "get|on|off|set|reset|capture SERVICE | collectors [SERVICE] | audit [SERVICE]",
        .summary = "Switch the profiling of running programs on and off, change its rate, or "
                   "capture a profile now.",
        .details =
            "Programs that use the library or run under `spanflame record` poll the server for "
            "these settings and apply them within seconds; `*` means all services. A setting for "
            "an instance overrides that for its service, which overrides `*`.\n\n"
            "on and off switch profiling; set changes rates and the budget; reset removes all "
            "settings of the target; capture samples for some seconds, even if profiling is off, "
            "and shows the profile. collectors lists the connected programs with their applied "
            "settings, profiling overhead and errors; audit lists past changes with user, time and "
            "address.\n\n"
            "With tokens, changes need the scope control.",
        .examples = "spanflame control off shop\n"
                    "spanflame control set shop --rate 200 --for 10m\n"
                    "spanflame control capture shop --seconds 30 --rate 1000 --to shop.pb.gz\n"
                    "spanflame control collectors\n",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0])};
    switch (sf_args_parse(&a.args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    a.form = sf_answer_output("control", a.output, false);
    if (a.form == SF_OUTPUT_BAD)
        return 2;
    return control_command_run(&a);
}
