#include "cli/export_command.h"

#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/profile_source.h"
#include "os/terminal.h"
#include "render/flame_svg.h"
#include "render/folded.h"
#include "render/otlp_profile.h"
#include "render/pprof.h"
#include "render/profile_json.h"
#include "render/speedscope.h"
#include "wire/deflate.h"

enum { LEVEL = 6 };

/* ---- the formats; each with the frames it needs ---- */

static enum sf_err export_command_write_json(const struct sf_profile_view *v,
                                             struct sf_arena scratch, struct sf_buf *out,
                                             struct sf_why *why)
{
    (void)scratch;
    return sf_profile_json_render(v, out, why);
}

/* Go's tools write and expect gzip. */
static enum sf_err export_command_write_pprof(const struct sf_profile_view *v,
                                              struct sf_arena scratch, struct sf_buf *out,
                                              struct sf_why *why)
{
    struct sf_deflate *z = sf_deflate_new();
    struct sf_buf plain = {0};
    enum sf_err err = z ? sf_pprof_render(v, scratch, &plain, why)
                        : sf_fail(why, SF_ERR_NOMEM, "no memory");
    if (!err)
        err = sf_deflate_gzip(z, LEVEL, sf_buf_bytes(&plain), out, why);
    sf_deflate_free(z);
    sf_buf_done(&plain);
    return err;
}

struct format {
    const char *name;
    enum sf_err (*write)(const struct sf_profile_view *v, struct sf_arena scratch,
                         struct sf_buf *out, struct sf_why *why);
    bool is_grouped; /* group by function name: the format has no lines and addresses */
    bool is_binary;
    bool keeps_ids;
};

static const struct format formats[] = {
    {"pprof", export_command_write_pprof, false, true, true},
    {"otlp", sf_otlp_profile_render, false, true, true},
    {"json", export_command_write_json, false, false, false},
    {"folded", sf_folded_render, true, false, false},
    {"speedscope", sf_speedscope_render, true, false, false},
    {"svg", sf_flame_svg_render, true, false, false},
};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; name && i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
    }
    return NULL;
}

struct asked {
    struct sf_profile_flags profile;
    const struct format *format;
};

static enum sf_err convert(void *arg, struct sf_profile_source *s, struct sf_buf *out,
                           struct sf_why *why)
{
    const struct asked *a = arg;
    struct sf_profile_view view = s->view;
    enum sf_err err = SF_OK;
    if (a->format->is_grouped || a->profile.group) {
        err = sf_profile_source_grouped(s, &a->profile, &view, why);
    }
    return err ? err : a->format->write(&view, s->req, out, why);
}

int sf_export_command_run(int argc, char **argv)
{
    struct asked a = {0};
    const char *name = NULL;
    struct sf_flag flags[] = {
        SF_PROFILE_FLAGS(a.profile),
        {"format", SF_FLAG_STR, &name, "FORMAT", "pprof, otlp, json, folded, speedscope or svg"},
        SF_PROFILE_SERVER_FLAGS(a.profile),
    };
    struct sf_args args = {
        .command = "export",
        .usage = "FILE|URL|SELECTOR --format FORMAT",
        .summary = "Write a profile in another format, to standard output.",
        .details =
            "pprof is gzip-compressed; otlp is an ExportProfilesServiceRequest. folded, speedscope "
            "and svg contain function names only; the other formats keep lines, files and "
            "addresses. Totals are the same in all of them. Trace and span ids of samples are "
            "kept in pprof (labels) and otlp (links); for a selector, those of samples in the time "
            "range, as long as the server still has individual samples. "
            "Files, URLs and selectors are those of `spanflame flame`.",
        .examples = "spanflame export recording.jfr --format pprof >cpu.pb.gz\n"
                    "spanflame export cpu.pb.gz --format svg >cpu.svg\n"
                    "spanflame export cpu.pb.gz --format folded --focus json",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 1)
        return sf_answer_usage("export", "name one profile: a file, a URL, a selector, or - for "
                                         "standard input");
    a.format = find_format(name);
    if (!a.format)
        return sf_answer_usage("export",
                               "--format is pprof, otlp, json, folded, speedscope or svg");
    if (a.format->is_binary && sf_terminal_is(STDOUT_FILENO))
        return sf_answer_usage("export", "this format is binary: redirect it to a file (> FILE)");
    a.profile.has_ids = a.format->keeps_ids;
    return sf_profile_source_show("export", args.words, &a.profile, 1, convert, &a);
}
