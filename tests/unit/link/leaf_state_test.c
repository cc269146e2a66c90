#include "link/leaf_state.h"

#include "test.h"

/* A rule is asked with its first kind and with a frame of unknown kind: nothing earlier in the
 * table may take its example away with another meaning. */
TEST(leaf_state, knows_every_example_of_its_table)
{
    assert_true(sf_leaf_n_rules > 150);
    for (uint32_t i = 0; i < sf_leaf_n_rules; i++) {
        const struct sf_leaf_rule *rule = &sf_leaf_rules[i];
        for (uint32_t kind = 0; kind < SF_FRAME_KINDS; kind++) {
            if (kind != SF_FRAME_UNKNOWN && !(rule->kinds >> kind & 1))
                continue;
            struct sf_frame f = {.function = sf_str_from(rule->example), .kind = (uint8_t)kind};
            const struct sf_leaf_rule *got = sf_leaf_rule_of(&f);
            if (!got)
                fail_msg("%s (rule %s): no rule fits", rule->example, rule->text);
            if (got->state != rule->state || got->weight != rule->weight)
                fail_msg("%s: taken by '%s', not '%s'", rule->example, got->text, rule->text);
        }
    }
}

TEST(leaf_state, knows_nothing_of_ordinary_code)
{
    const char *names[] = {"main",
                           "memcpy",
                           "reader::parse",
                           "sleepy_cat",
                           "checkout",
                           "poll_results",
                           "lockstep",
                           "runtime.mallocgc",
                           "java/lang",
                           "G",
                           "std::vector::push",
                           ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct sf_frame f = {.function = sf_str_from(names[i])};
        const struct sf_leaf_rule *rule = sf_leaf_rule_of(&f);
        if (rule)
            fail_msg("%s: taken by '%s'", names[i], rule->text);
    }
}

TEST(leaf_state, asks_rules_of_other_runtimes_only_for_unknown_frames)
{
    struct sf_frame f = {.function = SF_STR("time.sleep"), .kind = SF_FRAME_GO};
    assert_null(sf_leaf_rule_of(&f));
    f.kind = SF_FRAME_PYTHON;
    assert_int_equal(sf_leaf_rule_of(&f)->state, SF_STATE_SLEEP);
}

/* One stack, root first; the state its tip shows. */
static enum sf_sample_state state_of(const char *const *names, uint32_t n)
{
    struct sf_frame frames[64];
    struct sf_tree_node nodes[65] = {0};
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 1 << 20));
    for (uint32_t i = 0; i < n; i++) {
        frames[i] = (struct sf_frame){.function = sf_str_from(names[i])};
        nodes[i + 1] = (struct sf_tree_node){.parent = i, .frame = i};
    }
    struct sf_tree t = {.frames = frames, .nodes = nodes, .n_frames = n, .n_nodes = n + 1};
    const uint8_t *states = sf_leaf_states(&t, &req);
    assert_non_null(states);
    assert_int_equal(states[0], SF_STATE_UNKNOWN);
    enum sf_sample_state got = states[n];
    sf_arena_done(&req);
    return got;
}

#define STATE(...)                               \
    state_of((const char *const[]){__VA_ARGS__}, \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

TEST(leaf_state, takes_code_for_running)
{
    assert_int_equal(STATE("main", "work"), SF_STATE_RUNNING);
    assert_int_equal(STATE("main", "SSL_read", "memcpy"), SF_STATE_RUNNING);
}

TEST(leaf_state, looks_from_a_futex_to_the_lock)
{
    assert_int_equal(STATE("main", "pthread_mutex_lock", "__lll_lock_wait", "futex_wait"),
                     SF_STATE_LOCK);
    assert_int_equal(STATE("main", "futex_wait"), SF_STATE_LOCK);
    assert_int_equal(STATE("main", "usleep", "clock_nanosleep", "do_syscall_64", "schedule"),
                     SF_STATE_SLEEP);
}

TEST(leaf_state, lets_callers_say_what_a_read_waits_for)
{
    assert_int_equal(STATE("main", "fill", "read"), SF_STATE_IO);
    assert_int_equal(STATE("main", "SSL_read_ex", "BIO_read", "sock_read", "read"), SF_STATE_NET);
    assert_int_equal(STATE("main", "net.(*conn).Read", "syscall.Syscall"), SF_STATE_NET);
    assert_int_equal(STATE("main", "java/net/SocketInputStream.read", "Unsafe.park"), SF_STATE_NET);
}

TEST(leaf_state, sees_the_collector_above_whatever_it_does)
{
    assert_int_equal(STATE("main", "runtime.gcBgMarkWorker", "runtime.gcDrain", "memmove"),
                     SF_STATE_GC);
    assert_int_equal(STATE("main", "GangWorker::loop", "futex_wait"), SF_STATE_GC);
}

TEST(leaf_state, does_not_look_for_ever)
{
    const char *names[40];
    for (int i = 0; i < 40; i++)
        names[i] = "recursion";
    names[0] = "pthread_mutex_lock";
    names[39] = "read";
    assert_int_equal(state_of(names, 40), SF_STATE_IO);
}

TEST(leaf_state, says_when_memory_runs_out)
{
    struct sf_tree t = {.n_frames = 1000, .n_nodes = 1000};
    struct sf_arena small;
    assert_true(sf_arena_init(&small, 64));
    assert_null(sf_leaf_states(&t, &small));
    sf_arena_done(&small);
}
