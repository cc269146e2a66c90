#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/send/http_post.h"
#include "collect/sys/clock.h"
#include "http_peer.h"

static struct sf_http_post post;
static struct sf_answer answer;
static struct sf_why why;

static void open_post(struct http_peer *p)
{
    struct sf_endpoint to = {.host = "127.0.0.1", .path = "/v1/traces"};
    http_peer_start(p);
    to.port = p->port;
    sf_http_post_init(&post, &to, SF_STR("x-key: 1\r\n"));
}

static enum sf_err send_text(const char *text)
{
    return sf_http_post_send(&post, sf_str_bytes(sf_str_from(text)), false,
                             sf_clock_mono_ns() + 20000000000, &answer, &why);
}

static void close_post(struct http_peer *p)
{
    sf_http_post_done(&post);
    http_peer_stop(p);
}

TEST(http_post, sends_a_body_and_keeps_the_connection)
{
    struct http_peer p = {0};
    open_post(&p);
    assert_ok(send_text("abc"));
    assert_int_equal(answer.status, 200);
    assert_str(sf_buf_str(&p.body), "abc");
    assert_true(
        sf_str_starts(sf_buf_str(&p.head), SF_STR("POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:")));
    assert_non_null(memmem(p.head.p, p.head.len, "x-key: 1\r\n", 10));
    assert_ok(send_text("def"));
    assert_int_equal(p.n_connections, 1);
    close_post(&p);
}

TEST(http_post, opens_anew_when_a_kept_connection_was_closed)
{
    struct http_peer p = {.answers = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""}};
    open_post(&p);
    assert_ok(send_text("one"));
    assert_ok(send_text("two")); /* hung up on, then sent again */
    assert_int_equal(answer.status, 200);
    assert_int_equal(p.n_connections, 2);
    assert_int_equal(p.n_requests, 3);
    close_post(&p);
}

TEST(http_post, forgets_a_descriptor_that_became_somebody_elses)
{
    struct http_peer p = {0};
    int file;
    char back[4] = "";
    open_post(&p);
    assert_ok(send_text("one"));
    file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    if (file < 0)
        skip();
    assert_int_equal(dup2(file, post.peer.fd), post.peer.fd); /* as daemons do after closing all */
    {
        int taken = post.peer.fd;
        assert_ok(send_text("two"));
        assert_int_equal(answer.status, 200);
        assert_int_equal(pread(file, back, sizeof(back), 0), 0); /* nothing was written into it */
        assert_int_equal(fcntl(taken, F_GETFD) < 0, 0);          /* nor was it closed */
        close(taken);
    }
    close(file);
    close_post(&p);
}

TEST(http_post, says_who_did_not_answer)
{
    struct http_peer p = {0};
    open_post(&p);
    http_peer_stop(&p);
    assert_err(send_text("x"), SF_ERR_IO);
    assert_non_null(strstr(why.text, "127.0.0.1:"));
    sf_http_post_done(&post);
}

TEST(http_post, gives_up_at_its_deadline)
{
    struct http_peer p = {.answers = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}};
    open_post(&p);
    assert_err(sf_http_post_send(&post, sf_str_bytes(SF_STR("x")), false,
                                 sf_clock_mono_ns() + 50000000, &answer, &why),
               SF_ERR_DEADLINE);
    close_post(&p);
}

TEST(http_post, refuses_an_answer_that_is_not_http)
{
    struct http_peer p = {.answers = {"220 mail ready\r\n\r\nConnection: close"}};
    open_post(&p);
    assert_err(send_text("x"), SF_ERR_IO);
    assert_int_equal(post.peer.fd, -1);
    close_post(&p);
}
