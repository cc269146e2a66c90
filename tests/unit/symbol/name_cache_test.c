#include "symbol/name_cache.h"

#include "base/limits.h"
#include "test.h"

static struct sf_symbol_id id_of(unsigned n)
{
    struct sf_symbol_id id;
    snprintf(id.hex, sizeof(id.hex), "%08x", n);
    return id;
}

static void put(struct sf_name_module *m, uint64_t off, const char *outer, const char *inner)
{
    struct sf_named_line lines[2] = {{sf_str_from(inner), SF_STR("a.c"), 7},
                                     {sf_str_from(outer), SF_STR("b.c"), 9}};
    assert_non_null(sf_name_cache_module_place(m, off, true));
    sf_name_cache_module_put(m, off, &(struct sf_named){lines, 2, 0});
}

TEST(name_cache, gives_back_what_was_put)
{
    struct sf_name_cache c = {0};
    struct sf_symbol_id id = id_of(1);
    struct sf_name_module *m = sf_name_cache_module(&c, 1, &id, true);
    const struct sf_name_place *p;
    struct sf_arena req = {0};
    struct sf_named named;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_non_null(m);
    assert_null(sf_name_cache_module_place(m, 5, false));
    put(m, 5, "outer", "inner");
    assert_int_equal(m->n_unknown, 0);
    assert_non_null(sf_name_cache_module_place(m, 6, true));
    assert_int_equal(m->n_unknown, 1);
    p = sf_name_cache_module_place(m, 5, false);
    assert_true(p && p->is_known);
    assert_true(sf_name_cache_module_get(m, p, &req, &named));
    assert_int_equal(named.n_lines, 2);
    assert_true(sf_str_eq(named.lines[0].function, SF_STR("inner")));
    assert_true(sf_str_eq(named.lines[1].file, SF_STR("b.c")));
    assert_int_equal(named.lines[1].line, 9);
    sf_name_cache_module_put(m, 6, &(struct sf_named){.start_off = 3});
    p = sf_name_cache_module_place(m, 6, false);
    assert_true(sf_name_cache_module_get(m, p, &req, &named));
    assert_int_equal(named.n_lines, 0);
    assert_int_equal(named.start_off, 3);
    assert_null(sf_name_cache_module(&c, 2, &id, false)); /* another tenant's */
    sf_arena_done(&req);
    sf_name_cache_done(&c);
}

TEST(name_cache, forgets_what_was_used_longest_ago_and_never_what_is_busy)
{
    struct sf_name_cache c = {.max_len = 1};
    struct sf_symbol_id a = id_of(1), b = id_of(2), d = id_of(3);
    struct sf_name_module *busy;
    put(sf_name_cache_module(&c, 1, &a, true), 1, "f", "g");
    busy = sf_name_cache_module(&c, 1, &b, true);
    busy->is_busy = true;
    put(busy, 1, "f", "g");
    put(sf_name_cache_module(&c, 1, &d, true), 1, "f", "g");
    sf_name_cache_trim(&c);
    assert_null(sf_name_cache_module(&c, 1, &a, false));
    assert_non_null(sf_name_cache_module(&c, 1, &b, false));
    assert_non_null(sf_name_cache_module(&c, 1, &d, false));
    sf_name_cache_forget(&c, 1, &b); /* while a thread has it */
    assert_null(sf_name_cache_module(&c, 1, &b, false));
    sf_name_cache_module_put(busy, 1, &(struct sf_named){0});
    sf_name_cache_release(&c, busy);
    assert_int_equal(c.n, 1);
    sf_name_cache_done(&c);
}

TEST(name_cache, keeps_a_bounded_number_of_files_and_of_names)
{
    struct sf_name_cache c = {0};
    struct sf_symbol_id id;
    struct sf_name_module *m;
    char name[64];
    for (unsigned i = 0; i < SF_LIMIT_SYMBOL_MODULES + 10; i++) {
        id = id_of(i);
        assert_non_null(sf_name_cache_module(&c, 1, &id, true));
    }
    assert_int_equal(c.n, SF_LIMIT_SYMBOL_MODULES);
    id = id_of(0);
    assert_null(sf_name_cache_module(&c, 1, &id, false));
    m = sf_name_cache_module(&c, 1, &id, true);
    for (unsigned i = 0; i < 2000000 && sf_name_cache_module_place(m, i, true); i++) {
        snprintf(name, sizeof(name), "a_name_of_some_length_that_is_like_no_other_%u", i);
        put(m, i, name, "g");
    }
    assert_true(sf_name_cache_module_memory(m) < 3 * SF_LIMIT_SYMBOL_MODULE_LEN);
    assert_null(sf_name_cache_module_place(m, 2000001, true));
    sf_name_cache_done(&c);
}
