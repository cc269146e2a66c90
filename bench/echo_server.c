/* echo_server.c - the listener with nothing behind it, for other people's load tools.
 *
 *     echo_server PORT [CERT KEY [CLIENT_CA]]
 *
 * Answers every request with its own body; GET /big with 1 MiB of text, GET /stream in 100 pieces
 * from another thread, POST /refuse with 403 before the body. Runs until its input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listen/listener.h"
#include "os/clock.h"
#include "os/thread.h"

static bool on_headers(void *arg, struct sf_exchange *ex)
{
    struct sf_response *r = sf_exchange_response(ex);

    (void)arg;
    if (!sf_str_eq(sf_exchange_request(ex)->path, SF_STR("/refuse")))
        return true;
    r->status = 403;
    r->grpc_status = SF_GRPC_PERMISSION_DENIED;
    r->content_type = "text/plain";
    sf_buf_add_str(&r->body, SF_STR("no\n"));
    return false;
}

static void stream_pieces(void *arg)
{
    struct sf_exchange *ex = arg;
    struct sf_buf piece = {0};

    for (int i = 0; i < 100; i++) {
        enum sf_err err;
        sf_buf_reset(&piece);
        sf_buf_print(&piece, "piece %d\n", i);
        while ((err = sf_exchange_stream(ex, &piece, NULL)) == SF_ERR_BUSY)
            (void)sf_exchange_stream_wait(ex, sf_clock_mono_ns() + 1000000000);
        if (err)
            break;
    }
    sf_buf_done(&piece);
    sf_exchange_finish(ex);
}

static void on_request(void *arg, struct sf_exchange *ex)
{
    const struct sf_request *q = sf_exchange_request(ex);
    const struct sf_exchange_body *body = sf_exchange_body(ex);
    struct sf_response *r = sf_exchange_response(ex);
    struct sf_thread thread;
    uint8_t *to;
    size_t n = 0;

    (void)arg;
    r->status = 200;
    r->content_type = "text/plain";
    if (sf_str_eq(q->path, SF_STR("/stream"))) {
        if (sf_thread_start(&thread, "streamer", 0, stream_pieces, ex, NULL) == SF_OK) {
            pthread_detach(thread.handle);
            return;
        }
    } else if (sf_str_eq(q->path, SF_STR("/big"))) {
        while (r->body.len < 1u << 20)
            sf_buf_print(&r->body, "%zu bottles of beer on the wall\n", r->body.len);
    } else if (body->len <= 1u << 26 && (to = sf_buf_take(&r->body, (size_t)body->len))) {
        if (sf_exchange_body_read(ex, 0, to, (size_t)body->len, &n, NULL) || n != body->len)
            r->status = 500;
    }
    sf_exchange_finish(ex);
}

static void on_fault(void *arg, enum sf_listen_fault kind, const char *reason, const char *peer)
{
    (void)kind;
    (void)arg;
    fprintf(stderr, "fault: %s (%s)\n", reason, peer);
}

int main(int argc, char **argv)
{
    struct sf_listen_tls tls = {argc > 3 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL,
                                argc > 4 ? argv[4] : NULL};
    uint64_t port = 0;
    struct sf_listen_address address = {.host = "127.0.0.1", .tls = argc > 3 ? &tls : NULL};
    struct sf_listen_config config = {
        .addresses = &address,
        .n_addresses = 1,
        .n_loops = 1,
        .spool_path = "/tmp",
        .hooks = {.on_headers = on_headers, .on_request = on_request, .on_fault = on_fault},
    };
    struct sf_listener *l = NULL;
    struct sf_why why = {""};
    char c;

    if (argc < 2 || !sf_str_to_u64(sf_str_from(argv[1]), &port) || port > 65535) {
        fprintf(stderr, "usage: echo_server PORT [CERT KEY [CLIENT_CA]]\n");
        return 2;
    }
    address.port = (uint16_t)port;
    if (sf_listener_start(&config, &l, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    printf("listening on 127.0.0.1:%u\n", sf_listener_port(l, 0));
    fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    sf_listener_drain(l, 5000);
    sf_listener_free(l);
    return 0;
}
