/* The layout, for a terminal of W columns: names have W - W/2 - 1 columns; the longest bar has W/2,
 * "[" + S times "=" + " 100% " + S times "=" + "]", so S = (W/2 - 8) / 2 and a frame with share p
 * has p * S signs on each side, rounded. A mark begins S columns after the start of the bars, or
 * two after its bar if that is longer; if that exceeds the terminal's width, S is reduced until
 * every marked line fits. */
#include "render/flame_text.h"

#include <math.h>

#include "base/num.h"
#include "flame/runtime_frame.h"
#include "flame/tree_cut.h"
#include "render/known.h"
#include "render/units.h"

enum { MARKS = 5, MIN_COLUMNS = 40, BAR_FRAME = 8, INDENT = 2, LOOP_STEPS = 1 << 22 };
static const double mark_share = 0.10;
static const sf_str mark_text = {"<-- HOT PATH", 12};

struct drawing {
    const struct sf_flame_text *f;
    const int64_t *totals;
    int64_t *selves; /* self value of the function; for a recursive one, at its outermost frame */
    struct sf_tree_order order;
    uint32_t marked[MARKS];
    uint32_t n_marked;
    uint32_t max_depth; /* of the drawn frames */
    size_t names;       /* columns */
    size_t side;        /* signs on each side of a full bar */
};

static double flame_text_share_of(const struct drawing *d, int64_t v)
{
    double base = (double)sf_tree_order_magnitude(d->totals[0]);
    return base > 0 ? (double)v / base : 0;
}

/* ---- HOT PATH marks ---- */

static bool is_marked(const struct drawing *d, uint32_t place)
{
    for (uint32_t i = 0; i < d->n_marked; i++) {
        if (d->marked[i] == place)
            return true;
    }
    return false;
}

/* Time of a language's runtime (garbage collection, allocation, preemption) is attributed to its
 * caller. The time of a recursive function is spread over several depths of the stack: each may be
 * small although the sum is not, so they are added up. */
static void gather_selves(struct drawing *d, const uint32_t *owners)
{
    const struct sf_tree *t = d->f->tree;
    uint32_t n_steps = 0;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t outermost = owners[i];
        for (uint32_t up = t->nodes[owners[i]].parent;
             t->nodes[i].self != 0 && up != 0 && n_steps < LOOP_STEPS;
             up = t->nodes[up].parent, n_steps++)
            if (t->nodes[up].frame == t->nodes[owners[i]].frame)
                outermost = up;
        d->selves[outermost] = sf_add_sat_i64(d->selves[outermost], t->nodes[i].self);
    }
}

static bool is_hot(const struct drawing *d, uint32_t place)
{
    const struct sf_tree *t = d->f->tree;
    uint8_t kind = place > 0 ? t->frames[t->nodes[place].frame].kind : SF_FRAME_MARKER;
    return kind < SF_FRAME_MARKER && flame_text_share_of(d, d->selves[place]) >= mark_share;
}

/* Marks the hottest frames; of equal ones the first in display order. */
static void choose_marks(struct drawing *d)
{
    const struct sf_tree *t = d->f->tree;
    while (d->n_marked < MARKS && !d->f->has_no_marks) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < t->n_nodes; i++) {
            uint32_t place = d->order.places[i];
            if (is_hot(d, place) && !is_marked(d, place) &&
                (best == 0 || d->selves[place] > d->selves[best]))
                best = place;
        }
        if (best == 0)
            return;
        d->marked[d->n_marked++] = best;
    }
}

/* ---- layout ---- */

static void flame_text_add_percent(const struct drawing *d, struct sf_buf *out, double share)
{
    double percent = share * 100;
    sf_buf_add_str(out, d->f->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    if (fabs(percent) >= 0.5 || percent == 0)
        sf_buf_print(out, "%.0f%%", percent);
    else
        sf_buf_print(out, "%s<1%%", percent < 0 ? "-" : "");
}

static size_t signs(const struct drawing *d, double share)
{
    return (size_t)floor(fabs(share) * (double)d->side + 0.5);
}

static size_t bar_width(const struct drawing *d, double share)
{
    struct sf_buf percent = {0};
    size_t width;
    flame_text_add_percent(d, &percent, share);
    width = 2 * signs(d, share) + percent.len + 4;
    sf_buf_done(&percent);
    return width;
}

static size_t flame_text_mark_at(const struct drawing *d, size_t bar)
{
    return bar + 2 > d->side ? bar + 2 : d->side;
}

static bool marks_fit(const struct drawing *d, size_t columns)
{
    for (uint32_t i = 0; i < d->n_marked; i++) {
        size_t bar = bar_width(d, flame_text_share_of(d, d->totals[d->marked[i]]));
        if (d->names + flame_text_mark_at(d, bar) + mark_text.len > columns)
            return false;
    }
    return true;
}

static void flame_text_lay_out(struct drawing *d)
{
    size_t columns = d->f->columns > MIN_COLUMNS ? d->f->columns : MIN_COLUMNS;
    size_t bar = columns / 2;
    d->names = columns - bar - 1;
    d->side = (bar - BAR_FRAME - d->f->is_estimate) / 2;
    while (d->side > 1 && !marks_fit(d, columns))
        d->side--;
    while (d->names > 8 && !marks_fit(d, columns)) /* a very narrow terminal */
        d->names--;
}

/* ---- lines ---- */

static void flame_text_add_color(const struct drawing *d, const char *code, struct sf_buf *out)
{
    if (d->f->has_color)
        sf_buf_print(out, "\033[%sm", code);
}

static void repeat(struct sf_buf *out, char c, size_t n)
{
    while (n--)
        sf_buf_add_u8(out, (uint8_t)c);
}

/* In deep stacks the indentation is limited to half of the columns for names; deeper frames show
 * their depth as a number. */
static size_t add_indent(const struct drawing *d, uint32_t depth, struct sf_buf *out)
{
    size_t room = d->names / 2;
    size_t step = (size_t)d->max_depth * INDENT <= room ? INDENT : 1;
    size_t before = out->len;
    if (depth * step <= room) {
        sf_units_pad(out, depth * step);
        return depth * step;
    }
    sf_units_pad(out, room > 6 ? room - 6 : 0);
    sf_buf_print(out, "%u: ", depth);
    return out->len - before;
}

static void flame_text_add_line(const struct drawing *d, uint32_t place, uint32_t depth,
                                struct sf_buf *out)
{
    const struct sf_tree *t = d->f->tree;
    double share = flame_text_share_of(d, d->totals[place]);
    bool is_hot_line = is_marked(d, place);
    size_t used = add_indent(d, depth, out), n = signs(d, share), bar = bar_width(d, share);
    used += sf_units_text(out, t->frames[t->nodes[place].frame].function, d->names - used - 1);
    sf_units_pad(out, d->names - used);
    flame_text_add_color(d, is_hot_line ? "31" : "33", out);
    sf_buf_add_u8(out, '[');
    repeat(out, share < 0 ? '-' : '=', n);
    sf_buf_add_u8(out, ' ');
    flame_text_add_percent(d, out, share);
    sf_buf_add_u8(out, ' ');
    repeat(out, share < 0 ? '-' : '=', n);
    sf_buf_add_u8(out, ']');
    if (is_hot_line) {
        sf_units_pad(out, flame_text_mark_at(d, bar) - bar);
        sf_buf_add_str(out, mark_text);
    }
    flame_text_add_color(d, "0", out);
    sf_buf_add_u8(out, '\n');
}

static bool is_drawn(const struct drawing *d, uint32_t place)
{
    return fabs(flame_text_share_of(d, d->totals[place])) >= d->f->min_share;
}

/* A frame below the limit is left out with its callees: their shares are smaller, unless values are
 * negative, and a line without its caller would be meaningless. */
static void flame_text_draw(struct drawing *d, struct sf_buf *out, struct sf_flame_text_rest *rest)
{
    uint32_t hidden_depth = UINT32_MAX;
    for (uint32_t i = 1; i < d->f->tree->n_nodes; i++) {
        uint32_t place = d->order.places[i], depth = d->order.depths[i];
        if (depth > hidden_depth || !is_drawn(d, place)) {
            hidden_depth = depth < hidden_depth ? depth : hidden_depth;
            rest->n_hidden++;
            continue;
        }
        hidden_depth = UINT32_MAX;
        if (out)
            flame_text_add_line(d, place, depth - 1, out);
        else if (depth - 1 > d->max_depth)
            d->max_depth = depth - 1;
    }
}

/* ---- source lines of the marked functions ---- */

/* The line of a function with the largest self value; NULL: unknown. */
static const struct sf_frame *flame_text_line_of(const struct drawing *d, sf_str function,
                                                 int64_t *sums)
{
    const struct sf_tree *t = d->f->lines;
    const struct sf_frame *best = NULL;
    int64_t most = 0;
    for (uint32_t i = 0; i < t->n_frames; i++)
        sums[i] = 0;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        const struct sf_frame *f = &t->frames[t->nodes[i].frame];
        int64_t *sum = &sums[t->nodes[i].frame];
        if (t->nodes[i].self <= 0 || f->file.len == 0 || f->line == 0 ||
            !sf_str_eq(f->function, function))
            continue;
        *sum = sf_add_sat_i64(*sum, t->nodes[i].self);
        if (*sum > most) {
            most = *sum;
            best = f;
        }
    }
    return best;
}

/* "HOT PATH: regexMatch  order_service.c:53" */
static bool flame_text_add_places(const struct drawing *d, struct sf_arena *scratch,
                                  struct sf_buf *out)
{
    enum { PLACE_COLUMNS = 100 };
    const struct sf_tree *t = d->f->tree;
    bool is_first = true;
    if (!d->f->lines || d->n_marked == 0)
        return true;
    int64_t *sums = sf_arena_new_n(scratch, d->f->lines->n_frames + 1u, sizeof(*sums));
    if (!sums)
        return false;
    for (uint32_t i = 0; i < d->n_marked; i++) {
        sf_str function = t->frames[t->nodes[d->marked[i]].frame].function;
        const struct sf_frame *f = flame_text_line_of(d, function, sums);
        bool is_said = !f;
        for (uint32_t k = 0; k < i; k++)
            is_said = is_said ||
                      sf_str_eq(t->frames[t->nodes[d->marked[k]].frame].function, function);
        if (is_said)
            continue;
        if (is_first)
            sf_buf_add_u8(out, '\n');
        is_first = false;
        sf_buf_add_str(out, SF_STR("HOT PATH: "));
        sf_units_text(out, function, PLACE_COLUMNS);
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, f->file, PLACE_COLUMNS);
        sf_buf_print(out, ":%u\n", f->line);
    }
    return true;
}

enum sf_err sf_flame_text_render(const struct sf_flame_text *f, struct sf_arena scratch,
                                 struct sf_buf *out, struct sf_flame_text_rest *out_rest,
                                 struct sf_why *why)
{
    struct drawing d = {.f = f};
    struct sf_flame_text_rest rest = {0}, first = {0};
    int64_t *totals;
    enum sf_err err = sf_tree_order_totals(f->tree, &scratch, &totals, why);
    if (!err)
        err = sf_tree_order(f->tree, totals, f->order, &scratch, &d.order, why);
    if (err)
        return err;
    d.totals = totals;
    d.selves = sf_arena_new_n(&scratch, f->tree->n_nodes + 1u, sizeof(*d.selves));
    const uint32_t *owners = sf_runtime_frame_owners(f->tree, &scratch);
    if (!d.selves || !owners)
        return sf_fail(why, SF_ERR_LIMIT, "flame graph: no memory for %u frames", f->tree->n_nodes);
    gather_selves(&d, owners);
    choose_marks(&d);
    flame_text_lay_out(&d);
    flame_text_draw(&d, NULL, &first); /* a first pass that only computes the depth */
    flame_text_draw(&d, out, &rest);
    if (!flame_text_add_places(&d, &scratch, out))
        return sf_fail(why, SF_ERR_LIMIT, "flame graph: no memory for %u frames", f->tree->n_nodes);
    *out_rest = rest;
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "flame graph: no memory");
}
