#include "serve/origin.h"

#include <stdlib.h>

#include "test.h"

static struct sf_service *service;

static bool is_ours(const char *authority)
{
    struct sf_request r = {.authority = sf_str_from(authority)};
    return sf_origin_is_our_host(service, &r);
}

TEST(origin, goes_by_names_that_nobody_else_can_own)
{
    static const char *const ours[] = {
        "",
        "127.0.0.1",
        "127.0.0.1:4318",
        "255.255.255.255",
        "0.0.0.0:1",
        "[::1]",
        "[::1]:80",
        "[fe80::1%25e0]",
        "[::ffff:10.0.0.1]:4040",
        "[FE80::a%br-1.2_x]",
        "web:",
        "localhost",
        "LOCALHOST:4040",
        "localhost.",
        "app.localhost",
        "a.b.localhost:1",
        "A.LocalHost.",
        "spanflame",
        "my_store",
        "spanflame-0:80",
        "s",
        "1",
        "web2",
        "aZ09z",
    };
    static const char *const others[] = {
        "evil.example",
        "evil.example:80",
        "256.0.0.1",
        "1.2.3.256",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.4.evil.com",
        "127.0.0.1.",
        "x.1.2.3.4",
        "1..2.3",
        "com.",
        "s.",
        "[::1",
        "[::1]x",
        "[::1].evil.com",
        "[]",
        "[evil!]",
        "[evil.example]",
        "[evil.example]:80",
        "[::g]",
        "[::1%evil!]",
        "[::1%]",
        "[%eth0]",
        "[1.2.3.4]",
        "[::1]@evil.example",
        "127.0.0.1:80@evil.example",
        "localhost:evil.example",
        "web:80:80",
        "web:80.evil.example",
        "web: 80",
        "localhost.evil",
        "evillocalhost.x",
        "a@127.0.0.1",
        "a b",
        "a/b",
        ".localhost",
        "a!.localhost",
        "xlocalhost.evil",
        ".",
        ":80",
        "sp\xc3\xa4n",
    };
    service = calloc(1, sizeof(*service));
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (!is_ours(ours[i]))
            fail_msg("%s is ours", ours[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (is_ours(others[i]))
            fail_msg("%s is not ours", others[i]);
    }
    free(service);
}

TEST(origin, goes_by_listed_names_too)
{
    static const char *const hosts[] = {"traces.example.com", "*.corp.example"}, *const any[] = {
                                                                                     "*"};
    service = calloc(1, sizeof(*service));
    service->own_names = SF_STR("box.lan  box.example");
    service->hosts = hosts;
    service->n_hosts = 2;
    assert_true(is_ours("box.lan") && is_ours("BOX.example:80") && is_ours("box.example."));
    assert_false(is_ours("box.la") || is_ours("ox.lan") || is_ours("box.lan.evil.example"));
    assert_true(is_ours("Traces.example.com:443"));
    assert_false(is_ours("xtraces.example.com") || is_ours("example.com"));
    assert_true(is_ours("a.corp.example") && is_ours("a.b.CORP.example"));
    assert_false(is_ours("corp.example") || is_ours("evilcorp.example") || is_ours(".orp.example"));
    service->hosts = any;
    service->n_hosts = 1;
    assert_true(is_ours("evil.example"));
    free(service);
}

static bool is_foreign_of_two(const char *name, const char *first, const char *second)
{
    struct sf_header headers[] = {{SF_STR("host"), SF_STR("web:80")},
                                  {sf_str_from(name), sf_str_from(first)},
                                  {sf_str_from(name), sf_str_from(second)}};
    struct sf_request r = {.headers = headers, .n_headers = 3, .authority = SF_STR("web:80")};
    return sf_origin_is_foreign(service, &r);
}

TEST(origin, refuses_what_says_two_things)
{
    service = calloc(1, sizeof(*service));
    assert_true(is_foreign_of_two("sec-fetch-site", "same-origin", "cross-site"));
    assert_true(is_foreign_of_two("sec-fetch-site", "same-origin", "same-origin"));
    assert_true(is_foreign_of_two("origin", "http://web:80", "https://evil.example"));
    assert_false(is_foreign_of_two("accept", "text/html", "image/png"));
    free(service);
}

static bool is_foreign(const char *site, const char *origin)
{
    struct sf_header headers[2];
    struct sf_request r = {.headers = headers, .authority = SF_STR("web:80")};
    if (site)
        headers[r.n_headers++] = (struct sf_header){SF_STR("sec-fetch-site"), sf_str_from(site)};
    if (origin)
        headers[r.n_headers++] = (struct sf_header){SF_STR("origin"), sf_str_from(origin)};
    return sf_origin_is_foreign(service, &r);
}

TEST(origin, tells_pages_of_others_from_programs_and_own_pages)
{
    static const char *const listed[] = {"https://app.example"};
    service = calloc(1, sizeof(*service));
    assert_false(is_foreign(NULL, NULL)); /* curl, an SDK */
    assert_false(is_foreign("same-origin", "http://web:80"));
    assert_false(is_foreign("none", NULL)); /* the address bar */
    assert_false(is_foreign(NULL, "http://web:80") || is_foreign(NULL, "https://WEB:80"));
    assert_true(is_foreign("cross-site", NULL) && is_foreign("same-site", NULL));
    assert_true(is_foreign("Same-Origin", NULL)); /* browsers write it small */
    assert_true(is_foreign("cross-site", "http://web:80"));
    assert_true(is_foreign(NULL, "null") && is_foreign(NULL, "http://web:81"));
    assert_true(is_foreign(NULL, "http://web") && is_foreign(NULL, "web:80"));
    assert_true(is_foreign(NULL, "http://web:80.evil.example"));
    assert_true(is_foreign("cross-site", "https://app.example"));
    service->cors_origins = listed;
    service->n_cors_origins = 1;
    assert_false(is_foreign("cross-site", "https://app.example"));
    assert_false(is_foreign(NULL, "HTTPS://app.example"));
    assert_true(is_foreign("cross-site", "https://app.example.evil") ||
                is_foreign("cross-site", NULL));
    assert_true(is_foreign(NULL, "https://app.exampl") && is_foreign("cross-site", NULL));
    free(service);
}
