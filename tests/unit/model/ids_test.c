#include "test.h"

#include "base/err.h"
#include "model/ids.h"

TEST(ids, short_hex_is_padded_on_the_left)
{
    sf_trace_id t;
    sf_span_id s;
    char text[33], span[17];
    assert_true(sf_trace_id_parse(SF_STR("AbC"), &t));
    sf_trace_id_render(t, text);
    assert_string_equal(text, "00000000000000000000000000000abc");
    assert_true(sf_span_id_parse(SF_STR("eee19b7ec3c1b174"), &s));
    assert_true(s == 0xeee19b7ec3c1b174);
    sf_span_id_render(0xabc, span);
    assert_string_equal(span, "0000000000000abc");
}

TEST(ids, refuse_what_is_not_hex_or_too_long)
{
    sf_trace_id t = {{7}};
    sf_span_id s;
    assert_false(sf_trace_id_parse(SF_STR(""), &t));
    assert_false(sf_trace_id_parse(SF_STR("xyz"), &t));
    assert_false(sf_trace_id_parse(SF_STR("000000000000000000000000000000000"), &t));
    assert_int_equal(t.b[0], 7);
    assert_false(sf_span_id_parse(SF_STR("00000000000000000"), &s));
}
