/* redact_command.c - the command `redact --dry-run`: decodes a file of spans or a profile as the
 * server would, runs the redactor with a callback for each change, and prints place, key and rule.
 * Of a secret at most the first two characters are shown. */
#include "app/redact_command.h"

#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/answer.h"
#include "decode/otlp/otlp_trace.h"
#include "decode/profile_format.h"
#include "intake/redact.h"
#include "os/clock.h"
#include "os/file.h"
#include "wire/inflate.h"
#include "wire/json_write.h"

enum { PIECE_SPANS = 16384 };

struct run {
    const struct sf_redactor *redactor;
    const struct sf_span_batch *piece; /* the current batch; NULL: a profile */
    struct sf_arena redacted;
    uint64_t n_spans, n_changed_spans, n_changes;
    uint32_t last_span; /* last changed span of the batch */
    struct sf_buf *out;
    struct sf_json_writer *json; /* NULL: text */
};

/* Escapes text from outside for a terminal, so that it cannot send control sequences. */
static void add_safe(struct sf_buf *out, sf_str text)
{
    for (size_t i = 0; i < text.len && i < 120; i++) {
        char c = text.p[i];
        sf_buf_add_u8(out, c >= ' ' && c <= '~' ? (uint8_t)c : '?');
    }
    if (text.len > 120)
        sf_buf_print(out, "...");
}

/* Enough to recognise a known secret, too little to reveal it. */
static sf_str hint_of(sf_str secret)
{
    return sf_str_part(secret, 0, secret.len >= 16 ? 2 : secret.len >= 8 ? 1 : 0);
}

static void redact_command_add_text(struct run *run, const struct sf_redact_change *change,
                                    const char *span_id)
{
    struct sf_buf *out = run->out;
    if (span_id)
        sf_buf_print(out, "span %s: ", span_id);
    else if (!run->piece)
        sf_buf_print(out, "row %u: ", change->span);
    else if (strncmp(change->place, "resource", 8) == 0)
        sf_buf_print(out, "resource %u: ", change->resource);
    sf_buf_print(out, "%s", change->place);
    if (change->key.len) {
        sf_buf_print(out, "[\"");
        add_safe(out, change->key);
        sf_buf_print(out, "\"]");
    }
    sf_buf_print(out, "  %s  ", change->rule);
    add_safe(out, hint_of(change->before));
    sf_buf_print(out, "*** (%zu bytes)\n", change->before.len);
}

static void redact_command_add_json(struct run *run, const struct sf_redact_change *change,
                                    const char *span_id)
{
    struct sf_json_writer *j = run->json;
    sf_json_write_object(j);
    if (span_id)
        sf_json_write_key_str(j, SF_STR("spanId"), sf_str_from(span_id));
    else if (!run->piece)
        sf_json_write_key_u64(j, SF_STR("row"), change->span);
    else if (strncmp(change->place, "resource", 8) == 0)
        sf_json_write_key_u64(j, SF_STR("resource"), change->resource);
    sf_json_write_key_str(j, SF_STR("place"), sf_str_from(change->place));
    if (change->key.len)
        sf_json_write_key_str(j, SF_STR("key"), change->key);
    sf_json_write_key_str(j, SF_STR("rule"), sf_str_from(change->rule));
    sf_json_write_key_str(j, SF_STR("begins"), hint_of(change->before));
    sf_json_write_key_u64(j, SF_STR("bytes"), change->before.len);
    sf_json_write_object_end(j);
}

static void see_change(void *arg, const struct sf_redact_change *change)
{
    struct run *run = arg;
    char id[17];
    const char *span_id = NULL;

    run->n_changes++;
    if (run->piece && change->span != UINT32_MAX) {
        if (change->span != run->last_span)
            run->n_changed_spans++;
        run->last_span = change->span;
        sf_span_id_render(run->piece->spans[change->span].span_id, id);
        span_id = id;
    }
    (run->json ? redact_command_add_json : redact_command_add_text)(run, change, span_id);
}

static enum sf_err redact_command_see_piece(void *arg, const struct sf_span_batch *piece,
                                            struct sf_why *why)
{
    struct run *run = arg;
    struct sf_redact_watch watch = {see_change, run};
    struct sf_span_batch changed;
    uint64_t n;

    run->piece = piece;
    run->last_span = UINT32_MAX;
    run->n_spans += piece->n_spans;
    sf_arena_reset(&run->redacted);
    return sf_redact_spans(run->redactor, piece, &run->redacted, &watch, &changed, &n, why);
}

/* Decompresses gzip and zstd, recognised by their first bytes. */
static enum sf_err redact_command_read_body(const char *path, size_t max_len, struct sf_buf *out,
                                            struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf raw = {0};
    struct sf_inflate *inflate = NULL;
    enum sf_err err = sf_file_open_path(path, &file, why);
    bool is_gzip, is_zstd;

    if (!err)
        err = sf_file_read_all(&file, max_len, &raw, why);
    is_gzip = !err && raw.len > 2 && raw.p[0] == 0x1f && raw.p[1] == 0x8b;
    is_zstd = !err && raw.len > 4 && sf_load_u32le(raw.p) == 0xfd2fb528;
    if (is_gzip || is_zstd) {
        inflate = sf_inflate_new();
        err = inflate ? sf_inflate_bytes(inflate, is_gzip ? SF_INFLATE_GZIP : SF_INFLATE_ZSTD,
                                         sf_buf_bytes(&raw), max_len, out, why)
                      : sf_fail(why, SF_ERR_NOMEM, "no memory");
        sf_inflate_free(inflate);
    } else if (!err) {
        *out = raw;
        raw = (struct sf_buf){0};
    }
    sf_buf_done(&raw);
    sf_file_close(&file);
    return err;
}

static bool redact_command_is_json(sf_str body)
{
    body = sf_str_trim(body);
    return body.len && body.p[0] == '{';
}

static void redact_command_add_sums(struct run *run, const struct sf_otlp_rejects *rejects)
{
    struct sf_json_writer *j = run->json;
    if (j) {
        sf_json_write_array_end(j);
        sf_json_write_key_u64(j, SF_STR("spans"), run->n_spans);
        sf_json_write_key_u64(j, SF_STR("changedSpans"), run->n_changed_spans);
        sf_json_write_key_u64(j, SF_STR("refusedSpans"), rejects->n_rejected);
        sf_json_write_object_end(j);
        sf_buf_add_u8(run->out, '\n');
        return;
    }
    sf_buf_print(run->out, "%llu changes in %llu of %llu spans; nothing was written\n",
                 (unsigned long long)run->n_changes, (unsigned long long)run->n_changed_spans,
                 (unsigned long long)run->n_spans);
    if (rejects->n_rejected)
        sf_buf_print(run->out, "%llu further spans would be refused: %s\n",
                     (unsigned long long)rejects->n_rejected, rejects->first);
}

static enum sf_err count_piece(void *arg, const struct sf_span_batch *piece, struct sf_why *why)
{
    (void)why;
    *(uint64_t *)arg += piece->n_spans;
    return SF_OK;
}

/* Whether the body contains spans rather than a profile. Both may be protobuf without a signature:
 * it is spans if any can be decoded. */
static bool redact_command_is_traces(sf_str body, struct sf_arena *tmp)
{
    struct sf_otlp_limits limits = {SF_LIMIT_ATTRS, SF_LIMIT_VALUE_LEN};
    struct sf_otlp_rejects rejects = {0};
    uint64_t n = 0;
    enum sf_err err = sf_otlp_trace_decode_pieces(sf_str_bytes(body), redact_command_is_json(body),
                                                  &limits, PIECE_SPANS, tmp, count_piece, &n,
                                                  &rejects, NULL);
    sf_arena_reset(tmp);
    return !err && n > 0;
}

static enum sf_err see_traces(struct run *run, const struct sf_config *config, sf_str body,
                              struct sf_arena *decoded, struct sf_why *why)
{
    struct sf_otlp_limits limits = {(uint32_t)config->limits.attrs,
                                    (uint32_t)config->limits.value_len};
    struct sf_otlp_rejects rejects = {0};
    enum sf_err err = sf_otlp_trace_decode_pieces(sf_str_bytes(body), redact_command_is_json(body),
                                                  &limits, PIECE_SPANS, decoded,
                                                  redact_command_see_piece, run, &rejects, why);
    if (!err)
        redact_command_add_sums(run, &rejects);
    return err;
}

static enum sf_err see_profile(struct run *run, sf_str format, sf_str body,
                               struct sf_arena *decoded, struct sf_why *why)
{
    struct sf_profile_hint hint = {.format = format, .now_ns = sf_clock_wall_ns()};
    struct sf_redact_watch watch = {see_change, run};
    struct sf_profile_batch batch = {0};
    const char *found = format.len ? NULL : sf_profile_format_find(body);
    uint64_t n = 0;
    enum sf_err err = sf_profile_format_decode(body, &hint, decoded, &batch, why);
    if (!err)
        err = sf_redact_profiles(run->redactor, &batch, &run->redacted, &watch, &n, why);
    if (err)
        return err;
    if (found)
        format = sf_str_from(found);
    if (run->json) {
        sf_json_write_array_end(run->json);
        sf_json_write_key_str(run->json, SF_STR("format"), format);
        sf_json_write_key_u64(run->json, SF_STR("functions"), batch.n_functions);
        sf_json_write_key_u64(run->json, SF_STR("series"), batch.n_series);
        sf_json_write_key_u64(run->json, SF_STR("samples"), batch.n_samples);
        sf_json_write_object_end(run->json);
        sf_buf_add_u8(run->out, '\n');
        return SF_OK;
    }
    sf_buf_print(run->out,
                 "%llu changes in a profile (%.*s) of %u functions, %u series, %u samples; nothing "
                 "was written\n",
                 (unsigned long long)run->n_changes, SF_STR_ARG(format), batch.n_functions,
                 batch.n_series, batch.n_samples);
    return SF_OK;
}

static enum sf_err dry_run(const struct sf_config *config, const char *path, const char *format,
                           bool is_wanted_json, struct sf_buf *out, struct sf_why *why)
{
    struct sf_redactor *redactor = NULL;
    struct sf_arena decoded = {0};
    struct sf_buf body = {0};
    struct sf_json_writer json = sf_json_writer_init(out);
    struct run run = {.out = out, .json = is_wanted_json ? &json : NULL};
    enum sf_err err = sf_config_redactor(config, &redactor, why);

    if (!err && !redactor)
        err = sf_fail(why, SF_ERR_INPUT, "redact.enabled is false: nothing would change");
    if (!err)
        err = redact_command_read_body(path, config->limits.inflated_len, &body, why);
    if (!err && (!sf_arena_init(&decoded, SF_LIMIT_ARENA_LEN) ||
                 !sf_arena_init(&run.redacted, SF_LIMIT_ARENA_LEN)))
        err = sf_fail(why, SF_ERR_NOMEM, "no memory");
    run.redactor = redactor;
    if (is_wanted_json) {
        sf_json_write_object(&json);
        sf_json_write_key(&json, SF_STR("changes"));
        sf_json_write_array(&json);
    }
    if (!err && !format &&
        (redact_command_is_traces(sf_buf_str(&body), &decoded) ||
         !sf_profile_format_find(sf_buf_str(&body))))
        err = see_traces(&run, config, sf_buf_str(&body), &decoded, why);
    else if (!err)
        err = see_profile(&run, sf_str_from(format), sf_buf_str(&body), &decoded, why);
    sf_arena_done(&decoded);
    sf_arena_done(&run.redacted);
    sf_buf_done(&body);
    sf_redactor_free(redactor);
    return err;
}

int sf_redact_command_run(int argc, char **argv)
{
    bool is_dry_run = false;
    const char *file = NULL, *output = NULL, *format = NULL;
    enum sf_output form;
    struct sf_flag_list set = {0};
    struct sf_flag flags[] = {
        {"dry-run", SF_FLAG_BOOL, &is_dry_run, NULL, "show what would change; required"},
        {"config", SF_FLAG_STR, &file, "FILE", "YAML file with the redact: section to try"},
        {"set", SF_FLAG_LIST, &set, "KEY=VALUE", "any setting by its path; may be repeated"},
        {"format", SF_FLAG_STR, &format, "NAME",
         "format of a profile (default: detected from content)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "redact",
        .usage = "--dry-run FILE [--config FILE] [--format NAME] [--output text|json]",
        .summary = "Show what redaction would change in a file of OTLP traces or a profile.",
        .details = "The file is an OTLP trace request, protobuf or JSON, or a profile in any "
                   "format that spanflame upload reads; uncompressed, gzip or zstd. Each line is "
                   "one change: the location, the rule and the length of the secret. Nothing is "
                   "sent or written; the server applies the same rules before it writes data.",
        .examples = "spanflame redact --dry-run traces.json\n"
                    "spanflame redact --dry-run cpu.pprof --set redact.functions=substring\n"
                    "spanflame redact --dry-run traces.pb --config /etc/spanflame/spanflame.yaml\n"
                    "spanflame redact --dry-run traces.json --set redact.patterns=acme",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_config_flags config_flags;
    struct sf_config *config = NULL;
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (!is_dry_run || args.n_words != 1) {
        fprintf(stderr, "spanflame redact: %s: spanflame redact --dry-run FILE\n",
                is_dry_run ? "expects one file" : "--dry-run is required: files are never changed");
        return 2;
    }
    form = sf_answer_output("redact", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    sf_config_flags_init(&config_flags);
    config_flags.config = file;
    config_flags.set = set;
    err = sf_config_flags_load(&config_flags, &config, &why);
    if (!err)
        err = dry_run(config, args.words[0], format, form == SF_OUTPUT_JSON, &out, &why);
    sf_config_free(config);
    if (!err)
        return sf_answer_write(&out);
    sf_buf_done(&out);
    return sf_answer_fault("redact", &why);
}
