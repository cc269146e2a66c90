#include "cli/demo_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/demo_story.h"
#include "cli/services_command.h"
#include "cli/trace_command.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/port.h"

enum { N_PORTS = 4, PAGE = 2, N_REQUESTS = 5, TRACES_PER_REQUEST = 24, READY_MS = 30000 };

struct port {
    uint16_t usual, used;
    const char *what;
};

struct demo {
    char home[256]; /* temporary directory */
    char data[288], log[288], server[64], otlp[64];
    struct port ports[N_PORTS];
    struct sf_child child;
    struct sf_demo_story story;
    bool is_once, is_kept;
};

/* ---- the server ---- */

static bool choose_ports(struct demo *d)
{
    static const struct port usual[N_PORTS] = {{4317, 0, "OTLP gRPC"},
                                               {4318, 0, "OTLP HTTP"},
                                               {4040, 0, "API, Pyroscope's port"},
                                               {3200, 0, "Tempo's query API"}};
    memcpy(d->ports, usual, sizeof(usual));
    for (int i = 0; i < N_PORTS; i++) {
        struct port *p = &d->ports[i];
        p->used = sf_port_is_free(p->usual) ? p->usual : sf_port_find();
        if (!p->used)
            return false;
        if (p->used != p->usual)
            printf("Port %u is in use; %s is on %u instead.\n", p->usual, p->what, p->used);
    }
    snprintf(d->server, sizeof(d->server), "http://127.0.0.1:%u", d->ports[PAGE].used);
    snprintf(d->otlp, sizeof(d->otlp), "http://127.0.0.1:%u", d->ports[1].used);
    return true;
}

static enum sf_err start_server(struct demo *d, struct sf_why *why)
{
    char addresses[N_PORTS][32];
    const char *argv[4 + 2 * N_PORTS + 1] = {"spanflame", "serve", "--data", d->data};
    size_t n = 4;
    for (int i = 0; i < N_PORTS; i++) {
        snprintf(addresses[i], sizeof(addresses[i]), "127.0.0.1:%u", d->ports[i].used);
        argv[n++] = "--listen";
        argv[n++] = addresses[i];
    }
    argv[n] = NULL;
    return sf_child_start_self(argv, d->log, &d->child, why);
}

static enum sf_err wait_until_ready(struct demo *d, struct sf_why *why)
{
    struct sf_client client = {.server = d->server, .timeout_ns = 1000000000};
    struct sf_buf answer = {0};
    enum sf_err err = SF_ERR_DEADLINE;
    int code;
    for (unsigned ms = 0; ms < READY_MS && !sf_interrupt_is_set(); ms += 20) {
        err = sf_client_get(&client, "/ready", NULL, &answer, why);
        sf_buf_done(&answer);
        if (!err)
            return SF_OK;
        if (!sf_child_is_running(&d->child, &code))
            return sf_fail(why, SF_ERR_IO, "the server ended with code %d; its log is %s", code,
                           d->log);
        sf_clock_sleep_ms(20);
    }
    return err;
}

/* ---- the story ---- */

static enum sf_err tell(struct demo *d, uint32_t n_traces, uint64_t spread_ns, struct sf_why *why)
{
    struct sf_client client = {.server = d->otlp};
    struct sf_buf request = {0}, answer = {0};
    enum sf_err err;
    sf_demo_story_tell(&d->story, n_traces, (uint64_t)sf_clock_wall_ns(), spread_ns, &request);
    err = sf_buf_ok(&request) ? sf_client_post(&client, "/v1/traces", "application/x-protobuf",
                                               sf_buf_bytes(&request), &answer, why)
                              : sf_fail(why, SF_ERR_NOMEM, "no memory for the story");
    sf_buf_done(&request);
    sf_buf_done(&answer);
    return err;
}

static void heading(int number, const char *what, const char *command)
{
    printf("\n%d. %s\n   $ %s\n\n", number, what, command);
    fflush(stdout);
}

/* A step that comes out empty is a failure, so that `--once` proves something. */
static enum sf_err check_services(const struct demo *d, struct sf_why *why)
{
    struct sf_client client = {.server = d->server};
    struct sf_buf answer = {0};
    size_t at;
    enum sf_err err = sf_client_get(&client, "/api/v1/services", "application/json", &answer, why);
    if (!err && !sf_str_find(sf_buf_str(&answer), SF_STR("\"order-service\""), &at))
        err = sf_fail(why, SF_ERR_NOT_FOUND, "the services came out empty");
    sf_buf_done(&answer);
    return err;
}

static enum sf_err show(struct demo *d, struct sf_why *why)
{
    char command[160], id[33], server[80];
    char *services[] = {"services", server, NULL};
    char *trace[] = {"trace", id, server, NULL};
    enum sf_err err;

    snprintf(server, sizeof(server), "--server=%s", d->server);
    snprintf(command, sizeof(command), "spanflame services --server %s", d->server);
    heading(1, "What runs, how often, how slow, how broken", command);
    err = check_services(d, why);
    if (err)
        return err;
    if (sf_services_run(2, services) != 0)
        return sf_fail(why, SF_ERR_NOT_FOUND, "the services could not be shown");

    sf_trace_id_render(d->story.slowest, id);
    snprintf(command, sizeof(command), "spanflame trace %s --server %s", id, d->server);
    heading(2, "The slowest checkout: where it waited", command);
    if (sf_trace_run(3, trace) != 0)
        return sf_fail(why, SF_ERR_NOT_FOUND, "the slowest trace could not be shown");
    return SF_OK;
}

static enum sf_err play(struct demo *d, struct sf_why *why)
{
    enum sf_err err = start_server(d, why);
    if (!err)
        err = wait_until_ready(d, why);
    if (err)
        return err;
    printf("The server is ready: %s (data in %s)\n", d->server, d->data);
    for (int i = 0; i < N_REQUESTS && !err; i++)
        err = tell(d, TRACES_PER_REQUEST, UINT64_C(300000000000), why);
    if (err)
        return err;
    printf("Sent %u traces of a shop's checkout (%u spans, %u failed) over OTLP to %s; all are on "
           "disk.\n",
           d->story.n_traces, d->story.n_spans, d->story.n_errors, d->otlp);
    return show(d, why);
}

static void stay(struct demo *d)
{
    struct sf_why why;
    int code;
    printf("\nThe server keeps running and the shop keeps selling. Try the commands above, send "
           "your own\n"
           "traces (OTEL_EXPORTER_OTLP_ENDPOINT=%s), and end it with Ctrl-C.\n",
           d->otlp);
    fflush(stdout);
    while (!sf_interrupt_is_set() && sf_child_is_running(&d->child, &code)) {
        (void)tell(d, 2, 1000000000,
                   &why); /* a refusal is the server's affair: the next round tries again */
        for (int i = 0; i < 20 && !sf_interrupt_is_set(); i++)
            sf_clock_sleep_ms(100);
    }
    printf("\nStopping.\n");
}

int sf_demo_run(int argc, char **argv)
{
    static struct demo d;
    uint64_t seed = 1;
    struct sf_flag flags[] = {
        {"once", SF_FLAG_BOOL, &d.is_once, NULL,
         "tell the story and exit; not 0 if any step came out empty"},
        {"keep", SF_FLAG_BOOL, &d.is_kept, NULL, "keep the data directory"},
        {"seed", SF_FLAG_U64, &seed, "N", "another story (default 1)"},
    };
    struct sf_args args = {
        .command = "demo",
        .usage = "[--once] [--keep] [--seed N]",
        .summary =
            "Start a server on an own data directory, send it a shop's traces and read them back.",
        .examples = "spanflame demo\nspanflame demo --once",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_why why = {0};
    enum sf_err err;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    sf_interrupt_watch();
    d.story.random = seed;
    err = sf_dir_make_temporary("spanflame-demo", d.home, sizeof(d.home), &why);
    if (!err && !choose_ports(&d))
        err = sf_fail(&why, SF_ERR_BUSY, "no free ports on 127.0.0.1");
    snprintf(d.data, sizeof(d.data), "%s/data", d.home);
    snprintf(d.log, sizeof(d.log), "%s/server.log", d.home);
    if (!err)
        err = play(&d, &why);
    if (!err && !d.is_once)
        stay(&d);
    sf_child_stop(&d.child, 10000);
    if (err)
        fprintf(stderr, "spanflame demo: %s\n", sf_interrupt_is_set() ? "interrupted" : why.text);
    if (d.is_kept || (err && !sf_interrupt_is_set()))
        printf("The data stays in %s\n", d.home);
    else if (d.home[0])
        (void)sf_dir_delete_tree(d.home, NULL);
    return err ? 1 : 0;
}
