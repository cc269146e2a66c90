#include "cli/demo_server.h"

#include "test.h"

TEST(demo_server, takes_a_host_or_a_host_with_a_port)
{
    static const char *const good[] = {"0.0.0.0", "127.0.0.1:80", "[::]", "[::1]:4040", "box.lan"};
    static const char *const bad[] = {"",     ":80",        "host:",    "host:0", "host:65536",
                                      "[::1", "[::1]:",     "[::1]x:1", "a b",    "x\"y:1",
                                      "::1",  "host:80:90", "h,i",      "[]:1",   "[::1]80"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(sf_demo_server_knows(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(sf_demo_server_knows(bad[i]));
}
