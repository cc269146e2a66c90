#include "os/own_names.h"

#include "test.h"

static struct sf_buf out;

static sf_str aliases(const char *text)
{
    sf_buf_reset(&out);
    sf_own_names_add_aliases(&out, sf_str_from(text), SF_STR("box"));
    return sf_buf_str(&out);
}

TEST(own_names, takes_whatever_stands_on_a_line_with_the_name)
{
    assert_str(aliases("127.0.0.1 localhost\n127.0.1.1\tbox.corp.example  Box old-box # box2\n"),
               " box.corp.example old-box");
    assert_str(aliases("# 127.0.1.1 box.example box\n"), "");
    assert_str(aliases("box evil.example\n0.0.0.0 ads.example\n"), "");
    assert_str(aliases("10.0.0.1 a box\r\n::1 b box"), " a b");
    sf_buf_done(&out);
}
