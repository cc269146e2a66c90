/* v8_node.h - the call trees of V8's profiles: nodes by id with lists of children, or nested.
 * Private to this module. */
#pragma once
#include "decode/id_map.h"
#include "decode/link_tree.h"
#include "decode/profile_build.h"
#include "wire/json.h"

struct sf_v8_node {
    uint64_t id;
    uint64_t parent_id; /* 0: not given */
    uint32_t parent;    /* index, or SF_NONE */
    uint32_t location;  /* SF_NONE for "(root)" */
    int64_t hits, self_size;
    bool is_idle, is_gc;
};

struct sf_v8_edge {
    uint32_t parent; /* index of the parent */
    uint64_t child;  /* id */
};

struct sf_v8_nodes {
    struct sf_profile_build *b;
    struct sf_profile_list list; /* of struct sf_v8_node */
    struct sf_profile_list edges;
    struct sf_id_map ids;
    struct sf_link_tree tree;
};

void sf_v8_nodes_init(struct sf_v8_nodes *n, struct sf_profile_build *b);
static inline struct sf_v8_node *sf_v8_node_at(const struct sf_v8_nodes *n, uint32_t place)
{
    return (struct sf_v8_node *)n->list.items + place;
}
/* Reads the array "nodes" at the cursor. Errors are kept in `j`. */
void sf_v8_nodes_read_list(struct sf_v8_nodes *n, struct sf_json *j);
/* Reads the object "head" at the cursor, with nested children. */
void sf_v8_nodes_read_tree(struct sf_v8_nodes *n, struct sf_json *j);
/* Computes parents and depths. INPUT: the links form a cycle. */
enum sf_err sf_v8_nodes_close(struct sf_v8_nodes *n);
/* Index by id, or SF_NONE. */
uint32_t sf_v8_nodes_find(const struct sf_v8_nodes *n, uint64_t id);
uint32_t sf_v8_nodes_stack(struct sf_v8_nodes *n, uint32_t place);
