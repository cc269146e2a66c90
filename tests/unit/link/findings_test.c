#include "link/findings.h"

#include "flame/tree_builder.h"
#include "test.h"

static struct sf_arena req;
static struct sf_tree_builder b;

static void begin(void)
{
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 16 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_COPIES);
}

/* "main;serve;render" and what it cost. */
static void stack(const char *folded, int64_t value)
{
    sf_str rest = sf_str_from(folded), name;
    uint32_t node = 0;
    while (rest.len > 0 && sf_str_split_next(&rest, ';', &name)) {
        struct sf_frame f = {.function = name};
        node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
    }
    sf_tree_builder_add(&b, node, value, 1);
}

static struct sf_tree taken(void)
{
    struct sf_tree tree;
    assert_ok(sf_tree_builder_take(&b, SF_STR("nanoseconds"), &tree, NULL));
    sf_tree_builder_done(&b);
    return tree;
}

static struct sf_finding_list findings(void)
{
    struct sf_tree tree = taken();
    struct sf_finding_list list;
    assert_ok(
        sf_findings_of_tree(&tree, SF_STR("CPU time"), &SF_FINDING_LIMITS, &req, &list, NULL));
    for (uint32_t i = 1; i < list.n; i++)
        assert_true(list.items[i - 1].share >= list.items[i].share);
    return list;
}

static const struct sf_finding *find(struct sf_finding_list list, enum sf_finding_kind kind)
{
    for (uint32_t i = 0; i < list.n; i++)
        if (list.items[i].kind == kind)
            return list.items + i;
    return NULL;
}

TEST(findings, are_none_in_an_empty_graph)
{
    begin();
    assert_int_equal(findings().n, 0);
}

TEST(findings, are_none_where_work_is_spread)
{
    char name[64];
    begin();
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "main;step%d;work%d", i, i);
        stack(name, 10);
    }
    assert_int_equal(findings().n, 0);
}

TEST(findings, count_what_is_left_out)
{
    struct sf_finding_limits limits = SF_FINDING_LIMITS;
    struct sf_finding_list list;
    struct sf_tree t;
    char name[64];
    limits.leaf = 0.001;
    begin();
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "main;work%d", i);
        stack(name, 100 + i);
    }
    t = taken();
    assert_ok(sf_findings_of_tree(&t, SF_STR("CPU time"), &limits, &req, &list, NULL));
    assert_int_equal(list.n, 64);
    assert_int_equal(list.n_more, 6);
    assert_str(list.items[0].subject, "work69"); /* the smallest ones are left out */
    assert_str(list.items[63].subject, "work6");
}

TEST(findings, name_the_function_that_dominates)
{
    begin();
    stack("main;serve;parseRules", 60);
    stack("main;serve", 40);
    struct sf_finding_list list = findings();
    assert_int_equal(list.n, 2);
    assert_str(list.items[0].sentence,
               "parseRules takes 60 % of CPU time, in main > serve > parseRules: optimise that "
               "function");
    assert_str(list.items[0].path, "main > serve > parseRules");
    assert_int_equal(list.items[0].value, 60);
    assert_string_equal(sf_findings_kind_name(list.items[0].kind), "hot_function");
}

TEST(findings, do_not_advise_to_optimise_the_runtime)
{
    begin();
    stack("main;serve;runtime.asyncPreempt", 40);
    stack("runtime.gcBgMarkWorker;runtime.gcDrain;runtime.scanobject", 40);
    stack("main;serve;a", 5);
    stack("main;serve;b", 5);
    stack("main;serve;c", 5);
    stack("main;serve;d", 5);
    struct sf_finding_list list = findings();
    const struct sf_finding *hot = find(list, SF_FINDING_LEAF);
    assert_non_null(hot);
    assert_str(hot->subject, "serve"); /* what was interrupted; its time is not the runtime's */
    assert_int_equal(hot->value, 60);  /* with the small functions it calls */
    assert_non_null(find(list, SF_FINDING_GC));
    for (uint32_t i = 0; i < list.n; i++)
        assert_true(list.items[i].kind != SF_FINDING_LEAF || &list.items[i] == hot);
}

TEST(findings, shorten_long_paths_to_their_end)
{
    begin();
    stack("a;b;c;d;e;f;g;h", 1);
    assert_str(findings().items[0].path, "... > c > d > e > f > g > h");
}

TEST(findings, see_themes_once_from_their_outermost_frame)
{
    begin();
    stack("main;regex.match;regex.step;regex.step", 20);
    stack("main;json.parse", 5);
    stack("main;a", 25);
    stack("main;b", 25);
    stack("main;c", 25);
    struct sf_finding_list list = findings();
    const struct sf_finding *f = find(list, SF_FINDING_THEME);
    assert_non_null(f);
    assert_str(
        f->sentence,
        "regex.match takes 20 % of CPU time in pattern matching, in main > regex.match: cache the "
        "result, or do it once");
    assert_str(f->path, "main > regex.match");
}

TEST(findings, see_locks_collector_and_allocator)
{
    begin();
    stack("main;take;pthread_mutex_lock;futex_wait", 30);
    stack("main;runtime.gcBgMarkWorker;scan", 20);
    stack("main;build;operator new(unsigned long);malloc", 15);
    stack("main;rest", 35);
    struct sf_finding_list list = findings();
    assert_str(find(list, SF_FINDING_LOCK)->sentence,
               "waiting for locks takes 30 % of CPU time, in main > take > pthread_mutex_lock > "
               "futex_wait: reduce lock scope");
    assert_str(
        find(list, SF_FINDING_GC)->sentence,
        "garbage collection takes 20 % of CPU time, in main > runtime.gcBgMarkWorker > scan: "
        "reduce allocations");
    assert_str(
        find(list, SF_FINDING_ALLOC)->sentence,
        "build spends 15 % of CPU time in the allocator, in main > build: reduce allocations");
    assert_str(find(list, SF_FINDING_LOCK)->path, "main > take > pthread_mutex_lock > futex_wait");
}

TEST(findings, see_one_function_under_many_callers)
{
    char name[64];
    begin();
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "main;caller%d;lookup;hash", i);
        stack(name, 3);
        snprintf(name, sizeof(name), "main;caller%d;own%d", i, i);
        stack(name, 7);
        snprintf(name, sizeof(name), "main;caller%d;other%d", i, i);
        stack(name, 10);
    }
    const struct sf_finding *f = find(findings(), SF_FINDING_REPEAT);
    assert_non_null(f);
    assert_str(f->subject, "lookup");
    assert_int_equal(f->count, 5);
    assert_str(f->sentence, "lookup is called from 5 places and takes 15 % of CPU time, in main > "
                            "caller0 > lookup: cache its result or batch the calls");
}

TEST(findings, see_stacks_that_are_too_deep)
{
    char folded[4096] = "main";
    begin();
    for (int i = 0; i < 120; i++)
        strcat(folded, i % 2 ? ";walk" : ";visit");
    stack(folded, 1);
    stack("main;other", 100);
    const struct sf_finding *f = find(findings(), SF_FINDING_DEEP);
    assert_non_null(f);
    assert_int_equal(f->count, 121);
    assert_str(
        f->sentence,
        "stacks of CPU time are up to 121 frames deep, in ... > visit > walk > visit > walk > "
        "visit > walk: consider refactoring");
}

TEST(findings, see_equal_sibling_spans)
{
    struct sf_span spans[16] = {{.span_id = 1, .name = SF_STR("price"), .end_ns = 1000}};
    struct sf_span_tree tree;
    struct sf_finding_list list;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    for (uint32_t i = 1; i < 16; i++)
        spans[i] = (struct sf_span){.span_id = i + 1,
                                    .parent_id = 1,
                                    .name = i > 12 ? SF_STR("other") : SF_STR("load attribute"),
                                    .start_ns = i * 50,
                                    .end_ns = i * 50 + 40};
    assert_ok(sf_span_tree_build(spans, NULL, 16, &req, &tree, NULL));
    assert_ok(sf_span_findings(&tree, &SF_FINDING_LIMITS, &req, &list, NULL));
    assert_int_equal(list.n, 1);
    assert_int_equal(list.items[0].count, 12);
    assert_int_equal(list.items[0].span, 0);
    assert_str(list.items[0].sentence,
               "price calls load attribute 12 times, 48 % of its duration, in price "
               "> load attribute: cache or batch them");
}

/* ---- each rule from its threshold on, and not just below ---- */

/* `share` of 1,000 in one stack, the rest spread too thin to be said anything of. */
static struct sf_finding_list with_share(const char *folded, int64_t share)
{
    char name[64];
    begin();
    stack(folded, share);
    for (int64_t i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "main;step%d;work%d", (int)i, (int)i);
        stack(name, (1000 - share) / 100 + (i < (1000 - share) % 100));
    }
    return findings();
}

TEST(findings, begin_at_their_share)
{
    const struct {
        enum sf_finding_kind kind;
        const char *folded;
        int64_t from;
    } rules[] = {
        {SF_FINDING_LEAF, "main;serve;sum", 100},
        {SF_FINDING_GC, "main;runtime.gcBgMarkWorker;a", 100},
        {SF_FINDING_ALLOC, "main;build;malloc;_int_malloc", 100},
        {SF_FINDING_ALLOC, "main;build;free", 100},
        {SF_FINDING_LOCK, "main;take;pthread_mutex_lock;futex_wait", 100},
        {SF_FINDING_THEME, "main;regex.match", 150},
        {SF_FINDING_THEME, "main;json.parse", 150},
        {SF_FINDING_THEME, "main;proto.Marshal", 150},
        {SF_FINDING_THEME, "main;crypto/sha256.blockAMD64", 150},
        {SF_FINDING_THEME, "main;log.Printf", 150},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct sf_finding *f = find(with_share(rules[i].folded, rules[i].from),
                                          rules[i].kind);
        if (!f)
            fail_msg("%s: nothing is said at its threshold", rules[i].folded);
        assert_int_equal(f->value, rules[i].from);
        if (find(with_share(rules[i].folded, rules[i].from - 1), rules[i].kind))
            fail_msg("%s: something is said below its threshold", rules[i].folded);
    }
}

static const struct sf_finding *under_callers(int n_callers, int64_t value)
{
    char name[64];
    begin();
    for (int i = 0; i < n_callers; i++) {
        snprintf(name, sizeof(name), "main;caller%d;lookup;hash", i);
        stack(name, i == 0 ? value - (n_callers - 1) : 1);
    }
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "main;step%d", i);
        stack(name, (1000 - value) / 100 + (i < (1000 - value) % 100));
    }
    return find(findings(), SF_FINDING_REPEAT);
}

TEST(findings, need_five_callers_and_a_tenth)
{
    assert_non_null(under_callers(5, 100));
    assert_null(under_callers(4, 100));
    assert_null(under_callers(5, 99));
}

TEST(findings, allow_a_hundred_frames)
{
    char folded[4096];
    for (int n = 100; n <= 101; n++) {
        begin();
        strcpy(folded, "main");
        for (int i = 1; i < n; i++)
            strcat(folded, i % 2 ? ";walk" : ";visit");
        stack(folded, 1);
        stack("main;other", 100);
        assert_int_equal(find(findings(), SF_FINDING_DEEP) != NULL, n == 101);
    }
}

static uint32_t n_loops(uint32_t n_children)
{
    struct sf_span spans[16] = {{.span_id = 1, .name = SF_STR("price"), .end_ns = 1000}};
    struct sf_span_tree tree;
    struct sf_finding_list list;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    for (uint32_t i = 1; i <= n_children; i++)
        spans[i] = (struct sf_span){
            .span_id = i + 1, .parent_id = 1, .name = SF_STR("load"), .end_ns = 10};
    assert_ok(sf_span_tree_build(spans, NULL, n_children + 1, &req, &tree, NULL));
    assert_ok(sf_span_findings(&tree, &SF_FINDING_LIMITS, &req, &list, NULL));
    return list.n;
}

TEST(findings, need_ten_equal_siblings)
{
    assert_int_equal(n_loops(10), 1);
    assert_int_equal(n_loops(9), 0);
}

TEST(findings, have_limits_that_can_be_set)
{
    struct sf_finding_limits limits = SF_FINDING_LIMITS;
    struct sf_finding_list list;
    limits.leaf = limits.repeat = 0.7;
    begin();
    stack("main;serve;parseRules", 60);
    stack("main;other", 40);
    struct sf_tree tree = taken();
    assert_ok(sf_findings_of_tree(&tree, SF_STR("x"), &limits, &req, &list, NULL));
    assert_int_equal(list.n, 0);
    limits.leaf = 0.4;
    assert_ok(sf_findings_of_tree(&tree, SF_STR("x"), &limits, &req, &list, NULL));
    assert_int_equal(list.n, 2);
}

TEST(findings, name_recursion_once)
{
    begin();
    stack("main;match;match;match;match;match;match;match;match", 1);
    assert_str(findings().items[0].path, "main > match");
}

/* ---- what grew ---- */

static struct sf_finding_list diff(int64_t before, int64_t after)
{
    struct sf_tree sides[2];
    struct sf_tree_diff d;
    struct sf_finding_list list;
    begin();
    for (int i = 0; i < 2; i++) {
        sf_tree_builder_init(&b, &req, 0, SF_TREE_COPIES);
        stack("main;evaluate", i ? after : before);
        stack("main;json.parse", 400);
        stack("main;rest", i ? 600 - after : 600);
        sides[i] = taken();
    }
    assert_ok(sf_tree_diff(&sides[0], &sides[1], &req, &d, NULL));
    assert_ok(sf_findings_of_diff(&d, SF_STR("CPU time of b against a"), &SF_FINDING_LIMITS, &req,
                                  &list, NULL));
    return list;
}

TEST(findings, of_a_difference_name_what_grew)
{
    struct sf_finding_list list = diff(100, 200);
    assert_int_equal(list.n, 1); /* and not the JSON, of which there is as much as before */
    assert_str(list.items[0].sentence, "evaluate adds 10 % to CPU time of b against a, in "
                                       "main > evaluate: optimise that function");
    assert_int_equal(list.items[0].value, 100);
    assert_int_equal(diff(100, 199).n, 0);
    assert_int_equal(diff(200, 100).n, 0);
    assert_int_equal(diff(100, 100).n, 0);
}

/* ---- what most requests do again ---- */

enum { REQUESTS = 100, PER_REQUEST = 10 };

static uint32_t n_unseen; /* further requests, without samples */

/* Every `every`th of the requests parses, all of them together for `share` of the samples. */
static struct sf_finding_list again(uint32_t n_requests, uint32_t every, double share,
                                    const char *parser, int64_t period)
{
    static struct sf_request_sample list[REQUESTS * PER_REQUEST];
    struct sf_frame_functions functions;
    struct sf_finding_list out;
    begin();
    stack("main;total;loadRules;x", 0);
    struct sf_frame f = {.function = sf_str_from(parser)}, leaf = {.function = SF_STR("step")};
    uint32_t load = sf_tree_builder_child(&b, 3, sf_tree_builder_frame(&b, &f));
    uint32_t step = sf_tree_builder_child(&b, load, sf_tree_builder_frame(&b, &leaf));
    struct sf_tree tree = taken();
    struct sf_request_samples in = {.stacks = &tree,
                                    .functions = &functions,
                                    .list = list,
                                    .n_requests = n_requests + n_unseen,
                                    .period = period};
    double hits = share * PER_REQUEST * every, due = 0;
    for (uint32_t r = 0; r < n_requests; r++) {
        due += r % every == 0 ? hits : 0;
        for (uint32_t i = 0; i < PER_REQUEST; i++) {
            bool is_hit = r % every == 0 && due >= 1 - 1e-9;
            due -= is_hit;
            list[in.n++] = (struct sf_request_sample){r, is_hit ? step : 2, 7, false};
        }
    }
    assert_ok(sf_frame_functions_make(&tree, &req, &functions, NULL));
    assert_ok(sf_request_findings(&in, SF_STR("CPU time"), &SF_FINDING_LIMITS, &req, &out, NULL));
    return out;
}

TEST(findings, see_what_is_parsed_again_and_again)
{
    struct sf_finding_list list = again(REQUESTS, 1, 0.2, "jsonParse", 7);
    assert_int_equal(list.n, 1);
    assert_str(list.items[0].sentence,
               "JSON is parsed again and again: jsonParse takes 20 % of CPU time, in most of 100 "
               "requests, in main > total > loadRules > jsonParse: parse it once and keep the "
               "result");
    assert_int_equal(list.items[0].value, 14);
    assert_str(again(REQUESTS, 1, 0.2, "regexp.Compile", 0).items[0].sentence,
               "patterns are compiled again and again: regexp.Compile takes 20 % of CPU time, in "
               "most of 100 requests, in main > total > loadRules > regexp.Compile: parse it once "
               "and keep the result");
}

/* Those that were never examined are not among "most of" them. */
TEST(findings, count_requests_with_samples_only)
{
    struct sf_finding_list list;
    n_unseen = 40;
    list = again(REQUESTS, 1, 0.2, "jsonParse", 7);
    n_unseen = 0;
    assert_int_equal(list.n, 1);
    assert_non_null(strstr(list.items[0].sentence.p, "in most of 100 requests"));
}

TEST(findings, of_parsing_begin_at_a_tenth_of_most_requests)
{
    assert_int_equal(again(REQUESTS, 1, 0.1, "jsonParse", 7).n, 1);
    assert_int_equal(again(REQUESTS, 1, 0.09, "jsonParse", 7).n, 0);
    assert_int_equal(again(REQUESTS, 5, 0.2, "jsonParse", 7).n, 0); /* a few do nothing else */
    assert_int_equal(again(8, 1, 0.2, "jsonParse", 7).n, 1);
    assert_int_equal(again(7, 1, 0.2, "jsonParse", 7).n, 0);           /* too few to say "most" */
    assert_int_equal(again(REQUESTS, 1, 0.2, "jsonParse", 70).n, 0);   /* a sample for each */
    assert_int_equal(again(REQUESTS, 1, 0.2, "jsonPrint", 7).n, 0);    /* writes */
    assert_int_equal(again(REQUESTS, 1, 0.2, "parseCookies", 7).n, 0); /* who knows what */
}

/* `n_in` of every request's samples are in the function, or all of every `every`th request's. */
static double share_of(uint32_t every, uint32_t n_in)
{
    static struct sf_request_sample list[REQUESTS * PER_REQUEST];
    struct sf_frame_functions functions;
    double share;
    begin();
    stack("main;tax;legacy", 0);
    struct sf_tree tree = taken();
    struct sf_request_samples in = {.stacks = &tree,
                                    .functions = &functions,
                                    .list = list,
                                    .n = REQUESTS * PER_REQUEST,
                                    .n_requests = REQUESTS,
                                    .period = 7};
    assert_ok(sf_frame_functions_make(&tree, &req, &functions, NULL));
    for (uint32_t i = 0; i < in.n; i++) {
        uint32_t request = i / PER_REQUEST;
        bool is_in = request % every == 0 && i % PER_REQUEST < n_in;
        list[i] = (struct sf_request_sample){request, is_in ? 3 : 1, 7, true};
    }
    assert_true(sf_request_findings_share(&in, SF_STR("legacy"), &req, &share));
    return share;
}

TEST(findings, of_rare_code_say_how_many_requests_bear_it)
{
    assert_true(share_of(1, 5) == 1);  /* all of them */
    assert_true(share_of(2, 10) == 1); /* half: no rarity is claimed */
    assert_true(share_of(10, 10) > 0.08 && share_of(10, 10) < 0.13); /* every tenth */
    assert_true(share_of(50, 10) > 0.015 && share_of(50, 10) < 0.03);
    assert_true(share_of(50, 3) == 1); /* a few pairs are chance */
    assert_true(share_of(1, 0) == 1);  /* never seen */
}

/* Three examines a request, each worth ten: every seventh lands in the parser, once in a request.
 * Were they thirty looks, requests would seem to do nothing else or nothing of the kind. */
TEST(findings, of_parsing_count_a_late_look_once)
{
    static struct sf_request_sample list[REQUESTS * 3];
    struct sf_frame_functions functions;
    struct sf_finding_list out;
    for (int is_one = 0; is_one < 2; is_one++) {
        begin();
        stack("main;total;loadRules", 0);
        struct sf_frame f = {.function = SF_STR("jsonParse")};
        uint32_t parse = sf_tree_builder_child(&b, 3, sf_tree_builder_frame(&b, &f));
        struct sf_tree tree = taken();
        struct sf_request_samples in = {.stacks = &tree,
                                        .functions = &functions,
                                        .list = list,
                                        .n_requests = REQUESTS,
                                        .period = 7};
        for (uint32_t i = 0; i < REQUESTS * 3; i++)
            list[in.n++] = (struct sf_request_sample){i / 3, i % 7 == 0 ? parse : 2, 70,
                                                      is_one != 0};
        assert_ok(sf_frame_functions_make(&tree, &req, &functions, NULL));
        assert_ok(
            sf_request_findings(&in, SF_STR("CPU time"), &SF_FINDING_LIMITS, &req, &out, NULL));
        assert_int_equal(out.n, is_one);
    }
}

TEST(findings, say_when_memory_runs_out)
{
    struct sf_tree tree;
    struct sf_finding_list list;
    begin();
    stack("main;a;b;c;d;e;f", 10);
    assert_ok(sf_tree_builder_take(&b, SF_STR("ns"), &tree, NULL));
    sf_tree_builder_done(&b);
    for (size_t cap = 16; cap < 4096; cap += 16) { /* wherever it happens */
        struct sf_arena small;
        assert_true(sf_arena_init(&small, 65536));
        small.cap = cap;
        enum sf_err err = sf_findings_of_tree(&tree, SF_STR("x"), &SF_FINDING_LIMITS, &small, &list,
                                              NULL);
        assert_true(err == SF_ERR_LIMIT || err == SF_ERR_NOMEM || err == SF_OK);
        small.cap = 65536;
        sf_arena_done(&small);
    }
}
