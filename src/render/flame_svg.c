/* flame_svg.c - a flame graph as one SVG file. The tree is walked twice in drawing order: the first
 * pass computes where each bar starts and how deep the graph is, the second writes the bars.
 * Differences use the same bars with a colour for the change. The script at the end is a constant;
 * names reach it only as escaped text. */
#include "render/flame_svg.h"

#include <math.h>

#include "base/hash.h"
#include "base/text.h"
#include "flame/tree_order.h"
#include "render/known.h"
#include "render/units.h"
#include "render/xml_text.h"

enum { WIDTH = 1200, MARGIN = 10, TOP = 46, ROW = 17, BOTTOM = 26, NAME_COLUMNS = 400 };
static const double char_width = 6.9, least_width = 0.1;

static const char script[] =
    "(function(){'use strict';\n"
    "var W=1180,M=10,CW=6.9,svg=document.documentElement;\n"
    "var all=[].map.call(svg.querySelectorAll('g.f'),function(g){\n"
    "  var r=g.querySelector('rect'),t=g.querySelector('text');\n"
    "  return {g:g,r:r,t:t,name:g.querySelector('title').textContent.split('\\n')[0],\n"
    "    x:+r.getAttribute('x')-M,w:+r.getAttribute('width'),y:+r.getAttribute('y')};});\n"
    "var status=svg.getElementById('status');\n"
    "function put(f,x,w){\n"
    "  f.g.style.display='';\n"
    "  f.r.setAttribute('x',M+x);f.r.setAttribute('width',w);f.t.setAttribute('x',M+x+3);\n"
    "  var n=Math.floor((w-6)/CW);\n"
    "  f.t.textContent=n<3?'':f.name.length<=n?f.name:f.name.slice(0,n-1)+'\\u2026';}\n"
    "function zoom(z){\n"
    "  all.forEach(function(f){\n"
    "    var e=1e-3;\n"
    "    f.g.classList.remove('up');\n"
    "    "
    "if(f.y<z.y&&f.x<=z.x+e&&f.x+f.w>=z.x+z.w-e){put(f,0,W);if(f!==z)f.g.classList.add('up');}\n"
    "    else if(f.y>=z.y&&f.x>=z.x-e&&f.x+f.w<=z.x+z.w+e)put(f,(f.x-z.x)*W/z.w,f.w*W/z.w);\n"
    "    else f.g.style.display='none';});}\n"
    "function reset(){all.forEach(function(f){f.g.classList.remove('up');put(f,f.x,f.w);});}\n"
    "function search(){\n"
    "  var q=window.prompt('Search functions (regular expression)','');\n"
    "  if(q===null)return;\n"
    "  var re=null;\n"
    "  try{if(q)re=new RegExp(q);}catch(e){status.textContent='not a regular expression';return;}\n"
    "  var hit=[];\n"
    "  all.forEach(function(f){var m=!!re&&re.test(f.name);f.g.classList.toggle('hit',m);\n"
    "    if(m)hit.push(f);});\n"
    "  hit.sort(function(a,b){return a.x-b.x||b.w-a.w;});\n"
    "  var end=0,sum=0;\n"
    "  hit.forEach(function(f){var b=f.x+f.w;if(b>end){sum+=b-Math.max(end,f.x);end=b;}});\n"
    "  status.textContent=re?'matched '+(100*sum/W).toFixed(1)+'%':'';}\n"
    "svg.addEventListener('click',function(ev){\n"
    "  var g=ev.target.closest('g');\n"
    "  if(ev.target.id==='search')search();\n"
    "  else if(ev.target.id==='reset')reset();\n"
    "  else all.forEach(function(f){if(f.g===g)zoom(f);});});\n"
    "window.addEventListener('keydown',function(ev){\n"
    "  if(ev.key==='/'){ev.preventDefault();search();}\n"
    "  if(ev.key==='Escape')reset();});\n"
    "})();\n";

static const char style[] =
    "svg{background:#fff}text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#111}"
    ".h{font-size:15px}.b{fill:#555;cursor:pointer}.f{cursor:pointer}.f rect{stroke:#fff;"
    "stroke-width:.5}.f text{pointer-events:none}.up{opacity:.6}.hit rect{fill:#d0f}"
    "@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#eee}.b{fill:#aaa}"
    ".f text{fill:#111}.f rect{stroke:#16181d}}";

/* ---- text ---- */

static void flame_svg_add_text(struct sf_buf *out, sf_str name, size_t columns)
{
    struct sf_buf text = {0};
    sf_units_text(&text, name, columns);
    sf_xml_text_drop_noncharacters(&text);
    sf_xml_text_escape(out, sf_buf_str(&text));
    if (!sf_buf_ok(&text))
        out->err = text.err;
    sf_buf_done(&text);
}

/* ---- bars ---- */

static void flame_svg_add_color(struct sf_buf *out, const struct sf_frame *f)
{
    static const unsigned hues[SF_FRAME_KINDS] = {
        [SF_FRAME_UNKNOWN] = 30, [SF_FRAME_NATIVE] = 40,  [SF_FRAME_KERNEL] = 12,
        [SF_FRAME_GO] = 190,     [SF_FRAME_JVM] = 130,    [SF_FRAME_PYTHON] = 55,
        [SF_FRAME_V8] = 95,      [SF_FRAME_RUBY] = 350,   [SF_FRAME_PHP] = 235,
        [SF_FRAME_PERL] = 215,   [SF_FRAME_DOTNET] = 270, [SF_FRAME_BEAM] = 300,
        [SF_FRAME_RUST] = 20,    [SF_FRAME_LUAJIT] = 225, [SF_FRAME_SERVICE] = 205,
        [SF_FRAME_SPAN] = 165};
    uint64_t hash = sf_hash_str(f->function);
    if (f->kind == SF_FRAME_MARKER)
        sf_buf_add_str(out, SF_STR("hsl(0,0%,75%)"));
    else
        sf_buf_print(out, "hsl(%u,%u%%,%u%%)",
                     hues[f->kind < SF_FRAME_KINDS ? f->kind : 0] + (unsigned)(hash % 20),
                     65 + (unsigned)(hash >> 8) % 20, 62 + (unsigned)(hash >> 16) % 12);
}

struct page {
    const struct sf_profile_view *v;
    const int64_t *totals;
    struct sf_buf *out;
    const struct sf_tree_diff *diff; /* NULL: a single profile */
    enum sf_diff_measure measure;
};

static void flame_svg_add_amount(const struct page *p, int64_t value)
{
    sf_known_amount(p->out, p->v, value);
}

static void flame_svg_add_amounts(const struct page *p, uint32_t place)
{
    const struct sf_tree *t = &p->v->tree;
    flame_svg_add_amount(p, p->totals[place]);
    sf_buf_print(p->out, ", %s%.2f %% of ", p->v->is_estimate ? SF_ESTIMATE_MARK : "",
                 100.0 * (double)p->totals[place] / (double)p->totals[0]);
    flame_svg_add_amount(p, p->totals[0]);
    if (t->nodes[place].self) {
        sf_buf_add_str(p->out, SF_STR("; self "));
        flame_svg_add_amount(p, t->nodes[place].self);
    }
}

/* ---- colours of a comparison ---- */

static struct sf_diff_change change_of(const struct page *p, uint32_t place)
{
    return sf_tree_diff_measure(p->diff, p->measure, p->diff->left.totals[place],
                                p->diff->right.totals[place]);
}

static void flame_svg_add_side(const struct page *p, double value)
{
    if (p->measure == SF_DIFF_SHARE)
        sf_buf_print(p->out, "%.2f %%", 100 * value);
    else
        sf_units_amount(p->out, llround(value), p->v->tree.unit);
}

static void flame_svg_add_change(const struct page *p, uint32_t place)
{
    struct sf_diff_change c = change_of(p, place);
    flame_svg_add_side(p, c.left);
    sf_buf_add_str(p->out, SF_STR(" -> "));
    flame_svg_add_side(p, c.right);
    if (isinf(c.ratio))
        sf_buf_add_str(p->out, SF_STR(", new"));
    else
        sf_buf_print(p->out, ", %+.1f %%", 100 * c.ratio);
}

/* Grey means no change; full red or blue means a change by a fifth of the total, or by half of its
 * own value. */
static void add_change_color(const struct page *p, uint32_t place)
{
    struct sf_diff_change c = change_of(p, place), all = change_of(p, 0);
    double whole = fmax(fabs(all.left), fabs(all.right));
    double of_all = whole > 0 ? fabs(c.delta) / whole * 5 : 0;
    double strength = fmin(1, fmin(of_all * 4, fmax(of_all, fabs(c.ratio) * 2)));
    sf_buf_print(p->out, "hsl(%u,%.0f%%,%.0f%%)", c.delta > 0 ? 4 : 212, 80 * strength,
                 82 - 22 * strength);
}

static void flame_svg_add_bar(const struct page *p, uint32_t place, double x, double width,
                              unsigned y)
{
    static const struct sf_frame all = {.function = {"total", 5}};
    const struct sf_tree *t = &p->v->tree;
    const struct sf_frame *f = place ? &t->frames[t->nodes[place].frame] : &all;
    size_t columns = width > 3 * char_width + 6 ? (size_t)((width - 6) / char_width) : 0;
    sf_buf_add_str(p->out, SF_STR("<g class=\"f\"><title>"));
    flame_svg_add_text(p->out, f->function, NAME_COLUMNS);
    sf_buf_add_u8(p->out, '\n');
    if (p->diff)
        flame_svg_add_change(p, place);
    else
        flame_svg_add_amounts(p, place);
    if (f->file.len) {
        sf_buf_add_u8(p->out, '\n');
        flame_svg_add_text(p->out, f->file, NAME_COLUMNS);
        if (f->line)
            sf_buf_print(p->out, ":%u", f->line);
    }
    sf_buf_print(p->out, "</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%d\" fill=\"",
                 MARGIN + x, y, width, ROW - 1);
    if (p->diff)
        add_change_color(p, place);
    else
        flame_svg_add_color(p->out, f);
    sf_buf_print(p->out, "\"/><text x=\"%.3f\" y=\"%u\">", MARGIN + x + 3, y + 12);
    if (columns)
        flame_svg_add_text(p->out, f->function, columns);
    sf_buf_add_str(p->out, SF_STR("</text></g>\n"));
}

static void flame_svg_add_head(const struct page *p, unsigned height)
{
    sf_buf_print(p->out,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
                 "viewBox=\"0 0 %d %u\">\n<style>%s</style>\n<text class=\"h\" x=\"%d\" y=\"20\">",
                 WIDTH, height, WIDTH, height, style, MARGIN);
    flame_svg_add_text(p->out, p->v->service.len ? p->v->service : SF_STR("profile"), 80);
    sf_buf_add_str(p->out, SF_STR(": "));
    flame_svg_add_text(p->out, p->v->type.sample_type, 40);
    sf_buf_add_str(p->out, SF_STR(", "));
    if (p->diff)
        flame_svg_add_change(p, 0);
    else
        flame_svg_add_amount(p, p->totals[0]);
    sf_buf_print(p->out,
                 "</text>\n<text class=\"b\" id=\"reset\" x=\"%d\" y=\"38\">reset (Esc)</text>"
                 "<text class=\"b\" id=\"search\" x=\"%d\" y=\"38\">search (/)</text>"
                 "<text id=\"status\" x=\"%d\" y=\"38\"></text>\n",
                 MARGIN, MARGIN + 110, MARGIN + 220);
}

/* Children begin at the left edge of their parent: the root is at the top, the self part of a bar
 * is at the right of its children. */
static unsigned add_bars(const struct page *p, const struct sf_tree_order *order, double *starts,
                         bool is_counting)
{
    const struct sf_tree *t = &p->v->tree;
    double scale = (WIDTH - 2 * MARGIN) / (double)p->totals[0];
    uint32_t hidden = UINT32_MAX, deepest = 0;
    starts[0] = 0;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        uint32_t place = order->places[i], depth = order->depths[i];
        double width = (double)p->totals[place] * scale, x = starts[depth];
        starts[depth] += width;
        starts[depth + 1] = x;
        if (depth > hidden || width < least_width) {
            hidden = depth < hidden ? depth : hidden;
            continue;
        }
        hidden = UINT32_MAX;
        deepest = depth > deepest ? depth : deepest;
        if (!is_counting)
            flame_svg_add_bar(p, place, x, width, TOP + depth * ROW);
    }
    return deepest;
}

static enum sf_err render(struct page p, struct sf_arena scratch, struct sf_why *why)
{
    const struct sf_profile_view *v = p.v;
    struct sf_buf *out = p.out;
    struct sf_tree_order order;
    double *starts;
    int64_t *totals;
    unsigned height = TOP + ROW + BOTTOM;
    enum sf_err err = sf_tree_order_totals(&v->tree, &scratch, &totals, why);
    if (!err)
        err = sf_tree_order(&v->tree, totals, SF_TREE_BY_NAME, &scratch, &order, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < v->tree.n_nodes; i++) {
        if (v->tree.nodes[i].self < 0)
            return sf_fail(why, SF_ERR_INPUT,
                           "a profile with negative values has no flame graph in SVG; use the text "
                           "or the table");
    }
    starts = sf_arena_new_n(&scratch, (size_t)order.max_depth + 2, sizeof(*starts));
    if (!starts)
        return sf_no_room(why, "the answer");
    p.totals = totals;
    if (totals[0] > 0)
        height += add_bars(&p, &order, starts, true) * ROW;
    flame_svg_add_head(&p, height);
    if (totals[0] > 0)
        add_bars(&p, &order, starts, false);
    else
        sf_buf_print(out, "<text x=\"%d\" y=\"%d\">no samples</text>\n", MARGIN, TOP + ROW);
    sf_buf_print(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "svg: no memory");
}

enum sf_err sf_flame_svg_render(const struct sf_profile_view *v, struct sf_arena scratch,
                                struct sf_buf *out, struct sf_why *why)
{
    return render((struct page){.v = v, .out = out}, scratch, why);
}

enum sf_err sf_flame_svg_diff(const struct sf_profile_view *v, const struct sf_tree_diff *d,
                              enum sf_diff_measure measure, struct sf_arena scratch,
                              struct sf_buf *out, struct sf_why *why)
{
    struct sf_profile_view right = *v;
    struct sf_tree_node *nodes = sf_arena_new_n(&scratch, d->shape.n_nodes + 1u, sizeof(*nodes));
    if (!nodes)
        return sf_no_room(why, "the answer");
    for (uint32_t i = 0; i < d->shape.n_nodes; i++) {
        nodes[i] = d->shape.nodes[i];
        nodes[i].self = d->right.self[i];
    }
    right.tree.frames = d->shape.frames;
    right.tree.n_frames = d->shape.n_frames;
    right.tree.nodes = nodes;
    right.tree.n_nodes = d->shape.n_nodes;
    right.tree.total = d->right.total;
    return render((struct page){.v = &right, .out = out, .diff = d, .measure = measure}, scratch,
                  why);
}
