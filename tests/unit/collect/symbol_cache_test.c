#include "test.h"

#include "base/heap.h"
#include "collect/lib/symbol_cache.h"

TEST(symbol_cache, keeps_lines_of_an_address_with_names_for_people)
{
    struct sf_symbol_cache c = {0};
    struct sf_cached_address *found;
    const struct sf_cached_line *line;
    bool is_new;
    assert_non_null(sf_symbol_cache_address(&c, 7, &is_new));
    assert_true(is_new);
    assert_true(sf_symbol_cache_add(&c, SF_STR("_Z3fooi"), SF_STR("/a.cc"), 5, 3));
    assert_true(sf_symbol_cache_add(&c, SF_STR("main"), SF_STR("/a.cc"), 9, 8));
    assert_true(sf_symbol_cache_add(&c, SF_STR("_Z3fooi"), SF_STR_NONE, 0, 0));
    found = sf_symbol_cache_address(&c, 7, &is_new);
    assert_false(is_new);
    found->n_lines = 3;
    assert_int_equal(sf_symbol_cache_address(&c, 7, &is_new)->n_lines, 3);
    assert_int_equal(sf_symbol_cache_n_lines(&c), 3);
    line = sf_symbol_cache_line(&c, 0);
    assert_str(sf_symbol_cache_text(&c, line->name), "foo(int)");
    assert_str(sf_symbol_cache_text(&c, line->system_name), "_Z3fooi");
    assert_str(sf_symbol_cache_text(&c, line->file), "/a.cc");
    assert_int_equal(line->line, 5);
    line = sf_symbol_cache_line(&c, 1);
    assert_int_equal(line->name, line->system_name);
    assert_int_equal(line->file, sf_symbol_cache_line(&c, 0)->file); /* a text is kept once */
    assert_int_equal(sf_symbol_cache_line(&c, 2)->name, sf_symbol_cache_line(&c, 0)->name);
    assert_str(sf_symbol_cache_text(&c, sf_symbol_cache_line(&c, 2)->file), "");
    sf_symbol_cache_done(&c);
}

TEST(symbol_cache, is_full_at_its_bounds)
{
    struct sf_symbol_cache c = {0};
    char long_name[65536];
    bool is_new;
    for (uint64_t i = 0; i < SF_CACHED_ADDRESSES_MAX; i++) {
        assert_false(sf_symbol_cache_is_full(&c));
        assert_non_null(sf_symbol_cache_address(&c, i, &is_new));
    }
    assert_true(sf_symbol_cache_is_full(&c));
    assert_false(sf_symbol_cache_add(&c, SF_STR("late"), SF_STR_NONE, 1, 1));
    sf_symbol_cache_done(&c);
    memset(long_name, 'x', sizeof(long_name));
    for (unsigned i = 0; i < 200; i++) {
        memcpy(long_name, &i, sizeof(i));
        sf_symbol_cache_add(&c, (sf_str){long_name, sizeof(long_name)}, SF_STR_NONE, 1, 1);
    }
    assert_true(sf_symbol_cache_is_full(&c));
    assert_in_range(c.text.len, SF_CACHED_TEXT_MAX, SF_CACHED_TEXT_MAX + sizeof(long_name));
    sf_symbol_cache_done(&c);
}

TEST(symbol_cache, survives_memory_that_runs_out)
{
    for (unsigned n = 1; n < 40; n++) {
        struct sf_symbol_cache c = {0};
        bool is_new;
        sf_heap_fail_after(n);
        for (uint64_t i = 0; i < 200; i++) {
            sf_symbol_cache_address(&c, i, &is_new);
            sf_symbol_cache_add(&c, SF_STR("_ZN3one3twoEv"), SF_STR("/a"), 1, 1);
            sf_symbol_cache_add(&c, (sf_str){(const char *)&i, sizeof(i)}, SF_STR("/b"), 1, 1);
        }
        for (uint32_t i = 0; i < sf_symbol_cache_n_lines(&c); i++)
            assert_true(sf_symbol_cache_text(&c, sf_symbol_cache_line(&c, i)->name).len > 0);
        sf_heap_fail_after(0);
        sf_symbol_cache_done(&c);
    }
}
