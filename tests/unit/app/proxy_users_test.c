#include "app/proxy_users.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/peer_net.h"
#include "test.h"

static struct sf_why why;

TEST(proxy_users, networks_hold_their_addresses)
{
    static const struct {
        const char *net, *peer;
        bool is_in;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1:5", true},
        {"127.0.0.1", "127.0.0.2:5", false},
        {"127.0.0.1", "[::ffff:127.0.0.1]:5", true},
        {"10.0.0.0/8", "10.255.0.1:1", true},
        {"10.0.0.0/8", "11.0.0.1:1", false},
        {"10.1.2.0/23", "10.1.3.9:1", true},
        {"10.1.2.0/23", "10.1.4.9:1", false},
        {"::1", "[::1]:9", true},
        {"::1", "127.0.0.1:9", false},
        {"fd00::/8", "[fd12::1]:9", true},
        {"fe80::/10", "[fe80::1%eth0]:9", true},
        {"0.0.0.0/0", "8.8.8.8:1", true},
        {"0.0.0.0/0", "[2001:db8::1]:1", false},
        {"127.0.0.1", "unknown", false},
        {"127.0.0.1", "", false},
        {"::/0", "[::1]:1", true},
        {"127.0.0.1", "1111111111111111111111111111111111111111111111111111111111111111111111:1",
         false},
        {"127.0.0.1", ":1", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_peer_net net;
        assert_ok(sf_peer_net_parse(cases[i].net, &net, &why));
        if (sf_peer_net_has(&net, cases[i].peer) != cases[i].is_in)
            fail_msg("%s in %s", cases[i].peer, cases[i].net);
    }
    static const char *const wrong[] = {"",       "localhost", "10.0.0.0/33", "::/129",
                                        "10.0.0", "10.0.0.1/", "10.0.0.1/x",  "1.2.3.4:5"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sf_peer_net net;
        assert_err(sf_peer_net_parse(wrong[i], &net, &why), SF_ERR_INPUT);
    }
}

static char path[64];

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static unsigned grant(struct sf_proxy_users *u, const char *user, const char *groups,
                      const char *tenants)
{
    struct sf_grant g = {0};
    bool is_known = sf_proxy_users_grant(u, sf_str_from(user), sf_str_from(groups), &g);
    assert_int_equal(is_known, g.scopes != 0);
    assert_true(sf_str_eq(sf_buf_str(&g.tenants), sf_str_from(tenants)));
    sf_buf_done(&g.tenants);
    return g.scopes;
}

TEST(proxy_users, the_first_line_that_fits_counts)
{
    const char *const peers[] = {"192.168.0.1", "10.0.0.0/8"}, *const bad[] = {"10.0.0.0/8", "x"};
    struct sf_config c = {.auth = {.users_file = path, .proxy_peers = {peers, 2}}};
    struct sf_proxy_users *u = NULL;
    snprintf(path, sizeof(path), "/tmp/spanflame_users_XXXXXX");
    close(mkstemp(path));
    write_file("# who\n\nann@example.com:read,admin\n@sre:read,write:red,blue\n*:read:red\n");
    assert_ok(sf_proxy_users_open(&c, &u, &why));
    assert_true(sf_proxy_users_is_proxy(u, "10.9.9.9:1"));
    assert_false(sf_proxy_users_is_proxy(u, "127.0.0.1:1"));
    assert_int_equal(grant(u, "ann@example.com", "sre", ""), SF_MAY_READ | SF_MAY_ADMIN);
    assert_int_equal(grant(u, "bob", "dev, sre", "red,blue"), SF_MAY_READ | SF_MAY_WRITE);
    assert_int_equal(grant(u, "bob", "sre2", "red"), SF_MAY_READ);
    assert_int_equal(grant(u, "@sre", "", ""), 0);
    assert_int_equal(grant(u, "*", "", ""), 0);
    assert_int_equal(grant(u, "", "sre", ""), 0);
    static const char *const wrong[] = {"ann\n",    "ann:reed\n",     ":read\n",
                                        "@:read\n", "ann:read:a|b\n", "ann:read:\n"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        write_file(wrong[i]);
        assert_err(sf_proxy_users_reload(u, &why), SF_ERR_INPUT);
        assert_non_null(strstr(why.text, path));
        assert_non_null(strstr(why.text, ": 1: "));
        assert_int_equal(grant(u, "bob", "", "red"), SF_MAY_READ);
    }
    struct sf_proxy_users *other = NULL;
    assert_err(sf_proxy_users_open(&c, &other, &why), SF_ERR_INPUT);
    unlink(path);
    assert_int_not_equal(sf_proxy_users_reload(u, &why), SF_OK);
    assert_int_equal(grant(u, "bob", "", "red"), SF_MAY_READ);
    c.auth.proxy_peers.items = bad;
    write_file("eve:read\n");
    assert_err(sf_proxy_users_open(&c, &other, &why), SF_ERR_INPUT);
    assert_null(other);
    sf_proxy_users_close(NULL);
    struct sf_buf text = {0};
    for (int len = 320; len < 322; len++) { /* as long as a name may be, and longer */
        sf_buf_reset(&text);
        sf_buf_print(&text, "%0*d:read\n", len, 0);
        sf_buf_add_u8(&text, 0);
        write_file((const char *)text.p);
        assert_err(sf_proxy_users_reload(u, &why), len == 320 ? SF_OK : SF_ERR_INPUT);
        text.p[len] = 0;
        assert_int_equal(grant(u, (const char *)text.p, "", ""), len == 320 ? SF_MAY_READ : 0);
    }
    sf_buf_done(&text);
    write_file("eve:read\n");
    assert_ok(sf_proxy_users_reload(u, &why));
    assert_int_equal(grant(u, "bob", "", ""), 0);
    sf_proxy_users_close(u);
    unlink(path);
}
