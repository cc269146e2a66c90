/* findings.c - what stands out in a flame graph, in sentences. */
#include "link/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "flame/frame_name.h"
#include "flame/runtime_frame.h"
#include "flame/tree_order.h"
#include "flame/tree_top.h"
#include "link/leaf_state.h"
#include "link/theme.h"

enum {
    MAX_FINDINGS = 64, /* functions come by size: the small ones are left out and counted */
    PATH_FRAMES = 6
};

struct work {
    const struct sf_tree *t;
    const struct sf_finding_limits *limits;
    const char *takes, *of_word; /* "takes" ... "of"; of a difference "adds" ... "to" */
    sf_str of;
    int64_t whole; /* what shares are of */
    struct sf_arena *req;
    int64_t *totals;
    const uint8_t *states; /* by node */
    uint8_t *themes;       /* by frame */
    struct sf_finding *items;
    uint32_t n, n_more;
    bool is_full;
};

static double share_of(const struct work *w, int64_t value)
{
    return w->whole > 0 ? (double)value / (double)w->whole : 0;
}

static sf_str name_of(struct work *w, uint32_t frame)
{
    sf_str name = {0};
    if (!sf_frame_name(&w->t->frames[frame], SF_GROUP_FUNCTION, w->req, &name))
        w->is_full = true;
    return name;
}

/* "..." stands for the frames that are left out. A function that calls itself is named once. */
bool sf_finding_path(const struct sf_tree *t, uint32_t node, struct sf_arena *req, sf_str *out)
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

/* `before` stands between subject and verb: "alone ". */
static void add(struct work *w, struct sf_finding f, const char *before)
{
    w->n_more += w->n == MAX_FINDINGS;
    if (w->n == MAX_FINDINGS || w->is_full)
        return;
    f.span = SF_NOBODY;
    if (!sf_finding_path(w->t, f.node, w->req, &f.path) ||
        !sf_arena_print(w->req, &f.sentence, "%.*s %s%s %.0f %% %s %.*s, in %.*s: %s",
                        SF_STR_ARG(f.subject), before, w->takes, f.share * 100, w->of_word,
                        SF_STR_ARG(w->of), SF_STR_ARG(f.path), sf_finding_action(f.kind)))
        w->is_full = true;
    else
        w->items[w->n++] = f;
}

/* ---- one function ---- */

static uint32_t heaviest(const struct work *w, uint32_t frame, bool is_self)
{
    uint32_t best = SF_NONE;
    int64_t most = INT64_MIN;
    for (uint32_t i = 1; i < w->t->n_nodes; i++) {
        int64_t value = is_self ? w->t->nodes[i].self : w->totals[i];
        if (w->t->nodes[i].frame == frame && value > most) {
            most = value;
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

/* Nobody can optimise a collector's loop or the runtime's interruption of a goroutine: the
 * collector is a finding of its own, and other time of a runtime is its caller's. */
static bool is_runtimes(const struct work *w, uint32_t frame, const uint32_t *owners)
{
    const struct sf_leaf_rule *rule = sf_leaf_rule_of(&w->t->frames[frame]);
    uint32_t node = heaviest(w, frame, true);
    return (rule && rule->weight == SF_LEAF_GLUE) || w->states[node] == SF_STATE_GC ||
           owners[node] != node;
}

/* By frame: its own time, with what the runtime did for it. */
static int64_t *own_times(const struct work *w, const uint32_t *owners)
{
    int64_t *own = sf_arena_new_n(w->req, w->t->n_frames + 1u, sizeof(*own));
    for (uint32_t i = 1; own && i < w->t->n_nodes; i++) {
        uint32_t frame = w->t->nodes[owners[i]].frame;
        if (owners[i] != 0)
            own[frame] = sf_add_sat_i64(own[frame], w->t->nodes[i].self);
    }
    return own;
}

static void find_functions(struct work *w, struct sf_why *why, enum sf_err *err)
{
    const struct sf_top_row *rows;
    uint32_t n_rows;
    uint8_t *seen = sf_arena_new_n(w->req, w->t->n_frames + 1u, 1);
    const uint32_t *owners = sf_runtime_owners(w->t, w->req);
    int64_t *own = owners ? own_times(w, owners) : NULL;
    *err = seen && own ? sf_tree_top(w->t, SF_TOP_BY_TOTAL, w->req, &rows, &n_rows, why)
                       : SF_ERR_LIMIT;
    if (*err)
        return;
    for (uint32_t i = 0; i < n_rows; i++) {
        if (share_of(w, rows[i].total) < w->limits->leaf &&
            share_of(w, rows[i].total) < w->limits->repeat)
            break; /* by total: nothing further down has a share that counts */
        int64_t self_value = own[rows[i].frame];
        double self = share_of(w, self_value), total = share_of(w, rows[i].total);
        if (is_runtimes(w, rows[i].frame, owners))
            continue;
        if (self >= w->limits->leaf && self > 0) {
            struct sf_finding f = {.kind = SF_FINDING_LEAF,
                                   .share = self,
                                   .value = self_value,
                                   .node = heaviest(w, rows[i].frame, true),
                                   .subject = name_of(w, rows[i].frame)};
            add(w, f, "alone ");
        }
        uint32_t n_callers = total >= w->limits->repeat ? count_callers(w, rows[i].frame, seen) : 0;
        if (n_callers >= w->limits->callers && n_callers > 0) {
            struct sf_finding f = {.kind = SF_FINDING_REPEAT,
                                   .share = total,
                                   .value = rows[i].total,
                                   .node = heaviest(w, rows[i].frame, false),
                                   .count = n_callers,
                                   .subject = name_of(w, rows[i].frame)};
            char before[64];
            snprintf(before, sizeof(before), "is called from %u places and ", n_callers);
            add(w, f, before);
        }
    }
}

/* ---- kinds of work ---- */

struct gathered { /* one kind of work */
    int64_t value;
    int64_t most; /* of its outermost frames */
    uint32_t node;
};

static void gather(struct gathered *g, int64_t value, uint32_t node)
{
    g->value += value;
    if (value > g->most) {
        g->most = value;
        g->node = node;
    }
}

/* A theme counts from its outermost frame down, once. */
static void find_themes(struct work *w)
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
        gather(&themes[theme], w->totals[i], i);
    }
    for (int theme = SF_THEME_NONE + 1; theme < SF_THEMES; theme++) {
        bool is_alloc = theme == SF_THEME_ALLOCATOR;
        double share = share_of(w, themes[theme].value);
        if (themes[theme].value <= 0 || share < (is_alloc ? w->limits->gc : w->limits->theme))
            continue;
        struct sf_finding f = {.kind = is_alloc ? SF_FINDING_ALLOC : SF_FINDING_THEME,
                               .share = share,
                               .value = themes[theme].value,
                               .node = themes[theme].node,
                               .subject = sf_str_from(sf_theme_words((enum sf_theme)theme))};
        add(w, f, "");
    }
}

static void find_states(struct work *w)
{
    struct gathered states[SF_STATES] = {0};
    for (uint32_t i = 1; i < w->t->n_nodes; i++)
        gather(&states[w->states[i]], w->t->nodes[i].self, i);
    const struct {
        uint8_t state;
        enum sf_finding_kind kind;
        double limit;
        const char *words;
    } asked[] = {{SF_STATE_GC, SF_FINDING_GC, w->limits->gc, "garbage collection"},
                 {SF_STATE_LOCK, SF_FINDING_LOCK, w->limits->lock, "waiting for locks"}};
    for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++) {
        const struct gathered *g = &states[asked[k].state];
        if (g->value <= 0 || share_of(w, g->value) < asked[k].limit)
            continue;
        struct sf_finding f = {.kind = asked[k].kind,
                               .share = share_of(w, g->value),
                               .value = g->value,
                               .node = g->node,
                               .subject = sf_str_from(asked[k].words)};
        add(w, f, "");
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
                           .subject = name_of(w, w->t->nodes[deepest].frame)};
    w->n_more += w->n == MAX_FINDINGS;
    if (w->n == MAX_FINDINGS || w->is_full)
        return;
    if (!sf_finding_path(w->t, deepest, w->req, &f.path) ||
        !sf_arena_print(w->req, &f.sentence, "stacks of %.*s are up to %u frames deep, in %.*s: %s",
                        SF_STR_ARG(w->of), f.count, SF_STR_ARG(f.path), sf_finding_action(f.kind)))
        w->is_full = true;
    else
        w->items[w->n++] = f;
}

/* ---- all of it ---- */

static int order_findings(const void *a, const void *b)
{
    const struct sf_finding *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static bool prepare(struct work *w)
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

static enum sf_err look(struct work *w, struct sf_finding_list *out, struct sf_why *why)
{
    enum sf_err err = sf_tree_totals(w->t, w->req, &w->totals, why);
    if (err)
        return err;
    w->whole = w->whole > 0 ? w->whole : w->totals[0];
    if (!prepare(w))
        return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u nodes", w->t->n_nodes);
    find_states(w);
    find_themes(w);
    find_depth(w);
    find_functions(w, why, &err);
    if (err || w->is_full)
        return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u nodes", w->t->n_nodes);
    qsort(w->items, w->n, sizeof(*w->items), order_findings);
    *out = (struct sf_finding_list){w->items, w->n, w->n_more};
    return SF_OK;
}

enum sf_err sf_findings_of_tree(const struct sf_tree *tree, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why)
{
    struct work w = {
        .t = tree, .limits = limits, .takes = "takes", .of_word = "of", .of = of, .req = req};
    *out = (struct sf_finding_list){0};
    return tree->n_nodes > 0 ? look(&w, out, why) : SF_OK;
}

/* Only what grew: what shrank elsewhere would hide it in the totals. */
enum sf_err sf_findings_of_diff(const struct sf_tree_diff *diff, sf_str of,
                                const struct sf_finding_limits *limits, struct sf_arena *req,
                                struct sf_finding_list *out, struct sf_why *why)
{
    struct sf_tree grown = diff->shape;
    struct work w = {.t = &grown,
                     .limits = limits,
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
    return grown.n_nodes > 0 && diff->right.total > 0 ? look(&w, out, why) : SF_OK;
}

const char *sf_finding_kind_name(enum sf_finding_kind kind)
{
    static const char *const names[SF_FINDINGS] = {
        "hot_function", "deep_stack", "repeated_function", "repeated_spans", "gc", "allocator",
        "lock",         "theme",      "repeated_parse"};
    return names[kind];
}

const char *sf_finding_action(enum sf_finding_kind kind)
{
    static const char *const actions[SF_FINDINGS] = {
        "optimise that function", "consider refactoring",   "cache its result or batch the calls",
        "cache or batch them",    "reduce allocations",     "reduce allocations",
        "reduce lock scope",      "do less of it, or once", "parse it once and keep the result"};
    return actions[kind];
}
