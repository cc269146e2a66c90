#include "link/known_claims.h"

#include "test.h"

/* One process: root 1 runs a (2), then b (3); request 4 beside it from 60 on. */
enum { ROOT, A, B, OTHER, N_SPANS };
static struct sf_span spans[] = {
    {.span_id = 1, .start_ns = 0, .end_ns = 110},
    {.span_id = 2, .parent_id = 1, .start_ns = 0, .end_ns = 40},
    {.span_id = 3, .parent_id = 1, .start_ns = 40, .end_ns = 100},
    {.span_id = 4, .start_ns = 60, .end_ns = 100, .trace_id = {{9}}},
};
static const struct sf_span_origin origins[] = {{8, 0}, {8, 0}, {8, 0}, {8, 0}};

static struct sf_arena req;
static struct sf_span_tree tree;
static struct sf_attribution a;

static struct sf_known_claims find(const struct sf_span *list, struct sf_link_sample sample,
                                   const bool *is_in, bool is_self)
{
    struct sf_attribution_input in = {.samples = &sample, .n_samples = 1, .is_wanted = is_in};
    struct sf_local_index index;
    struct sf_known_claims k;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_span_tree_build(list, origins, N_SPANS, &req, &tree, NULL));
    assert_ok(sf_local_index_build(&tree, &req, &index, NULL));
    assert_ok(sf_attribution_make(&index, &in, &req, &a, NULL));
    assert_true(sf_known_claims_find(&tree, &a, is_in, is_self, &req, &k));
    return k;
}

static const bool only_a[N_SPANS] = {[A] = true}, only_root[N_SPANS] = {[ROOT] = true},
                  below_root[N_SPANS] = {true, true, true, false};

TEST(known_claims, of_a_local_roots_id_without_time_are_the_roots_alone)
{
    const struct sf_link_sample s = {.span_id = 1, .value = 100, .length_ns = 100};
    struct sf_known_claims k = find(spans, s, only_a, false);
    assert_int_equal(a.claims[0].grade, SF_GRADE_SHARED);
    assert_int_equal(k.n_samples, 0);
    assert_int_equal(k.n_estimated, 1);
    assert_int_equal(k.within, ROOT);
    k = find(spans, s, below_root, false);
    assert_int_equal(k.n_samples, 1);
    assert_int_equal(k.n_estimated, 0);
    assert_int_equal(k.value, 100);
    k = find(spans, s, only_root, true); /* without its children: it is not known */
    assert_int_equal(k.n_samples, 0);
    assert_int_equal(k.within, ROOT);
    sf_arena_done(&req);
}

TEST(known_claims, of_a_moment_are_those_of_the_only_span_that_ran)
{
    struct sf_link_sample s = {.span_id = 1, .value = 10, .start_ns = 20, .has_time = true};
    struct sf_known_claims k = find(spans, s, only_a, true);
    assert_int_equal(a.claims[0].grade, SF_GRADE_INHERITED);
    assert_int_equal(k.n_samples, 1);
    struct sf_span both[N_SPANS];
    for (int i = 0; i < N_SPANS; i++)
        both[i] = spans[i];
    both[B].start_ns = 10; /* a and b at once: which of them is a guess */
    const bool only_b[N_SPANS] = {[B] = true};
    k = find(both, s, only_b, true);
    assert_int_equal(k.n_samples, 0);
    assert_int_equal(k.within, ROOT);
    s.start_ns = 5; /* before b */
    k = find(both, s, only_a, true);
    assert_int_equal(k.n_samples, 1);
    sf_arena_done(&req);
}

TEST(known_claims, without_ids_need_a_moment_and_one_request)
{
    struct sf_link_sample s = {.process = 8, .value = 10, .start_ns = 50, .has_time = true};
    struct sf_known_claims k = find(spans, s, below_root, false);
    assert_int_equal(a.claims[0].grade, SF_GRADE_WINDOW);
    assert_int_equal(k.n_samples, 1);
    s.start_ns = 70; /* two requests */
    k = find(spans, s, below_root, false);
    assert_int_equal(k.n_samples, 0);
    assert_int_equal(k.n_estimated, 1);
    assert_int_equal(k.within, SF_NOBODY);
    s = (struct sf_link_sample){.process = 8, .value = 10, .start_ns = 0, .length_ns = 30};
    k = find(spans, s, below_root, false); /* one request, but a profile without times */
    assert_int_equal(k.n_estimated, 1);
    assert_int_equal(k.n_samples, 0);
    assert_int_equal(k.within, SF_NOBODY);
    sf_arena_done(&req);
}

TEST(known_claims, of_one_among_several_processes_are_none)
{
    const struct sf_link_sample s = {
        .process = 8, .trace_id = {{9}}, .value = 10, .length_ns = 100, .is_split = true};
    const bool other[N_SPANS] = {[OTHER] = true};
    struct sf_known_claims k = find(spans, s, other, false);
    assert_int_equal(a.claims[0].grade, SF_GRADE_SHARED);
    assert_int_equal(k.n_samples, 0);
    sf_arena_done(&req);
}

TEST(known_claims, are_kept_in_order)
{
    const struct sf_claim claims[] = {
        {.sample = 0, .span = A, .value = 1, .within = A, .is_known = true},
        {.sample = 1, .span = A, .value = 2, .within = SF_NOBODY},
        {.sample = 2, .span = A, .value = 4, .within = A, .is_known = true}};
    const struct sf_attribution all = {.claims = claims, .n_claims = 3};
    struct sf_attribution kept;
    struct sf_known_claims k;
    assert_true(sf_arena_init(&req, 1 << 16));
    assert_true(sf_known_claims_find(&tree, &all, only_a, false, &req, &k));
    assert_true(sf_known_claims_keep(&k, &all, &req, &kept));
    assert_int_equal(kept.n_claims, 2);
    assert_int_equal(kept.claims[1].value, 4);
    assert_int_equal(k.value, 5);
    assert_int_equal(k.all, 7);
    sf_arena_done(&req);
}

/* Several estimates are within the span that has all of them: itself, the root of its tree, or
 * nobody. */
TEST(known_claims, of_several_spans_are_within_what_they_share)
{
    static const struct {
        uint32_t within[3], want;
    } cases[] = {{{A, A, A}, A},
                 {{A, B, B}, ROOT},
                 {{A, A, B}, ROOT},
                 {{ROOT, A, B}, ROOT},
                 {{A, OTHER, A}, SF_NOBODY},
                 {{A, SF_NOBODY, A}, SF_NOBODY},
                 {{SF_NOBODY, A, A}, SF_NOBODY},
                 {{OTHER, OTHER, OTHER}, OTHER},
                 {{SF_NOBODY, SF_NOBODY, SF_NOBODY}, SF_NOBODY}};
    const bool nobody[N_SPANS] = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_span_tree_build(spans, origins, N_SPANS, &req, &tree, NULL));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_claim claims[3];
        const struct sf_attribution all = {.claims = claims, .n_claims = 3};
        struct sf_known_claims k;
        for (uint32_t c = 0; c < 3; c++)
            claims[c] = (struct sf_claim){
                .sample = c, .span = A, .value = 1, .within = cases[i].within[c]};
        assert_true(sf_known_claims_find(&tree, &all, nobody, false, &req, &k));
        assert_int_equal(k.n_estimated, 3);
        if (k.within != cases[i].want)
            fail_msg("case %zu: within %u", i, k.within);
    }
    sf_arena_done(&req);
}
