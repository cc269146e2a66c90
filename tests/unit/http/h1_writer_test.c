#include "http/h1_writer.h"

#include "test.h"

static const int64_t WHEN_S = 784111777; /* the date of every RFC */

static sf_str head_of(struct sf_buf *out, const struct sf_h1_answer *a)
{
    sf_buf_reset(out);
    sf_h1_writer_head(out, a);
    return sf_buf_str(out);
}

TEST(h1_writer, writes_a_sized_answer)
{
    struct sf_response r = {.status = 200, .content_type = "application/json"};
    struct sf_buf out = {0};

    assert_str(head_of(&out,
                       &(struct sf_h1_answer){
                           .response = &r, .body_len = 2, .keeps_alive = true, .now_s = WHEN_S}),
               "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
               "content-type: application/json\r\nx-content-type-options: "
               "nosniff\r\ncontent-length: 2\r\n\r\n");
    sf_buf_done(&out);
}

TEST(h1_writer, says_how_the_connection_goes_on)
{
    struct sf_response r = {.status = 503, .retry_after_s = 7};
    struct sf_buf out = {0};

    assert_str(head_of(&out, &(struct sf_h1_answer){.response = &r, .now_s = WHEN_S}),
               "HTTP/1.1 503 Service Unavailable\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
               "content-length: 0\r\nretry-after: 7\r\nconnection: close\r\n\r\n");
    assert_str(head_of(&out,
                       &(struct sf_h1_answer){
                           .response = &r, .now_s = WHEN_S, .keeps_alive = true, .is_1_0 = true}),
               "HTTP/1.1 503 Service Unavailable\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
               "content-length: 0\r\nretry-after: 7\r\nconnection: keep-alive\r\n\r\n");
    sf_buf_done(&out);
}

TEST(h1_writer, writes_chunks_and_codings)
{
    struct sf_response r = {.status = 200};
    struct sf_buf out = {0};

    sf_h1_writer_head(&out, &(struct sf_h1_answer){.response = &r,
                                                   .body = SF_H1_BODY_CHUNKED,
                                                   .is_gzip = true,
                                                   .keeps_alive = true,
                                                   .now_s = WHEN_S});
    sf_h1_writer_chunk(&out, sf_str_bytes(SF_STR("0123456789abcdefX")));
    sf_h1_writer_chunk(&out, SF_BYTES_NONE);
    sf_h1_writer_last_chunk(&out);
    assert_str(sf_buf_str(&out), "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                 "transfer-encoding: chunked\r\ncontent-encoding: gzip\r\n"
                                 "vary: accept-encoding\r\n\r\n"
                                 "11\r\n0123456789abcdefX\r\n0\r\n\r\n");
    sf_buf_done(&out);
}

TEST(h1_writer, gives_no_length_to_answers_that_have_no_body)
{
    struct sf_response r = {.status = 204};
    struct sf_buf out = {0};
    sf_str head = head_of(
        &out, &(struct sf_h1_answer){.response = &r, .keeps_alive = true, .now_s = WHEN_S});
    size_t at;

    assert_false(sf_str_find(head, SF_STR("content-length"), &at));
    assert_false(sf_h1_writer_has_body(304));
    assert_false(sf_h1_writer_has_body(100));
    assert_true(sf_h1_writer_has_body(404));
    sf_buf_done(&out);
}

TEST(h1_writer, lets_no_value_break_out_of_its_line)
{
    struct sf_response r = {.status = 302};
    struct sf_buf out = {0};
    sf_str head;
    size_t at;

    assert_true(sf_response_header(&r, "location", SF_STR("/a\r\nset-cookie: b\n\x01")));
    head = head_of(&out, &(struct sf_h1_answer){.response = &r, .now_s = WHEN_S});
    assert_false(sf_str_find(head, SF_STR("\nset-cookie"), &at));
    assert_true(sf_str_find(head, SF_STR("location: /a??set-cookie: b??\r\n"), &at));
    sf_response_done(&r);
    sf_buf_done(&out);
}
