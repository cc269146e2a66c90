#include "scrape/scrape_job.h"

#include "base/time_unit.h"
#include "test.h"

static struct sf_why why;

/* "key=value|key=value" */
static enum sf_err add(struct sf_scrape_jobs *j, const char *text, struct sf_scrape_job **out)
{
    sf_str rest = sf_str_from(text), pair, key;
    enum sf_err err;
    memset(&why, 0, sizeof(why));
    err = sf_scrape_jobs_add(j, out, &why);
    while (!err && sf_str_split_next(&rest, '|', &pair)) {
        assert_true(sf_str_split_next(&pair, '=', &key));
        err = sf_scrape_job_set(j, *out, key, pair, &why);
    }
    return err ? err : sf_scrape_job_check(j, *out, &why);
}

static void refused(const char *text, const char *says)
{
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job;
    assert_true(add(j, text, &job) != SF_OK);
    if (!strstr(why.text, says))
        fail_msg("%s: %s", text, why.text);
    sf_scrape_jobs_free(j);
}

TEST(scrape_job, takes_what_the_file_says)
{
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job;
    assert_ok(add(j,
                  "url=http://127.0.0.1:6060/debug/pprof/profile|service=cart|interval=30s|"
                  "seconds=20|labels.env=prod",
                  &job));
    assert_true(sf_str_eq(job->name, SF_STR("cart")));
    assert_int_equal(job->seconds_ns, 20 * SF_NS_PER_S);
    assert_true(sf_str_eq(sf_relabel_label_get(&job->labels, SF_STR("env")), SF_STR("prod")));
    assert_ok(add(j, "url=http://127.0.0.1:6061/debug/pprof/profile|service=cart", &job));
    assert_true(sf_str_eq(job->name, SF_STR("cart-2")));
    assert_int_equal(job->interval_ns, 15 * SF_NS_PER_S);
    assert_ok(add(j,
                  "targets.0=a:1|targets.1=b:2|job=x|relabel.0.source_labels=env|"
                  "relabel.0.action=keep|max_body=1MB|concurrency=4|tls.skip_verify=true",
                  &job));
    assert_int_equal(job->paths.n, 6);
    assert_int_equal(job->n_relabel, 1);
    assert_int_equal(job->max_len, 1000000);
    assert_true(sf_scrape_job_tls(job).is_unchecked);
    assert_ok(add(j, "targets=a:1|profiles.0=heap|interval=2s", &job)); /* seconds shrink with it */
    assert_int_equal(job->paths.n, 1);
    assert_int_equal(job->seconds_ns, 2 * SF_NS_PER_S);
    sf_scrape_jobs_free(j);
}

TEST(scrape_job, names_mistakes)
{
    refused("service=cart", "needs one of url, targets");
    refused("url=http://h:1/x|targets=a:1|service=s", "has no targets");
    refused("url=http://h:1/x", "needs the name of a service");
    refused("url=file:///etc/passwd|service=s", "is not an address");
    refused("url=http://user:secret@h:1/x|service=s", "no names and passwords");
    refused("http_sd=http://u:p@h/|job=x", "no names and passwords");
    refused("targets=a:1|interval=5s|seconds=10|job=x", "at most the interval");
    refused("targets=a:1|job=x|scheme=ftp", "http or https");
    refused("targets=a:1|job=x|path_prefix=debug", "begins with a slash");
    refused("targets=a:1|job=x|intervall=5s", "did you mean interval?");
    refused("targets=a:1|job=x|tls.cert=/a", "both cert and key");
    refused("targets=a:1|job=x|relabel.0.regex=a", "expects a target_label");
    refused("targets=a:1|job=x|relabel.99.regex=a", "more than 32 rules");
    refused("targets=a:1|job=x|max_body=1GB", "from 1KB to 32MiB");
    refused("targets=a:1|job=x|concurrency=1000", "from 1 to 64");
    refused("targets=a:1|job=x|labels.__address__=b", "not a valid label name");
}

TEST(scrape_job, keeps_names_apart)
{
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job;
    assert_ok(add(j, "targets=a:1|job=x", &job));
    assert_err(add(j, "targets=b:1|job=x", &job), SF_ERR_INPUT);
    sf_scrape_jobs_free(j);
}

TEST(scrape_job, ends_at_its_limits)
{
    struct sf_scrape_jobs *j = sf_scrape_jobs_new();
    struct sf_scrape_job *job;
    assert_ok(sf_scrape_jobs_add(j, &job, &why));
    for (int i = 0; i < SF_LIMIT_SCRAPE_STATIC; i++)
        assert_ok(sf_scrape_job_set(j, job, SF_STR("targets.0"), SF_STR("a:1"), &why));
    assert_err(sf_scrape_job_set(j, job, SF_STR("targets.0"), SF_STR("a:1"), &why), SF_ERR_LIMIT);
    job->n_at_once = 0;
    assert_int_equal(SF_LIMIT_SCRAPE_AT_ONCE, 64);
    assert_ok(sf_scrape_job_set(j, job, SF_STR("concurrency"), SF_STR("64"), &why));
    assert_err(sf_scrape_job_set(j, job, SF_STR("concurrency"), SF_STR("65"), &why), SF_ERR_INPUT);
    for (int i = 1; i < SF_LIMIT_SCRAPE_JOBS; i++)
        assert_ok(sf_scrape_jobs_add(j, &job, &why));
    assert_err(sf_scrape_jobs_add(j, &job, &why), SF_ERR_LIMIT);
    sf_scrape_jobs_free(j);
}
