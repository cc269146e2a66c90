#include "cli/diff_command.h"

#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/answer.h"
#include "cli/profile_source.h"
#include "os/terminal.h"
#include "render/diff_text.h"
#include "render/profile_json.h"

struct asked {
    struct sf_profile_flags profile;
    const char *output, *measure, *min;
    uint64_t limit;
    bool is_tree, is_json;
    double min_share;
};

static enum sf_err show(const struct asked *a, struct sf_profile_source *left,
                        struct sf_profile_source *right, struct sf_buf *out, struct sf_why *why)
{
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
    return a->is_tree ? sf_diff_text_tree(&d, left->req, out, why)
                      : sf_diff_text_table(&d, left->req, out, why);
}

int sf_diff_run(int argc, char **argv)
{
    struct asked a = {.limit = 20, .min_share = 0.01};
    struct sf_flag flags[] = {
        SF_PROFILE_FLAGS(a.profile),
        {"tree", SF_FLAG_BOOL, &a.is_tree, NULL, "both profiles as one tree"},
        {"measure", SF_FLAG_STR, &a.measure, "WHAT",
         "value (default), or share: profiles of different length compare"},
        {"limit", SF_FLAG_U64, &a.limit, "N", "rows of the table (default 20)"},
        {"min", SF_FLAG_STR, &a.min, "PERCENT", "with --tree: from this share on (default 1)"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "diff",
        .usage = "BEFORE AFTER [--tree] [--measure share]",
        .summary = "Compare two profiles: what got slower, what got faster.",
        .details = "BEFORE and AFTER are files or URLs as in `spanflame flame`. Functions are "
                   "ranked by how much their own cost changed; absolute and relative changes stand "
                   "side by side.",
        .examples = "spanflame diff before.pb.gz after.pb.gz\n"
                    "spanflame diff monday.folded tuesday.folded --measure share --tree",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_profile_source left = {0}, right = {0};
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_output form;
    enum sf_err err;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 2)
        return sf_answer_usage("diff", "name two profiles: before and after");
    if (a.measure && strcmp(a.measure, "value") != 0 && strcmp(a.measure, "share") != 0)
        return sf_answer_usage("diff", "--measure is value or share");
    if (a.min && !sf_profile_share(a.min, &a.min_share))
        return sf_answer_usage("diff", "--min is a percentage from 0 to 100");
    if (a.limit == 0 || a.limit > 1000000)
        return sf_answer_usage("diff", "--limit is a number from 1 to 1000000");
    form = sf_answer_output("diff", a.output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    a.is_json = form == SF_OUTPUT_JSON;
    err = sf_profile_source_open("diff", args.words[0], &a.profile, &left, &why);
    if (!err)
        err = sf_profile_source_open("diff", args.words[1], &a.profile, &right, &why);
    if (!err)
        err = show(&a, &left, &right, &out, &why);
    sf_profile_source_done(&left);
    sf_profile_source_done(&right);
    if (err) {
        sf_buf_done(&out);
        return sf_answer_fault("diff", &why);
    }
    return sf_answer_write(&out);
}
