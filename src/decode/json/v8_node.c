#include "decode/json/v8_node.h"

#include <inttypes.h>
#include <math.h>

void sf_v8_nodes_init(struct sf_v8_nodes *n, struct sf_profile_build *b)
{
    *n = (struct sf_v8_nodes){.b = b};
}

/* The function of a node; in the old form these are members of the node itself. */
struct call_frame {
    sf_str function, url;
    double line, column; /* from 0; -1: none */
};

/* True: the key was one of a call frame's. */
static bool take_frame_key(struct sf_json *j, sf_str key, struct call_frame *f)
{
    if (sf_str_eq(key, SF_STR("functionName")))
        f->function = sf_json_str(j);
    else if (sf_str_eq(key, SF_STR("url")))
        f->url = sf_json_str(j);
    else if (sf_str_eq(key, SF_STR("lineNumber")))
        f->line = sf_json_f64(j);
    else if (sf_str_eq(key, SF_STR("columnNumber")))
        f->column = sf_json_f64(j);
    else
        return false;
    return true;
}

static void read_call_frame(struct sf_json *j, struct call_frame *f)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (!take_frame_key(j, key, f))
            sf_json_skip(j);
    }
}

static uint32_t v8_node_line_of(double v) /* from 1; 0: none */
{
    return v >= 0 && v < 4e9 ? (uint32_t)v + 1 : 0;
}

/* Ids and sizes are whole numbers, but may be written as doubles. */
static int64_t read_whole(struct sf_json *j)
{
    double v = sf_json_f64(j);
    if (!isfinite(v) || v < -9e15 || v > 9e15) {
        sf_json_fault(j, "a number out of range");
        return 0;
    }
    return (int64_t)v;
}

static void finish_frame(struct sf_v8_nodes *n, struct sf_v8_node *node, const struct call_frame *f)
{
    struct sf_function fn = {
        .name = f->function, .file = f->url, .start_line = v8_node_line_of(f->line)};
    node->is_idle = sf_str_eq(f->function, SF_STR("(idle)"));
    node->is_gc = sf_str_eq(f->function, SF_STR("(garbage collector)"));
    node->location = SF_NONE;
    if (sf_str_eq(f->function, SF_STR("(root)")))
        return;
    if (!fn.name.len && fn.file.len && fn.start_line) {
        if (!sf_arena_print(n->b->a, &fn.name, "(anonymous:L#%" PRIu32 ":C#%" PRIu32 ")",
                            fn.start_line, v8_node_line_of(f->column)))
            n->b->is_full = true;
    } else if (!fn.name.len) {
        fn.name = SF_STR("(anonymous)");
    }
    node->location = sf_profile_build_frame(n->b, &fn, 0, SF_FRAME_V8);
}

static struct sf_v8_node *v8_node_add_node(struct sf_v8_nodes *n)
{
    struct sf_v8_node *node = sf_profile_list_more(n->b, &n->list, sizeof(*node));
    if (!node)
        return NULL;
    *node = (struct sf_v8_node){.parent = SF_NONE, .location = SF_NONE};
    n->list.n++;
    return node;
}

static void read_child_ids(struct sf_v8_nodes *n, struct sf_json *j)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct sf_v8_edge *e = sf_profile_list_more(n->b, &n->edges, sizeof(*e));
        int64_t id = read_whole(j);
        if (!e)
            continue;
        *e = (struct sf_v8_edge){n->list.n - 1, (uint64_t)id};
        n->edges.n++;
    }
}

/* True: the key was one of a node's, except children. */
static bool take_node_key(struct sf_json *j, sf_str key, struct sf_v8_node *node,
                          struct call_frame *f)
{
    if (sf_str_eq(key, SF_STR("id")))
        node->id = (uint64_t)read_whole(j);
    else if (sf_str_eq(key, SF_STR("parent")))
        node->parent_id = (uint64_t)read_whole(j);
    else if (sf_str_eq(key, SF_STR("hitCount")))
        node->hits = read_whole(j);
    else if (sf_str_eq(key, SF_STR("selfSize")))
        node->self_size = read_whole(j);
    else if (sf_str_eq(key, SF_STR("callFrame")))
        read_call_frame(j, f);
    else
        return take_frame_key(j, key, f);
    return true;
}

void sf_v8_nodes_read_list(struct sf_v8_nodes *n, struct sf_json *j)
{
    sf_str key;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct call_frame f = {.line = -1, .column = -1};
        struct sf_v8_node *node = v8_node_add_node(n), read = {0};
        if (!node)
            return;
        if (!sf_json_object(j))
            continue;
        read = *node;
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("children")))
                read_child_ids(n, j);
            else if (!take_node_key(j, key, &read, &f))
                sf_json_skip(j);
        }
        *node = read;
        finish_frame(n, node, &f);
    }
}

struct open_node { /* a node of a nested tree that is being read */
    uint32_t place;
    struct call_frame frame;
};

/* Iterative: when a child's object ends, the cursor is in its parent's list again. */
void sf_v8_nodes_read_tree(struct sf_v8_nodes *n, struct sf_json *j)
{
    struct open_node *open = sf_profile_new(n->b, SF_LIMIT_JSON_DEPTH, sizeof(*open));
    uint32_t n_open = 0;
    bool is_new = true; /* the cursor is at a new object */
    sf_str key;

    while (open && !n->b->is_full && sf_json_ok(j)) {
        if (is_new) {
            struct sf_v8_node *node = v8_node_add_node(n);
            if (!node || !sf_json_object(j))
                return;
            if (n_open)
                node->parent = open[n_open - 1].place;
            open[n_open++] = (struct open_node){n->list.n - 1, {.line = -1, .column = -1}};
            is_new = false;
        } else if (!sf_json_key(j, &key)) {
            n_open--;
            if (sf_json_ok(j))
                finish_frame(n, sf_v8_node_at(n, open[n_open].place), &open[n_open].frame);
            if (!n_open)
                return;
            is_new = sf_json_item(j); /* a sibling, or back among the parent's keys */
        } else if (sf_str_eq(key, SF_STR("children"))) {
            is_new = sf_json_array(j) && sf_json_item(j);
        } else if (!take_node_key(j, key, sf_v8_node_at(n, open[n_open - 1].place),
                                  &open[n_open - 1].frame)) {
            sf_json_skip(j);
        }
    }
}

uint32_t sf_v8_nodes_find(const struct sf_v8_nodes *n, uint64_t id)
{
    return sf_id_map_find(&n->ids, id);
}

static void link_nodes(struct sf_v8_nodes *n)
{
    const struct sf_v8_edge *edges = n->edges.items;
    for (uint32_t i = 0; i < n->list.n; i++) {
        struct sf_v8_node *node = sf_v8_node_at(n, i);
        if (node->parent_id && node->parent == SF_NONE)
            node->parent = sf_v8_nodes_find(n, node->parent_id);
    }
    for (uint32_t i = 0; i < n->edges.n; i++) {
        uint32_t child = sf_v8_nodes_find(n, edges[i].child);
        if (child != SF_NONE && sf_v8_node_at(n, child)->parent == SF_NONE)
            sf_v8_node_at(n, child)->parent = edges[i].parent;
    }
}

enum sf_err sf_v8_nodes_close(struct sf_v8_nodes *n)
{
    struct sf_profile_build *b = n->b;
    if (!sf_id_map_init(&n->ids, b, n->list.n))
        return SF_OK; /* the builder reports the error at the end */
    for (uint32_t i = 0; i < n->list.n; i++)
        sf_id_map_add(&n->ids, sf_v8_node_at(n, i)->id, i);
    b->drops.n_frames += sf_id_map_close(&n->ids, b);
    if (b->is_full)
        return SF_OK;
    link_nodes(n);
    if (!sf_link_tree_init(&n->tree, b, n->list.n))
        return SF_OK;
    for (uint32_t i = 0; i < n->list.n; i++) {
        n->tree.links[i].parent = sf_v8_node_at(n, i)->parent;
        n->tree.links[i].location = sf_v8_node_at(n, i)->location;
    }
    sf_link_tree_close(&n->tree);
    if (n->tree.n_bad)
        return sf_fail(b->why, SF_ERR_INPUT, "V8 profile: its nodes are each other's parents");
    return SF_OK;
}

uint32_t sf_v8_nodes_stack(struct sf_v8_nodes *n, uint32_t place)
{
    return sf_link_tree_stack(&n->tree, place);
}
