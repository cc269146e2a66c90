#include "link/time_tree.h"

#include "test.h"

static const struct sf_frame frames[] = {{.function = SF_STR("main")},
                                         {.function = SF_STR("take")}};
static const struct sf_tree_node nodes[] = {{0}, {0, 0, 0}, {1, 1, 0}};
static const struct sf_tree stacks = {
    .frames = frames, .nodes = nodes, .n_frames = 2, .n_nodes = 3};
enum { MAIN = 1, TAKE };

/* Its own value of the frame of that kind below that parent; -1: there is none. */
static int64_t self_of(const struct sf_tree *t, const char *parent, uint8_t kind)
{
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t up = t->nodes[i].parent;
        sf_str above = up == 0 ? SF_STR_NONE : t->frames[t->nodes[up].frame].function;
        if (t->frames[t->nodes[i].frame].kind == kind && sf_str_eq(above, sf_str_from(parent)))
            return t->nodes[i].self;
    }
    return -1;
}

TEST(time_tree, has_waits_as_frames_on_the_code_that_waited)
{
    struct sf_arena req = {0};
    struct sf_time_tree t;
    struct sf_tree out;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_true(sf_time_tree_init(&t, &stacks, &req));
    uint32_t bar = sf_time_tree_bar(&t, 0, SF_STR("GET /cart"), SF_FRAME_SPAN);
    sf_time_tree_add(&t, bar, SF_PART_CPU, MAIN, 5);
    sf_time_tree_add(&t, bar, SF_PART_LOCK, TAKE, 7);
    sf_time_tree_add(&t, bar, SF_PART_LOCK, TAKE, 1);
    sf_time_tree_add(&t, bar, SF_PART_RUN_QUEUE, 0, 11);
    sf_time_tree_add(&t, bar, SF_PART_CPU, 0, 2);
    sf_time_tree_add(&t, bar, SF_PART_UNKNOWN, 0, 3);
    sf_time_tree_add(&t, bar, SF_PART_DISK, MAIN, 0); /* nothing: no frame */
    assert_ok(sf_time_tree_take(&t, &out, NULL));
    assert_int_equal(out.total, 29);
    assert_int_equal(self_of(&out, "take", SF_FRAME_WAIT_LOCK), 8);
    assert_int_equal(self_of(&out, "GET /cart", SF_FRAME_WAIT_RUN_QUEUE), 11);
    assert_int_equal(self_of(&out, "GET /cart", SF_FRAME_RUNNING), 2);
    assert_int_equal(self_of(&out, "GET /cart", SF_FRAME_UNSEEN), 3);
    assert_int_equal(self_of(&out, "main", SF_FRAME_WAIT_DISK), -1);
    assert_int_equal(self_of(&out, "", SF_FRAME_SPAN), 0);
    sf_time_tree_done(&t);
    sf_arena_done(&req);
}
