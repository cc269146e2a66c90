/* hot_code.c - finds the few functions in which time was spent, as a person would name them. What
 * depends only on the stacks is prepared once; for given values, time is charged to owners, the
 * tree is opened from the root until a node is worth naming, and each such piece gets its function,
 * line and library. */
#include "link/hot_code.h"

#include <stdlib.h>

#include "base/buf.h"
#include "flame/frame_name.h"
#include "flame/library_frame.h"
#include "flame/tree_builder.h"

#define MOSTLY   0.5  /* share of own time from which a function is named */
#define COVERED  0.6  /* share that large callees must cover; otherwise the time counts as spread */
#define WORTH    0.1  /* share of its caller's time from which a callee counts as large */
#define SMALLEST 0.02 /* share of the total below which nothing is named */
enum { PATH_FRAMES = 4 };

struct piece {
    uint32_t node;  /* the first node of by_function in which it was found */
    uint32_t found; /* its number in the order of finding */
    double value;
    bool is_spread;
};

struct work {
    const struct sf_hot_code *h;
    const double *values; /* by node of the stacks */
    struct sf_arena *req;
    double *self, *total; /* by node of by_function, after charging */
    double *again;        /* by node: the largest recursive call of the same function below it */
    double all;
    struct piece *pieces;
    uint32_t n_pieces;
    uint32_t *of; /* by node: number of its piece, or SF_NONE */
};

/* ---- what does not depend on values ---- */

enum sf_err sf_hot_code_init(struct sf_hot_code *h, const struct sf_tree *stacks,
                             struct sf_arena *req, struct sf_why *why)
{
    struct sf_tree_builder b;
    uint32_t *of = sf_arena_new_n(req, stacks->n_nodes + 1u, sizeof(*of));
    uint32_t *frames = sf_arena_new_n(req, stacks->n_frames + 1u, sizeof(*frames));
    bool *is_library = sf_arena_new_n(req, stacks->n_frames + 1u, sizeof(*is_library));
    bool *is_unnamed = sf_arena_new_n(req, stacks->n_frames + 1u, sizeof(*is_unnamed));
    *h = (struct sf_hot_code){
        .stacks = stacks, .of = of, .is_library = is_library, .is_unnamed = is_unnamed};
    h->owners = sf_library_frame_owners(stacks, req);
    if (!of || !frames || !is_library || !is_unnamed || !h->owners)
        return sf_no_room(why, "the query");
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    bool is_full = false;
    for (uint32_t i = 0; i < stacks->n_frames && !is_full; i++) {
        struct sf_frame f = {.kind = stacks->frames[i].kind};
        is_full = !sf_frame_name(&stacks->frames[i], SF_GROUP_FUNCTION, req, &f.function);
        frames[i] = is_full ? SF_NONE : sf_tree_builder_frame(&b, &f);
        is_full = frames[i] == SF_NONE;
        if (is_full)
            break;
        is_library[frames[i]] = sf_library_frame_is(&stacks->frames[i]);
        is_unnamed[frames[i]] = stacks->frames[i].function.len == 0;
    }
    for (uint32_t i = 1; i < stacks->n_nodes && !is_full; i++)
        of[i] = sf_tree_builder_child(&b, of[stacks->nodes[i].parent],
                                      frames[stacks->nodes[i].frame]);
    enum sf_err err = is_full ? sf_no_room(why, "the query")
                              : sf_tree_builder_take(&b, SF_STR_NONE, &h->by_function, why);
    sf_tree_builder_done(&b);
    return err;
}

/* ---- opening the tree ---- */

static void hot_code_charge(struct work *w)
{
    const struct sf_hot_code *h = w->h;
    for (uint32_t i = 1; i < h->stacks->n_nodes; i++) {
        w->self[h->of[h->owners[i]]] += w->values[i];
        w->all += w->values[i];
    }
    for (uint32_t i = h->by_function.n_nodes; i-- > 1;) { /* children come after parents */
        w->total[i] += w->self[i];
        w->total[h->by_function.nodes[i].parent] += w->total[i];
    }
}

static void find_recursion(struct work *w)
{
    const struct sf_tree *t = &w->h->by_function;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t frame = t->nodes[i].frame;
        if (w->total[i] < w->all * SMALLEST)
            continue; /* skip small nodes: walking up long stacks takes time */
        if (w->h->is_library[frame] || w->h->is_unnamed[frame])
            continue;
        for (uint32_t up = t->nodes[i].parent; up != 0; up = t->nodes[up].parent)
            if (t->nodes[up].frame == t->nodes[i].frame && w->again[up] < w->total[i])
                w->again[up] = w->total[i];
    }
}

static bool hot_code_is_worth(const struct work *w, uint32_t node)
{
    uint32_t up = w->h->by_function.nodes[node].parent;
    return w->total[node] >= w->total[up] * WORTH && w->total[node] >= w->all * SMALLEST;
}

static uint32_t hot_code_add_piece(struct work *w, uint32_t node, double value, bool is_spread)
{
    const struct sf_tree *t = &w->h->by_function;
    if (value < w->all * SMALLEST || value <= 0)
        return SF_NONE;
    for (uint32_t i = 0; i < w->n_pieces; i++) {
        if (t->nodes[w->pieces[i].node].frame == t->nodes[node].frame) {
            w->pieces[i].value += value;
            w->pieces[i].is_spread = w->pieces[i].is_spread && is_spread;
            return i;
        }
    }
    w->pieces[w->n_pieces] = (struct piece){node, w->n_pieces, value, is_spread};
    return w->n_pieces++;
}

/* Parents before children: a node is examined if its parent was opened; otherwise it belongs to its
 * parent's piece. */
static bool open_tree(struct work *w)
{
    const struct sf_tree *t = &w->h->by_function;
    bool *is_open = sf_arena_new_n(w->req, t->n_nodes + 1u, sizeof(*is_open));
    double *covered = sf_arena_new_n(w->req, t->n_nodes + 1u, sizeof(*covered));
    w->pieces = sf_arena_new_n(w->req, (size_t)(1 / SMALLEST) + 1, sizeof(*w->pieces));
    w->of = sf_arena_new_n(w->req, t->n_nodes + 1u, sizeof(*w->of));
    if (!is_open || !covered || !w->pieces || !w->of)
        return false;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        if (hot_code_is_worth(w, i))
            covered[t->nodes[i].parent] += w->total[i];
    is_open[0] = true;
    w->of[0] = SF_NONE;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t up = t->nodes[i].parent;
        w->of[i] = w->of[up];
        if (!is_open[up] || !hot_code_is_worth(w, i))
            continue;
        bool is_own = w->self[i] >= w->total[i] * MOSTLY || w->again[i] >= w->total[i] * MOSTLY;
        is_open[i] = !is_own && covered[i] >= w->total[i] * COVERED;
        double value = is_open[i] ? w->total[i] - covered[i] : w->total[i];
        bool is_spread = w->self[i] < value * MOSTLY && w->again[i] < w->total[i] * MOSTLY;
        w->of[i] = hot_code_add_piece(w, i, value, is_spread);
    }
    return true;
}

/* ---- what a piece is called ---- */

/* The frame of the piece's function that is nearest to the leaf; 0: none. */
static uint32_t frame_node(const struct work *w, const struct piece *p, uint32_t node)
{
    const struct sf_hot_code *h = w->h;
    uint32_t frame = h->by_function.nodes[p->node].frame;
    for (uint32_t at = h->owners[node]; at != 0; at = h->stacks->nodes[at].parent)
        if (h->by_function.nodes[h->of[at]].frame == frame)
            return at;
    return 0;
}

struct library { /* the library that a piece called most */
    sf_str name;
    double value;
};

enum { LIBRARIES = 16 };

static void add_library(struct library *list, uint32_t *n, sf_str name, double value)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (sf_str_eq(list[i].name, name)) {
            list[i].value += value;
            return;
        }
    }
    if (*n < LIBRARIES)
        list[(*n)++] = (struct library){name, value};
}

/* The library of the frame directly below the owner: the one that the owner called. */
static sf_str hot_code_library_of(const struct sf_hot_code *h, uint32_t node)
{
    uint32_t owner = h->owners[node], at = node;
    if (at == owner)
        return SF_STR_NONE;
    while (h->stacks->nodes[at].parent != owner && h->stacks->nodes[at].parent != 0)
        at = h->stacks->nodes[at].parent;
    return sf_library_frame_name(&h->stacks->frames[h->stacks->nodes[at].frame]);
}

static bool hot_code_print_path(const struct work *w, uint32_t node, sf_str *out)
{
    const struct sf_tree *t = &w->h->by_function;
    uint32_t chain[PATH_FRAMES], n = 0;
    struct sf_buf text = {0};
    uint32_t at = node;
    for (; at != 0 && n < PATH_FRAMES; at = t->nodes[at].parent)
        chain[n++] = at;
    sf_buf_add_str(&text, at != 0 ? SF_STR("... > ") : SF_STR_NONE);
    for (uint32_t i = n; i-- > 0;) {
        sf_buf_add_str(&text, t->frames[t->nodes[chain[i]].frame].function);
        sf_buf_add_str(&text, i > 0 ? SF_STR(" > ") : SF_STR_NONE);
    }
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(w->req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

static bool hot_code_describe(struct work *w, const struct piece *p, double *lines,
                              uint32_t *touched, struct sf_hot_piece *out)
{
    const struct sf_hot_code *h = w->h;
    const struct sf_tree *t = &h->by_function;
    struct library list[LIBRARIES];
    uint32_t n_list = 0, n_touched = 0, best = SF_NONE;
    *out = (struct sf_hot_piece){.function = t->frames[t->nodes[p->node].frame].function,
                                 .value = p->value,
                                 .node = p->node,
                                 .is_spread = p->is_spread};
    for (uint32_t up = t->nodes[p->node].parent; up != 0; up = t->nodes[up].parent) {
        if (t->nodes[up].frame != t->nodes[p->node].frame && !h->is_library[t->nodes[up].frame]) {
            out->caller = t->frames[t->nodes[up].frame].function;
            break;
        }
    }
    for (uint32_t i = 1; i < h->stacks->n_nodes; i++) {
        if (w->values[i] <= 0 || w->of[h->of[h->owners[i]]] != p->found)
            continue;
        uint32_t at = frame_node(w, p, i), frame = at ? h->stacks->nodes[at].frame : SF_NONE;
        sf_str library = hot_code_library_of(h, i);
        if (library.len > 0 && at == h->owners[i])
            add_library(list, &n_list, library, w->values[i]);
        if (frame == SF_NONE)
            continue;
        if (lines[frame] == 0)
            touched[n_touched++] = frame;
        lines[frame] += w->values[i];
    }
    for (uint32_t i = 0; i < n_touched; i++)
        if (best == SF_NONE || lines[touched[i]] > lines[best])
            best = touched[i];
    if (best != SF_NONE) {
        out->file = h->stacks->frames[best].file;
        out->line = h->stacks->frames[best].line;
    }
    for (uint32_t i = 0; i < n_touched; i++)
        lines[touched[i]] = 0;
    for (uint32_t i = 0; i < n_list; i++) {
        if (list[i].value <= out->library_value)
            continue;
        out->library = list[i].name;
        out->library_value = list[i].value;
    }
    return hot_code_print_path(w, p->node, &out->path);
}

static int hot_code_by_value(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Maps nodes of the stacks to pieces, in the order of the answer. */
static const uint32_t *hot_code_map_nodes(const struct work *w, uint32_t n)
{
    const struct sf_hot_code *h = w->h;
    uint32_t *of = sf_arena_new_n(w->req, h->stacks->n_nodes + 1u, sizeof(*of));
    uint32_t *rank = sf_arena_new_n(w->req, w->n_pieces + 1u, sizeof(*rank));
    if (!of || !rank)
        return NULL;
    for (uint32_t i = 0; i < w->n_pieces; i++)
        rank[w->pieces[i].found] = i < n ? i : SF_NONE;
    for (uint32_t i = 0; i < h->stacks->n_nodes; i++) {
        uint32_t piece = w->of[h->of[h->owners[i]]];
        of[i] = piece == SF_NONE ? SF_NONE : rank[piece];
    }
    return of;
}

enum sf_err sf_hot_code_find(const struct sf_hot_code *h, const double *values, uint32_t cap,
                             struct sf_arena *req, struct sf_hot_pieces *out, struct sf_why *why)
{
    uint32_t n = h->by_function.n_nodes;
    struct work w = {.h = h, .values = values, .req = req};
    double *lines = sf_arena_new_n(req, h->stacks->n_frames + 1u, sizeof(*lines));
    uint32_t *touched = sf_arena_new_n(req, h->stacks->n_frames + 1u, sizeof(*touched));
    w.self = sf_arena_new_n(req, n + 1u, sizeof(*w.self));
    w.total = sf_arena_new_n(req, n + 1u, sizeof(*w.total));
    w.again = sf_arena_new_n(req, n + 1u, sizeof(*w.again));
    *out = (struct sf_hot_pieces){.list = sf_arena_new_n(req, cap + 1u, sizeof(*out->list))};
    if (!lines || !touched || !w.self || !w.total || !w.again || !out->list)
        return sf_no_room(why, "the query");
    hot_code_charge(&w);
    find_recursion(&w);
    if (!open_tree(&w))
        return sf_no_room(why, "the query");
    qsort(w.pieces, w.n_pieces, sizeof(*w.pieces), hot_code_by_value);
    out->rest = w.all;
    out->n = w.n_pieces < cap ? w.n_pieces : cap;
    out->n_more = w.n_pieces - out->n;
    for (uint32_t i = 0; i < out->n; i++) {
        if (!hot_code_describe(&w, &w.pieces[i], lines, touched, &out->list[i]))
            return sf_no_room(why, "the query");
        out->rest -= out->list[i].value;
    }
    out->of = hot_code_map_nodes(&w, out->n);
    return out->of ? SF_OK : sf_no_room(why, "the query");
}
