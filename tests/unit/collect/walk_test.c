#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/unwind/walk.h"
#include "late_signals.h"

/* Known stacks: each test calls through functions it knows by address and searches for them, in
 * order, in what a signal handler finds. */
enum { DEPTH = 200 };
static uintptr_t found[DEPTH];
static size_t n_found;
static enum sf_walk_end how;
static uintptr_t stack_hi;
static volatile int sink;

static void handler(int sig, siginfo_t *info, void *context)
{
    const struct sf_modules *m = sf_modules_enter();
    struct sf_walk_regs r = sf_walk_regs_of(context);
    (void)sig;
    (void)info;
    n_found = sf_walk(m, r, (struct sf_walk_stack){(const uint8_t *)r.sp, r.sp, stack_hi}, found,
                      DEPTH, &how);
    sf_modules_leave();
}

static void set_up(void)
{
    pthread_attr_t attr;
    void *lo;
    size_t len;
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &lo, &len);
    pthread_attr_destroy(&attr);
    stack_hi = (uintptr_t)lo + len;
    sigaction(SIGUSR1, &action, NULL);
    assert_true(sf_modules_refresh());
    n_found = 0;
}

static bool is_in(uintptr_t pc, const void *function)
{
    return pc > (uintptr_t)function && pc < (uintptr_t)function + 2000;
}

/* Whether the functions occur in this order, innermost first. */
static void must_pass(const void *const *functions, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n_found && at < n; i++) {
        if (is_in(found[i], functions[at]))
            at++;
    }
    if (at < n)
        fail_msg("function %zu of %zu is missing among %zu frames, end %d", at, n, n_found, how);
}

__attribute__((noinline)) static void leaf(void)
{
    raise(SIGUSR1);
    sink++;
}

__attribute__((noinline)) static void middle(int n)
{
    char room[64];
    memset(room, n, sizeof(room));
    if (n)
        middle(n - 1);
    else
        leaf();
    sink += room[n % 64];
}

TEST(walk, finds_every_caller_up_to_the_beginning)
{
    const void *want[] = {leaf, middle, middle, middle, middle};
    set_up();
    middle(3);
    must_pass(want, 5);
    assert_int_equal(how, SF_WALK_COMPLETE);
}

static int compare(const void *a, const void *b)
{
    if (!n_found)
        leaf();
    return *(const int *)a - *(const int *)b;
}

TEST(walk, goes_through_libc_which_keeps_no_frame_pointers)
{
    int numbers[] = {5, 4, 3, 2, 1};
    const void *want[] = {leaf, compare};
    uintptr_t sorter = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
    bool has_libc = false;
    set_up();
    qsort(numbers, 5, sizeof(int), compare);
    must_pass(want, 2);
    assert_int_equal(how, SF_WALK_COMPLETE);
    for (size_t i = 0; i < n_found; i++)
        has_libc |= found[i] > sorter - 0x2000 && found[i] < sorter + 0x2000;
    assert_true(has_libc);
}

static void outer_handler(int sig)
{
    (void)sig;
    middle(1);
    sink++;
}

__attribute__((noinline)) static void interrupted(void)
{
    raise(SIGUSR2);
    sink++;
}

TEST(walk, goes_through_a_signal_frame)
{
    const void *want[] = {leaf, middle, middle, outer_handler, interrupted};
    struct sigaction action = {.sa_handler = outer_handler};
    if (LATE_SIGNALS) {
        printf("# the thread sanitizer delivers signals later than they come\n");
        skip();
    }
    set_up();
    sigaction(SIGUSR2, &action, NULL);
    interrupted();
    must_pass(want, 5);
    assert_int_equal(how, SF_WALK_COMPLETE);
}

static void *on_thread(void *arg)
{
    set_up();
    middle(2);
    return arg;
}

TEST(walk, ends_where_a_thread_began)
{
    const void *want[] = {leaf, middle, middle, middle, on_thread};
    pthread_t thread;
    pthread_create(&thread, NULL, on_thread, NULL);
    pthread_join(thread, NULL);
    must_pass(want, 5);
    assert_int_equal(how, SF_WALK_COMPLETE);
    set_up();
}

TEST(walk, stops_at_its_bound_and_at_the_edge_of_the_view)
{
    const struct sf_modules *m;
    uintptr_t few[3];
    set_up();
    middle(DEPTH * 2);
    assert_int_equal(n_found, DEPTH);
    assert_int_equal(how, SF_WALK_FULL);
    m = sf_modules_enter();
    assert_int_equal(sf_walk(m, (struct sf_walk_regs){(uintptr_t)leaf + 8, 0x1000, 0x1000, false},
                             (struct sf_walk_stack){(const uint8_t *)few, 0x1000, 0x1000}, few, 3,
                             &how),
                     1);
    assert_true(how == SF_WALK_OUTSIDE);
    sf_modules_leave();
}

/* Whatever lies in registers and memory: no crash, no endless walk. */
TEST(walk, survives_any_stack)
{
    static uint64_t words[512];
    uintptr_t out[64];
    uint64_t chance = 1;
    const struct sf_modules *m;
    set_up();
    m = sf_modules_enter();
    for (int round = 0; round < 20000; round++) {
        struct sf_walk_stack s = {(const uint8_t *)words, 0x70000000, 0x70000000 + sizeof(words)};
        struct sf_walk_regs r;
        for (int i = 0; i < 16; i++) {
            const struct sf_module *one;
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            one = m->list[(chance >> 33) % m->n];
            words[(chance >> 40) % 512] = chance & 1
                                              ? one->lo + (chance >> 20) % (one->hi - one->lo)
                                              : 0x70000000 + ((chance >> 30) & 0xff8);
        }
        r = (struct sf_walk_regs){words[chance % 512], 0x70000000 + ((chance >> 20) & 0xff8),
                                  0x70000000 + ((chance >> 10) & 0xff8), round % 2};
        assert_true(sf_walk(m, r, s, out, 64, &how) <= 64);
    }
    sf_modules_leave();
}

TEST(walk, knows_every_row_of_libc)
{
    const struct sf_modules *m;
    uint32_t bad = 0, all = 0;
    set_up();
    m = sf_modules_enter();
    for (uint32_t i = 0; i < m->n; i++) {
        const struct sf_rows *r = &m->list[i]->rows;
        for (uint32_t k = 0; k < r->n; k++) {
            all++;
            bad += r->rows[k].kind == SF_ROW_BAD;
            if (k)
                assert_true(r->rows[k - 1].pc < r->rows[k].pc);
            assert_ptr_equal(sf_rows_find(r, r->rows[k].pc), &r->rows[k]);
        }
    }
    sf_modules_leave();
    assert_true(all > 20000);
    assert_true(bad * 100 < all); /* a few rows of hand-written code need more registers */
}

TEST(walk, follows_libraries_that_come_and_go)
{
    uint32_t before, with;
    void *lib;
    set_up();
    before = sf_modules_enter()->n;
    sf_modules_leave();
    lib = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        skip();
    assert_true(sf_modules_refresh());
    with = sf_modules_enter()->n;
    sf_modules_leave();
    assert_true(with > before);
    dlclose(lib);
    assert_true(sf_modules_refresh());
    assert_true(sf_modules_enter()->n < with);
    sf_modules_leave();
}
