/* leaf_state.c - derives what a thread was doing from the innermost frames of its stack.
 *
 * Rules are applied once per frame, not per stack. Then for every node the frames are examined from
 * its own frame up: glue frames are skipped; the first frame with a meaning decides; a frame that
 * only carries a wait (a futex, a read) decides if no frame within reach above it has a meaning. A
 * garbage collector within reach takes precedence, on or off the CPU: then the program's own code
 * does not run. */
#include "link/leaf_state.h"

#include <string.h>

enum {
    REACH = 12,   /* frames: from a futex to its lock there are six in glibc, nine in the JVM */
    GC_REACH = 32 /* mark loops of collectors are deep */
};

static bool leaf_state_fits(const struct sf_leaf_rule *rule, sf_str name)
{
    size_t len = strlen(rule->text);
    if (rule->match == SF_LEAF_HAS)
        return memmem(name.p, name.len, rule->text, len) != NULL;
    return name.len >= len && memcmp(name.p, rule->text, len) == 0 &&
           (rule->match == SF_LEAF_BEGINS || name.len == len);
}

const struct sf_leaf_rule *sf_leaf_state_rule_of(const struct sf_frame *frame)
{
    for (uint32_t i = 0; frame->function.len > 0 && i < sf_leaf_n_rules; i++) {
        const struct sf_leaf_rule *rule = &sf_leaf_rules[i];
        bool is_asked = frame->kind == SF_FRAME_UNKNOWN || rule->kinds >> frame->kind & 1;
        if (is_asked && leaf_state_fits(rule, frame->function))
            return rule;
    }
    return NULL;
}

static uint8_t leaf_state_look_up(const struct sf_tree *t, const struct sf_leaf_rule *const *rules,
                                  uint32_t node)
{
    uint8_t carried = SF_STATE_RUNNING, found = SF_STATE_RUNNING;
    bool is_waiting = true; /* so far every frame from the innermost on belonged to a wait */
    for (int step = 0; node != 0 && step < GC_REACH; step++, node = t->nodes[node].parent) {
        const struct sf_leaf_rule *rule = rules[t->nodes[node].frame];
        if (rule && rule->state == SF_STATE_GC)
            return SF_STATE_GC;
        if (found != SF_STATE_RUNNING || step >= REACH)
            continue;
        if (!rule)
            is_waiting = is_waiting && carried != SF_STATE_RUNNING;
        else if (rule->weight == SF_LEAF_MEANS && is_waiting)
            found = (uint8_t)rule->state;
        else if (rule->weight == SF_LEAF_CARRIES && is_waiting && carried == SF_STATE_RUNNING)
            carried = (uint8_t)rule->state;
    }
    return found != SF_STATE_RUNNING ? found : carried;
}

const uint8_t *sf_leaf_states(const struct sf_tree *tree, struct sf_arena *req)
{
    uint8_t *states = sf_arena_new_n(req, tree->n_nodes + 1u, sizeof(*states));
    const struct sf_leaf_rule **rules = sf_arena_new_n(req, tree->n_frames + 1u,
                                                       sizeof(const struct sf_leaf_rule *));
    if (!states || !rules)
        return NULL;
    for (uint32_t i = 0; i < tree->n_frames; i++)
        rules[i] = sf_leaf_state_rule_of(&tree->frames[i]);
    for (uint32_t i = 1; i < tree->n_nodes; i++)
        states[i] = leaf_state_look_up(tree, rules, i);
    return states;
}
