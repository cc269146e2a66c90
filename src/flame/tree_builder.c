#include "flame/tree_builder.h"

#include <string.h>

#include "base/account.h"
#include "base/heap.h"
#include "base/num.h"

enum { FIRST_FRAMES = 64, FIRST_NODES = 256 };

void sf_tree_builder_init(struct sf_tree_builder *b, struct sf_arena *req, size_t max_len,
                          enum sf_tree_strings strings)
{
    *b = (struct sf_tree_builder){
        .req = req, .max_len = max_len, .is_copying = strings == SF_TREE_COPIES};
}

void sf_tree_builder_done(struct sf_tree_builder *b)
{
    sf_heap_free(b->frames);
    sf_heap_free(b->nodes);
    sf_table_done(&b->frame_at);
    sf_table_done(&b->node_at);
    *b = (struct sf_tree_builder){0};
}

/* ---- memory ---- */

static size_t tables_len(const struct sf_tree_builder *b)
{
    return (size_t)b->cap_frames * sizeof(*b->frames) + (size_t)b->cap_nodes * sizeof(*b->nodes) +
           sf_table_memory(&b->frame_at) + sf_table_memory(&b->node_at);
}

static bool tree_builder_fail(struct sf_tree_builder *b, enum sf_err err)
{
    if (!b->err)
        b->err = err;
    return false;
}

static bool may_grow(struct sf_tree_builder *b, uint32_t cap, size_t more_len)
{
    if (cap > UINT32_MAX / 4 || (b->max_len && tables_len(b) + more_len > b->max_len))
        return tree_builder_fail(b, SF_ERR_LIMIT);
    return true;
}

static bool grow_array(struct sf_tree_builder *b, void **array, uint32_t cap, size_t size)
{
    void *p = sf_heap_grow(*array, cap, size);
    if (!p)
        return tree_builder_fail(b, SF_ERR_NOMEM);
    *array = p;
    return true;
}

static bool grow_table(struct sf_tree_builder *b, struct sf_table *t)
{
    if (sf_table_has_room(t))
        return true;
    if (!may_grow(b, t->n_slots, sf_table_memory(t)))
        return false;
    return sf_table_grow(t) || tree_builder_fail(b, SF_ERR_NOMEM);
}

/* ---- frames ---- */

static uint64_t hash_frame(const struct sf_frame *f)
{
    uint64_t hash = sf_key_str(f->function);
    hash = sf_key_mix(hash, sf_key_str(f->file));
    hash = sf_key_mix(hash, sf_key_str(f->module));
    hash = sf_key_mix(hash, sf_key_str(f->build_id));
    hash = sf_key_mix(hash, f->file_off);
    return sf_key_mix(hash, (uint64_t)f->line << 8 | f->kind);
}

static bool frames_equal(const struct sf_frame *a, const struct sf_frame *b)
{
    return a->line == b->line && a->kind == b->kind && a->file_off == b->file_off &&
           sf_str_eq(a->function, b->function) && sf_str_eq(a->file, b->file) &&
           sf_str_eq(a->module, b->module) && sf_str_eq(a->build_id, b->build_id);
}

static bool make_frame_room(struct sf_tree_builder *b)
{
    if (b->n_frames == b->cap_frames) {
        uint32_t cap = b->cap_frames ? b->cap_frames * 2 : FIRST_FRAMES;
        if (!may_grow(b, cap, (size_t)b->cap_frames * sizeof(*b->frames)) ||
            !grow_array(b, (void **)&b->frames, cap, sizeof(*b->frames)))
            return false;
        b->cap_frames = cap;
    }
    return grow_table(b, &b->frame_at);
}

static bool keep_frame(struct sf_tree_builder *b, const struct sf_frame *frame)
{
    struct sf_frame copy = *frame;
    if (b->is_copying && !(sf_arena_copy(b->req, frame->function, &copy.function) &&
                           sf_arena_copy(b->req, frame->file, &copy.file) &&
                           sf_arena_copy(b->req, frame->module, &copy.module) &&
                           sf_arena_copy(b->req, frame->build_id, &copy.build_id)))
        return tree_builder_fail(b, SF_ERR_LIMIT);
    b->frames[b->n_frames] = copy;
    return true;
}

uint32_t sf_tree_builder_frame(struct sf_tree_builder *b, const struct sf_frame *frame)
{
    struct sf_table_lookup lookup;
    uint32_t place;
    if (b->err || !make_frame_room(b))
        return SF_NONE;
    lookup = sf_table_lookup(&b->frame_at, hash_frame(frame));
    while (sf_table_next(&lookup, &place)) {
        if (frames_equal(&b->frames[place], frame))
            return place;
    }
    if (!keep_frame(b, frame))
        return SF_NONE;
    sf_table_keep(&b->frame_at, &lookup, b->n_frames);
    return b->n_frames++;
}

/* ---- nodes ---- */

static bool make_node_room(struct sf_tree_builder *b)
{
    if (b->n_nodes == b->cap_nodes) {
        uint32_t cap = b->cap_nodes ? b->cap_nodes * 2 : FIRST_NODES;
        if (!may_grow(b, cap, (size_t)b->cap_nodes * sizeof(*b->nodes)) ||
            !grow_array(b, (void **)&b->nodes, cap, sizeof(*b->nodes)))
            return false;
        b->cap_nodes = cap;
    }
    return grow_table(b, &b->node_at);
}

/* The root is not in the table: no lookup uses frame SF_NONE. */
static bool make_root(struct sf_tree_builder *b)
{
    if (b->n_nodes)
        return true;
    if (b->err || !make_node_room(b))
        return false;
    b->nodes[0] = (struct sf_tree_node){.frame = SF_NONE};
    b->n_nodes = 1;
    return true;
}

uint32_t sf_tree_builder_child(struct sf_tree_builder *b, uint32_t parent, uint32_t frame)
{
    struct sf_table_lookup lookup;
    uint32_t place;
    if (b->err || parent == SF_NONE || frame == SF_NONE || !make_root(b) || !make_node_room(b))
        return SF_NONE;
    SF_ASSERT(parent < b->n_nodes && frame < b->n_frames);
    if (!sf_account_goes_on(4)) {
        tree_builder_fail(b, SF_ERR_NOMEM);
        return SF_NONE;
    }
    lookup = sf_table_lookup(&b->node_at, sf_key_u64((uint64_t)parent << 32 | frame));
    while (sf_table_next(&lookup, &place)) {
        if (b->nodes[place].parent == parent && b->nodes[place].frame == frame)
            return place;
    }
    b->nodes[b->n_nodes] = (struct sf_tree_node){.parent = parent, .frame = frame};
    sf_table_keep(&b->node_at, &lookup, b->n_nodes);
    return b->n_nodes++;
}

void sf_tree_builder_add(struct sf_tree_builder *b, uint32_t node, int64_t value,
                         uint64_t n_samples)
{
    int64_t *self;
    if (node == SF_NONE || !make_root(b))
        return;
    SF_ASSERT(node < b->n_nodes);
    self = &b->nodes[node].self;
    if (__builtin_add_overflow(*self, value, self)) {
        *self = value < 0 ? INT64_MIN : INT64_MAX;
        b->is_saturated = true;
    }
    b->n_samples = sf_add_sat_u64(b->n_samples, n_samples);
}

void sf_tree_builder_shape(struct sf_tree_builder *b, const struct sf_tree *t, uint32_t *out_nodes)
{
    uint32_t *frames; /* frames of `t` as indexes of the builder */
    if (t->n_nodes == 0)
        return;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        out_nodes[i] = SF_NONE;
    out_nodes[0] = 0;
    frames = b->err ? NULL : sf_heap_new_n((size_t)t->n_frames + 1, sizeof(*frames));
    if (!frames) {
        tree_builder_fail(b, SF_ERR_NOMEM);
        return;
    }
    for (uint32_t i = 0; i < t->n_frames; i++)
        frames[i] = sf_tree_builder_frame(b, &t->frames[i]);
    for (uint32_t i = 1; i < t->n_nodes; i++) /* parents come first */
        out_nodes[i] = sf_tree_builder_child(b, out_nodes[t->nodes[i].parent],
                                             frames[t->nodes[i].frame]);
    sf_heap_free(frames);
}

void sf_tree_builder_add_tree(struct sf_tree_builder *b, const struct sf_tree *t)
{
    uint32_t *nodes;
    if (b->err || t->n_nodes == 0)
        return;
    nodes = sf_heap_new_n(t->n_nodes, sizeof(*nodes));
    if (!nodes) {
        tree_builder_fail(b, SF_ERR_NOMEM);
        return;
    }
    sf_tree_builder_shape(b, t, nodes);
    for (uint32_t i = 0; i < t->n_nodes; i++)
        sf_tree_builder_add(b, nodes[i], t->nodes[i].self, 0);
    b->n_samples = sf_add_sat_u64(b->n_samples, t->n_samples);
    b->is_saturated |= t->is_saturated;
    sf_heap_free(nodes);
}

/* ---- the result ---- */

enum sf_err sf_tree_builder_take(struct sf_tree_builder *b, sf_str unit, struct sf_tree *out,
                                 struct sf_why *why)
{
    struct sf_tree t = {.unit = unit, .n_samples = b->n_samples};
    struct sf_frame *frames;
    struct sf_tree_node *nodes;
    make_root(b);
    if (b->err == SF_ERR_NOMEM)
        return sf_fail(why, b->err, "flame graph: no memory");
    if (b->err)
        return sf_fail(why, b->err,
                       "flame graph: more than %u frames and %u stacks do not fit the memory of "
                       "one query; narrow the time range or the selector",
                       b->n_frames, b->n_nodes);
    frames = sf_arena_new_n(b->req, (size_t)b->n_frames + 1, sizeof(*frames));
    nodes = sf_arena_new_n(b->req, b->n_nodes, sizeof(*nodes));
    if (!frames || !nodes)
        return sf_fail(why, SF_ERR_LIMIT,
                       "flame graph: %u nodes do not fit the memory of one query; narrow the time "
                       "range or the selector",
                       b->n_nodes);
    if (b->n_frames)
        memcpy(frames, b->frames, (size_t)b->n_frames * sizeof(*frames));
    memcpy(nodes, b->nodes, (size_t)b->n_nodes * sizeof(*nodes));
    t.is_saturated = b->is_saturated;
    for (uint32_t i = 0; i < b->n_nodes; i++) {
        if (__builtin_add_overflow(t.total, nodes[i].self, &t.total)) {
            t.total = nodes[i].self < 0 ? INT64_MIN : INT64_MAX;
            t.is_saturated = true;
        }
    }
    t.frames = frames;
    t.nodes = nodes;
    t.n_frames = b->n_frames;
    t.n_nodes = b->n_nodes;
    *out = t;
    return SF_OK;
}
