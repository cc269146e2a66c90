#include "scrape/target_list.h"

#include "base/time_unit.h"
#include "test.h"

static struct sf_why why;
static struct sf_arena arena;
static struct sf_regex_scratch *regex;

static struct sf_scrape_job *job_of(struct sf_scrape_jobs *j, const char *text)
{
    sf_str rest = sf_str_from(text), pair, key;
    struct sf_scrape_job *job;
    assert_ok(sf_scrape_jobs_add(j, &job, &why));
    while (sf_str_split_next(&rest, '|', &pair)) {
        assert_true(sf_str_split_next(&pair, '=', &key));
        assert_ok(sf_scrape_job_set(j, job, key, pair, &why));
    }
    assert_ok(sf_scrape_job_check(j, job, &why));
    return job;
}

static void update(struct sf_target_list *l, struct sf_scrape_jobs *j, struct sf_scrape_job *job,
                   const char *json)
{
    struct sf_target_update u = {
        .list = l, .jobs = j, .job = job, .scratch = &arena, .regex = regex};
    struct sf_sd_groups groups = {0};
    if (json) {
        assert_ok(sf_sd_groups_read(sf_str_from(json), &arena, &groups, &why));
        assert_ok(sf_target_list_update_groups(&u, &groups, &why));
    } else {
        assert_ok(sf_target_list_update_static(&u, &why));
    }
    assert_ok(sf_target_list_update_end(&u, &why));
    sf_target_list_update_drop(&u);
}

static struct sf_scrape_target *find(struct sf_target_list *l, const char *url)
{
    for (size_t i = 0; i < l->n; i++) {
        if (sf_str_eq(l->list[i]->url, sf_str_from(url)))
            return l->list[i];
    }
    return NULL;
}

static void begin(void)
{
    assert_true(sf_arena_init(&arena, 4 << 20));
    regex = sf_regex_scratch_new();
}

static void end(struct sf_target_list *l, struct sf_scrape_jobs *j)
{
    sf_target_list_done(l);
    sf_scrape_jobs_free(j);
    sf_arena_done(&arena);
    sf_regex_scratch_free(regex);
}

TEST(target_list, makes_an_address_of_each_profile)
{
    struct sf_target_list l = {0};
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    begin();
    update(&l, j, job_of(j, "targets=h:6060|service=cart|labels.env=prod"), NULL);
    assert_int_equal(l.n, 6);
    struct sf_scrape_target *cpu = find(&l, "http://h:6060/debug/pprof/profile?seconds=10");
    struct sf_scrape_target *heap = find(&l, "http://h:6060/debug/pprof/heap");
    struct sf_scrape_target *allocs = find(&l, "http://h:6060/debug/pprof/allocs");
    assert_true(cpu && heap && allocs && cpu->has_seconds && !heap->has_seconds);
    assert_true(heap->takes_levels && !heap->takes_totals); /* nothing is counted twice */
    assert_true(!allocs->takes_levels && allocs->takes_totals);
    assert_true(sf_str_eq(cpu->service, SF_STR("cart")));
    assert_true(sf_str_eq(cpu->instance, SF_STR("h:6060")));
    assert_int_equal(cpu->n_labels, 3); /* env, job, instance */
    update(&l, j, job_of(j, "targets=h:1|job=one|profiles=heap|path_prefix=/x/"), NULL);
    heap = find(&l, "http://h:1/x/heap");
    assert_true(heap && heap->takes_levels && heap->takes_totals);
    update(&l, j, job_of(j, "url=https://h/debug/pprof/profile?debug=0|service=u|seconds=5"), NULL);
    assert_non_null(find(&l, "https://h/debug/pprof/profile?debug=0&seconds=5"));
    update(&l, j, job_of(j, "url=http://h/folded|service=f"), NULL);
    assert_non_null(find(&l, "http://h/folded"));
    end(&l, j);
}

TEST(target_list, keeps_what_is_found_again)
{
    struct sf_target_list l = {0};
    struct sf_scrape_jobs *j = sf_scrape_jobs_new(), *again;
    struct sf_scrape_job *job = job_of(j, "file_sd=/x.json|job=x|profiles=heap");
    struct sf_scrape_target *a, *b;
    begin();
    update(&l, j, job, "[{\"targets\":[\"a:1\",\"b:1\",\"a:1\"]}]");
    assert_int_equal(l.n, 2); /* told twice is one */
    a = find(&l, "http://a:1/debug/pprof/heap");
    b = find(&l, "http://b:1/debug/pprof/heap");
    a->n_ok = 7;
    b->is_busy = true;
    update(&l, j, job, "[{\"targets\":[\"c:1\",\"a:1\"]}]");
    assert_ptr_equal(find(&l, "http://a:1/debug/pprof/heap"), a);
    assert_int_equal(a->n_ok, 7);
    assert_true(b->is_gone); /* until its answer has come */
    assert_int_equal(l.n, 3);
    b->is_busy = false;
    update(&l, j, job, "[{\"targets\":[\"a:1\"],\"labels\":{\"env\":\"x\"}}]");
    assert_int_equal(l.n, 1); /* another label is another target */
    assert_int_equal(l.list[0]->n_ok, 0);
    again = sf_scrape_jobs_new(); /* a new configuration with the same job */
    l.list[0]->n_ok = 3;
    job = job_of(again, "file_sd=/x.json|job=x|profiles=heap|interval=1h");
    update(&l, again, job, "[{\"targets\":[\"a:1\"],\"labels\":{\"env\":\"x\"}}]");
    assert_int_equal(l.list[0]->n_ok, 3);
    assert_int_equal(l.list[0]->job->interval_ns, SF_NS_PER_HOUR);
    sf_scrape_jobs_free(again);
    again = sf_scrape_jobs_new();
    sf_target_list_keep(&l, again);
    assert_int_equal(l.n, 0);
    sf_scrape_jobs_free(again);
    end(&l, j);
}

TEST(target_list, relabels_addresses_and_drops_targets)
{
    struct sf_target_list l = {0};
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job = job_of(
        j,
        "http_sd=http://sd/|job=x|profiles=heap|relabel.0.source_labels=env|relabel.0.regex=prod|"
        "relabel.0.action=keep|relabel.1.source_labels=__address__|relabel.1.regex=([^:]+):.*|"
        "relabel.1.target_label=__address__|relabel.1.replacement=$1:9|"
        "relabel.2.source_labels=app|relabel.2.target_label=service_name");
    begin();
    update(&l, j, job,
           "[{\"targets\":[\"a:1\"],\"labels\":{\"env\":\"prod\",\"app\":\"cart\"}},"
           "{\"targets\":[\"b:1\"],\"labels\":{\"env\":\"test\"}}]");
    assert_int_equal(l.n, 1);
    assert_true(sf_str_eq(l.list[0]->url, SF_STR("http://a:9/debug/pprof/heap")));
    assert_true(sf_str_eq(l.list[0]->service, SF_STR("cart")));
    end(&l, j);
}

TEST(target_list, refuses_labels_that_make_no_address)
{
    static const char *const bad[] = {"\"__scheme__\":\"file\"", "\"__address__\":\"u@h:1\"",
                                      "\"__profile_path_prefix__\":\"x\"",
                                      "\"__profile_path_prefix__\":\"/a b\""};
    struct sf_target_list l = {0};
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job = job_of(
        j, "file_sd=/x|job=x|profiles=heap|relabel.0.source_labels=to|relabel.0.regex=(.+)|"
           "relabel.0.target_label=__address__");
    begin();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sf_target_update u = {
            .list = &l, .jobs = j, .job = job, .scratch = &arena, .regex = regex};
        struct sf_sd_groups groups = {0};
        sf_str json;
        assert_true(sf_arena_print(&arena, &json, "[{\"targets\":[\"a:1\"],\"labels\":{%s%s}}]",
                                   bad[i], i == 1 ? ",\"to\":\"u@h:1\"" : ""));
        assert_ok(sf_sd_groups_read(json, &arena, &groups, &why));
        assert_err(sf_target_list_update_groups(&u, &groups, &why), SF_ERR_INPUT);
        assert_non_null(strstr(why.text, "is not an address"));
        sf_target_list_update_drop(&u);
    }
    end(&l, j);
}

TEST(target_list, spreads_targets_over_the_interval)
{
    struct sf_target_list l = {0};
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job = job_of(j, "file_sd=/x|job=x|profiles=heap|interval=10s");
    struct sf_buf text = {0};
    size_t n[10] = {0};
    begin();
    sf_buf_print(&text, "[{\"targets\":[");
    for (int i = 0; i < 500; i++)
        sf_buf_print(&text, "%s\"10.0.0.%d:1\"", i ? "," : "", i);
    sf_buf_print(&text, "]}]");
    sf_buf_add_u8(&text, 0);
    update(&l, j, job, (const char *)text.p); /* at time 0 */
    for (size_t i = 0; i < l.n; i++) {
        assert_true(l.list[i]->due_ns >= 0 && l.list[i]->due_ns < 10 * SF_NS_PER_S);
        n[l.list[i]->due_ns / SF_NS_PER_S]++;
    }
    for (size_t i = 0; i < 10; i++)
        assert_true(n[i] > 20 && n[i] < 90); /* 50 in each second */
    sf_buf_done(&text);
    end(&l, j);
}

TEST(target_list, ends_at_its_limit)
{
    struct sf_target_list l = {0};
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job = job_of(j, "file_sd=/x|job=x"); /* six profiles an address */
    struct sf_buf text = {0};
    begin();
    sf_buf_print(&text, "[{\"targets\":[");
    for (int i = 0; i < SF_LIMIT_SCRAPE_TARGETS / 5; i++)
        sf_buf_print(&text, "%s\"h%d:1\"", i ? "," : "", i);
    sf_buf_print(&text, "]}]");
    sf_buf_add_u8(&text, 0);
    update(&l, j, job, (const char *)text.p);
    assert_int_equal(l.n, SF_LIMIT_SCRAPE_TARGETS);
    update(&l, j, job, (const char *)text.p); /* and stays there */
    assert_int_equal(l.n, SF_LIMIT_SCRAPE_TARGETS);
    sf_buf_done(&text);
    end(&l, j);
}
