#include "render/diff_text.h"

#include <math.h>

#include "base/num.h"
#include "base/text.h"
#include "render/units.h"

enum { NUMBER = 11, PERCENT = 9, MIN_NAME = 20, NUMBERS = 3 * NUMBER + 3 * PERCENT };

static void diff_text_add_right(struct sf_buf *out, struct sf_buf *cell, size_t columns)
{
    size_t width = sf_utf8_width(sf_buf_str(cell));
    sf_units_pad(out, width < columns ? columns - width : 1);
    sf_buf_add_str(out, sf_buf_str(cell));
    sf_buf_done(cell);
}

static void diff_text_add_amount(struct sf_buf *out, int64_t v, sf_str unit, bool has_sign)
{
    struct sf_buf cell = {0};
    if (has_sign && v > 0)
        sf_buf_add_u8(&cell, '+');
    sf_units_amount(&cell, v, unit);
    diff_text_add_right(out, &cell, NUMBER);
}

static void add_ratio(struct sf_buf *out, double ratio)
{
    struct sf_buf cell = {0};
    if (isinf(ratio))
        sf_buf_add_str(&cell, SF_STR("new"));
    else if (ratio == 0)
        sf_buf_add_str(&cell, SF_STR("same"));
    else if (ratio == -1)
        sf_buf_add_str(&cell, SF_STR("gone"));
    else if (fabs(ratio) >= 99.995)
        sf_buf_print(&cell, "x%.0f", ratio + 1);
    else
        sf_buf_print(&cell, "%+.1f %%", ratio * 100);
    diff_text_add_right(out, &cell, PERCENT);
}

static void diff_text_add_share(struct sf_buf *out, double share)
{
    struct sf_buf cell = {0};
    sf_buf_print(&cell, "%.1f %%", share * 100);
    diff_text_add_right(out, &cell, PERCENT);
}

static void diff_text_add_color(const struct sf_diff_text *d, struct sf_buf *out, int64_t delta)
{
    if (d->has_color && delta)
        sf_buf_add_str(out, delta > 0 ? SF_STR("\033[31m") : SF_STR("\033[32m"));
}

static void end_color(const struct sf_diff_text *d, struct sf_buf *out)
{
    if (d->has_color)
        sf_buf_add_str(out, SF_STR("\033[0m"));
    sf_buf_add_u8(out, '\n');
}

static void diff_text_add_side(const struct sf_diff_text *d, const struct sf_tree_side *side,
                               const char *word, sf_str name, struct sf_buf *out)
{
    sf_buf_print(out, "%-11s", word);
    sf_units_amount(out, side->total, d->diff->shape.unit);
    if (side->n_requests) {
        sf_buf_add_str(out, SF_STR(" in "));
        sf_units_count(out, side->n_requests);
        sf_buf_add_str(out, SF_STR(" requests"));
    }
    sf_buf_add_str(out, SF_STR("  "));
    sf_units_text(out, name, 100);
    sf_buf_add_u8(out, '\n');
}

bool sf_diff_text_lengths_differ(const struct sf_profile_view *left,
                                 const struct sf_profile_view *right)
{
    double a = (double)left->duration_ns, b = (double)right->duration_ns;
    return a > 0 && b > 0 && fabs(a - b) > 0.01 * fmax(a, b);
}

/* Warns that sums over ranges of different length are not comparable. */
static void add_lengths(const struct sf_diff_text *d, struct sf_buf *out)
{
    if (!sf_diff_text_lengths_differ(d->left, d->right))
        return;
    sf_buf_add_str(out, SF_STR("the baseline covers "));
    sf_units_duration(out, (uint64_t)d->left->duration_ns);
    sf_buf_add_str(out, SF_STR(", the comparison "));
    sf_units_duration(out, (uint64_t)d->right->duration_ns);
    sf_buf_add_str(out, SF_STR(": values are sums and are not scaled; --measure share ranks by "
                               "share\n"));
}

static void diff_text_add_head(const struct sf_diff_text *d, struct sf_buf *out)
{
    struct sf_diff_change all = sf_tree_diff_measure(d->diff, SF_DIFF_VALUE, d->diff->left.total,
                                                     d->diff->right.total);
    diff_text_add_side(d, &d->diff->left, "baseline", d->left->service, out);
    diff_text_add_side(d, &d->diff->right, "comparison", d->right->service, out);
    sf_buf_add_str(out, SF_STR("change     "));
    if (d->diff->shape.total > 0)
        sf_buf_add_u8(out, '+');
    sf_units_amount(out, d->diff->shape.total, d->diff->shape.unit);
    if (!isinf(all.ratio))
        sf_buf_print(out, " (%+.1f %%)", all.ratio * 100);
    sf_buf_add_str(out, SF_STR(" of "));
    sf_units_text(out, d->right->type.sample_type, 40);
    sf_buf_add_str(out, SF_STR("; shares are of each side's own total\n"));
    add_lengths(d, out);
    sf_buf_add_u8(out, '\n');
}

static void add_numbers(const struct sf_diff_text *d, int64_t left, int64_t right,
                        struct sf_buf *out)
{
    sf_str unit = d->diff->shape.unit;
    struct sf_diff_change value = sf_tree_diff_measure(d->diff, SF_DIFF_VALUE, left, right),
                          share = sf_tree_diff_measure(d->diff, SF_DIFF_SHARE, left, right);
    diff_text_add_amount(out, left, unit, false);
    diff_text_add_amount(out, right, unit, false);
    diff_text_add_amount(out, sf_sub_sat_i64(right, left), unit, true);
    add_ratio(out, value.ratio);
    diff_text_add_share(out, share.left);
    diff_text_add_share(out, share.right);
}

static size_t diff_text_name_columns(const struct sf_diff_text *d)
{
    return d->columns > NUMBERS + MIN_NAME + 2 ? d->columns - NUMBERS - 2 : MIN_NAME;
}

enum sf_err sf_diff_text_table(const struct sf_diff_text *d, struct sf_arena scratch,
                               struct sf_buf *out, struct sf_why *why)
{
    const struct sf_tree *shape = &d->diff->shape;
    const struct sf_diff_row *rows;
    uint32_t n, shown = 0, n_all = 0;
    enum sf_err err = sf_tree_diff_top(d->diff, d->measure, &scratch, &rows, &n, why);
    if (err)
        return err;
    diff_text_add_head(d, out);
    sf_buf_print(out, "%*s%*s%*s%*s%*s%*s  function (self)\n", NUMBER, "before", NUMBER, "after",
                 NUMBER, "change", PERCENT, "", PERCENT, "% before", PERCENT, "% after");
    for (uint32_t i = 0; i < n && shown < d->limit; i++) {
        const struct sf_diff_row *r = &rows[i];
        if (r->left_self == 0 && r->right_self == 0)
            continue;
        shown++;
        diff_text_add_color(d, out, sf_sub_sat_i64(r->right_self, r->left_self));
        add_numbers(d, r->left_self, r->right_self, out);
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, shape->frames[r->frame].function, diff_text_name_columns(d));
        end_color(d, out);
    }
    for (uint32_t i = 0; i < n; i++)
        n_all += rows[i].left_self != 0 || rows[i].right_self != 0;
    if (n_all > shown)
        sf_buf_print(out, "%u more function%s; --limit %u shows all\n", n_all - shown,
                     n_all - shown == 1 ? "" : "s", n_all);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "diff: no memory");
}

static bool diff_text_is_shown(const struct sf_diff_text *d, uint32_t place)
{
    struct sf_diff_change c = sf_tree_diff_measure(
        d->diff, SF_DIFF_SHARE, d->diff->left.totals[place], d->diff->right.totals[place]);
    return fabs(c.left) >= d->min_share || fabs(c.right) >= d->min_share;
}

enum sf_err sf_diff_text_tree(const struct sf_diff_text *d, struct sf_arena scratch,
                              struct sf_buf *out, struct sf_why *why)
{
    const struct sf_tree *shape = &d->diff->shape;
    struct sf_tree_order order;
    uint32_t hidden = UINT32_MAX, n_hidden = 0;
    enum sf_err err = sf_tree_order(shape, d->diff->right.totals, SF_TREE_BY_TOTAL, &scratch,
                                    &order, why);
    if (err)
        return err;
    diff_text_add_head(d, out);
    sf_buf_print(out, "%*s%*s%*s%*s%*s%*s  function (total)\n", NUMBER, "before", NUMBER, "after",
                 NUMBER, "change", PERCENT, "", PERCENT, "% before", PERCENT, "% after");
    for (uint32_t i = 1; i < shape->n_nodes; i++) {
        uint32_t place = order.places[i], depth = order.depths[i];
        size_t names = diff_text_name_columns(d), indent = (size_t)(depth - 1) * 2;
        int64_t left = d->diff->left.totals[place], right = d->diff->right.totals[place];
        if (depth > hidden || !diff_text_is_shown(d, place)) {
            hidden = depth < hidden ? depth : hidden;
            n_hidden++;
            continue;
        }
        hidden = UINT32_MAX;
        indent = indent > names / 2 ? names / 2 : indent;
        diff_text_add_color(d, out, sf_sub_sat_i64(right, left));
        add_numbers(d, left, right, out);
        sf_units_pad(out, 2 + indent);
        sf_units_text(out, shape->frames[shape->nodes[place].frame].function, names - indent);
        end_color(d, out);
    }
    if (n_hidden > 0)
        sf_buf_print(out, "%u more frame%s below %g %% of both sides; --min 0 shows all\n",
                     n_hidden, n_hidden == 1 ? "" : "s", d->min_share * 100);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "diff: no memory");
}
