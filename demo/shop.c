#include "shop.h"

#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "shop_http.h"

enum { N_WORKERS = 6 };

static struct {
    const char *service;
    const struct shop_route *routes;
    size_t n_routes;
    int listener;
    atomic_int n_busy; /* requests being answered */
    atomic_bool is_over;
} shop;

/* ---- switches ---- */

/* The parent's file: records of 16 bytes, a name padded with zeros and '1' or '0' in the last byte,
 * which the parent changes at any time. Mapped once: checking a switch only reads memory. */
enum { SWITCH_LEN = 16, MAX_SWITCHES = 64 };

static const volatile char *map_switches(size_t *out_n)
{
    const char *path = getenv("SHOP_SWITCHES");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat about;
    void *mapped = MAP_FAILED;
    if (fd >= 0 && !fstat(fd, &about) && about.st_size >= SWITCH_LEN) {
        *out_n = (size_t)about.st_size / SWITCH_LEN;
        if (*out_n > MAX_SWITCHES)
            *out_n = MAX_SWITCHES;
        mapped = mmap(NULL, *out_n * SWITCH_LEN, PROT_READ, MAP_SHARED, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static struct {
    pthread_once_t once;
    const volatile char *list; /* NULL: there is no file; $SHOP_OFF is used */
    size_t n;
} switches = {.once = PTHREAD_ONCE_INIT};

static void find_switches(void)
{
    switches.list = map_switches(&switches.n);
}

static bool has_by_environment(const char *problem)
{
    const char *off = getenv("SHOP_OFF");
    size_t len = strlen(problem);
    if (!off)
        return true;
    while (*off) {
        size_t word = strcspn(off, ",");
        if ((word == len && !strncmp(off, problem, len)) || (word == 3 && !strncmp(off, "all", 3)))
            return false;
        off += word + (off[word] == ',');
    }
    return true;
}

bool shop_has(const char *problem)
{
    pthread_once(&switches.once, find_switches);
    if (!switches.list)
        return has_by_environment(problem);
    for (size_t i = 0; i < switches.n; i++) {
        const volatile char *one = switches.list + i * SWITCH_LEN;
        /* The names never change, so they need not be read as volatile. */
        if (!strncmp((const char *)(uintptr_t)one, problem, SWITCH_LEN - 1))
            return one[SWITCH_LEN - 1] == '1';
    }
    return true;
}

static uint16_t port_of(const char *name)
{
    const char *text = getenv(name);
    return text ? (uint16_t)strtoul(text, NULL, 10) : 0;
}

/* ---- calling other services ---- */

void shop_say(char answer[SHOP_ANSWER_CAP], const char *sentence)
{
    snprintf(answer, SHOP_ANSWER_CAP, "%s", sentence);
}

int shop_call(const char *service, const char *method, const char *path, long order,
              char answer[SHOP_ANSWER_CAP])
{
    char name[96], variable[64], head[512], traceparent[SF_TRACEPARENT_CAP] = "";
    sf_span_options options = {.size = sizeof(options), .kind = SF_KIND_CLIENT};
    sf_context here;
    sf_span span;
    int fd, len, status = -1;
    uint64_t asked;
    uint16_t port;

    snprintf(variable, sizeof(variable), "SHOP_%.40s_PORT", service);
    for (char *p = variable; *p; p++)
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    port = port_of(variable);
    snprintf(name, sizeof(name), "%s %s", method, service);
    span = sf_span_start_with(name, &options);
    sf_span_set_str(span, "http.request.method", method);
    sf_span_set_str(span, "url.path", path);
    sf_span_set_str(span, "server.address", "127.0.0.1");
    sf_span_set_int(span, "server.port", port);
    if (!sf_span_context(span, &here))
        sf_traceparent(&here, traceparent);

    len = snprintf(head, sizeof(head),
                   "%s %s?order=%ld HTTP/1.1\r\nHost: 127.0.0.1\r\ntraceparent: %s\r\n"
                   "Content-Length: 0\r\nConnection: close\r\n\r\n",
                   method, path, order, traceparent);
    asked = shop_now_us();
    /* When a version ends, connections that it has not accepted yet are lost: these requests are
     * repeated. */
    for (int i = 0; i < 2 && status < 0; i++) {
        fd = shop_http_connect(port);
        if (fd < 0)
            continue;
        shop_http_write(fd, head, (size_t)len);
        asked = shop_now_us();
        if (shop_http_read(fd, answer, SHOP_ANSWER_CAP))
            sscanf(answer, "HTTP/1.%*d %d", &status);
        close(fd);
    }
    /* The measured wait, for comparison with the profile, as for the lock in inventory.c. */
    sf_span_set_int(span, "shop.answer_wait_us", (int64_t)(shop_now_us() - asked));
    if (status > 0)
        sf_span_set_int(span, "http.response.status_code", status);
    if (status < 0 || status >= 500)
        sf_span_set_status(span, SF_STATUS_ERROR, status < 0 ? "no answer" : "the service failed");
    sf_span_end(span);
    return status;
}

/* ---- answering ---- */

static const struct shop_route *find_route(const char *method, const char *path)
{
    for (size_t i = 0; i < shop.n_routes; i++) {
        if (!strcmp(shop.routes[i].method, method) && !strcmp(shop.routes[i].path, path))
            return &shop.routes[i];
    }
    return NULL;
}

static int handle(const struct shop_route *route, const char *request, long order,
                  char answer[SHOP_ANSWER_CAP])
{
    char name[96], traceparent[SF_TRACEPARENT_CAP];
    sf_span_options options = {.size = sizeof(options), .kind = SF_KIND_SERVER};
    struct shop_request r = {.order = order};
    sf_context caller;
    int status;

    if (shop_http_header(request, "traceparent", traceparent, sizeof(traceparent)) &&
        !sf_context_parse(traceparent, NULL, &caller))
        options.remote = &caller;
    snprintf(name, sizeof(name), "%s %s", route->method, route->path);
    r.span = sf_span_start_with(name, &options);
    sf_span_set_str(r.span, "http.request.method", route->method);
    sf_span_set_str(r.span, "http.route", route->path);
    sf_span_set_int(r.span, "shop.order", order);
    status = route->handle(&r, answer);
    sf_span_set_int(r.span, "http.response.status_code", status);
    if (status >= 500)
        sf_span_set_status(r.span, SF_STATUS_ERROR, answer);
    sf_span_end(r.span);
    return status;
}

static void serve_one(int fd, char answer[SHOP_ANSWER_CAP])
{
    char request[SHOP_HEAD_CAP], method[8] = "", path[64] = "", head[128];
    const struct shop_route *route;
    int status = 404, len;
    long order = 0;

    if (!shop_http_read(fd, request, sizeof(request)))
        return;
    shop_say(answer, "no such page\n");
    sscanf(request, "%7s %63[^? ]?order=%ld", method, path, &order);
    route = find_route(method, path);
    if (route)
        status = handle(route, request, order, answer);
    else if (!strcmp(path, "/health")) {
        status = 200;
        shop_say(answer, "ok\n");
    }
    len = snprintf(head, sizeof(head),
                   "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
                   status < 400 ? "OK" : "Not well", strlen(answer));
    shop_http_write(fd, head, (size_t)len);
    shop_http_write(fd, answer, strlen(answer));
}

static void *work(void *arg)
{
    char *answer = malloc(SHOP_ANSWER_CAP);
    struct timeval patience = {.tv_sec = 5};
    while (answer && !atomic_load(&shop.is_over)) {
        int fd = accept(shop.listener, NULL, NULL);
        if (fd < 0)
            continue;
        atomic_fetch_add(&shop.n_busy, 1);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        serve_one(fd, answer);
        close(fd);
        atomic_fetch_sub(&shop.n_busy, 1);
    }
    free(answer);
    return arg;
}

int shop_serve(const char *service, const struct shop_route *routes, size_t n_routes)
{
    pthread_t worker;
    sigset_t ends;
    int which;
    char why[200];

    shop.service = service;
    shop.routes = routes;
    shop.n_routes = n_routes;
    shop.listener = shop_http_listen(port_of("SHOP_PORT"));
    if (shop.listener < 0) {
        perror(service);
        return 1;
    }
    /* Worker threads inherit the mask: only this thread receives SIGTERM and SIGINT. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (sf_start(service)) {
        sf_problem(why, sizeof(why));
        fprintf(stderr, "%s: %s\n", service, why);
    }
    for (int i = 0; i < N_WORKERS; i++) {
        if (pthread_create(&worker, NULL, work, NULL))
            return 1;
        pthread_detach(worker);
    }
    sigwait(&ends, &which);
    /* Accepted requests are answered; new connections go to the next version on this port, if there
     * is one. */
    atomic_store(&shop.is_over, true);
    shutdown(shop.listener, SHUT_RD);
    for (int ms = 0; ms < 3000 && atomic_load(&shop.n_busy); ms += 10)
        shop_sleep_us(10000);
    sf_stop();
    return 0;
}
