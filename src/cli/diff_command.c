#include "cli/diff_command.h"

#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/answer.h"
#include "cli/profile_source.h"
#include "os/terminal.h"
#include "render/diff_text.h"
#include "render/profile_json.h"
#include "render/unnamed_text.h"

struct asked {
    struct sf_profile_flags profile;
    const char *words[2], *ranges[2]; /* baseline, comparison */
    const char *output, *measure, *min;
    uint64_t limit;
    bool is_tree, is_json;
    double min_share;
};

static enum sf_err diff_command_show(void *arg, struct sf_profile_source *sources,
                                     struct sf_buf *out, struct sf_why *why)
{
    const struct asked *a = arg;
    struct sf_profile_source *left = &sources[0], *right = &sources[1];
    struct sf_profile_view before = {0}, after = {0};
    struct sf_tree_diff diff;
    struct sf_diff_text d = {
        .left = &before,
        .right = &after,
        .diff = &diff,
        .measure = a->measure && strcmp(a->measure, "share") == 0 ? SF_DIFF_SHARE : SF_DIFF_VALUE,
        .columns = sf_terminal_width(STDOUT_FILENO, 100),
        .limit = sf_u32(a->limit),
        .min_share = a->min_share,
        .has_color = sf_terminal_has_color(STDOUT_FILENO)};
    enum sf_err err = sf_profile_source_grouped(left, &a->profile, &before, why);
    if (!err)
        err = sf_profile_source_grouped(right, &a->profile, &after, why);
    if (!err && !sf_str_eq(before.tree.unit, after.tree.unit))
        err = sf_fail(why, SF_ERR_INPUT,
                      "the first profile is in %.*s, the second in %.*s; choose with --type",
                      SF_STR_ARG(before.tree.unit), SF_STR_ARG(after.tree.unit));
    if (!err)
        err = sf_tree_diff(&before.tree, &after.tree, &left->req, &diff, why);
    if (err)
        return err;
    if (a->is_json)
        return sf_profile_json_diff(&before, &after, &diff, out, why);
    err = a->is_tree ? sf_diff_text_tree(&d, left->req, out, why)
                     : sf_diff_text_table(&d, left->req, out, why);
    if (!err)
        sf_unnamed_text(&sources[1].view.tree, out);
    return err;
}

int sf_diff_command_run(int argc, char **argv)
{
    struct asked a = {.limit = 20, .min_share = 0.01};
    struct sf_flag flags[] = {
        SF_PROFILE_FLAGS(a.profile),
        {"tree", SF_FLAG_BOOL, &a.is_tree, NULL, "show both profiles as one call tree"},
        {"measure", SF_FLAG_STR, &a.measure, "WHAT",
         "value (default), or share, for profiles of different length"},
        {"limit", SF_FLAG_U64, &a.limit, "N", "maximum number of rows (default 20)"},
        {"min", SF_FLAG_STR, &a.min, "PERCENT", "with --tree: minimum share to show (default 1)"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
        {"baseline", SF_FLAG_STR, &a.words[0], "PROFILE",
         "the profile before: a selector, file or URL"},
        {"comparison", SF_FLAG_STR, &a.words[1], "PROFILE",
         "the profile after: a selector, file or URL"},
        {"baseline-range", SF_FLAG_STR, &a.ranges[0], "RANGE", "--time-range of the baseline"},
        {"comparison-range", SF_FLAG_STR, &a.ranges[1], "RANGE", "--time-range of the comparison"},
        SF_PROFILE_SERVER_FLAGS(a.profile),
    };
    struct sf_args args = {
        .command = "diff",
        .usage = "BEFORE AFTER | --baseline PROFILE --comparison PROFILE [--tree] "
                 "[--measure share]",
        .summary = "Compare two profiles: what got slower, what got faster.",
        .details = "BEFORE and AFTER are files, URLs or selectors as in `spanflame flame`; to "
                   "compare versions, use two values of a label; to compare times, use one "
                   "selector with two ranges. Functions are ranked by the change of their self "
                   "cost; absolute and relative changes are shown.",
        .examples = "spanflame diff before.pb.gz after.pb.gz\n"
                    "spanflame diff --baseline 'svc{commit=abc123}' --comparison "
                    "'svc{commit=def456}' --time-range 1h\n"
                    "spanflame diff svc svc --baseline-range now-25h..now-24h\n"
                    "spanflame diff monday.folded tuesday.folded --measure share --tree",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_profile_flags sides[2];
    enum sf_output form;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    for (size_t i = 0, next = 0; i < 2; i++) {
        if (!a.words[i] && next < args.n_words)
            a.words[i] = args.words[next++];
        else if (a.words[i] && args.n_words == 2)
            a.words[i] = NULL; /* given twice, by flag and by word */
        sides[i] = a.profile;
        sides[i].range = a.ranges[i] ? a.ranges[i] : a.profile.range;
    }
    if (!a.words[0] || !a.words[1] || args.n_words > 2)
        return sf_answer_usage("diff", "name two profiles: before and after");
    if (a.measure && strcmp(a.measure, "value") != 0 && strcmp(a.measure, "share") != 0)
        return sf_answer_usage("diff", "--measure is value or share");
    form = sf_answer_output("diff", a.output, false);
    if (form == SF_OUTPUT_BAD ||
        !sf_profile_source_rows_check("diff", a.limit, a.min, &a.min_share))
        return 2;
    a.is_json = form == SF_OUTPUT_JSON;
    return sf_profile_source_show("diff", a.words, sides, 2, diff_command_show, &a);
}
