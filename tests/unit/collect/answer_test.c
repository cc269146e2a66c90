#include "test.h"

#include "base/heap.h"
#include "collect/send/answer.h"

/* Whole, and byte by byte: the cut must not matter. */
static struct sf_answer *taken(const char *text, size_t step)
{
    struct sf_answer *a = sf_heap_new(sizeof(*a));
    size_t len = strlen(text);
    for (size_t at = 0; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;
        if (!sf_answer_take(a, (sf_bytes){(const uint8_t *)text + at, n}))
            break;
    }
    return a;
}

static void check(const char *text, int status, const char *body, bool is_kept)
{
    for (size_t step = 1; step < 100; step += 98) {
        struct sf_answer *a = taken(text, step);
        assert_null(a->fault);
        assert_true(a->is_done);
        assert_int_equal(a->status, status);
        assert_int_equal(a->body_len, strlen(body));
        assert_memory_equal(a->body, body, strlen(body));
        assert_int_equal(a->is_kept_alive, is_kept);
        sf_heap_free(a);
    }
}

TEST(answer, reads_lengths_chunks_and_nothing)
{
    check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", true);
    check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: close\r\n\r\n", 200, "", false);
    check("HTTP/1.1 204 No\r\n\r\n", 204, "", true);
    check("HTTP/1.1 429 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
          429, "abc", true);
    check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz", 200, "z",
          true);
}

TEST(answer, is_whole_at_the_end_only_without_a_length)
{
    struct sf_answer *a = taken("HTTP/1.0 500 X\r\n\r\nsorry", 7);
    sf_answer_end_of_body(a);
    assert_true(a->is_done);
    assert_int_equal(a->body_len, 5);
    assert_false(a->is_kept_alive);
    sf_heap_free(a);
    a = taken("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 7);
    sf_answer_end_of_body(a);
    assert_non_null(a->fault);
    sf_heap_free(a);
}

TEST(answer, says_when_to_come_back)
{
    struct sf_answer *a = taken("HTTP/1.1 503 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 5);
    assert_int_equal(a->retry_after_s, 7);
    sf_heap_free(a);
    a = taken("HTTP/1.1 503 X\r\nRetry-After: 99999999\r\nContent-Length: 0\r\n\r\n", 5);
    assert_int_equal(a->retry_after_s, 3600);
    sf_heap_free(a);
}

TEST(answer, refuses_what_is_not_http)
{
    static const char *const bad[] = {
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n123456789\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sf_answer *a = taken(bad[i], 3);
        assert_non_null(a->fault);
        assert_false(a->is_done);
        sf_heap_free(a);
    }
}

TEST(answer, bounds_heads_and_keeps_the_first_bytes_of_a_long_body)
{
    struct sf_answer *a = sf_heap_new(sizeof(*a));
    uint8_t many[1000];
    memset(many, 'x', sizeof(many));
    sf_answer_take(a, sf_str_bytes(SF_STR("HTTP/1.1 200 OK\r\nA: ")));
    for (int i = 0; i < 17 && sf_answer_take(a, (sf_bytes){many, sizeof(many)}); i++)
        ;
    assert_non_null(a->fault);
    sf_heap_free(a);
    a = sf_heap_new(sizeof(*a));
    sf_answer_take(a, sf_str_bytes(SF_STR("HTTP/1.1 400 X\r\nContent-Length: 10000\r\n\r\n")));
    for (int i = 0; i < 10; i++)
        sf_answer_take(a, (sf_bytes){many, sizeof(many)});
    assert_true(a->is_done);
    assert_int_equal(a->body_len, SF_ANSWER_BODY_KEPT);
    sf_heap_free(a);
}
