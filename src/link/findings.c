/* findings.c - finds what stands out in a flame graph, and writes sentences about it.
 *
 * The graph is grouped by function, and link/hot_code.h divides its time into a few pieces. A piece
 * becomes a finding by its kind: a function's own time, a library, a lock, the garbage collector,
 * or a kind of work (theme.h). Then functions with much own time in many places, themes in many
 * places and deep stacks are added. A cost is reported once. */
#include "link/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "flame/frame_name.h"
#include "flame/tree_order.h"
#include "flame/tree_top.h"
#include "link/hot_code.h"
#include "link/leaf_state.h"
#include "link/theme.h"

enum {
    MAX_FINDINGS = 64, /* functions are sorted by size: smaller ones are left out and counted */
    PATH_FRAMES = 6
};

struct work {
    const struct sf_tree *t; /* by function */
    struct sf_hot_code hot;  /* for the stacks as given */
    const double *values;    /* by node of the stacks */
    double *stack_totals;    /* by node, with its callees; NULL: not computed yet */
    const struct sf_finding_limits *limits;
    const char *takes, *of_word; /* "takes" ... "of"; for a difference "adds" ... "to" */
    sf_str of;
    int64_t whole; /* base of shares */
    struct sf_arena *req;
    int64_t *totals;
    const uint8_t *states; /* by node */
    uint8_t *themes;       /* by frame */
    struct sf_finding *items;
    uint32_t n, n_more;
    bool is_full;
};

static double findings_share_of(const struct work *w, int64_t value)
{
    return w->whole > 0 ? (double)value / (double)w->whole : 0;
}

static sf_str findings_name_of(struct work *w, uint32_t frame)
{
    sf_str name = {0};
    if (!sf_frame_name(&w->t->frames[frame], SF_GROUP_FUNCTION, w->req, &name))
        w->is_full = true;
    return name;
}

/* "..." stands for frames that are left out. A recursive function is named once. */
bool sf_findings_path(const struct sf_tree *t, uint32_t node, struct sf_arena *req, sf_str *out)
{
    uint32_t nodes[PATH_FRAMES], n = 0;
    sf_str path = {0}, name;
    for (; node != 0; node = t->nodes[node].parent) {
        if (n > 0 && t->nodes[nodes[n - 1]].frame == t->nodes[node].frame)
            continue;
        if (n == PATH_FRAMES)
            break;
        nodes[n++] = node;
    }
    const char *lead = node != 0 ? "... > " : "";
    for (uint32_t i = n; i-- > 0; lead = " > ") {
        const struct sf_frame *frame = &t->frames[t->nodes[nodes[i]].frame];
        if (!sf_frame_name(frame, SF_GROUP_FUNCTION, req, &name) ||
            !sf_arena_print(req, &path, "%.*s%s%.*s", SF_STR_ARG(path), lead, SF_STR_ARG(name)))
            return false;
    }
    *out = path;
    return true;
}

/* The line with the largest cost in a node of the tree by function. */
static void findings_find_line(struct work *w, struct sf_finding *f)
{
    const struct sf_tree *stacks = w->hot.stacks;
    double most = 0;
    if (f->file.len > 0 || f->node == SF_NONE)
        return;
    if (!w->stack_totals) {
        w->stack_totals = sf_arena_new_n(w->req, stacks->n_nodes + 1u, sizeof(*w->stack_totals));
        if (!w->stack_totals) {
            w->is_full = true;
            return;
        }
        for (uint32_t i = stacks->n_nodes; i-- > 1;) {
            w->stack_totals[i] += w->values[i];
            w->stack_totals[stacks->nodes[i].parent] += w->stack_totals[i];
        }
    }
    for (uint32_t i = 1; i < stacks->n_nodes; i++) {
        const struct sf_frame *frame = &stacks->frames[stacks->nodes[i].frame];
        if (w->hot.of[i] != f->node || w->stack_totals[i] <= most || frame->file.len == 0)
            continue;
        most = w->stack_totals[i];
        f->file = frame->file;
        f->line = frame->line;
    }
}

/* `before` is put between subject and verb: "alone ". */
static void findings_add(struct work *w, struct sf_finding f, const char *before)
{
    w->n_more += w->n == MAX_FINDINGS;
    if (w->n == MAX_FINDINGS || w->is_full)
        return;
    f.span = SF_NOBODY;
    findings_find_line(w, &f);
    if (!sf_findings_path(w->t, f.node, w->req, &f.path) ||
        !sf_arena_print(w->req, &f.sentence, "%.*s %s%s %.0f %% %s %.*s, in %.*s: %s",
                        SF_STR_ARG(f.subject), before, w->takes, f.share * 100, w->of_word,
                        SF_STR_ARG(w->of), SF_STR_ARG(f.path), sf_findings_action(f.kind)))
        w->is_full = true;
    else
        w->items[w->n++] = f;
}

/* ---- one function ---- */

static uint32_t findings_heaviest(const struct work *w, uint32_t frame)
{
    uint32_t best = SF_NONE;
    int64_t most = INT64_MIN;
    for (uint32_t i = 1; i < w->t->n_nodes; i++) {
        if (w->t->nodes[i].frame == frame && w->totals[i] > most) {
            most = w->totals[i];
            best = i;
        }
    }
    return best;
}

static uint32_t count_callers(const struct work *w, uint32_t frame, uint8_t *seen)
{
    uint32_t n = 0;
    memset(seen, 0, w->t->n_frames);
    for (uint32_t i = 1; i < w->t->n_nodes; i++) {
        uint32_t parent = w->t->nodes[i].parent;
        if (w->t->nodes[i].frame != frame || parent == 0)
            continue;
        uint32_t caller = w->t->nodes[parent].frame;
        if (caller != frame && !seen[caller]) {
            seen[caller] = 1;
            n++;
        }
    }
    return n;
}

/* ---- where the time is ---- */

/* The kind of a piece of code: waits for locks and garbage collection are separate findings. */
struct piece_kind {
    bool is_told; /* elsewhere */
    enum sf_finding_kind kind;
    const char *what; /* kind of work: "pattern matching"; NULL: none */
};

/* How much of a piece was spent waiting for a lock, or in garbage collection. */
static double waited(const struct work *w, const struct sf_hot_pieces *found, uint32_t piece)
{
    double sum = 0;
    for (uint32_t i = 1; i < w->hot.stacks->n_nodes; i++) {
        uint8_t state = w->states[w->hot.of[i]];
        if (found->of[i] == piece && (state == SF_STATE_LOCK || state == SF_STATE_GC))
            sum += w->values[i];
    }
    return sum;
}

static struct piece_kind findings_kind_of(const struct work *w, const struct sf_hot_pieces *found,
                                          uint32_t i)
{
    const struct sf_hot_piece *p = &found->list[i];
    uint8_t theme = w->themes[w->t->nodes[p->node].frame];
    const struct sf_leaf_rule *rule = sf_leaf_state_rule_of(
        &w->t->frames[w->t->nodes[p->node].frame]);
    bool is_library = p->library_value * 2 > p->value;
    struct piece_kind k = {.kind = SF_FINDING_LEAF};
    /* A frame of a library has the time only if no frame of the service is above it: then there is
     * no advice for the service. */
    k.is_told = w->hot.is_library[w->t->nodes[p->node].frame] || p->is_spread ||
                (rule && rule->weight == SF_LEAF_GLUE) || waited(w, found, i) * 2 > p->value;
    if (is_library && sf_str_eq(p->library, SF_STR("the allocator")))
        k.kind = SF_FINDING_ALLOC;
    else if (theme != SF_THEME_NONE && theme != SF_THEME_ALLOCATOR) {
        k.kind = SF_FINDING_THEME;
        k.what = sf_theme_words((enum sf_theme)theme);
    } else if (is_library)
        k.kind = SF_FINDING_LIBRARY;
    return k;
}

static void findings_add_piece(struct work *w, const struct sf_hot_piece *p,
                               const struct piece_kind *k)
{
    struct sf_finding f = {.kind = k->kind,
                           .share = findings_share_of(w, (int64_t)p->value),
                           .value = (int64_t)p->value,
                           .node = p->node,
                           .subject = p->function,
                           .file = p->file,
                           .line = p->line,
                           .span = SF_NOBODY};
    const char *in = k->kind == SF_FINDING_LIBRARY || k->kind == SF_FINDING_ALLOC ? " in " : "";
    sf_str where = k->what ? sf_str_from(k->what) : in[0] ? p->library : SF_STR_NONE;
    const char *takes = in[0] && w->takes[0] == 't' ? "spends" : w->takes;
    w->n_more += w->n == MAX_FINDINGS;
    if (w->n == MAX_FINDINGS || w->is_full)
        return;
    if (!sf_findings_path(w->t, f.node, w->req, &f.path) ||
        !sf_arena_print(w->req, &f.sentence, "%.*s %s %.0f %% %s %.*s%s%.*s, in %.*s: %s",
                        SF_STR_ARG(f.subject), takes, f.share * 100, w->of_word, SF_STR_ARG(w->of),
                        k->what ? " in " : in, SF_STR_ARG(where), SF_STR_ARG(f.path),
                        sf_findings_action(f.kind)))
        w->is_full = true;
    else
        w->items[w->n++] = f;
}

static bool findings_is_named(const struct work *w, sf_str subject)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (sf_str_eq(w->items[i].subject, subject))
            return true;
    return false;
}

struct own { /* a function's own time that is in no piece */
    uint32_t frame, node;
    double value, most;
};

static int findings_by_value(const void *a, const void *b)
{
    const struct own *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Finds functions with much own time in all their callers together. */
static void find_rest(struct work *w, const struct sf_hot_pieces *found, const bool *is_said)
{
    const struct sf_hot_code *h = &w->hot;
    struct own *list = sf_arena_new_n(w->req, w->t->n_frames + 1u, sizeof(*list));
    if (!list) {
        w->is_full = true;
        return;
    }
    for (uint32_t i = 1; i < h->stacks->n_nodes; i++) {
        uint32_t owner = h->of[h->owners[i]], frame = w->t->nodes[owner].frame;
        uint8_t state = w->states[h->of[i]];
        if (owner == 0 || h->is_library[frame] || w->values[i] <= 0 || state == SF_STATE_LOCK ||
            state == SF_STATE_GC || (found->of[i] != SF_NONE && is_said[found->of[i]]))
            continue;
        list[frame].value += w->values[i];
        if (w->values[i] > list[frame].most) {
            list[frame].most = w->values[i];
            list[frame].node = owner;
        }
    }
    for (uint32_t i = 0; i < w->t->n_frames; i++)
        list[i].frame = i;
    qsort(list, w->t->n_frames, sizeof(*list), findings_by_value);
    for (uint32_t i = 0; i < w->t->n_frames; i++) {
        const struct sf_leaf_rule *rule = sf_leaf_state_rule_of(&w->t->frames[list[i].frame]);
        struct sf_finding f = {.kind = SF_FINDING_LEAF,
                               .share = findings_share_of(w, (int64_t)list[i].value),
                               .value = (int64_t)list[i].value,
                               .node = list[i].node};
        if (list[i].value <= 0 || f.share < w->limits->leaf)
            break;
        f.subject = findings_name_of(w, list[i].frame);
        if (!(rule && rule->weight == SF_LEAF_GLUE) && !findings_is_named(w, f.subject))
            findings_add(w, f, "");
    }
}

static enum sf_err find_pieces(struct work *w, double *themes, struct sf_why *why)
{
    struct sf_hot_pieces found;
    enum sf_err err = sf_hot_code_find(&w->hot, w->values, MAX_FINDINGS, w->req, &found, why);
    bool is_said[MAX_FINDINGS] = {false};
    for (uint32_t i = 0; !err && i < found.n; i++) {
        struct sf_hot_piece *p = &found.list[i];
        struct piece_kind k = findings_kind_of(w, &found, i);
        uint8_t theme = w->themes[w->t->nodes[p->node].frame];
        if (k.is_told || findings_share_of(w, (int64_t)p->value) < w->limits->leaf || p->value <= 0)
            continue;
        while (k.kind == SF_FINDING_THEME) { /* use its outermost function */
            uint32_t up = w->t->nodes[p->node].parent;
            if (up == 0 || w->themes[w->t->nodes[up].frame] != theme)
                break;
            p->node = up;
            p->function = findings_name_of(w, w->t->nodes[up].frame);
        }
        themes[k.kind == SF_FINDING_ALLOC ? SF_THEME_ALLOCATOR : theme] += p->value;
        is_said[i] = true;
        if (!findings_is_named(w, p->function))
            findings_add_piece(w, p, &k);
    }
    if (!err)
        find_rest(w, &found, is_said);
    return err;
}

static void find_repeats(struct work *w, struct sf_why *why, enum sf_err *err)
{
    const struct sf_top_row *rows;
    uint32_t n_rows;
    uint8_t *seen = sf_arena_new_n(w->req, w->t->n_frames + 1u, 1);
    *err = seen ? sf_tree_top(w->t, SF_TOP_BY_TOTAL, w->req, &rows, &n_rows, why) : SF_ERR_LIMIT;
    for (uint32_t i = 0; !*err && i < n_rows; i++) {
        double total = findings_share_of(w, rows[i].total);
        if (total < w->limits->repeat)
            break; /* by total */
        if (w->hot.is_library[rows[i].frame])
            continue;
        uint32_t n_callers = count_callers(w, rows[i].frame, seen);
        sf_str name = findings_name_of(w, rows[i].frame);
        if (n_callers < w->limits->callers || n_callers == 0 || findings_is_named(w, name))
            continue;
        struct sf_finding f = {.kind = SF_FINDING_REPEAT,
                               .share = total,
                               .value = rows[i].total,
                               .node = findings_heaviest(w, rows[i].frame),
                               .count = n_callers,
                               .subject = name};
        char before[64];
        snprintf(before, sizeof(before), "is called from %u places and ", n_callers);
        findings_add(w, f, before);
    }
}

/* ---- kinds of work ---- */

struct gathered { /* one theme */
    int64_t value;
    int64_t most; /* largest value of its outermost frames */
    uint32_t node;
};

static void findings_gather(struct gathered *g, int64_t value, uint32_t node)
{
    g->value += value;
    if (value > g->most) {
        g->most = value;
        g->node = node;
    }
}

/* The frame of the service to which a node belongs. */
static uint32_t owner_of(const struct work *w, uint32_t node)
{
    uint32_t at = node;
    while (at != 0 && w->hot.is_library[w->t->nodes[at].frame])
        at = w->t->nodes[at].parent;
    return at != 0 ? at : node;
}

/* A theme counts from its outermost frame down, once. `told`: how much of each was already reported
 * by function. */
static void find_themes(struct work *w, const double *told)
{
    struct gathered themes[SF_THEMES] = {0};
    uint32_t *within = sf_arena_new_n(w->req, w->t->n_nodes + 1u, sizeof(*within)); /* bits */
    if (!within) {
        w->is_full = true;
        return;
    }
    for (uint32_t i = 1; i < w->t->n_nodes; i++) {
        uint8_t theme = w->themes[w->t->nodes[i].frame];
        within[i] = within[w->t->nodes[i].parent];
        if (theme == SF_THEME_NONE || within[i] >> theme & 1)
            continue;
        within[i] |= 1u << theme;
        findings_gather(&themes[theme], w->totals[i], i);
    }
    for (int theme = SF_THEME_NONE + 1; theme < SF_THEMES; theme++) {
        bool is_alloc = theme == SF_THEME_ALLOCATOR;
        double share = findings_share_of(w, themes[theme].value);
        if (themes[theme].value <= 0 || share < (is_alloc ? w->limits->gc : w->limits->theme) ||
            told[theme] * 2 > (double)themes[theme].value)
            continue; /* do not report the same cause twice */
        struct sf_finding f = {.kind = is_alloc ? SF_FINDING_ALLOC : SF_FINDING_THEME,
                               .share = share,
                               .value = themes[theme].value,
                               .node = owner_of(w, themes[theme].node),
                               .subject = sf_str_from(sf_theme_words((enum sf_theme)theme))};
        findings_add(w, f, "");
    }
}

static void find_states(struct work *w)
{
    struct gathered states[SF_STATES] = {0};
    for (uint32_t i = 1; i < w->t->n_nodes; i++)
        findings_gather(&states[w->states[i]], w->t->nodes[i].self, i);
    const struct {
        uint8_t state;
        enum sf_finding_kind kind;
        double limit;
        const char *words;
    } asked[] = {{SF_STATE_GC, SF_FINDING_GC, w->limits->gc, "garbage collection"},
                 {SF_STATE_LOCK, SF_FINDING_LOCK, w->limits->lock, "waiting for locks"}};
    for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++) {
        const struct gathered *g = &states[asked[k].state];
        if (g->value <= 0 || findings_share_of(w, g->value) < asked[k].limit)
            continue;
        struct sf_finding f = {.kind = asked[k].kind,
                               .share = findings_share_of(w, g->value),
                               .value = g->value,
                               .node = owner_of(w, g->node),
                               .subject = sf_str_from(asked[k].words)};
        findings_add(w, f, "");
    }
}

static void find_depth(struct work *w)
{
    uint32_t *depths = sf_arena_new_n(w->req, w->t->n_nodes + 1u, sizeof(*depths));
    uint32_t deepest = 0;
    if (!depths) {
        w->is_full = true;
        return;
    }
    for (uint32_t i = 1; i < w->t->n_nodes; i++) {
        depths[i] = depths[w->t->nodes[i].parent] + 1;
        if (w->totals[i] > 0 && depths[i] > depths[deepest])
            deepest = i;
    }
    if (depths[deepest] <= w->limits->depth)
        return;
    struct sf_finding f = {.kind = SF_FINDING_DEEP,
                           .node = deepest,
                           .count = depths[deepest],
                           .value = w->totals[deepest],
                           .span = SF_NOBODY,
                           .subject = findings_name_of(w, w->t->nodes[deepest].frame)};
    w->n_more += w->n == MAX_FINDINGS;
    if (w->n == MAX_FINDINGS || w->is_full)
        return;
    if (!sf_findings_path(w->t, deepest, w->req, &f.path) ||
        !sf_arena_print(w->req, &f.sentence, "stacks of %.*s are up to %u frames deep, in %.*s: %s",
                        SF_STR_ARG(w->of), f.count, SF_STR_ARG(f.path), sf_findings_action(f.kind)))
        w->is_full = true;
    else
        w->items[w->n++] = f;
}

/* ---- all of it ---- */

static int findings_order(const void *a, const void *b)
{
    const struct sf_finding *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/* Groups the stacks and their values by function. */
static enum sf_err findings_group(struct work *w, const struct sf_tree *stacks, struct sf_why *why)
{
    enum sf_err err = sf_hot_code_init(&w->hot, stacks, w->req, why);
    struct sf_tree *t = sf_arena_new(w->req, sizeof(*t));
    double *values = sf_arena_new_n(w->req, stacks->n_nodes + 1u, sizeof(*values));
    struct sf_tree_node *nodes = err ? NULL
                                     : sf_arena_new_n(w->req, w->hot.by_function.n_nodes + 1u,
                                                      sizeof(*nodes));
    if (err || !t || !values || !nodes)
        return err ? err : sf_no_room(why, "findings");
    *t = w->hot.by_function;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        nodes[i] = t->nodes[i];
        nodes[i].self = 0;
    }
    for (uint32_t i = 0; i < stacks->n_nodes; i++) {
        struct sf_tree_node *to = &nodes[w->hot.of[i]];
        to->self = sf_add_sat_i64(to->self, stacks->nodes[i].self);
        values[i] = (double)stacks->nodes[i].self;
    }
    t->nodes = nodes;
    t->total = stacks->total;
    w->t = t;
    w->values = values;
    return SF_OK;
}

static bool findings_prepare(struct work *w)
{
    w->states = sf_leaf_states(w->t, w->req);
    w->themes = sf_arena_new_n(w->req, w->t->n_frames + 1u, 1);
    w->items = sf_arena_new_n(w->req, MAX_FINDINGS, sizeof(*w->items));
    if (!w->states || !w->themes || !w->items)
        return false;
    for (uint32_t i = 0; i < w->t->n_frames; i++)
        w->themes[i] = (uint8_t)sf_theme_of(&w->t->frames[i]);
    return true;
}

static enum sf_err findings_look(struct work *w, const struct sf_tree *stacks,
                                 struct sf_finding_list *out, struct sf_why *why)
{
    double told[SF_THEMES] = {0};
    enum sf_err err = findings_group(w, stacks, why);
    if (!err)
        err = sf_tree_order_totals(w->t, w->req, &w->totals, why);
    if (err)
        return err;
    w->whole = w->whole > 0 ? w->whole : w->totals[0];
    if (!findings_prepare(w))
        return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u nodes", w->t->n_nodes);
    find_states(w);
    err = find_pieces(w, told, why);
    find_themes(w, told);
    find_depth(w);
    if (!err)
        find_repeats(w, why, &err);
    if (err || w->is_full)
        return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u nodes", w->t->n_nodes);
    qsort(w->items, w->n, sizeof(*w->items), findings_order);
    *out = (struct sf_finding_list){w->items, w->n, w->n_more};
    return SF_OK;
}

enum sf_err sf_findings_of_tree(const struct sf_tree *tree, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why)
{
    struct work w = {.limits = limits, .takes = "takes", .of_word = "of", .of = of, .req = req};
    *out = (struct sf_finding_list){0};
    return tree->n_nodes > 0 ? findings_look(&w, tree, out, why) : SF_OK;
}

/* Only increases: decreases elsewhere would cancel them in the totals. */
enum sf_err sf_findings_of_diff(const struct sf_tree_diff *diff, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why)
{
    struct sf_tree grown = diff->shape;
    struct work w = {.limits = limits,
                     .takes = "adds",
                     .of_word = "to",
                     .of = of,
                     .whole = diff->right.total,
                     .req = req};
    struct sf_tree_node *nodes = sf_arena_new_n(req, grown.n_nodes + 1u, sizeof(*nodes));
    *out = (struct sf_finding_list){0};
    if (!nodes)
        return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u nodes", grown.n_nodes);
    grown.total = 0;
    for (uint32_t i = 0; i < grown.n_nodes; i++) {
        nodes[i] = grown.nodes[i];
        nodes[i].self = nodes[i].self > 0 ? nodes[i].self : 0;
        grown.total = sf_add_sat_i64(grown.total, nodes[i].self);
    }
    grown.nodes = nodes;
    return grown.n_nodes > 0 && diff->right.total > 0 ? findings_look(&w, &grown, out, why) : SF_OK;
}

const char *sf_findings_kind_name(enum sf_finding_kind kind)
{
    static const char *const names[SF_FINDINGS] = {[SF_FINDING_LEAF] = "hot_function",
                                                   [SF_FINDING_DEEP] = "deep_stack",
                                                   [SF_FINDING_REPEAT] = "repeated_function",
                                                   [SF_FINDING_SPANS] = "repeated_spans",
                                                   [SF_FINDING_GC] = "gc",
                                                   [SF_FINDING_ALLOC] = "allocator",
                                                   [SF_FINDING_LOCK] = "lock",
                                                   [SF_FINDING_THEME] = "theme",
                                                   [SF_FINDING_AGAIN] = "repeated_parse",
                                                   [SF_FINDING_LIBRARY] = "library",
                                                   [SF_FINDING_DISK] = "disk",
                                                   [SF_FINDING_NETWORK] = "network",
                                                   [SF_FINDING_MEMORY] = "memory_growth",
                                                   [SF_FINDING_THREADS] = "thread_growth",
                                                   [SF_FINDING_STUCK] = "stuck_on_lock"};
    return names[kind];
}

const char *sf_findings_action(enum sf_finding_kind kind)
{
    static const char *const actions[SF_FINDINGS] = {
        [SF_FINDING_LEAF] = "optimise that function",
        [SF_FINDING_DEEP] = "consider refactoring",
        [SF_FINDING_REPEAT] = "cache its result or batch the calls",
        [SF_FINDING_SPANS] = "cache or batch them",
        [SF_FINDING_GC] = "reduce allocations",
        [SF_FINDING_ALLOC] = "reduce allocations",
        [SF_FINDING_LOCK] = "reduce lock scope",
        [SF_FINDING_THEME] = "cache the result, or do it once",
        [SF_FINDING_AGAIN] = "parse it once and keep the result",
        [SF_FINDING_LIBRARY] = "call it less often, or with less to do",
        [SF_FINDING_DISK] = "write and read less often, or in batches",
        [SF_FINDING_NETWORK] = "call it less often, in parallel, or cache the answer",
        [SF_FINDING_MEMORY] = "find what keeps it, and let it go",
        [SF_FINDING_THREADS] = "find what they wait for, and end them",
        [SF_FINDING_STUCK] = "find what holds it"};
    return actions[kind];
}
