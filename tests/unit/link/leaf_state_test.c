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
            const struct sf_leaf_rule *got = sf_leaf_state_rule_of(&f);
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
        const struct sf_leaf_rule *rule = sf_leaf_state_rule_of(&f);
        if (rule)
            fail_msg("%s: taken by '%s'", names[i], rule->text);
    }
}

TEST(leaf_state, asks_rules_of_other_runtimes_only_for_unknown_frames)
{
    struct sf_frame f = {.function = SF_STR("time.sleep"), .kind = SF_FRAME_GO};
    assert_null(sf_leaf_state_rule_of(&f));
    f.kind = SF_FRAME_PYTHON;
    assert_int_equal(sf_leaf_state_rule_of(&f)->state, SF_STATE_SLEEP);
}

/* One stack, root first; the state its tip shows. */
static enum sf_sample_state state_of_kind(const char *const *names, uint32_t n,
                                          enum sf_frame_kind kind)
{
    struct sf_frame frames[64];
    struct sf_tree_node nodes[65] = {0};
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 1 << 20));
    for (uint32_t i = 0; i < n; i++) {
        frames[i] = (struct sf_frame){.function = sf_str_from(names[i]), .kind = (uint8_t)kind};
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

static enum sf_sample_state state_of(const char *const *names, uint32_t n)
{
    return state_of_kind(names, n, SF_FRAME_UNKNOWN);
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

/* Whole stacks as profilers of the six runtimes write them, of frames with and without a kind. */
TEST(leaf_state, reads_stacks_of_every_runtime)
{
    static const struct {
        enum sf_frame_kind kind;
        enum sf_sample_state state;
        const char *names[8]; /* root first */
    } stacks[] = {
        /* C and C++ */
        {SF_FRAME_NATIVE, SF_STATE_RUNNING, {"main", "serve", "std::vector<int>::push_back"}},
        {SF_FRAME_NATIVE,
         SF_STATE_LOCK,
         {"main", "serve", "___pthread_mutex_lock", "__lll_lock_wait", "futex_wait_queue"}},
        {SF_FRAME_NATIVE, SF_STATE_LOCK, {"main", "std::mutex::lock()", "__lll_lock_wait"}},
        {SF_FRAME_NATIVE, SF_STATE_NET, {"main", "serve", "__libc_recv", "__syscall_cancel"}},
        {SF_FRAME_NATIVE, SF_STATE_DISK, {"main", "commit", "fdatasync", "ext4_sync_file"}},
        {SF_FRAME_NATIVE, SF_STATE_SLEEP, {"main", "usleep", "__GI___clock_nanosleep"}},
        {SF_FRAME_NATIVE, SF_STATE_IO, {"main", "fill", "__libc_read", "ksys_read", "vfs_read"}},
        {SF_FRAME_NATIVE, SF_STATE_RUN_QUEUE, {"main", "spin", "sched_yield"}},
        /* Go */
        {SF_FRAME_GO, SF_STATE_RUNNING, {"main.main", "main.work", "strconv.Atoi"}},
        {SF_FRAME_GO,
         SF_STATE_LOCK,
         {"main.main", "sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow",
          "sync.runtime_SemacquireMutex", "runtime.semacquire1", "runtime.goparkunlock",
          "runtime.gopark"}},
        {SF_FRAME_GO, SF_STATE_LOCK, {"main.main", "runtime.chanrecv1", "runtime.gopark"}},
        {SF_FRAME_GO,
         SF_STATE_NET,
         {"main.main", "net.(*conn).Read", "internal/poll.(*FD).Read",
          "internal/poll.runtime_pollWait", "runtime.netpollblock", "runtime.gopark"}},
        {SF_FRAME_GO,
         SF_STATE_DISK,
         {"main.main", "os.(*File).Sync", "syscall.Syscall", "runtime/internal/syscall.Syscall6"}},
        {SF_FRAME_GO, SF_STATE_SLEEP, {"main.main", "time.Sleep", "runtime.gopark"}},
        {SF_FRAME_GO,
         SF_STATE_GC,
         {"runtime.gcBgMarkWorker", "runtime.gcDrain", "runtime.scanobject"}},
        {SF_FRAME_GO,
         SF_STATE_GC,
         {"main.main", "runtime.mallocgc", "runtime.gcAssistAlloc", "runtime.gcDrainN"}},
        /* Java */
        {SF_FRAME_JVM, SF_STATE_RUNNING, {"java/lang/Thread.run", "shop/Cart.total"}},
        {SF_FRAME_JVM,
         SF_STATE_LOCK,
         {"shop/Cart.total", "java/util/concurrent/locks/ReentrantLock.lock",
          "java/util/concurrent/locks/LockSupport.park", "jdk/internal/misc/Unsafe.park"}},
        {SF_FRAME_JVM,
         SF_STATE_LOCK,
         {"java.lang.Thread.run", "java.util.concurrent.LinkedBlockingQueue.take",
          "java.util.concurrent.locks.LockSupport.park", "jdk.internal.misc.Unsafe.park"}},
        {SF_FRAME_JVM,
         SF_STATE_NET,
         {"java.lang.Thread.run", "sun.nio.ch.SelectorImpl.select", "sun.nio.ch.EPoll.wait"}},
        {SF_FRAME_JVM, SF_STATE_DISK, {"shop.Log.write", "java.io.FileOutputStream.writeBytes"}},
        {SF_FRAME_JVM, SF_STATE_SLEEP, {"shop.Retry.wait", "java.lang.Thread.sleep"}},
        {SF_FRAME_JVM, SF_STATE_GC, {"start_thread", "GangWorker::loop", "G1ParTask::work"}},
        /* Python */
        {SF_FRAME_PYTHON, SF_STATE_RUNNING, {"<module>", "handle", "total"}},
        {SF_FRAME_PYTHON, SF_STATE_LOCK, {"<module>", "handle", "threading.Condition.wait"}},
        {SF_FRAME_PYTHON, SF_STATE_NET, {"<module>", "urlopen", "socket.recv_into"}},
        {SF_FRAME_PYTHON, SF_STATE_NET, {"run_forever", "selectors.EpollSelector.select"}},
        {SF_FRAME_PYTHON, SF_STATE_SLEEP, {"<module>", "retry", "time.sleep"}},
        {SF_FRAME_PYTHON, SF_STATE_GC, {"<module>", "handle", "gc.collect"}},
        {SF_FRAME_NATIVE, SF_STATE_LOCK, {"_PyEval_EvalFrameDefault", "take_gil", "futex_wait"}},
        {SF_FRAME_NATIVE, SF_STATE_GC, {"_PyObject_GC_Link", "gc_collect_main", "subtract_refs"}},
        /* Node.js */
        {SF_FRAME_V8, SF_STATE_RUNNING, {"(root)", "processTicksAndRejections", "total"}},
        {SF_FRAME_V8, SF_STATE_NET, {"(root)", "(idle)"}},
        {SF_FRAME_V8, SF_STATE_GC, {"(root)", "total", "(garbage collector)"}},
        {SF_FRAME_V8, SF_STATE_DISK, {"(root)", "load", "readFileSync"}},
        {SF_FRAME_V8, SF_STATE_LOCK, {"(root)", "Atomics.wait"}},
        {SF_FRAME_NATIVE, SF_STATE_NET, {"node::Start", "uv_run", "uv__io_poll", "epoll_pwait"}},
        /* Rust */
        {SF_FRAME_RUST, SF_STATE_RUNNING, {"main", "shop::cart::total"}},
        {SF_FRAME_RUST,
         SF_STATE_LOCK,
         {"main", "std::sys::sync::mutex::futex::Mutex::lock_contended", "syscall", "futex_wait"}},
        {SF_FRAME_RUST, SF_STATE_LOCK, {"main", "parking_lot::raw_mutex::RawMutex::lock_slow"}},
        {SF_FRAME_RUST,
         SF_STATE_NET,
         {"tokio::runtime::io::driver::Driver::turn", "mio::poll::Poll::poll", "epoll_wait"}},
        {SF_FRAME_RUST, SF_STATE_SLEEP, {"main", "std::thread::sleep", "clock_nanosleep"}},
        {SF_FRAME_RUST, SF_STATE_DISK, {"main", "std::fs::File::sync_all", "fsync"}},
    };
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        uint32_t n = 0;
        while (n < 8 && stacks[i].names[n])
            n++;
        for (int is_told = 0; is_told < 2; is_told++) {
            enum sf_sample_state got = state_of_kind(stacks[i].names, n,
                                                     is_told ? stacks[i].kind : SF_FRAME_UNKNOWN);
            if (got != stacks[i].state)
                fail_msg("%s (kind %d): state %d, not %d", stacks[i].names[n - 1],
                         is_told ? (int)stacks[i].kind : 0, (int)got, (int)stacks[i].state);
        }
    }
}

TEST(leaf_state, does_not_look_for_ever)
{
    const char *names[40];
    for (int i = 0; i < 40; i++)
        names[i] = "recursion";
    names[0] = "pthread_mutex_lock";
    names[39] = "read";
    assert_int_equal(state_of(names, 40), SF_STATE_IO);
    names[11] = names[12] = "read"; /* the lock is the twelfth frame from there, the thirteenth */
    assert_int_equal(state_of(names, 12), SF_STATE_LOCK);
    names[11] = "recursion";
    assert_int_equal(state_of(names, 13), SF_STATE_IO);
}

TEST(leaf_state, says_when_memory_runs_out)
{
    struct sf_tree t = {.n_frames = 1000, .n_nodes = 1000};
    struct sf_arena small;
    assert_true(sf_arena_init(&small, 64));
    assert_null(sf_leaf_states(&t, &small));
    sf_arena_done(&small);
}
