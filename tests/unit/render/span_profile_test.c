#include "render/span_profile.h"

#include "folded_tree.h"
#include "test.h"

static struct sf_arena req;

static char *words(const struct sf_span_profile *p, struct sf_buf *out)
{
    sf_buf_reset(out);
    sf_span_profile_words(p, out);
    sf_buf_add_u8(out, 0);
    assert_true(sf_buf_ok(out));
    return (char *)out->p;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in: %s", part, text);
}

TEST(span_profile, says_a_number_of_samples_once)
{
    struct sf_span_profile p = {
        .duration_ns = 100000000, .n_samples = 9, .taken = 9, .n_threads = 1, .trust = "thin"};
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    p.view.tree = folded_tree(SF_STR("main;a 9\n"), SF_STR("count"), &req);
    assert_has(words(&p, &out), "\n9 samples (few samples)\n");
    p.view.tree = folded_tree(SF_STR("main;a 90000000\n"), SF_STR("nanoseconds"), &req);
    p.most_samples = 10;
    assert_has(words(&p, &out), "\n90 ms in 9 samples of about 10 expected (few samples)\n");
    p.n_samples = 2; /* records of a profile that adds up equal stacks */
    assert_has(words(&p, &out), "\n90 ms in 9 samples of about 10 expected (few samples)\n");
    p.view.tree = folded_tree(SF_STR("main;a 12\n"), SF_STR("count"), &req);
    assert_has(words(&p, &out), "\n12 in 9 samples");
    p.view.tree = folded_tree(SF_STR("main;a 1\n"), SF_STR("count"), &req);
    p.taken = 1;
    p.n_samples = 1;
    p.most_samples = 0;
    assert_has(words(&p, &out), "\n1 sample (few samples)\n");
    sf_buf_done(&out);
    sf_arena_done(&req);
}
