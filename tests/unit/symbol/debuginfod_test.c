#include "symbol/debuginfod.h"

#include "test.h"

TEST(debuginfod, takes_addresses_of_servers_only)
{
    struct sf_why why = {0};
    assert_int_equal(sf_debuginfod_check("http://127.0.0.1:8002", &why), 0);
    assert_int_equal(sf_debuginfod_check("https://debuginfod.example.com/a/", &why), 0);
    assert_int_equal(sf_debuginfod_check("debuginfod.example.com", &why), SF_ERR_INPUT);
    assert_int_equal(sf_debuginfod_check("file:///etc", &why), SF_ERR_INPUT);
    assert_int_equal(sf_debuginfod_check("http://", &why), SF_ERR_INPUT);
    assert_int_equal(sf_debuginfod_check("http://a b", &why), SF_ERR_INPUT);
    assert_int_equal(sf_debuginfod_check("http://a/?q=", &why), SF_ERR_INPUT);
    assert_int_equal(sf_debuginfod_check("", &why), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "is not the address of a server"));
}
