#include "serve/auth.h"

#include <stdlib.h>

#include "test.h"

/* One token, "right"; one proxy at 10.0.0.1, which may sign in ann, and bob by his group. */
static bool fake_token(void *arg, sf_str token, struct sf_grant *out)
{
    (void)arg;
    if (!sf_str_eq(token, SF_STR("right")))
        return false;
    out->scopes = SF_MAY_READ;
    snprintf(out->name, sizeof(out->name), "robot");
    return true;
}

static bool fake_user(void *arg, sf_str user, sf_str groups, struct sf_grant *out)
{
    (void)arg;
    if (!sf_str_eq(user, SF_STR("ann")) &&
        !(sf_str_eq(user, SF_STR("bob")) && sf_str_eq(groups, SF_STR("ops"))))
        return false;
    out->scopes = SF_MAY_WRITE;
    return true;
}

static bool fake_proxy(void *arg, const char *peer)
{
    (void)arg;
    return strncmp(peer, "10.0.0.1:", 9) == 0;
}

static struct sf_service *make_service(bool has_tokens, bool has_users)
{
    struct sf_service *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    if (has_tokens)
        s->auth.token = fake_token;
    if (has_users) {
        s->auth.user = fake_user;
        s->auth.is_proxy = fake_proxy;
        s->auth.user_header = SF_STR("x-user");
        s->auth.groups_header = SF_STR("x-groups");
    }
    return s;
}

/* The verdict on a request with up to three headers. */
static enum sf_err verdict(const struct sf_service *s, const char *peer,
                           const struct sf_header headers[3], struct sf_grant *out,
                           struct sf_why *why)
{
    struct sf_request r = {.headers = headers};
    enum sf_err err;
    while (r.n_headers < 3 && headers[r.n_headers].name.len)
        r.n_headers++;
    snprintf(r.peer, sizeof(r.peer), "%s", peer);
    *out = (struct sf_grant){0};
    *why = (struct sf_why){0};
    err = sf_auth_grant(s, &r, out, why);
    if (err) /* nobody gets anything with a refusal */
        assert_int_equal(out->scopes, 0);
    return err;
}

#define HEADER(name, value)         \
    {                               \
        SF_STR(name), SF_STR(value) \
    }
#define NOBODY "127.0.0.1:5"
#define PROXY  "10.0.0.1:5"

TEST(auth, asks_nobody_unless_told_to)
{
    struct sf_service *s = make_service(false, false);
    struct sf_header none[3] = {0};
    struct sf_grant g;
    struct sf_why why;
    assert_ok(verdict(s, NOBODY, none, &g, &why));
    assert_int_equal(g.scopes, SF_MAY_READ | SF_MAY_WRITE | SF_MAY_ADMIN | SF_MAY_CONTROL);
    assert_string_equal(g.name, "-");
    free(s);
}

TEST(auth, takes_a_token_as_bearer_as_password_and_in_its_header)
{
    static const struct {
        struct sf_header header;
        enum sf_err want;
        const char *why;
    } cases[] = {
        {HEADER("authorization", "Bearer right"), SF_OK, ""},
        {HEADER("authorization", "bearer   right "), SF_OK, ""},
        {HEADER("authorization", "Basic YW55Ym9keTpyaWdodA=="), SF_OK, ""}, /* anybody:right */
        {HEADER("authorization", "Basic OnJpZ2h0"), SF_OK, ""},             /* :right */
        {HEADER("authorization", "Basic cmlnaHQ6d3Jvbmc="), SF_ERR_NOT_FOUND, "unknown token"},
        {HEADER("authorization", "Basic cmlnaHQ="), SF_ERR_NOT_FOUND, "is needed"}, /* no colon */
        {HEADER("authorization", "Basic YW55Ym9keTo="), SF_ERR_NOT_FOUND, "is needed"}, /* empty */
        {HEADER("authorization", "Basic !!!"), SF_ERR_NOT_FOUND, "is needed"},
        {HEADER("authorization", "Digest right"), SF_ERR_NOT_FOUND, "is needed"},
        {HEADER("authorization", "Bearer "), SF_ERR_NOT_FOUND, "is needed"},
        {HEADER("authorization", "right"), SF_ERR_NOT_FOUND, "is needed"},
        {HEADER("authorization", "Bearer wrong"), SF_ERR_NOT_FOUND, "unknown token"},
        {HEADER("x-token", "right"), SF_OK, ""},
        {HEADER("x-token", "wrong"), SF_ERR_NOT_FOUND, "unknown token"},
        {HEADER("x-token", ""), SF_ERR_NOT_FOUND, "is needed"},
        {HEADER("x-other", "right"), SF_ERR_NOT_FOUND, "is needed"},
    };
    struct sf_service *s = make_service(true, false);
    s->auth.header = SF_STR("x-token");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_header headers[3] = {cases[i].header};
        struct sf_grant g;
        struct sf_why why;
        assert_err(verdict(s, NOBODY, headers, &g, &why), cases[i].want);
        assert_non_null(strstr(why.text, cases[i].why));
        if (!cases[i].want) {
            assert_int_equal(g.scopes, SF_MAY_READ);
            assert_string_equal(g.name, "robot");
        }
    }
    s->auth.header = SF_STR_NONE; /* without a further header that one is nothing */
    {
        struct sf_header headers[3] = {HEADER("x-token", "right")};
        struct sf_grant g;
        struct sf_why why;
        assert_err(verdict(s, NOBODY, headers, &g, &why), SF_ERR_NOT_FOUND);
    }
    free(s);
}

TEST(auth, believes_the_proxy_and_nobody_else)
{
    static const struct {
        const char *peer;
        struct sf_header headers[3];
        enum sf_err want;
        const char *why, *name;
    } cases[] = {
        {PROXY, {HEADER("x-user", "ann")}, SF_OK, "", "ann"},
        {PROXY, {HEADER("x-user", "bob"), HEADER("x-groups", "ops")}, SF_OK, "", "bob"},
        {PROXY, {HEADER("x-user", "bob")}, SF_ERR_DENIED, "signed in as bob", ""},
        {PROXY, {HEADER("x-user", "eve")}, SF_ERR_DENIED, "signed in as eve", ""},
        {PROXY, {HEADER("x-user", "ann"), HEADER("x-user", "eve")}, SF_ERR_DENIED, "once", ""},
        {PROXY,
         {HEADER("x-user", "bob"), HEADER("x-groups", "ops"), HEADER("x-groups", "no")},
         SF_ERR_DENIED,
         "once",
         ""},
        {PROXY, {HEADER("accept", "*")}, SF_ERR_NOT_FOUND, "not signed in", ""},
        {PROXY, {HEADER("x-user", "")}, SF_ERR_NOT_FOUND, "not signed in", ""},
        {NOBODY, {HEADER("x-user", "ann")}, SF_ERR_NOT_FOUND, "not signed in", ""},
    };
    struct sf_service *s = make_service(false, true);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_grant g;
        struct sf_why why;
        assert_err(verdict(s, cases[i].peer, cases[i].headers, &g, &why), cases[i].want);
        assert_non_null(strstr(why.text, cases[i].why));
        if (!cases[i].want) {
            assert_int_equal(g.scopes, SF_MAY_WRITE);
            assert_string_equal(g.name, cases[i].name);
        }
    }
    s->auth.groups_header = SF_STR_NONE; /* then nobody's groups are read */
    {
        struct sf_header headers[3] = {HEADER("x-user", "ann"), HEADER("x-groups", "ops"),
                                       HEADER("x-groups", "no")};
        struct sf_header group[3] = {HEADER("x-user", "bob"), HEADER("x-groups", "ops")};
        struct sf_grant g;
        struct sf_why why;
        assert_ok(verdict(s, PROXY, headers, &g, &why));
        assert_err(verdict(s, PROXY, group, &g, &why), SF_ERR_DENIED);
    }
    free(s);
}

/* Both ways at once: the proxy's people by their header, programs by their token. */
TEST(auth, tokens_work_beside_a_proxy)
{
    struct sf_header token[3] = {HEADER("authorization", "Bearer right")};
    struct sf_header both[3] = {HEADER("authorization", "Bearer right"), HEADER("x-user", "eve")};
    struct sf_service *s = make_service(true, true);
    struct sf_grant g;
    struct sf_why why;
    assert_ok(verdict(s, NOBODY, token, &g, &why));
    assert_int_equal(g.scopes, SF_MAY_READ);
    assert_ok(verdict(s, PROXY, token, &g, &why)); /* it hands a program through */
    assert_err(verdict(s, PROXY, both, &g, &why), SF_ERR_DENIED);
    assert_ok(verdict(s, NOBODY, both, &g, &why)); /* the word of no proxy is not a word */
    assert_int_equal(g.scopes, SF_MAY_READ);
    free(s);
}

TEST(auth, a_bound_token_names_its_own_tenants)
{
    static const struct {
        const char *own;
        sf_str asked;
        bool want;
    } cases[] = {
        {"", SF_STR("any"), true},      {"", SF_STR("a|b"), true},
        {"a", SF_STR("a"), true},       {"a", SF_STR("b"), false},
        {"a", SF_STR("a|b"), false},    {"a", SF_STR("b|a"), false},
        {"a,b", SF_STR("b"), true},     {"a,b", SF_STR("a|b"), true},
        {"a,b", SF_STR("a|c"), false},  {"a,b", SF_STR("a,b"), false},
        {"team", SF_STR("tea"), false}, {"tea", SF_STR("team"), false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_grant g = {0};
        sf_buf_print(&g.tenants, "%s", cases[i].own);
        assert_int_equal(sf_auth_has_tenants(&g, cases[i].asked), cases[i].want);
        sf_buf_done(&g.tenants);
    }
}
