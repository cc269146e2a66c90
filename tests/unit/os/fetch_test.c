#include "os/fetch.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "os/thread.h"
#include "test.h"

/* A server that answers by path, one connection after the other, until it is told /end. */
struct peer {
    struct sf_thread thread;
    int fd;
    unsigned port;
    char last[4096]; /* request */
};

static const char *answer_to(const char *request)
{
    static char near[200];
    if (strstr(request, " /ok"))
        return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    if (strstr(request, " /far"))
        return "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:9/ok\r\nContent-Length: 0\r\n"
               "Connection: close\r\n\r\n";
    if (strstr(request, " /near") || strstr(request, " /round")) {
        snprintf(near, sizeof(near),
                 "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n"
                 "Connection: close\r\n\r\n",
                 strstr(request, " /near") ? "/ok" : "/round");
        return near;
    }
    if (strstr(request, " /gone"))
        return "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone";
    return "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

static void run_peer(void *arg)
{
    struct peer *p = arg;
    bool is_over = false;
    while (!is_over) {
        int one = accept(p->fd, NULL, NULL);
        size_t len = 0;
        const char *answer;
        p->last[0] = 0;
        while (len + 1 < sizeof(p->last) && !strstr(p->last, "\r\n\r\n")) {
            ssize_t n = read(one, p->last + len, sizeof(p->last) - 1 - len);
            if (n <= 0)
                break;
            len += (size_t)n;
            p->last[len] = 0;
        }
        answer = answer_to(p->last);
        is_over = strstr(p->last, " /end") != NULL;
        assert_true(write(one, answer, strlen(answer)) > 0);
        close(one);
    }
}

static void start_peer(struct peer *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    p->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(p->fd >= 0);
    assert_int_equal(bind(p->fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(p->fd, 8), 0);
    assert_int_equal(getsockname(p->fd, (struct sockaddr *)&at, &len), 0);
    p->port = ntohs(at.sin_port);
    assert_int_equal(sf_thread_start(&p->thread, "peer", 0, run_peer, p, NULL), 0);
}

struct got {
    struct sf_buf body;
    enum sf_err err;
    bool is_done;
};

static enum sf_err take(void *arg, const void *p, size_t len, struct sf_why *why)
{
    struct got *g = arg;
    sf_buf_add(&g->body, p, len);
    return sf_buf_ok(&g->body) ? SF_OK : sf_fail(why, SF_ERR_LIMIT, "too long");
}

static enum sf_err ask(struct peer *p, const char *path, unsigned max_moves, struct got *g,
                       struct sf_why *why)
{
    char url[200];
    struct sf_fetch f = {.url = url,
                         .bearer = "secret",
                         .connect_ns = 10 * SF_NS_PER_S,
                         .whole_ns = 60 * SF_NS_PER_S,
                         .max_moves = max_moves,
                         .take = take,
                         .arg = g};
    snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", p->port, path);
    memset(why, 0, sizeof(*why));
    return sf_fetch_run(&f, why);
}

TEST(fetch, follows_redirects_to_the_same_server_only)
{
    struct peer p = {0};
    struct got g = {0};
    struct sf_why why;
    start_peer(&p);
    assert_int_equal(ask(&p, "/ok", 0, &g, &why), 0);
    assert_true(sf_str_eq(sf_buf_str(&g.body), SF_STR("hello")));
    sf_buf_reset(&g.body);
    assert_int_equal(ask(&p, "/near", 3, &g, &why), 0);
    assert_true(sf_str_eq(sf_buf_str(&g.body), SF_STR("hello")));
    sf_buf_reset(&g.body);
    assert_int_equal(ask(&p, "/near", 0, &g, &why), SF_ERR_IO);
    assert_int_equal(ask(&p, "/far", 3, &g, &why), SF_ERR_IO);
    assert_non_null(strstr(why.text, "another server"));
    assert_int_equal(ask(&p, "/round", 3, &g, &why), SF_ERR_IO);
    assert_non_null(strstr(why.text, "more than 3 redirects"));
    assert_int_equal(ask(&p, "/gone", 3, &g, &why), SF_ERR_NOT_FOUND);
    assert_int_equal(g.body.len, 0); /* what comes with an error is not kept */
    g.body.max = 4;
    assert_int_equal(ask(&p, "/ok", 3, &g, &why), SF_ERR_LIMIT);
    assert_int_equal(ask(&p, "/end", 0, &g, &why), SF_ERR_IO);
    sf_thread_join(&p.thread);
    assert_non_null(strstr(p.last, "Authorization: Bearer secret\r\n"));
    close(p.fd);
    sf_buf_done(&g.body);
}

static void done(void *arg, enum sf_err err, const struct sf_why *why)
{
    struct got *g = arg;
    (void)why;
    g->err = err;
    g->is_done = true;
}

TEST(fetch, makes_several_requests_at_once)
{
    static const char *const paths[] = {"/ok", "/near", "/gone", "/far"};
    struct peer p = {0};
    struct got g[5] = {0};
    struct sf_fetches *s = sf_fetches_new();
    struct sf_why why;
    start_peer(&p);
    for (size_t i = 0; i < 4; i++) {
        char url[200];
        struct sf_fetch f = {.url = url, .max_moves = 2, .take = take, .arg = &g[i]};
        snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", p.port, paths[i]);
        assert_int_equal(sf_fetches_start(s, &f, done, NULL), 0);
    }
    while (sf_fetches_n(s))
        sf_fetches_step(s, SF_NS_PER_S);
    assert_int_equal(g[0].err, SF_OK);
    assert_int_equal(g[1].err, SF_OK);
    assert_int_equal(g[1].body.len, 5);
    assert_int_equal(g[2].err, SF_ERR_NOT_FOUND);
    assert_int_equal(g[3].err, SF_ERR_IO);
    for (size_t i = 0; i < 4; i++) {
        assert_true(g[i].is_done);
        sf_buf_done(&g[i].body);
    }
    sf_fetches_free(s);
    assert_int_equal(ask(&p, "/end", 0, &g[4], &why), SF_ERR_IO);
    sf_thread_join(&p.thread);
    close(p.fd);
}

TEST(fetch, calls_http_addresses_only)
{
    assert_int_equal(sf_fetch_check_url(SF_STR("http://127.0.0.1:8/a?b=c"), NULL), 0);
    assert_int_equal(sf_fetch_check_url(SF_STR("https://h"), NULL), 0);
    assert_int_equal(sf_fetch_check_url(SF_STR("file:///etc/passwd"), NULL), SF_ERR_INPUT);
    assert_int_equal(sf_fetch_check_url(SF_STR("http:///a"), NULL), SF_ERR_INPUT);
    assert_int_equal(sf_fetch_check_url(SF_STR("http://h/a b"), NULL), SF_ERR_INPUT);
    assert_int_equal(sf_fetch_check_url(SF_STR("http://h/\r\nX: y"), NULL), SF_ERR_INPUT);
}
