#include "test.h"

#include "collect/lib/sampler.h"

static double share(const char *name, const char *arg, bool has_parent, bool is_sampled)
{
    struct sf_sampler s;
    uint64_t state = 1;
    int kept = 0;
    assert_true(sf_sampler_parse(sf_str_from(name), sf_str_from(arg), &s));
    for (int i = 0; i < 20000; i++) {
        uint8_t id[16];
        for (int k = 0; k < 16; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            id[k] = (uint8_t)(state >> 56);
        }
        kept += sf_sampler_keeps(&s, id, has_parent, is_sampled);
    }
    return kept / 20000.0;
}

/* The seed is fixed. 0.02 are 6.5 standard errors of a quarter of 20,000: with another seed right
 * code would fail once in 10^10. */
TEST(sampler, keeps_the_share_it_was_told)
{
    double quarter = share("traceidratio", "0.25", false, false);
    assert_true(quarter > 0.23 && quarter < 0.27);
    assert_true(share("always_on", "", false, false) == 1);
    assert_true(share("always_off", "", false, false) == 0);
    assert_true(share("traceidratio", "", false, false) == 1);
    assert_true(share("traceidratio", "0", false, false) == 0);
}

TEST(sampler, follows_the_parent_only_when_told)
{
    assert_true(share("parentbased_always_off", "", true, true) == 1);
    assert_true(share("parentbased_always_on", "", true, false) == 0);
    assert_true(share("always_on", "", true, false) == 1);
    assert_true(share("parentbased_traceidratio", "0", true, true) == 1);
}

TEST(sampler, refuses_other_words)
{
    struct sf_sampler s;
    assert_false(sf_sampler_parse(SF_STR("sometimes"), SF_STR_NONE, &s));
    assert_false(sf_sampler_parse(SF_STR("traceidratio"), SF_STR("1.5"), &s));
    assert_false(sf_sampler_parse(SF_STR("traceidratio"), SF_STR("-1"), &s));
    assert_false(sf_sampler_parse(SF_STR("traceidratio"), SF_STR("half"), &s));
}
