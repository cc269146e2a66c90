#include "http_peer.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"

static size_t head_end(const struct sf_buf *b)
{
    const uint8_t *end = b->len ? memmem(b->p, b->len, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - b->p) + 4 : 0;
}

static uint64_t content_length(sf_str head)
{
    size_t at;
    uint64_t n = 0;
    if (!sf_str_find(head, SF_STR("Content-Length: "), &at))
        return 0;
    head = sf_str_from_at(head, at + 16);
    sf_str_find_char(head, '\r', &at);
    head.len = at;
    sf_str_to_u64(head, &n);
    return n;
}

/* One request; 0 when the other side disconnected. */
static int read_request(int fd, struct sf_buf *in)
{
    char piece[4096];
    sf_buf_reset(in);
    for (;;) {
        size_t head = head_end(in);
        ssize_t n;
        if (head && in->len >= head + content_length((sf_str){(char *)in->p, head}))
            return 1;
        n = read(fd, piece, sizeof(piece));
        if (n <= 0)
            return 0;
        sf_buf_add(in, piece, (size_t)n);
    }
}

static const char *note(struct http_peer *p, const struct sf_buf *in)
{
    size_t head = head_end(in);
    const char *answer;
    pthread_mutex_lock(&p->lock);
    sf_buf_reset(&p->head);
    sf_buf_reset(&p->body);
    sf_buf_add(&p->head, in->p, head);
    sf_buf_add(&p->body, in->p + head, in->len - head);
    answer = p->n_requests < HTTP_PEER_ANSWERS ? p->answers[p->n_requests] : NULL;
    p->n_requests++;
    pthread_cond_broadcast(&p->came);
    pthread_mutex_unlock(&p->lock);
    return answer ? answer : HTTP_PEER_OK;
}

struct visit {
    struct http_peer *p;
    int fd;
};

static void *serve(void *arg)
{
    struct visit v = *(struct visit *)arg;
    struct sf_buf in = {0};
    sf_heap_free(arg);
    while (read_request(v.fd, &in)) {
        const char *answer = note(v.p, &in);
        if (!*answer || send(v.fd, answer, strlen(answer), MSG_NOSIGNAL) < 0 ||
            strstr(answer, "Connection: close"))
            break;
    }
    shutdown(v.fd, SHUT_RDWR);
    sf_buf_done(&in);
    return NULL;
}

static void *run(void *arg)
{
    struct http_peer *p = arg;
    for (;;) {
        int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
        struct visit *v;
        if (fd < 0)
            return NULL;
        v = sf_heap_new(sizeof(*v));
        *v = (struct visit){p, fd};
        pthread_mutex_lock(&p->lock);
        if (p->n_connections == HTTP_PEER_CONNECTIONS || atomic_load(&p->is_over)) {
            close(fd);
            sf_heap_free(v);
        } else {
            p->fds[p->n_connections] = fd;
            pthread_create(&p->threads[p->n_connections++], NULL, serve, v);
        }
        pthread_mutex_unlock(&p->lock);
    }
}

void http_peer_start(struct http_peer *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(p->listener, (struct sockaddr *)&at, len))
        abort();
    listen(p->listener, 8);
    getsockname(p->listener, (struct sockaddr *)&at, &len);
    p->port = ntohs(at.sin_port);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->came, NULL);
    pthread_create(&p->thread, NULL, run, p);
}

void http_peer_stop(struct http_peer *p)
{
    atomic_store(&p->is_over, true);
    shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->listener);
    for (unsigned i = 0; i < p->n_connections; i++) {
        shutdown(p->fds[i], SHUT_RDWR);
        pthread_join(p->threads[i], NULL);
        close(p->fds[i]);
    }
    sf_buf_done(&p->head);
    sf_buf_done(&p->body);
}

int http_peer_wait(struct http_peer *p, unsigned n_requests)
{
    struct timespec until;
    int came;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&p->lock);
    while (p->n_requests < n_requests && !pthread_cond_timedwait(&p->came, &p->lock, &until))
        ;
    came = p->n_requests >= n_requests;
    pthread_mutex_unlock(&p->lock);
    return came;
}
