#include "os/host.h"

#include "test.h"

TEST(host, knows_public_addresses)
{
    static const char *const public[] = {"0.0.0.0", "::",       "10.1.2.3",       "192.168.0.1",
                                         "fe80::1", "host.lan", "::ffff:10.0.0.1"};
    static const char *const private[] = {"127.0.0.1", "127.9.9.9", "::1", "localhost",
                                          "::ffff:127.0.0.1"};
    for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++)
        assert_true(sf_host_is_public(public[i]));
    for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++)
        assert_false(sf_host_is_public(private[i]));
}

TEST(host, knows_the_addresses_that_mean_all)
{
    static const char *const one[] = {"127.0.0.1", "::1", "10.0.0.1", "localhost", ""};
    assert_true(sf_host_is_any("0.0.0.0"));
    assert_true(sf_host_is_any("::"));
    for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
        assert_false(sf_host_is_any(one[i]));
}
