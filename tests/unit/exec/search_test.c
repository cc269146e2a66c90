#include "exec/search.h"

#include "base/heap.h"
#include "query/query_parse.h"
#include "test.h"

/* No space for its patterns, as a query gets it that holds too much: before the store is asked. */
TEST(search, ends_when_there_is_no_memory_for_its_conditions)
{
    struct sf_arena req, scratch;
    struct sf_query_ctx q = {.req = &req};
    struct sf_search search = {.limit = 5, .spans_per_set = 3, .scratch = &scratch};
    struct sf_search_result result;
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 20) && sf_arena_init(&scratch, 1 << 20));
    assert_ok(sf_query_parse(SF_STR("{ name =~ `a.*b` || name =~ `c.*d` }"), &req, &search.query,
                             NULL, &why));
    for (uint64_t n = 1; n <= 4; n++) {
        enum sf_err err;
        why.text[0] = 0;
        sf_heap_fail_after(n);
        err = sf_search_run(NULL, &search, &q, &result, &why);
        sf_heap_fail_after(0);
        assert_int_equal(err, SF_ERR_NOMEM);
        assert_true(why.text[0] != 0);
    }
    sf_arena_done(&req);
    sf_arena_done(&scratch);
}
