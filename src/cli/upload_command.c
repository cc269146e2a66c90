#include "cli/upload_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/ask.h"
#include "cli/profile_source.h"
#include "decode/profile_format.h"
#include "os/terminal.h"
#include "render/units.h"
#include "wire/json.h"
#include "wire/json_write.h"

/* The server takes 64 MiB at once; recordings are cut between their chunks before that. */
enum { MAX_PIECE_LEN = 48 << 20, JFR_HEAD_LEN = 68, JFR_SIZE_AT = 8, ARENA_LEN = 1 << 20 };

struct asked {
    struct sf_client client;
    const char *service, *type, *trace, *span, *format;
    struct sf_flag_list labels;
    const char *output;
    enum sf_output form;
    struct sf_buf path;
};

struct taken { /* counts in the server's answer */
    uint64_t n_profiles, n_series, n_samples, n_dropped;
};

/* ---- progress ---- */

struct progress {
    const char *name;
    uint64_t before_len, all_len; /* lengths for the progress of the file */
    int last_percent;
};

static void show_progress(void *arg, uint64_t sent_len, __attribute__((unused)) uint64_t len)
{
    struct progress *p = arg;
    struct sf_buf line = {0};
    uint64_t done = p->before_len + sent_len;
    int percent = p->all_len ? (int)(done * 100 / p->all_len) : 100;
    if (percent == p->last_percent)
        return;
    p->last_percent = percent;
    sf_buf_print(&line, "\r%s: ", p->name);
    sf_units_bytes(&line, done);
    sf_buf_add_str(&line, SF_STR(" of "));
    sf_units_bytes(&line, p->all_len);
    sf_buf_print(&line, ", %d %%\033[K", percent);
    if (sf_buf_ok(&line))
        fprintf(stderr, "%.*s", SF_STR_ARG(sf_buf_str(&line)));
    fflush(stderr);
    sf_buf_done(&line);
}

/* ---- splitting large files ---- */

/* As many whole chunks of a JFR recording as fit in one request; all of any other file. */
static size_t piece_len(sf_str rest)
{
    size_t len = 0;
    if (rest.len <= MAX_PIECE_LEN || !sf_str_starts(rest, (sf_str){"FLR\0", 4}))
        return rest.len;
    while (rest.len - len >= JFR_HEAD_LEN &&
           sf_str_starts(sf_str_from_at(rest, len), (sf_str){"FLR\0", 4})) {
        uint64_t chunk = sf_load_u64be((const uint8_t *)rest.p + len + JFR_SIZE_AT);
        if (chunk < JFR_HEAD_LEN || chunk > rest.len - len)
            break;
        if (len && len + chunk > MAX_PIECE_LEN)
            return len;
        len += (size_t)chunk;
    }
    return len ? len : rest.len;
}

static enum sf_err read_taken(sf_str body, struct taken *io, struct sf_why *why)
{
    struct sf_arena req = {0};
    struct sf_json j;
    sf_str key;
    enum sf_err err;
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    sf_json_init(&j, body, &req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("profiles")))
                io->n_profiles += sf_json_u64(&j);
            else if (sf_str_eq(key, SF_STR("series")))
                io->n_series += sf_json_u64(&j);
            else if (sf_str_eq(key, SF_STR("samples")))
                io->n_samples += sf_json_u64(&j);
            else if (sf_str_eq(key, SF_STR("droppedSamples")))
                io->n_dropped += sf_json_u64(&j);
            else
                sf_json_skip(&j);
        }
    }
    err = sf_json_why(&j, "the server's answer", why);
    sf_arena_done(&req);
    return err;
}

static enum sf_err upload_command_send(const struct asked *a, const char *name, sf_str rest,
                                       struct taken *out, struct sf_why *why)
{
    struct sf_client client = a->client;
    struct progress p = {.name = name, .all_len = rest.len, .last_percent = -1};
    bool is_shown = sf_terminal_is(STDERR_FILENO);
    enum sf_err err = SF_OK;
    if (is_shown) {
        client.progress = show_progress;
        client.progress_arg = &p;
    }
    do {
        size_t len = piece_len(rest);
        struct sf_buf answer = {0};
        err = sf_client_post(&client, (char *)a->path.p, "application/octet-stream",
                             sf_str_bytes(sf_str_part(rest, 0, len)), &answer, why);
        if (!err)
            err = read_taken(sf_buf_str(&answer), out, why);
        sf_buf_done(&answer);
        rest = sf_str_from_at(rest, len);
        p.before_len += len;
    } while (!err && rest.len);
    if (is_shown)
        fprintf(stderr, "\r\033[K");
    return err;
}

/* ---- files ---- */

static void say_taken(const char *word, const struct taken *t, struct sf_buf *out)
{
    sf_buf_print(out, "%s: %" PRIu64 " profile%s, %" PRIu64 " series, %" PRIu64 " sample%s", word,
                 t->n_profiles, t->n_profiles == 1 ? "" : "s", t->n_series, t->n_samples,
                 t->n_samples == 1 ? "" : "s");
    if (t->n_dropped)
        sf_buf_print(out, "; %" PRIu64 " could not be read", t->n_dropped);
    sf_buf_add_u8(out, '\n');
}

static void write_taken(const char *word, const struct taken *t, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("file"), sf_str_from(word));
    sf_json_write_key_u64(&w, SF_STR("profiles"), t->n_profiles);
    sf_json_write_key_u64(&w, SF_STR("series"), t->n_series);
    sf_json_write_key_u64(&w, SF_STR("samples"), t->n_samples);
    sf_json_write_key_u64(&w, SF_STR("droppedSamples"), t->n_dropped);
    sf_json_write_object_end(&w);
    sf_buf_add_u8(out, '\n');
}

static enum sf_err upload_command_upload(const struct asked *a, const char *word,
                                         struct sf_buf *out, struct sf_why *why)
{
    struct sf_buf bytes = {0};
    struct taken taken = {0};
    struct sf_why inner = {0};
    enum sf_err err = sf_profile_source_bytes(word, &bytes, &inner);
    bool is_unknown = false;
    if (!err && bytes.len == 0)
        is_unknown = true;
    else if (!err)
        err = upload_command_send(a, word, sf_buf_str(&bytes), &taken, &inner);
    /* Use a message of our own: the server's, with its URL and status, would be truncated. */
    if ((err == SF_ERR_INPUT || err == SF_ERR_UNSUPPORTED) && !a->format &&
        !sf_str_starts(sf_buf_str(&bytes), SF_STR("\x1f\x8b")) &&
        !sf_str_starts(sf_buf_str(&bytes), SF_STR("\x28\xb5\x2f\xfd")))
        is_unknown = !sf_profile_format_find(sf_buf_str(&bytes));
    if (is_unknown) {
        fprintf(stderr, "spanflame upload: %s is not sent\n", word);
        err = sf_profile_format_refuse(sf_buf_str(&bytes), why);
    }
    sf_buf_done(&bytes);
    if (is_unknown)
        return err;
    if (err)
        return sf_fail(why, err, "%.80s: %.200s", word, inner.text);
    if (a->form == SF_OUTPUT_JSON)
        write_taken(word, &taken, out);
    else
        say_taken(word, &taken, out);
    return SF_OK;
}

static bool upload_command_make_path(struct asked *a)
{
    sf_buf_add_str(&a->path, SF_STR("/api/v1/profile?"));
    sf_ask_param(&a->path, "service", a->service);
    sf_ask_param(&a->path, "type", a->type);
    sf_ask_param(&a->path, "trace_id", a->trace);
    sf_ask_param(&a->path, "span_id", a->span);
    sf_ask_param(&a->path, "format", a->format);
    for (size_t i = 0; i < a->labels.n; i++)
        sf_ask_param(&a->path, "label", a->labels.items[i]);
    sf_buf_add_u8(&a->path, 0);
    return sf_buf_ok(&a->path);
}

int sf_upload_command_run(int argc, char **argv)
{
    struct asked a = {.client = {.timeout_ns = 5 * SF_NS_PER_MIN}};
    struct sf_flag flags[] = {
        {"service", SF_FLAG_STR, &a.service, "NAME",
         "service of the profile, if the file does not contain it"},
        {"type", SF_FLAG_STR, &a.type, "TYPE",
         "profile type of a text format: cpu, alloc_space, ..."},
        {"trace-id", SF_FLAG_STR, &a.trace, "ID", "trace id to attach to every sample"},
        {"span-id", SF_FLAG_STR, &a.span, "ID", "span id to attach to every sample"},
        {"label", SF_FLAG_LIST, &a.labels, "KEY=VALUE", "label of the series; repeatable"},
        {"input", SF_FLAG_STR, &a.format, "FORMAT",
         "input format, if it is not recognized by content: trie, lines, folded, ..."},
        {"output", SF_FLAG_STR, &a.output, "FORM",
         "text or json, one line per file (default text)"},
        SF_CLIENT_FLAGS(a.client),
    };
    struct sf_args args = {
        .command = "upload",
        .usage = "FILE|URL... [--service NAME] [--label KEY=VALUE]...",
        .summary = "Send profiles to a server.",
        .details =
            "Accepts every file format of `spanflame flame`; - is standard input. A URL is fetched "
            "first, with a countdown while the profile is being taken. A file is acknowledged when "
            "it is on the server's disk. With --trace-id or --span-id, the profile belongs to one "
            "request: it is shown for that trace or span and left out of service totals. "
            "The command stops at the first file that cannot be sent; files sent before are kept.",
        .examples = "spanflame upload cpu.pb.gz --service order-service --label env=prod\n"
                    "spanflame upload recording.jfr --service cart --label commit=abc123\n"
                    "spanflame upload 'http://localhost:6060/debug/pprof/profile?seconds=30' "
                    "--service shop\n"
                    "spanflame upload slow.folded --service shop --span-id eee19b7ec3c1b174",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words == 0)
        return sf_answer_usage("upload", "name at least one profile: a file, a URL, or - for "
                                         "standard input");
    for (size_t i = 0; i < a.labels.n; i++) {
        const char *equals = strchr(a.labels.items[i], '=');
        if (!equals || equals == a.labels.items[i])
            return sf_answer_usage("upload", "--label is KEY=VALUE");
    }
    a.form = sf_answer_output("upload", a.output, false);
    if (a.form == SF_OUTPUT_BAD)
        return 2;
    err = upload_command_make_path(&a) ? SF_OK : sf_fail(&why, SF_ERR_NOMEM, "no memory");
    for (size_t i = 0; !err && i < args.n_words; i++) {
        err = upload_command_upload(&a, args.words[i], &out, &why);
        if (!err && sf_answer_write(&out)) /* each file is reported when it is done */
            err = sf_fail(&why, SF_ERR_IO, "standard output was closed");
        out = (struct sf_buf){0};
    }
    sf_buf_done(&a.path);
    return err ? sf_answer_end("upload", err, &out, &why) : 0;
}
