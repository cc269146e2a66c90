#include "serve/query_turn.h"

#include "base/heap.h"
#include "intake/quota.h"
#include "os/clock.h"
#include "test.h"

enum { MIB = 1 << 20 };

static struct sf_service service;
static struct sf_worker worker;
static struct sf_why why;

static void begin(void)
{
    service = (struct sf_service){.memory_len = 256 * MIB, .query_memory_len = 64 * MIB};
    sf_query_turn_init(&service);
    worker = (struct sf_worker){0};
    assert_true(sf_arena_init(&worker.arena, 64 * MIB) && sf_arena_count(&worker.arena));
}

static void end(void)
{
    assert_int_equal(atomic_load(&service.query_pool.used), 0);
    assert_int_equal(atomic_load(&service.query_pool.large_used), 0);
    assert_false(worker.is_large);
    sf_arena_done(&worker.arena);
}

TEST(query_turn, counts_what_the_server_asks_by_itself)
{
    begin();
    sf_query_turn_open_own(&service, SF_STR("t"), &worker, 0, NULL);
    assert_non_null(sf_arena_new(&worker.arena, 20 * MIB));
    assert_true(atomic_load(&service.query_pool.used) >= 18 * MIB);
    assert_int_equal(sf_query_turn_close_own(&worker, SF_ERR_NOT_FOUND, &why), SF_ERR_NOT_FOUND);
    end();
}

TEST(query_turn, tells_too_much_from_not_now)
{
    begin();
    sf_query_turn_open_own(&service, SF_STR("t"), &worker, 0, NULL);
    assert_null(sf_arena_new(&worker.arena, 33 * MIB)); /* alone it would never fit */
    assert_int_equal(sf_query_turn_close_own(&worker, SF_ERR_NOMEM, &why), SF_ERR_LIMIT);
    assert_non_null(strstr(why.text, "32 MiB"));

    atomic_store(&service.query_pool.used, 39 * MIB); /* others */
    sf_query_turn_open_own(&service, SF_STR("t"), &worker, 0, NULL);
    assert_null(sf_arena_new(&worker.arena, 20 * MIB));
    assert_int_equal(sf_query_turn_close_own(&worker, SF_ERR_NOMEM, &why), SF_ERR_BUSY);
    assert_int_equal(atomic_load(&service.query_pool.used), 39 * MIB); /* theirs, still */
    atomic_store(&service.query_pool.used, 0);
    end();
}

TEST(query_turn, holds_the_server_itself_to_a_tenants_limit)
{
    struct sf_quota_rules *rules = sf_quota_rules_new();
    begin();
    service.quota = sf_quota_new();
    assert_true(rules && service.quota);
    assert_ok(sf_quota_rules_set(rules, SF_STR("small"), (sf_str){0}, SF_QUOTA_QUERY_MEMORY,
                                 2 * MIB, &why));
    sf_quota_replace(service.quota, rules);
    sf_query_turn_open_own(&service, SF_STR("large|small"), &worker, 0, NULL);
    assert_non_null(sf_arena_new(&worker.arena, MIB));
    assert_null(sf_arena_new(&worker.arena, 2 * MIB));
    assert_int_equal(sf_query_turn_close_own(&worker, SF_ERR_NOMEM, &why), SF_ERR_LIMIT);
    assert_non_null(strstr(why.text, "2048 KiB"));
    sf_arena_reset(&worker.arena);
    sf_query_turn_open_own(&service, SF_STR("large"), &worker, 0, NULL);
    assert_non_null(sf_arena_new(&worker.arena, 3 * MIB));
    assert_int_equal(sf_query_turn_close_own(&worker, SF_OK, &why), SF_OK);
    sf_quota_free(service.quota);
    service.quota = NULL;
    end();
}

TEST(query_turn, ends_what_the_server_asks_by_itself)
{
    atomic_bool is_stopping = false;
    begin();
    sf_query_turn_open_own(&service, SF_STR("t"), &worker,
                           sf_clock_mono_ns() + INT64_C(3600000000000), &is_stopping);
    assert_true(sf_account_goes_on(SIZE_MAX));
    atomic_store(&is_stopping, true);
    assert_false(sf_account_goes_on(SIZE_MAX));
    assert_int_equal(sf_query_turn_close_own(&worker, SF_OK, &why), SF_ERR_CANCELLED);
    atomic_store(&is_stopping, false);
    sf_query_turn_open_own(&service, SF_STR("t"), &worker, 1, &is_stopping);
    assert_false(sf_account_goes_on(SIZE_MAX));
    assert_int_equal(sf_query_turn_close_own(&worker, SF_OK, &why), SF_ERR_DEADLINE);
    end();
}
