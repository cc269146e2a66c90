#include "test.h"

#include "base/num.h"
#include "cli/args.h"

struct asked {
    bool is_loud, is_safe;
    const char *server;
    struct sf_flag_list listen;
    uint64_t limit;
    int64_t since_ns;
    uint64_t memory_len;
    struct sf_args args;
    struct sf_flag flags[7];
};

static enum sf_args_result parse(struct asked *a, int argc, const char *const *argv)
{
    char *copy[80];
    *a = (struct asked){.is_safe = true, .limit = 20};
    a->flags[0] = (struct sf_flag){"loud", SF_FLAG_BOOL, &a->is_loud, NULL, "say more"};
    a->flags[1] = (struct sf_flag){"safe", SF_FLAG_BOOL, &a->is_safe, NULL, "take care"};
    a->flags[2] = (struct sf_flag){"server", SF_FLAG_STR, &a->server, "URL", "whom to ask"};
    a->flags[3] = (struct sf_flag){"listen", SF_FLAG_LIST, &a->listen, "HOST:PORT", "where"};
    a->flags[4] = (struct sf_flag){"limit", SF_FLAG_U64, &a->limit, "N", "at most so many"};
    a->flags[5] = (struct sf_flag){"since", SF_FLAG_DURATION, &a->since_ns, "AGE", "how far back"};
    a->flags[6] = (struct sf_flag){"memory", SF_FLAG_SIZE, &a->memory_len, "SIZE", "budget"};
    a->args = (struct sf_args){.command = "try",
                               .usage = "ID [--loud]",
                               .summary = "Tries a thing.",
                               .details = "A long paragraph that has to be folded because it does "
                                          "not fit in forty columns.\n\n  kept as it is, however "
                                          "long the line may be",
                               .examples = "spanflame try 1\nspanflame try 2 --loud",
                               .flags = a->flags,
                               .n_flags = 7};
    for (int i = 0; i < argc; i++)
        copy[i] = (char *)(uintptr_t)argv[i];
    return sf_args_parse(&a->args, argc, copy);
}
#define PARSE(a, ...)                                                                \
    parse((a), (int)(sizeof((const char *[]){"try", __VA_ARGS__}) / sizeof(char *)), \
          (const char *[]){"try", __VA_ARGS__})

TEST(args, takes_flags_in_every_spelling)
{
    struct asked a;
    assert_int_equal(PARSE(&a, "one", "--loud", "--no-safe", "--server", "http://x", "--listen=a:1",
                           "--listen", "b:2", "--limit=7", "--since", "1h30m", "--memory=1KiB", "-",
                           "--", "--loud"),
                     SF_ARGS_RUN);
    assert_true(a.is_loud);
    assert_false(a.is_safe);
    assert_string_equal(a.server, "http://x");
    assert_int_equal(a.listen.n, 2);
    assert_string_equal(a.listen.items[1], "b:2");
    assert_true(a.limit == 7 && a.memory_len == 1024);
    assert_true(a.since_ns == 5400000000000);
    assert_int_equal(a.args.n_words, 3);
    assert_string_equal(a.args.words[0], "one");
    assert_string_equal(a.args.words[2], "--loud");
    assert_int_equal(PARSE(&a, "--loud=false"), SF_ARGS_RUN);
    assert_false(a.is_loud);
    assert_true(a.limit == 20);
}

TEST(args, refuses_what_it_does_not_know)
{
    struct asked a;
    const char *many[70];
    assert_int_equal(PARSE(&a, "--sever", "x"), SF_ARGS_BAD);
    assert_int_equal(PARSE(&a, "-l"), SF_ARGS_BAD);
    assert_int_equal(PARSE(&a, "--server"), SF_ARGS_BAD);
    assert_int_equal(PARSE(&a, "--limit", "many"), SF_ARGS_BAD);
    assert_int_equal(PARSE(&a, "--since=5"), SF_ARGS_BAD);
    assert_int_equal(PARSE(&a, "--memory=lots"), SF_ARGS_BAD);
    assert_int_equal(PARSE(&a, "--loud=perhaps"), SF_ARGS_BAD);
    assert_int_equal(PARSE(&a, "--no-server"), SF_ARGS_BAD);
    for (int i = 0; i < 70; i++)
        many[i] = i ? "--listen=a:1" : "try";
    assert_int_equal(parse(&a, 70, many), SF_ARGS_BAD);
    for (int i = 1; i < 70; i++)
        many[i] = "word";
    assert_int_equal(parse(&a, 70, many), SF_ARGS_BAD);
}

TEST(args, tells_which_flags_do_not_belong_to_a_form)
{
    struct asked a;
    assert_int_equal(PARSE(&a, "set", "--limit=7", "--server", "x", "--no-safe"), SF_ARGS_RUN);
    assert_true(sf_args_allow(&a.args, "set", "limit safe"));
    assert_true(sf_args_allow(&a.args, "set", "safe since limit"));
    assert_false(sf_args_allow(&a.args, "get", "limit"));
    assert_false(sf_args_allow(&a.args, "get", "safe"));
    assert_false(sf_args_allow(&a.args, "get", ""));
    assert_int_equal(PARSE(&a, "get", "--server", "x"), SF_ARGS_RUN); /* forgets what was given */
    assert_true(sf_args_allow(&a.args, "get", ""));
}

TEST(args, shows_help_that_fits_the_window)
{
    struct asked a;
    struct sf_buf out = {0};
    sf_str rest, line;
    size_t at;

    assert_int_equal(PARSE(&a, "x"), SF_ARGS_RUN);
    sf_args_help(&a.args, 40, &out);
    rest = sf_buf_str(&out);
    assert_true(
        sf_str_starts(rest, SF_STR("Usage: spanflame try ID [--loud]\n\nTries a thing.\n")));
    assert_true(sf_str_find(rest, SF_STR("--[no-]safe"), &at));
    assert_true(sf_str_find(rest, SF_STR("--server URL"), &at));
    assert_true(sf_str_find(rest, SF_STR("\nExamples:\n  spanflame try 1\n"), &at));
    assert_true(
        sf_str_find(rest, SF_STR("\n  kept as it is, however long the line may be\n"), &at));
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (!sf_str_starts(line, SF_STR("  kept")) && line.len > 40)
            fail_msg("too wide: \"%.*s\"", SF_STR_ARG(line));
    }
    sf_buf_done(&out);
}
