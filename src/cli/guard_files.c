#include "cli/guard_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "cli/profile_source.h"
#include "flame/tree_builder.h"
#include "flame/tree_group.h"
#include "flame/tree_top.h"
#include "link/cohort.h"
#include "os/text_file.h"

enum {
    TOTAL = 0,
    SEED = 1,
    TREE_MAX = 64 << 20
}; /* TOTAL: the frame that stands for the whole
    * run */
/* Quantiles of the normal distribution: two-sided 95 %; and 99.99 %, because some hundred functions
 * are tested. */
#define Z_95   1.9599639845400545
#define Z_MANY 3.8905918864131203

struct side {
    struct sf_cohort_cost *costs;
    uint32_t cap;
    struct sf_cohort cohort;
    double period;              /* value of one sample of the last run; 0: unknown */
    bool is_file;               /* a single file, not a folder */
    struct sf_tree_builder all; /* merged tree of all runs */
};

struct work {
    struct sf_arena *req;
    struct sf_profile_flags flags;
    struct side *side;
    struct sf_str_list {
        sf_str *list;
        uint32_t n, cap;
    } names; /* names of frames; the first is the total */
    sf_str type, sample_type, unit;
};

static bool guard_files_add_cost(struct work *w, uint32_t frame, double value)
{
    struct side *s = w->side;
    if (!sf_list_room_in(w->req, &s->costs, s->cohort.n_costs, &s->cap, 1024))
        return false;
    s->costs[s->cohort.n_costs++] = (struct sf_cohort_cost){s->cohort.n_spans, frame, value};
    return true;
}

/* A linear search is enough: there are few files with few hot functions. */
static uint32_t guard_files_frame_of(struct work *w, sf_str name)
{
    sf_str kept;
    for (uint32_t i = 1; i < w->names.n; i++) {
        if (sf_str_eq(w->names.list[i], name))
            return i;
    }
    if (!sf_arena_copy(w->req, name, &kept) ||
        !sf_list_room_in(w->req, &w->names.list, w->names.n, &w->names.cap, 256))
        return UINT32_MAX;
    w->names.list[w->names.n] = kept;
    return w->names.n++;
}

enum { MAX_FUNCTIONS = 200 }; /* functions of a run that are compared: the most expensive ones */

static enum sf_err guard_files_add_run(struct work *w, struct sf_profile_source *s,
                                       struct sf_why *why)
{
    struct sf_profile_view view = s->view;
    const struct sf_top_row *rows = NULL;
    uint32_t n = 0;
    enum sf_err err = sf_profile_source_grouped(s, &w->flags, &view, why);
    if (!err)
        err = sf_tree_top(&view.tree, SF_TOP_BY_SELF, &s->req, &rows, &n, why);
    if (!err && !guard_files_add_cost(w, TOTAL, (double)view.tree.total))
        err = sf_no_memory(why, "the runs");
    for (uint32_t i = 0; !err && i < n && i < MAX_FUNCTIONS && rows[i].self > 0; i++) {
        uint32_t frame = guard_files_frame_of(w, view.tree.frames[rows[i].frame].function);
        if (frame == UINT32_MAX || !guard_files_add_cost(w, frame, (double)rows[i].self))
            err = sf_no_memory(why, "the runs");
    }
    if (view.period > 0 && sf_str_eq(view.type.period_unit, view.type.sample_unit))
        w->side->period = (double)view.period;
    sf_tree_builder_add_tree(&w->side->all, &view.tree);
    w->side->cohort.n_spans++;
    return err;
}

static enum sf_err read_run(void *arg, const char *path, struct sf_why *why)
{
    struct work *w = arg;
    struct sf_profile_source s;
    enum sf_err err = sf_profile_source_open("guard", path, &w->flags, &s, why);
    if (!err && !w->type.len) { /* all files must have the type of the first */
        if (!sf_batch_tree_type_print(&s.view.type, w->req, &w->type) ||
            !sf_arena_copy(w->req, s.view.type.sample_type, &w->sample_type) ||
            !sf_arena_copy(w->req, s.view.type.sample_unit, &w->unit))
            err = sf_no_memory(why, "the runs");
        w->flags.type = w->type.p;
    }
    if (!err)
        err = guard_files_add_run(w, &s, why);
    else
        sf_why_prefix(why, "%.100s", path);
    sf_profile_source_done(&s);
    return err;
}

/* Reads a file, or all files of a folder. */
static enum sf_err guard_files_read_side(struct work *w, const char *path, struct side *side,
                                         struct sf_why *why)
{
    char pattern[4096];
    struct sf_text_stamp stamp = sf_text_file_stamp(path);
    int len = snprintf(pattern, sizeof(pattern), "%s/*", path);
    bool is_folder = false;
    enum sf_err err;
    if (len < 0 || (size_t)len >= sizeof(pattern))
        return sf_fail(why, SF_ERR_INPUT, "a path of more than 4 KB");
    w->side = side;
    err = sf_text_file_match(pattern, SF_GUARD_FILES_MAX, read_run, w, why);
    is_folder = err || side->cohort.n_spans > 0;
    if (is_folder)
        return err;
    side->is_file = true;
    return stamp.inode ? read_run(w, path, why)
                       : sf_fail(why, SF_ERR_NOT_FOUND, "%.200s: no such file or folder", path);
}

static struct sf_guard_measure measure_of(const struct sf_cohort_row *row, bool is_enough)
{
    return (struct sf_guard_measure){.left = row->left,
                                     .right = row->right,
                                     .delta = row->delta,
                                     .low = row->low,
                                     .high = row->high,
                                     .has_interval = is_enough};
}

static double guard_files_cost_of(const struct side *s, uint32_t frame)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->cohort.n_costs; i++)
        sum += s->costs[i].frame == frame ? s->costs[i].value : 0;
    return sum;
}

/* Two files: how far chance explains the difference is known from their samples alone. */
static void compare_samples(struct work *w, const struct side *left, const struct side *right,
                            struct sf_guard_row *to)
{
    for (uint32_t i = 0; i < w->names.n; i++) {
        struct sf_guard_measure m = sf_guard_sums(
            (struct sf_guard_sum){guard_files_cost_of(left, i), left->period},
            (struct sf_guard_sum){guard_files_cost_of(right, i), right->period},
            i == TOTAL ? Z_95 : Z_MANY);
        /* A new function has no samples on the left: those on the right are enough. */
        double low = m.delta - Z_MANY * sqrt(m.left * left->period + m.right * right->period);
        if (i == TOTAL)
            to->m = m;
        else if (to->m.has_interval && low > 0 && m.right >= SF_GUARD_SAMPLES * right->period &&
                 m.delta > to->function_delta) {
            to->function = w->names.list[i];
            to->function_delta = m.delta;
        }
    }
    to->is_there = true;
}

static enum sf_err guard_files_compare(struct work *w, struct side *left, struct side *right,
                                       struct sf_guard_report *out, struct sf_why *why)
{
    unsigned measure = sf_str_eq(w->unit, SF_STR("bytes")) ? SF_GUARD_ALLOC : SF_GUARD_CPU;
    struct sf_guard_row *to = &out->rows[measure];
    struct sf_cohort_result r = {0};
    enum sf_err err;
    left->cohort.costs = left->costs;
    right->cohort.costs = right->costs;
    out->n_left = left->cohort.n_spans;
    out->n_right = right->cohort.n_spans;
    if (!sf_str_eq(w->sample_type, SF_STR("cpu")) &&
        !sf_str_eq(w->sample_type, SF_STR("alloc_space")))
        to->name = w->sample_type; /* "wall", "delay": not CPU time */
    if (left->is_file && right->is_file && left->period > 0 && right->period > 0) {
        compare_samples(w, left, right, to);
        out->is_by_samples = true;
        return SF_OK;
    }
    err = sf_cohort_compare(&left->cohort, &right->cohort, w->names.n, SEED, w->req, &r, why);
    for (uint32_t i = 0; !err && i < r.n_rows; i++) {
        const struct sf_cohort_row *row = &r.rows[i];
        if (row->frame == TOTAL) {
            to->m = measure_of(row, !r.is_too_small);
            to->is_there = true;
        } else if (row->is_significant && row->low > 0 && row->delta > to->function_delta) {
            to->function = w->names.list[row->frame];
            to->function_delta = row->delta;
        }
    }
    return err;
}

enum sf_err sf_guard_files(const char *left, const char *right, const char *type,
                           struct sf_arena *req, struct sf_guard_report *out,
                           struct sf_guard_flame *flame, struct sf_why *why)
{
    struct work w = {.req = req, .flags = {.type = type}};
    struct side sides[2] = {{0}};
    enum sf_err err = sf_list_room_in(req, &w.names.list, 0, &w.names.cap, 256)
                          ? SF_OK
                          : sf_no_memory(why, "the runs");
    for (int i = 0; i < 2; i++)
        sf_tree_builder_init(&sides[i].all, req, TREE_MAX, SF_TREE_COPIES);
    w.names.n = 1; /* names[0] is the total */
    if (!err)
        w.names.list[TOTAL] = SF_STR("all");
    if (!err)
        err = guard_files_read_side(&w, left, &sides[0], why);
    if (!err)
        err = guard_files_read_side(&w, right, &sides[1], why);
    if (!err && !sf_str_eq(w.unit, SF_STR("bytes")) && !sf_str_eq(w.unit, SF_STR("nanoseconds")))
        err = sf_fail(why, SF_ERR_INPUT,
                      "%.*s is neither a time nor a size: name another with --type",
                      SF_STR_ARG(sf_str_part(w.type, 0, 100)));
    if (!err)
        err = guard_files_compare(&w, &sides[0], &sides[1], out, why);
    for (int i = 0; flame && !err && i < 2; i++) {
        flame->n[i] = sides[i].cohort.n_spans;
        err = sf_tree_builder_take(&sides[i].all, w.unit, &flame->trees[i], why);
    }
    for (int i = 0; i < 2; i++)
        sf_tree_builder_done(&sides[i].all);
    return err;
}
