#include "listen/listener.h"

#include <stdlib.h>

#include "peer.h"
#include "test.h"

TEST(conn_h2, speaks_http_2_with_prior_knowledge)
{
    struct peer_server s;
    struct peer_h2 *h;
    struct peer_h2_answer *a;
    int32_t ids[100];
    sf_bytes body = sf_str_bytes(SF_STR("hello"));

    peer_start(&s, NULL, NULL);
    h = peer_h2_new(peer_connect(s.port));
    for (int i = 0; i < 100; i++)
        ids[i] = peer_h2_submit(h, "POST", i % 2 ? "/later" : "/echo", NULL, NULL, NULL, body);
    for (int i = 0; i < 100; i++) {
        a = peer_h2_wait(h, ids[i]);
        assert_non_null(a);
        assert_int_equal(a->status, 200);
        assert_str(sf_buf_str(&a->body), "hello");
    }
    a = peer_h2_wait(h, peer_h2_submit(h, "GET", "/big?3000000", NULL, NULL, NULL, SF_BYTES_NONE));
    assert_non_null(a);
    assert_int_equal(a->body.len, 3000000);
    a = peer_h2_wait(h, peer_h2_submit(h, "HEAD", "/big?3000", NULL, NULL, NULL, SF_BYTES_NONE));
    assert_non_null(a);
    assert_int_equal(a->status, 200);
    assert_int_equal(a->body.len, 0);
    a = peer_h2_wait(h, peer_h2_submit(h, "POST", "/echo", NULL, "expect", "100-continue", body));
    assert_non_null(a);
    assert_int_equal(a->n_continue, 1);
    assert_int_equal(a->status, 200);
    a = peer_h2_wait(h, peer_h2_submit(h, "POST", "/busy", NULL, NULL, NULL, body));
    assert_non_null(a);
    assert_int_equal(a->status, 503);
    assert_string_equal(a->retry_after, "3");
    a = peer_h2_wait(h, peer_h2_submit(h, "GET", "/bad%zz", NULL, NULL, NULL, SF_BYTES_NONE));
    assert_non_null(a);
    assert_int_equal(a->status, 400);
    assert_int_equal(peer_stats(&s).n_requests_h2, 104);
    peer_h2_free(h);
    peer_stop(&s);
}

TEST(conn_h2, speaks_grpc)
{
    struct peer_server s;
    struct peer_h2 *h;
    struct peer_h2_answer *a;
    struct sf_buf one = {0}, two = {0}, packed = {0}, flag = {0};

    peer_grpc_frame(&one, 0, SF_STR("message"));
    peer_grpc_frame(&two, 0, SF_STR("a"));
    peer_grpc_frame(&two, 0, SF_STR("b"));
    peer_grpc_frame(&packed, 1, SF_STR("zip"));
    peer_grpc_frame(&flag, 7, SF_STR("x"));
    peer_start(&s, NULL, NULL);
    h = peer_h2_new(peer_connect(s.port));
#define GRPC(path, name, val, body)                                                          \
    a = peer_h2_wait(h, peer_h2_submit(h, "POST", path, "application/grpc+proto", name, val, \
                                       sf_buf_bytes(body)));                                 \
    assert_non_null(a);                                                                      \
    assert_int_equal(a->status, 200)

    GRPC("/echo", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_OK);
    assert_int_equal(a->body.len, one.len);
    assert_memory_equal(a->body.p, one.p, one.len);
    GRPC("/later", "grpc-timeout", "5S", &one);
    assert_int_equal(a->grpc_status, SF_GRPC_OK);
    GRPC("/echo", NULL, NULL, &two);
    assert_int_equal(a->grpc_status, SF_GRPC_INVALID_ARGUMENT);
    GRPC("/echo", NULL, NULL, &packed);
    assert_int_equal(a->grpc_status, SF_GRPC_INTERNAL);
    GRPC("/echo", "grpc-encoding", "snappy", &packed);
    assert_int_equal(a->grpc_status, SF_GRPC_UNIMPLEMENTED);
    assert_string_equal(a->accept_encoding, "identity,gzip,zstd,deflate");
    GRPC("/coding", "grpc-encoding", "gzip", &packed);
    assert_int_equal(a->body.p[5], '0' + SF_CODING_GZIP);
    GRPC("/coding", "grpc-encoding", "gzip", &one);
    assert_int_equal(a->body.p[5], '0' + SF_CODING_NONE);
    GRPC("/echo", NULL, NULL, &flag);
    assert_int_equal(a->grpc_status, SF_GRPC_INTERNAL);
    one.len--;
    GRPC("/echo", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_INVALID_ARGUMENT);
    one.len++;
    GRPC("/refuse", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_PERMISSION_DENIED);
    GRPC("/busy", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_UNAVAILABLE);
    assert_string_equal(a->grpc_message, "b%C3%BCsy");
    assert_true(a->has_details);
    GRPC("/hold", "grpc-timeout", "150m", &one);
    assert_int_equal(a->grpc_status, SF_GRPC_DEADLINE_EXCEEDED);
    GRPC("/stream?1000", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_OK);
    assert_int_equal(a->body.len, 1000 * (5 + strlen("piece 000000 of a long answer")));
    assert_memory_equal(a->body.p, "\0\0\0\0\x1dpiece 000000", 17);
    assert_int_equal(peer_stats(&s).n_requests_grpc, 13);
    peer_release(&s);
    assert_int_equal(atomic_load(&s.n_cancelled), 1);
    peer_h2_free(h);
    sf_buf_done(&one);
    sf_buf_done(&two);
    sf_buf_done(&packed);
    sf_buf_done(&flag);
    peer_stop(&s);
}
