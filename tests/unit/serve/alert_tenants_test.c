#include "serve/alerts/alert_tenants.h"

#include <stdio.h>
#include <stdlib.h>

#include "alert/alert_watch.h"
#include "test.h"

static size_t n_tenants;
static char names[40][24];

static size_t list_tenants(struct sf_store *s, sf_str *out, size_t cap)
{
    (void)s;
    for (size_t i = 0; i < n_tenants && i < cap; i++) {
        if (i)
            snprintf(names[i], sizeof(names[i]), "t%zu", i);
        out[i] = i ? sf_str_from(names[i]) : SF_STR("single-tenant");
    }
    return n_tenants;
}

static struct sf_alerts *new_alerts(void)
{
    struct sf_alerts *a = calloc(1, sizeof(*a));
    struct sf_why why;
    assert_non_null(a);
    sf_mutex_init(&a->lock, SF_LOCK_SERVE_ALERTS);
    a->rules = sf_alert_rules_new();
    a->health = calloc(SF_LIMIT_ALERT_RULES, sizeof(*a->health));
    assert_non_null(a->health);
    assert_ok(sf_alert_watch_add_pack(a->rules, true, &why));
    return a;
}

static void free_alerts(struct sf_alerts *a)
{
    for (size_t i = 0; i < a->n_watches; i++)
        sf_watch_feed_free(a->watches[i]);
    sf_alert_rules_free(a->rules);
    sf_mutex_done(&a->lock);
    free(a->health);
    free(a);
}

TEST(alert_tenants, watches_as_many_as_there_may_be_and_counts_the_others)
{
    const struct sf_store_ops ops = {.tenants = list_tenants};
    struct sf_store store = {&ops};
    struct sf_alerts *a = new_alerts();
    n_tenants = 3;
    sf_alert_tenants_see(a, &store);
    assert_int_equal(a->n_watches, 3);
    assert_string_equal(a->watches[2]->tenant, "single-tenant"); /* the last */
    n_tenants = SF_LIMIT_WATCH_TENANTS + 1;
    sf_alert_tenants_see(a, &store);
    assert_int_equal(a->n_watches, SF_LIMIT_WATCH_TENANTS);
    assert_int_equal(a->n_unwatched_tenants, 1);
    n_tenants = 30;
    sf_alert_tenants_see(a, &store);
    assert_int_equal(a->n_watches, SF_LIMIT_WATCH_TENANTS);
    assert_int_equal(a->n_unwatched_tenants, 29 - (SF_LIMIT_WATCH_TENANTS - 1));
    assert_null(sf_alert_tenants_watch(a, SF_STR("t29")));
    assert_non_null(sf_alert_tenants_watch(a, SF_STR("t1")));
    free_alerts(a);
}

TEST(alert_tenants, each_has_its_own_health)
{
    const struct sf_store_ops ops = {.tenants = list_tenants};
    struct sf_store store = {&ops};
    struct sf_alerts *a = new_alerts();
    size_t last = a->rules->n - 1;
    n_tenants = 3;
    sf_alert_tenants_see(a, &store);
    assert_ptr_equal(sf_alert_tenants_health(a, last, SF_STR("t1")),
                     &a->each_health[0][SF_WATCH_KINDS - 1]);
    assert_ptr_equal(sf_alert_tenants_health(a, 0, SF_STR("t2")), &a->each_health[1][0]);
    assert_null(sf_alert_tenants_health(a, 0, SF_STR("stranger")));
    a->rules->list[0].is_each = false;
    assert_ptr_equal(sf_alert_tenants_health(a, 0, SF_STR("t2")), &a->health[0]);
    free_alerts(a);
}
