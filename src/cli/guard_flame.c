#include "cli/guard_flame.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "cli/profile_source.h"
#include "flame/tree_builder.h"
#include "query/expr_text.h"
#include "render/flame_svg.h"

enum { TREE_MAX = 64 << 20 };

/* ---- from a server ---- */

static enum sf_err ask_side(const struct sf_client *client,
                            const struct sf_guard_question *question, const char *value,
                            struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    struct sf_profile_flags flags = {.client = *client, .is_path = true};
    struct sf_profile_source s = {0};
    struct sf_profile_view view = {0};
    struct sf_tree_builder copy;
    struct sf_buf path = {0}, query = {0};
    char from[32];
    enum sf_err err;
    sf_buf_print(&query, "%s | { %s = ", question->query, question->by);
    sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = sf_str_from(value)}}, &query);
    sf_buf_print(&query, " }");
    sf_buf_add_u8(&query, 0);
    snprintf(from, sizeof(from), "now-%" PRId64 "s", question->since_ns / SF_NS_PER_S);
    sf_buf_print(&path, "/api/v1/cohort?format=pprof");
    sf_ask_param(&path, "q", sf_buf_ok(&query) ? (const char *)query.p : "");
    sf_ask_param(&path, "from", from);
    sf_ask_param(&path, "type", "cpu");
    sf_buf_add_u8(&path, 0);
    err = sf_buf_ok(&path) && sf_buf_ok(&query)
              ? sf_profile_source_open("guard", (const char *)path.p, &flags, &s, why)
              : sf_no_memory(why, "the flame graph");
    if (!err)
        err = sf_profile_source_grouped(&s, &flags, &view, why);
    if (!err) {
        sf_tree_builder_init(&copy, req, TREE_MAX, SF_TREE_COPIES);
        sf_tree_builder_add_tree(&copy, &view.tree);
        err = sf_tree_builder_take(&copy, SF_STR("nanoseconds"), out, why);
        sf_tree_builder_done(&copy);
    }
    sf_profile_source_done(&s);
    sf_buf_done(&path);
    sf_buf_done(&query);
    return err;
}

enum sf_err sf_guard_flame_ask(const struct sf_client *client,
                               const struct sf_guard_question *question, struct sf_arena *req,
                               struct sf_guard_flame *out, struct sf_why *why)
{
    enum sf_err err = ask_side(client, question, question->left, req, &out->trees[0], why);
    if (!err)
        err = ask_side(client, question, question->right, req, &out->trees[1], why);
    return err;
}

/* ---- the file ---- */

enum sf_err sf_guard_flame_write(const struct sf_guard_flame *f, const char *path,
                                 struct sf_arena scratch, struct sf_why *why)
{
    bool has_n = f->n[0] > 0 && f->n[1] > 0;
    struct sf_profile_view view = {.tree = f->trees[1]};
    struct sf_tree_diff diff;
    struct sf_buf text = {0};
    FILE *file;
    bool is_ok;
    enum sf_err err = sf_tree_diff(&f->trees[0], &f->trees[1], &scratch, &diff, why);
    view.service = has_n ? SF_STR("candidate against baseline, per run")
                         : SF_STR("candidate against baseline, per span");
    view.type.sample_type = sf_str_eq(f->trees[1].unit, SF_STR("bytes")) ? SF_STR("bytes")
                                                                         : SF_STR("time");
    diff.left.n_requests = f->n[0];
    diff.right.n_requests = f->n[1];
    if (!err)
        err = sf_flame_svg_diff(&view, &diff, has_n ? SF_DIFF_REQUEST : SF_DIFF_VALUE, scratch,
                                &text, why);
    if (err) {
        sf_buf_done(&text);
        return err;
    }
    file = fopen(path, "wb");
    is_ok = file && fwrite(text.p, 1, text.len, file) == text.len;
    if (file && fclose(file))
        is_ok = false;
    sf_buf_done(&text);
    return is_ok ? SF_OK : sf_fail(why, SF_ERR_IO, "%.200s: cannot be written", path);
}
