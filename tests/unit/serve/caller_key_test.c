#include "serve/caller_key.h"

#include <stdio.h>
#include <string.h>

#include "serve/call.h"
#include "test.h"

static struct sf_service service;

static bool fake_token(__attribute__((unused)) void *arg, __attribute__((unused)) sf_str token,
                       __attribute__((unused)) struct sf_grant *out)
{
    return true;
}

static struct sf_lane_client key(const char *peer, const char *caller, const char *tenant)
{
    struct sf_request request = {0};
    struct sf_call call = {.service = &service, .request = &request, .tenant = sf_str_from(tenant)};
    snprintf(request.peer, sizeof(request.peer), "%s", peer);
    snprintf(call.caller, sizeof(call.caller), "%s", caller);
    return sf_caller_key(&call);
}

TEST(caller_key, is_the_address_without_its_port)
{
    memset(&service, 0, sizeof(service));
    assert_int_equal(key("10.1.2.3:4711", "-", "a").client, key("10.1.2.3:5", "-", "a").client);
    assert_int_not_equal(key("10.1.2.3:4711", "-", "a").client,
                         key("10.1.2.4:4711", "-", "a").client);
    assert_int_not_equal(key("10.1.2.3:4711", "-", "a").tenant,
                         key("10.1.2.3:4711", "-", "b").tenant);
}

/* A machine has 2^64 addresses of its network, and could be as many clients. */
TEST(caller_key, is_the_network_of_an_address_of_version_six)
{
    memset(&service, 0, sizeof(service));
    assert_int_equal(key("[2001:db8::1]:1", "-", "a").client,
                     key("[2001:db8::ffff:2]:2", "-", "a").client);
    assert_int_not_equal(key("[2001:db8::1]:1", "-", "a").client,
                         key("[2001:db8:0:1::1]:1", "-", "a").client);
    assert_int_not_equal(key("[::ffff:10.0.0.1]:1", "-", "a").client,
                         key("[::ffff:10.0.0.2]:1", "-", "a").client);
}

TEST(caller_key, is_the_token_where_one_is_asked_for)
{
    service = (struct sf_service){.auth = {.token = fake_token}};
    assert_int_equal(key("10.1.2.3:4711", "grafana", "a").client,
                     key("10.9.9.9:1", "grafana", "a").client);
    assert_int_not_equal(key("10.1.2.3:4711", "grafana", "a").client,
                         key("10.1.2.3:4711", "ann", "a").client);
}
