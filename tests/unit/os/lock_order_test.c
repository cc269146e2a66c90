#include "os/lock_order.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/thread.h"
#include "test.h"

TEST(lock_order, allows_only_what_stands_below_all_that_is_held)
{
    struct sf_locks_held h = {0};
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_WAL), SF_LOCK_ANY);
    sf_lock_order_add(&h, SF_LOCK_STORE_FLUSH);
    sf_lock_order_add(&h, SF_LOCK_STORE_MEMTABLE);
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_WAL), SF_LOCK_ANY);
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_STORE_GATE), SF_LOCK_STORE_MEMTABLE);
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_STORE_MEMTABLE), SF_LOCK_STORE_MEMTABLE);
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_STORE_MERGE), SF_LOCK_STORE_FLUSH);
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_ANY), SF_LOCK_ANY);
}

TEST(lock_order, forgets_locks_given_back_in_any_order)
{
    struct sf_locks_held h = {0};
    sf_lock_order_add(&h, SF_LOCK_STORE_RUNS);
    sf_lock_order_add(&h, SF_LOCK_STORE_RUN);
    sf_lock_order_add(&h, SF_LOCK_STORE_RUN); /* tried */
    sf_lock_order_remove(&h, SF_LOCK_STORE_RUN);
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_STORE_RUN), SF_LOCK_STORE_RUN);
    sf_lock_order_remove(&h, SF_LOCK_STORE_RUNS);
    sf_lock_order_remove(&h, SF_LOCK_STORE_RUN);
    assert_int_equal(h.n, 0);
    assert_int_equal(sf_lock_order_breaks(&h, SF_LOCK_STORE_RUN), SF_LOCK_ANY);
}

TEST(lock_order, names_every_lock)
{
    for (int i = SF_LOCK_ANY; i < SF_LOCKS; i++) {
        for (int j = SF_LOCK_ANY; j < i; j++)
            assert_string_not_equal(sf_lock_order_name((enum sf_lock_rank)i),
                                    sf_lock_order_name((enum sf_lock_rank)j));
    }
}

TEST(lock_order, is_the_order_of_the_page)
{
    const char *root = getenv("SPANFLAME_SOURCE");
    struct sf_file file;
    struct sf_buf page = {0};
    struct sf_why why = {0};
    char path[512];
    sf_str rest;
    if (!root)
        skip();
    snprintf(path, sizeof(path), "%s/docs/architecture.md", root);
    if (sf_file_open_path(path, &file, &why) || sf_file_read_all(&file, 1 << 20, &page, &why))
        fail_msg("%s: %s", path, why.text);
    sf_file_close(&file);
    rest = sf_buf_str(&page);
    for (int i = SF_LOCK_ANY + 1; i < SF_LOCKS; i++) {
        const char *name = sf_lock_order_name((enum sf_lock_rank)i);
        char row[160];
        size_t at;
        snprintf(row, sizeof(row), "| %s | ", name);
        if (!sf_str_find(rest, sf_str_from(row), &at))
            fail_msg("docs/architecture.md lacks \"%s\", or has it in another place", name);
        rest = sf_str_from_at(rest, at + strlen(row));
    }
    sf_buf_done(&page);
}

/* The exit status of a child that takes two locks; -1: it was stopped. */
static int take(enum sf_lock_rank first, enum sf_lock_rank second, bool is_tried)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sf_mutex a, b;
        sf_mutex_init(&a, first);
        sf_mutex_init(&b, second);
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        sf_mutex_lock(&a);
        if (!is_tried)
            sf_mutex_lock(&b);
        else if (!sf_mutex_try(&b))
            _exit(3);
        sf_mutex_unlock(&a);
        sf_mutex_unlock(&b);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) < 4 ? WEXITSTATUS(status) : -1;
}

TEST(lock_order, stops_a_program_that_breaks_it)
{
#ifdef SF_LOCK_ORDER
    enum { STOPPED = -1 };
#else
    enum { STOPPED = 0 }; /* only builds with a sanitizer look */
#endif
    assert_int_equal(take(SF_LOCK_STORE_FLUSH, SF_LOCK_WAL, false), 0);
    assert_int_equal(take(SF_LOCK_WAL, SF_LOCK_STORE_FLUSH, false), STOPPED);
    assert_int_equal(take(SF_LOCK_WAL, SF_LOCK_WAL, false), STOPPED);
    assert_int_equal(take(SF_LOCK_WAL, SF_LOCK_STORE_FLUSH, true), 0);
}
