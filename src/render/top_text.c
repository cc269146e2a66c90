#include "render/top_text.h"

#include <math.h>

#include "base/text.h"
#include "render/known.h"
#include "render/units.h"

enum { NUMBER = 11, PERCENT = 8, MIN_NAME = 20 };

static void top_text_add_right(struct sf_buf *out, sf_str text, size_t columns)
{
    size_t width = sf_utf8_width(text);
    sf_units_pad(out, width < columns ? columns - width : 1);
    sf_buf_add_str(out, text);
}

static void top_text_add_amount(struct sf_buf *out, const struct sf_profile_view *v, int64_t value)
{
    struct sf_buf cell = {0};
    sf_known_amount(&cell, v, value);
    top_text_add_right(out, sf_buf_str(&cell), NUMBER);
    sf_buf_done(&cell);
}

static double top_text_share_of(const struct sf_profile_view *v, int64_t value)
{
    return v->tree.total ? (double)value / fabs((double)v->tree.total) : 0;
}

static void top_text_add_share(struct sf_buf *out, const struct sf_profile_view *v, int64_t value)
{
    struct sf_buf cell = {0};
    sf_buf_print(&cell, "%s%.1f %%", v->is_estimate ? SF_ESTIMATE_MARK : "",
                 top_text_share_of(v, value) * 100);
    top_text_add_right(out, sf_buf_str(&cell), PERCENT);
    sf_buf_done(&cell);
}

void sf_top_text_base(const struct sf_profile_view *v, struct sf_buf *out)
{
    sf_buf_add_str(out, SF_STR("percentages are of "));
    sf_known_amount(out, v, v->tree.total);
    sf_buf_add_u8(out, ' ');
    sf_units_text(out, v->type.sample_type, 40);
    if (!v->is_few && !sf_str_eq(v->type.sample_type, SF_STR("samples"))) { /* unless already
                                                                             * shown */
        sf_buf_add_str(out, SF_STR(" ("));
        sf_units_count(out, v->tree.n_samples);
        sf_buf_print(out, " sample%s)", v->tree.n_samples == 1 ? "" : "s");
    }
    if (v->service.len) {
        sf_buf_add_str(out, SF_STR(" in "));
        sf_units_text(out, v->service, 80);
    }
    if (v->is_few)
        sf_buf_add_str(out, SF_STR(": too few for times and shares"));
    sf_buf_add_u8(out, '\n');
    if (v->is_estimate)
        sf_buf_add_str(out, SF_STR(SF_ESTIMATE_REMARK "\n"));
}

static size_t top_text_name_columns(const struct sf_top_text *t, size_t used)
{
    return t->columns > used + MIN_NAME ? t->columns - used : MIN_NAME;
}

static void head(const struct sf_top_text *t, struct sf_buf *out, sf_str text)
{
    if (t->has_color)
        sf_buf_add_str(out, SF_STR("\033[1m"));
    sf_buf_add_str(out, text);
    if (t->has_color)
        sf_buf_add_str(out, SF_STR("\033[0m"));
    sf_buf_add_u8(out, '\n');
}

enum sf_err sf_top_text_table(const struct sf_top_text *t, struct sf_arena scratch,
                              struct sf_buf *out, struct sf_why *why)
{
    const struct sf_tree *tree = &t->view->tree;
    const struct sf_top_row *rows;
    uint32_t n;
    enum sf_err err = sf_tree_top(tree, t->by, &scratch, &rows, &n, why);
    if (err)
        return err;
    sf_top_text_base(t->view, out);
    sf_buf_add_u8(out, '\n');
    head(t, out, SF_STR("       self  self %      total total %  function"));
    for (uint32_t i = 0; i < n && i < t->limit; i++) {
        top_text_add_amount(out, t->view, rows[i].self);
        top_text_add_share(out, t->view, rows[i].self);
        top_text_add_amount(out, t->view, rows[i].total);
        top_text_add_share(out, t->view, rows[i].total);
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, tree->frames[rows[i].frame].function,
                      top_text_name_columns(t, 2 * (NUMBER + PERCENT) + 2));
        sf_buf_add_u8(out, '\n');
    }
    if (n > t->limit)
        sf_buf_print(out, "%u more function%s; --limit %u shows all\n", n - t->limit,
                     n - t->limit == 1 ? "" : "s", n);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "top: no memory");
}

static void top_text_add_row(const struct sf_top_text *t, uint32_t place, uint32_t depth,
                             int64_t total, struct sf_buf *out)
{
    const struct sf_tree *tree = &t->view->tree;
    size_t names = top_text_name_columns(t, NUMBER + PERCENT), room = names / 2, used = 0;
    if (depth) {
        size_t indent = (size_t)depth * 2;
        indent = indent > room ? room : indent;
        sf_units_pad(out, indent);
        sf_buf_add_str(out, SF_STR("↳ "));
        used = indent + 2;
    }
    used += sf_units_text(out, tree->frames[tree->nodes[place].frame].function, names - used - 1);
    sf_units_pad(out, names - used);
    top_text_add_amount(out, t->view, total);
    top_text_add_share(out, t->view, total);
    sf_buf_add_u8(out, '\n');
}

enum sf_err sf_top_text_tree(const struct sf_top_text *t, struct sf_arena scratch,
                             struct sf_buf *out, struct sf_why *why)
{
    const struct sf_tree *tree = &t->view->tree;
    struct sf_tree_order order;
    struct sf_buf line = {0};
    uint32_t hidden = UINT32_MAX, n_hidden = 0;
    int64_t *totals;
    enum sf_err err = sf_tree_order_totals(tree, &scratch, &totals, why);
    if (!err)
        err = sf_tree_order(tree, totals, t->order, &scratch, &order, why);
    if (err)
        return err;
    sf_top_text_base(t->view, out);
    sf_buf_add_u8(out, '\n');
    sf_buf_add_str(&line, SF_STR("function"));
    sf_units_pad(&line, top_text_name_columns(t, NUMBER + PERCENT) - line.len);
    sf_buf_print(&line, "%*s%*s", NUMBER, "time", PERCENT, "%");
    head(t, out, sf_buf_str(&line));
    sf_buf_done(&line);
    for (uint32_t i = 1; i < tree->n_nodes; i++) {
        uint32_t place = order.places[i], depth = order.depths[i];
        if (depth > hidden || fabs(top_text_share_of(t->view, totals[place])) < t->min_share) {
            hidden = depth < hidden ? depth : hidden;
            n_hidden++;
            continue;
        }
        hidden = UINT32_MAX;
        top_text_add_row(t, place, depth - 1, totals[place], out);
    }
    if (n_hidden)
        sf_buf_print(out, "%u frame%s below %.3g %% not shown; --min 0 shows all\n", n_hidden,
                     n_hidden == 1 ? "" : "s", t->min_share * 100);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "top: no memory");
}
