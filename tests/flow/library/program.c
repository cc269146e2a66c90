/* A program that uses libspanflame in every way the flow test requests: program STORY. Prints what
 * the test compares, exits 0 when its own expectations hold. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spanflame.h>

#define MUST(what) ((what) ? (void)0 : (fprintf(stderr, "line %d: %s\n", __LINE__, #what), exit(3)))

static void print_counters(void)
{
    sf_counters c = {.size = sizeof(c)};
    char problem[240];
    sf_counters_read(&c);
    sf_problem(problem, sizeof(problem));
    printf("queued %llu sent %llu dropped %llu lost %llu refused %llu problem %s\n",
           (unsigned long long)c.spans_queued, (unsigned long long)c.spans_sent,
           (unsigned long long)c.spans_dropped, (unsigned long long)c.spans_lost,
           (unsigned long long)c.spans_refused, problem);
    fflush(stdout);
}

static void nest(void)
{
    sf_span outer = sf_span_start("outer"), inner;
    sf_span_set_str(outer, "http.route", "/cart");
    inner = sf_span_start("inner");
    sf_span_event(inner, "cache miss");
    sf_span_set_status(inner, SF_STATUS_ERROR, "no such item");
    sf_span_end(inner);
    sf_span_end(outer);
}

static void *job(void *arg)
{
    sf_span given = *(sf_span *)arg;
    sf_span before = sf_activate(given);
    sf_span_end(sf_span_start("in the worker"));
    sf_span_end(given);
    sf_activate(before);
    return NULL;
}

static void hand_over(void)
{
    pthread_t threads[8];
    sf_span jobs[8], root = sf_span_start("root");
    for (int i = 0; i < 8; i++) {
        jobs[i] = sf_span_start_with(
            "job", &(sf_span_options){.size = sizeof(sf_span_options), .flags = SF_SPAN_DETACHED});
        MUST(!pthread_create(&threads[i], NULL, job, &jobs[i]));
    }
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    MUST(sf_current() == root);
    sf_span_end(root);
}

static void fork_children(void)
{
    sf_span root = sf_span_start("parent");
    for (int i = 0; i < 3; i++) {
        int status;
        pid_t child = fork();
        if (!child) {
            sf_span_end(sf_span_start("child"));
            exit(0); /* flushes by itself */
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    sf_span_end(root);
}

static void close_all(void)
{
    int fd;
    sf_span_end(sf_span_start("before"));
    MUST(sf_flush(20000) == 0);
    MUST(close_range(3, ~0u, 0) == 0);
    fd = open("/dev/null", O_RDWR); /* takes the exporter's number */
    MUST(fd == 3);
    sf_span_end(sf_span_start("after"));
    MUST(sf_flush(20000) == 0);
    MUST(fcntl(fd, F_GETFD) >= 0);
}

/* More than the outbox holds: none of it may wait for the server. */
static void pour(void)
{
    char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    for (int i = 0; i < 10000; i++) {
        sf_span s = sf_span_start("drop");
        sf_span_set_str(s, "text", text);
        errno = 42;
        sf_span_end(s);
        MUST(errno == 42);
    }
}

int main(int argc, char **argv)
{
    const char *story = argc > 1 ? argv[1] : "";
    MUST(sf_start(NULL) == 0);
    if (!strcmp(story, "nest"))
        nest();
    else if (!strcmp(story, "hand-over"))
        hand_over();
    else if (!strcmp(story, "fork"))
        fork_children();
    else if (!strcmp(story, "close-all"))
        close_all();
    else if (!strcmp(story, "pour"))
        pour();
    else
        return 2;
    if (strcmp(story, "pour") != 0)
        MUST(sf_flush(20000) == 0);
    print_counters();
    return 0;
}
