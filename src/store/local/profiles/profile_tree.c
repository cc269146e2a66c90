#include "store/local/profiles/profile_tree.h"

bool sf_profile_tree_init(struct sf_profile_tree *t, struct sf_tree_builder *to,
                          const struct sf_profile_symbols *y, struct sf_arena *scratch)
{
    size_t n_frames = (size_t)y->n_lines + y->n_locations + 1;
    *t = (struct sf_profile_tree){.to = to, .y = y};
    t->nodes = sf_arena_raw(scratch, ((size_t)y->n_nodes + 1) * sizeof(uint32_t), 16);
    t->frames = sf_arena_raw(scratch, n_frames * sizeof(uint32_t), 16);
    t->path = sf_arena_raw(scratch, ((size_t)y->n_nodes + 1) * sizeof(uint32_t), 16);
    if (!t->nodes || !t->frames || !t->path)
        return false;
    memset(t->nodes, 0xff, ((size_t)y->n_nodes + 1) * sizeof(uint32_t));
    memset(t->frames, 0xff, n_frames * sizeof(uint32_t));
    t->nodes[0] = 0;
    return true;
}

static uint32_t profile_tree_frame_of(struct sf_profile_tree *t, uint32_t location, uint32_t line)
{
    const struct sf_profile_symbols *y = t->y;
    const struct sf_profile_location *l = &y->locations[location];
    size_t place = l->n_lines ? (size_t)l->first_line + line : (size_t)y->n_lines + location;
    struct sf_frame f = {.kind = (uint8_t)l->kind};
    if (t->frames[place] != SF_NONE)
        return t->frames[place];
    if (l->module != SF_NONE) {
        f.module = y->strings[y->modules[l->module].file];
        f.build_id = y->strings[y->modules[l->module].build_id];
    }
    if (l->n_lines) {
        const struct sf_line *at = &y->lines[l->first_line + line];
        const struct sf_profile_function *fn = &y->functions[at->function];
        f.function = y->strings[fn->name].len ? y->strings[fn->name] : y->strings[fn->system_name];
        f.file = y->strings[fn->file];
        f.line = at->line;
    }
    if (f.function.len == 0)
        f.file_off = l->addr;
    t->frames[place] = sf_tree_builder_frame(t->to, &f);
    return t->frames[place];
}

uint32_t sf_profile_tree_node(struct sf_profile_tree *t, uint32_t node)
{
    uint32_t n = 0, at;
    while (t->nodes[node] == SF_NONE) {
        t->path[n++] = node;
        node = t->y->nodes[node].parent;
    }
    at = t->nodes[node];
    while (n > 0) {
        const struct sf_profile_location *l;
        uint32_t location, line;
        node = t->path[--n];
        location = t->y->nodes[node].location;
        l = &t->y->locations[location];
        line = l->n_lines ? l->n_lines : 1;
        while (line > 0) /* the table has the innermost line first, so start at the end */
            at = sf_tree_builder_child(t->to, at, profile_tree_frame_of(t, location, --line));
        t->nodes[node] = at;
    }
    return at;
}
