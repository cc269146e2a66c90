/* A list of a service discovery is refused, or becomes targets that are addresses and nothing else:
 * no byte in them begins another part of a URL, and labels have names and fit their limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "scrape/target_list.h"

static struct sf_scrape_jobs *make_jobs(struct sf_scrape_job **out)
{
    struct sf_scrape_jobs *jobs = sf_scrape_jobs_new();
    struct sf_scrape_job *job;
    SF_ASSERT(jobs && !sf_scrape_jobs_add(jobs, &job, NULL));
    SF_ASSERT(!sf_scrape_job_set(jobs, job, SF_STR("file_sd"), SF_STR("/x"), NULL));
    SF_ASSERT(!sf_scrape_job_set(jobs, job, SF_STR("profiles"), SF_STR("heap"), NULL));
    SF_ASSERT(!sf_scrape_job_set(jobs, job, SF_STR("relabel.0.regex"), SF_STR("a(.*)"), NULL));
    SF_ASSERT(!sf_scrape_job_set(jobs, job, SF_STR("relabel.0.action"), SF_STR("labelmap"), NULL));
    SF_ASSERT(!sf_scrape_job_check(jobs, job, NULL));
    *out = job;
    return jobs;
}

static void check_targets(const struct sf_sd_groups *g)
{
    size_t n = 0;
    for (const struct sf_sd_group *one = g->first; one; one = one->next) {
        n += one->n_targets;
        SF_ASSERT(one->labels.n <= SF_LIMIT_SCRAPE_LABELS);
        for (size_t i = 0; i < one->n_targets; i++) {
            SF_ASSERT(one->targets[i].len > 0);
            SF_ASSERT(!memchr(one->targets[i].p, '/', one->targets[i].len));
            SF_ASSERT(!memchr(one->targets[i].p, '@', one->targets[i].len));
            SF_ASSERT(!memchr(one->targets[i].p, '\n', one->targets[i].len));
        }
    }
    SF_ASSERT(n == g->n_targets && n <= SF_LIMIT_SCRAPE_TARGETS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_arena arena;
    struct sf_sd_groups groups = {0};
    struct sf_target_list list = {0};
    struct sf_regex_scratch *regex = sf_regex_scratch_new();
    struct sf_target_update u = {.list = &list, .scratch = &arena, .regex = regex};
    char *copy = malloc(size ? size : 1);
    struct sf_scrape_job *job;
    struct sf_scrape_jobs *jobs = make_jobs(&job);
    u.jobs = jobs;
    u.job = job;
    SF_ASSERT(copy && regex && sf_arena_init(&arena, 4 << 20));
    if (size)
        memcpy(copy, data, size);
    if (!sf_sd_groups_read((sf_str){copy, size}, &arena, &groups, NULL)) {
        check_targets(&groups);
        if (!sf_target_list_update_groups(&u, &groups, NULL))
            (void)sf_target_list_update_end(&u, NULL);
    }
    for (size_t i = 0; i < list.n; i++)
        SF_ASSERT(sf_str_starts(list.list[i]->url, SF_STR("http")));
    sf_target_list_update_drop(&u);
    sf_target_list_done(&list);
    sf_arena_done(&arena);
    sf_regex_scratch_free(regex);
    sf_scrape_jobs_free(jobs);
    free(copy);
    return 0;
}
