#include "serve/grpc_web.h"

#include "test.h"

static struct sf_why why;

static enum sf_err read_one(const char *bytes, size_t len, const char *encoding, sf_str *out,
                            enum sf_coding *coding)
{
    struct sf_header h = {SF_STR("grpc-encoding"), sf_str_from(encoding)};
    struct sf_request r = {.headers = &h, .n_headers = 1};
    *out = (sf_str){bytes, len};
    return sf_grpc_web_message(&r, out, coding, &why);
}

TEST(grpc_web, takes_one_whole_frame)
{
    enum sf_coding coding;
    sf_str body;
    assert_ok(read_one("\0\0\0\0\2hi", 7, "", &body, &coding));
    assert_str(body, "hi");
    assert_int_equal(coding, SF_CODING_NONE);
    assert_ok(read_one("\1\0\0\0\2hi", 7, "gzip", &body, &coding));
    assert_int_equal(coding, SF_CODING_GZIP);
    assert_ok(read_one("\0\0\0\0\0", 5, "gzip", &body, &coding));
    assert_int_equal(body.len, 0);
}

TEST(grpc_web, refuses_what_is_not_one)
{
    enum sf_coding coding;
    sf_str body;
    assert_err(read_one("", 0, "", &body, &coding), SF_ERR_INPUT);
    assert_err(read_one("\0\0\0\0", 4, "", &body, &coding), SF_ERR_INPUT);
    assert_err(read_one("\0\0\0\0\3hi", 7, "", &body, &coding), SF_ERR_INPUT);
    assert_err(read_one("\0\0\0\0\1hi", 7, "", &body, &coding), SF_ERR_INPUT);
    assert_err(read_one("\0\xff\xff\xff\xffhi", 7, "", &body, &coding), SF_ERR_INPUT);
    assert_err(read_one("\x80\0\0\0\2hi", 7, "", &body, &coding), SF_ERR_INPUT);
    assert_err(read_one("\1\0\0\0\2hi", 7, "br", &body, &coding), SF_ERR_UNSUPPORTED);
}

TEST(grpc_web, ends_an_answer_with_its_trailers)
{
    static const char well[] = "\0\0\0\0\2hi\x80\0\0\0\x10grpc-status: 0\r\n";
    static const char bad[] = "\x80\0\0\0\x25grpc-status: 3\r\ngrpc-message: no%0A\r\n";
    struct sf_response r = {0};
    sf_buf_add_str(&r.body, SF_STR("hi"));
    sf_grpc_web_frame(&r);
    assert_int_equal(r.body.len, sizeof(well) - 1);
    assert_memory_equal(r.body.p, well, sizeof(well) - 1);
    sf_response_reset(&r);
    r.grpc_status = SF_GRPC_INVALID_ARGUMENT;
    strcpy(r.grpc_message, "no\n");
    sf_buf_add_str(&r.body, SF_STR("half an answer"));
    sf_grpc_web_frame(&r);
    assert_int_equal(r.body.len, sizeof(bad) - 1);
    assert_memory_equal(r.body.p, bad, sizeof(bad) - 1);
    sf_response_done(&r);
}
