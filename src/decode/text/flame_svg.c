/* Flame graphs as SVG, which py-spy, inferno and flamegraph.pl draw: a rectangle per frame,
 *
 *     <g><title>work (12 samples, 40.00%)</title><rect x="10.0" y="33" width="90.1" .../>
 *
 * The widest one is the root; rows go up or down from it. A frame's caller is the rectangle of the
 * previous row that contains its middle. The self value of a frame is its value minus those of
 * its children. Frames that were too narrow to draw are missing: their samples count for their
 * callers. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/limits.h"
#include "decode/link_tree.h"
#include "decode/text/entities.h"
#include "decode/text/stack_text.h"

struct box {
    double x, width;
    int64_t row; /* as drawn; later the distance from the root */
    int64_t count, inner;
    uint32_t location, order;
};

struct reader {
    struct sf_profile_build *b;
    struct sf_stack_text text;
    struct sf_profile_list boxes;
};

/* name="12.5%" as a number; `name` begins with a blank. */
static bool attribute(sf_str tag, sf_str name, double *out)
{
    size_t at, end;
    sf_str val;
    if (!sf_str_find(tag, name, &at))
        return false;
    val = sf_str_from_at(tag, at + name.len);
    if (!sf_str_find_char(val, '"', &end))
        return false;
    val.len = end;
    if (sf_str_ends(val, SF_STR("%")))
        val.len--;
    return sf_str_to_f64(val, out) && *out >= 0 && *out < 1e15;
}

/* "work (a.py:3) (1,234 samples, 40.00%)": removes the last parentheses and reads the number in
 * them. */
static bool take_title(struct reader *r, sf_str title, struct box *out)
{
    size_t open = title.len, at;
    int64_t v = 0;
    bool has_digit = false;
    if (!sf_str_ends(title, SF_STR(")")))
        return false;
    while (open && title.p[open - 1] != '(')
        open--;
    for (at = open; at < title.len; at++) {
        char c = title.p[at];
        if (c == ',' && has_digit)
            continue;
        if (c < '0' || c > '9')
            break;
        has_digit = true;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, c - '0', &v))
            return false;
    }
    if (!has_digit || open < 2)
        return false;
    out->count = v;
    out->location = sf_stack_text_frame(
        &r->text, sf_entities_decode(r->b, sf_str_trim(sf_str_part(title, 0, open - 1))));
    return out->location != SF_NONE;
}

static void read_boxes(struct reader *r, sf_str text)
{
    sf_str mark = SF_STR("<title>"), end_mark = SF_STR("</title>");
    size_t at, end, rect, close;
    while (sf_str_find(text, mark, &at) && sf_profile_build_ok(r->b)) {
        struct box box = {.order = r->boxes.n}, *to;
        sf_str tag;
        double y;
        text = sf_str_from_at(text, at + mark.len);
        if (!sf_str_find(text, end_mark, &end))
            return;
        tag = sf_str_part(text, end + end_mark.len, 2048);
        if (!sf_str_find(tag, SF_STR("<rect"), &rect) || rect > 256 ||
            !sf_str_find_char(sf_str_from_at(tag, rect), '>', &close))
            continue;
        tag = sf_str_part(tag, rect, close);
        if (!attribute(tag, SF_STR(" x=\""), &box.x) ||
            !attribute(tag, SF_STR(" width=\""), &box.width) ||
            !attribute(tag, SF_STR(" y=\""), &y) ||
            !take_title(r, sf_str_part(text, 0, end), &box)) {
            sf_profile_build_drop(r->b, &r->b->drops.n_parts,
                                  "flame graph: rectangle %" PRIu32 " has no place or no samples",
                                  r->boxes.n);
            continue;
        }
        box.row = (int64_t)y;
        to = sf_profile_list_more(r->b, &r->boxes, sizeof(*to));
        if (!to || r->boxes.n == SF_LIMIT_SAMPLES)
            return;
        *to = box;
        r->boxes.n++;
    }
}

static int flame_svg_by_row(const void *a, const void *b)
{
    const struct box *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->x < y->x || x->x > y->x)
        return x->x < y->x ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Finds callers: both rows are sorted, so each is walked once. */
static void link_rows(struct reader *r, struct sf_link_tree *t)
{
    struct box *boxes = r->boxes.items;
    uint32_t n = r->boxes.n, above = 0, n_above = 0;
    for (uint32_t i = 0, k; i < n; i = k) {
        uint32_t p = above;
        for (k = i; k < n && boxes[k].row == boxes[i].row; k++) {
            double middle = boxes[k].x + boxes[k].width / 2;
            while (p + 1 < n_above && boxes[p].x + boxes[p].width < middle)
                p++;
            t->links[k].location = i ? boxes[k].location : SF_NONE; /* the root is not a frame */
            if (!i || p >= n_above)
                continue;
            t->links[k].parent = p;
            boxes[p].inner += boxes[k].count;
        }
        above = i;
        n_above = k;
    }
}

static enum sf_err flame_svg_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader r = {.b = b};
    struct sf_link_tree tree;
    struct box *boxes;
    enum sf_err err = sf_stack_text_init(&r.text, b);
    int64_t root_row = 0, top = INT64_MAX, bottom = 0;
    double widest = -1;
    if (err)
        return err;
    read_boxes(&r, bytes);
    boxes = r.boxes.items;
    for (uint32_t i = 0; i < r.boxes.n; i++) {
        top = boxes[i].row < top ? boxes[i].row : top;
        bottom = boxes[i].row > bottom ? boxes[i].row : bottom;
    }
    for (uint32_t i = 0; i < r.boxes.n; i++) { /* of several, the outermost one */
        bool is_edge = boxes[i].row == top || boxes[i].row == bottom;
        if (is_edge && boxes[i].width > widest) {
            widest = boxes[i].width;
            root_row = boxes[i].row;
        }
    }
    for (uint32_t i = 0; i < r.boxes.n; i++)
        boxes[i].row = root_row == top ? boxes[i].row - top : bottom - boxes[i].row;
    if (!r.boxes.n || b->is_full || !sf_link_tree_init(&tree, b, r.boxes.n))
        return SF_OK;
    qsort(boxes, r.boxes.n, sizeof(*boxes), flame_svg_by_row);
    link_rows(&r, &tree);
    sf_link_tree_close(&tree);
    for (uint32_t i = 1; i < r.boxes.n && sf_profile_build_ok(b); i++) {
        struct sf_sample s = {.series = r.text.series};
        if (boxes[i].count <= boxes[i].inner)
            continue;
        s.value = boxes[i].count - boxes[i].inner;
        s.count = s.value < UINT32_MAX ? (uint32_t)s.value : UINT32_MAX;
        s.stack = sf_link_tree_stack(&tree, i);
        sf_profile_build_sample(b, &b->me, &s);
    }
    return SF_OK;
}

static bool is_svg(sf_str bytes)
{
    sf_str head = sf_str_part(bytes, 0, 4096);
    size_t at;
    return sf_str_starts(sf_str_trim(head), SF_STR("<")) &&
           sf_str_find(head, SF_STR("<svg"), &at) && sf_str_find(bytes, SF_STR("<title>"), &at) &&
           (sf_str_find(bytes, SF_STR("samples, "), &at) ||
            sf_str_find(bytes, SF_STR("id=\"frames\""), &at));
}

const struct sf_profile_format sf_flame_svg_format = {
    .name = "flame-svg",
    .also = "svg",
    .is = is_svg,
    .decode = flame_svg_decode,
};
