#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/tokens.h"
#include "base/heap.h"
#include "serve/service.h"

static struct sf_why why;
static char path[64];

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void with_file(const char *text)
{
    int fd;
    snprintf(path, sizeof(path), "/tmp/spanflame_tokens_XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(text);
}

static char tenants[64]; /* of the last one found */

static unsigned scopes_of(struct sf_tokens *t, sf_str token)
{
    struct sf_grant g = {0};
    bool is_known = sf_tokens_grant(t, token, &g);
    assert_int_equal(is_known, g.scopes != 0);
    snprintf(tenants, sizeof(tenants), "%.*s", SF_STR_ARG(sf_buf_str(&g.tenants)));
    sf_buf_done(&g.tenants);
    return g.scopes;
}

/* SHA-256 of "abc" and of "hello". */
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

TEST(tokens, knows_tokens_by_their_hash)
{
    struct sf_tokens *t = NULL;
    with_file("# people\n\nci:write:" ABC "\r\n  ops:read,admin:" HELLO "\n");
    assert_ok(sf_tokens_open(path, &t, &why));
    assert_int_equal(sf_tokens_count(t), 2);
    assert_int_equal(scopes_of(t, SF_STR("abc")), SF_MAY_WRITE);
    assert_int_equal(scopes_of(t, SF_STR("hello")), SF_MAY_READ | SF_MAY_ADMIN);
    assert_int_equal(scopes_of(t, SF_STR("abd")), 0);
    assert_int_equal(scopes_of(t, SF_STR_NONE), 0);
    assert_int_equal(scopes_of(t, SF_STR(ABC)), 0);
    sf_tokens_close(t);
    unlink(path);
}

TEST(tokens, names_the_line_of_a_mistake)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"a\n", ":1: a line is name:scopes:hash or name:scopes:hash:tenants; spanflame token new "
                "makes such lines"},
        {"\na b:read:" ABC "\n", ":2: a name is 1 to 64 letters, digits, dots or dashes"},
        {"a:reed:" ABC "\n",
         ":1: \"reed\" are not scopes: write read, write, admin or control, with commas "
         "between them"},
        {"a:read:123\n", ":1: the hash of a is not the 64 digits of a SHA-256; spanflame token new "
                         "makes such lines"},
        {"a:read:" ABC ":\n", ":1: the list of tenants of a is empty"},
        {"a:read:" ABC ":red,,blue\n", ":1: X-Scope-OrgID: a tenant's name is empty"},
        {"a:read:" ABC ":red|blue\n", ":1: X-Scope-OrgID: '|' is not allowed"},
        {"a:read:" ABC "\nb:admin:" ABC ":red\n", ": a and b are the same token"},
        {"a:read:" ABC "\nc:read:" HELLO "\nb:read:" ABC "\n", "are the same token"},
        {"c:read:" HELLO "\na:read:" ABC "\nb:read:" ABC "\n", "are the same token"},
        {"a:read\n", ":1: a line is name:scopes:hash"},
        {":read:" ABC "\n", ":1: a name is 1 to 64"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sf_tokens *t = NULL;
        char want[256];
        with_file(wrong[i].text);
        assert_err(sf_tokens_open(path, &t, &why), SF_ERR_INPUT);
        snprintf(want, sizeof(want), "%s%s", path, ": ");
        if (!strstr(why.text, wrong[i].sentence + 1))
            fail_msg("says %s", why.text);
        assert_null(t);
        unlink(path);
        assert_err(sf_tokens_open(path, &t, &why), SF_ERR_NOT_FOUND);
    }
}

TEST(tokens, names_are_letters_digits_dots_and_dashes)
{
    static char longest[65];
    memset(longest, 'n', sizeof(longest));
    assert_true(sf_tokens_is_name(SF_STR("AZaz09.-_")));
    assert_true(sf_tokens_is_name(SF_STR("-")) && sf_tokens_is_name(SF_STR("_")));
    assert_true(sf_tokens_is_name((sf_str){longest, 64}));
    assert_false(sf_tokens_is_name((sf_str){longest, 65}) || sf_tokens_is_name(SF_STR_NONE));
    for (const char *c = "@[`{/: ,\n"; *c; c++)
        assert_false(sf_tokens_is_name((sf_str){c, 1}));
}

/* A secret that is not random is the same again. */
TEST(tokens, are_never_the_same)
{
    struct sf_buf made[4] = {{0}}, line = {0};
    for (int i = 0; i < 4; i++) {
        assert_ok(sf_tokens_make(SF_STR("ci"), SF_MAY_READ, SF_STR_NONE, &made[i], &line, &why));
        for (int k = 0; k < i; k++)
            assert_false(sf_str_eq(sf_buf_str(&made[i]), sf_buf_str(&made[k])));
    }
    for (int i = 0; i < 4; i++)
        sf_buf_done(&made[i]);
    sf_buf_done(&line);
}

TEST(tokens, keeps_the_old_ones_when_a_reload_fails)
{
    struct sf_tokens *t = NULL;
    with_file("ci:write:" ABC "\n");
    assert_ok(sf_tokens_open(path, &t, &why));
    write_file("nonsense\n");
    assert_err(sf_tokens_reload(t, &why), SF_ERR_INPUT);
    assert_int_equal(scopes_of(t, SF_STR("abc")), SF_MAY_WRITE);
    write_file("ci:read:" HELLO "\n");
    assert_ok(sf_tokens_reload(t, &why));
    assert_int_equal(scopes_of(t, SF_STR("abc")), 0);
    assert_int_equal(scopes_of(t, SF_STR("hello")), SF_MAY_READ);
    sf_tokens_close(t);
    unlink(path);
}

TEST(tokens, sees_that_others_can_read_the_file)
{
    struct sf_tokens *t = NULL;
    with_file("");
    chmod(path, 0644);
    assert_ok(sf_tokens_open(path, &t, &why));
    assert_true(sf_tokens_is_shared(t));
    chmod(path, 0600);
    assert_ok(sf_tokens_reload(t, &why));
    assert_false(sf_tokens_is_shared(t));
    sf_tokens_close(t);
    unlink(path);
}

TEST(tokens, makes_lines_it_understands)
{
    struct sf_tokens *t = NULL;
    struct sf_buf token = {0}, line = {0}, other = {0}, ignored = {0};
    assert_ok(sf_tokens_make(SF_STR("ci"), SF_MAY_READ | SF_MAY_WRITE, SF_STR("red,blue"), &token,
                             &line, &why));
    assert_ok(sf_tokens_make(SF_STR("ci"), SF_MAY_READ, SF_STR_NONE, &other, &ignored, &why));
    assert_false(sf_str_eq(sf_buf_str(&token), sf_buf_str(&other)));
    assert_true(sf_str_starts(sf_buf_str(&line), SF_STR("ci:read,write:")));
    assert_int_equal(token.len, 47);
    sf_buf_add_u8(&line, 0);
    with_file((const char *)line.p);
    assert_ok(sf_tokens_open(path, &t, &why));
    assert_int_equal(scopes_of(t, sf_buf_str(&token)), SF_MAY_READ | SF_MAY_WRITE);
    assert_string_equal(tenants, "red,blue");
    assert_int_equal(scopes_of(t, sf_buf_str(&other)), 0);
    assert_err(sf_tokens_make(SF_STR("a:b"), 1, SF_STR_NONE, &token, &line, &why), SF_ERR_INPUT);
    sf_tokens_close(t);
    sf_buf_done(&token);
    sf_buf_done(&line);
    sf_buf_done(&other);
    sf_buf_done(&ignored);
    unlink(path);
}

TEST(tokens, survives_every_failed_allocation)
{
    with_file("ci:write:" ABC "\nops:read,admin:" HELLO "\n");
    for (uint64_t n = 1; n < 10; n++) {
        struct sf_tokens *t = NULL;
        enum sf_err err;
        sf_heap_fail_after(n);
        err = sf_tokens_open(path, &t, &why);
        sf_heap_fail_after(0);
        if (err)
            assert_int_equal(err, SF_ERR_NOMEM);
        else
            assert_int_equal(sf_tokens_count(t), 2);
        sf_tokens_close(t);
    }
    unlink(path);
}
