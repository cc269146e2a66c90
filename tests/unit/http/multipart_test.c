#include "test.h"

#include "http/multipart.h"

static struct sf_multipart m;
static struct sf_multipart_part part;

static void begin(const char *type, sf_str body)
{
    struct sf_why why;
    assert_ok(sf_multipart_init(&m, sf_str_from(type), body, &why));
}

TEST(multipart, gives_parts_with_names_and_any_bytes)
{
    begin("multipart/form-data; boundary=\"x y\"; charset=utf-8",
          SF_STR(
              "preamble\r\n--x y\r\nContent-Disposition: form-data; name=\"profile\"; "
              "filename=\"a;b.pb\"\r\n\r\nab\r\n--x\0c\r\n--x y\r\ncontent-disposition: form-data; "
              "name=labels\r\nX: y\r\n\r\n\r\n--x y--\r\ntrailer"));
    assert_true(sf_multipart_next(&m, &part));
    assert_str(part.name, "profile");
    assert_str(part.file_name, "a;b.pb");
    assert_int_equal(part.content.len, 9);
    assert_memory_equal(part.content.p, "ab\r\n--x\0c", 9);
    assert_true(sf_multipart_next(&m, &part));
    assert_str(part.name, "labels");
    assert_null(part.file_name.p);
    assert_int_equal(part.content.len, 0);
    assert_false(sf_multipart_next(&m, &part));
    assert_int_equal(m.err, SF_OK);
}

TEST(multipart, refuses_what_would_lose_bytes)
{
    static const sf_str bodies[] = {
        SF_STR("nothing here"),
        SF_STR("--b\r\nContent-Disposition: form-data; name=\"p\"\r\n\r\nno end"),
        SF_STR("--b\r\nContent-Disposition: form-data; name=\"p\""),
        SF_STR("--b"),
    };
    struct sf_why why;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        begin("multipart/form-data; boundary=b", bodies[i]);
        while (sf_multipart_next(&m, &part)) {
            /* to the end */
        }
        assert_int_equal(m.err, SF_ERR_INPUT);
    }
    assert_err(sf_multipart_init(&m, SF_STR("multipart/form-data"), SF_STR(""), &why),
               SF_ERR_INPUT);
    assert_err(sf_multipart_init(&m, SF_STR("multipart/form-data; boundary="), SF_STR(""), &why),
               SF_ERR_INPUT);
}
