#include "cli/demo_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/client.h"
#include "cli/demo_score.h"
#include "cli/demo_shop.h"
#include "cli/demo_steps.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/port.h"

enum {
    N_PORTS = 4,
    PAGE = 2,
    READY_MS = 30000,
    UPLOAD_MS = 6000, /* profiles of the last seconds are under way */
    MAX_RATE = 200,
    MAX_SECONDS = 3600
};

struct port {
    uint16_t usual, used;
    const char *what;
};

struct demo {
    char home[256]; /* temporary directory */
    char data[288], log[288], server[64], otlp[64];
    struct port ports[N_PORTS];
    struct sf_child child;
    struct sf_demo_shop shop;
    uint64_t seconds; /* of selling before the story */
    bool is_once, is_kept;
    bool is_told; /* the story, to its end */
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
    /* Of a demo that stays for a day, every request is one that somebody may want to look at. */
    const char *argv[6 + 2 * N_PORTS + 1] = {
        "spanflame", "serve", "--data", d->data, "--set", "retention.detail_by_outcome=false"};
    size_t n = 6;
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
    struct sf_client client = {.server = d->server, .timeout_ns = SF_NS_PER_S};
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

/* Lets the shop sell for a while, with a countdown where somebody watches. */
static enum sf_err sell(struct demo *d, uint64_t seconds, const char *commit, struct sf_why *why)
{
    bool is_watched = isatty(STDERR_FILENO);
    enum sf_err err = SF_OK;
    printf("Selling for %" PRIu64 " s with order-service at commit %s.\n", seconds, commit);
    fflush(stdout);
    for (uint64_t left = seconds * 10; left && !err && !sf_interrupt_is_set(); left--) {
        if (is_watched && left % 10 == 0)
            fprintf(stderr, "\r%4" PRIu64 " s ", left / 10);
        sf_clock_sleep_ms(100);
        err = sf_demo_shop_check(&d->shop, why);
    }
    if (is_watched)
        fprintf(stderr, "\r       \r");
    if (!err && sf_interrupt_is_set())
        err = sf_fail(why, SF_ERR_CANCELLED, "interrupted");
    return err;
}

static enum sf_err play(struct demo *d, struct sf_why *why)
{
    enum sf_err err = start_server(d, why);
    if (!err)
        err = wait_until_ready(d, why);
    if (err)
        return err;
    printf("The server is ready: %s (data in %s)\n", d->server, d->data);
    d->shop.home = d->home;
    d->shop.otlp = d->otlp;
    err = sf_demo_shop_open(&d->shop, "abc123", why);
    if (!err)
        err = sell(d, d->seconds - d->seconds / 2, "abc123", why);
    if (!err)
        err = sf_demo_shop_deploy(&d->shop, "def456", why);
    if (!err)
        err = sell(d, d->seconds / 2, "def456", why);
    if (err)
        return err;
    if (d->is_once)
        sf_demo_shop_close(&d->shop); /* what it has measured is sent */
    else
        sf_clock_sleep_ms(UPLOAD_MS);
    err = sf_demo_steps_tell(d->server, !d->shop.off, why);
    sf_demo_score_tell(d->server, d->shop.off);
    d->is_told = true;
    return err;
}

static void stay(struct demo *d)
{
    struct sf_why why;
    int code;
    printf("\nThe page is at %s. The shop keeps selling; try the commands above, send your own\n"
           "traces (OTEL_EXPORTER_OTLP_ENDPOINT=%s), and end it with Ctrl-C.\n",
           d->server, d->otlp);
    fflush(stdout);
    while (!sf_interrupt_is_set() && sf_child_is_running(&d->child, &code)) {
        if (sf_demo_shop_check(&d->shop, &why)) {
            fprintf(stderr, "spanflame demo: %s\n", why.text);
            break;
        }
        sf_clock_sleep_ms(100);
    }
    printf("\nStopping.\n");
}

int sf_demo_run(int argc, char **argv)
{
    static struct demo d = {.seconds = 40, .shop = {.rate = 20, .seed = 1}};
    struct sf_flag flags[] = {
        {"once", SF_FLAG_BOOL, &d.is_once, NULL,
         "tell the story and exit; not 0 if any step came out empty"},
        {"keep", SF_FLAG_BOOL, &d.is_kept, NULL, "keep the data directory"},
        {"load", SF_FLAG_U64, &d.shop.rate, "N", "orders a second (default 20)"},
        {"seconds", SF_FLAG_U64, &d.seconds, "N",
         "sell this long before the story, half of it with each commit (default 40)"},
        {"seed", SF_FLAG_U64, &d.shop.seed, "N", "number of the first order (default 1)"},
        {"off", SF_FLAG_STR, &d.shop.off, "A,B",
         "leave these problems out: regex, json, serialiser, n+1, lock, allocation, database, "
         "legacy, regression, or all"},
    };
    struct sf_args args = {
        .command = "demo",
        .usage = "[--once] [--keep] [--load N] [--seconds N] [--seed N] [--off A,B]",
        .summary = "Start a server and a small shop with planted problems, and find them.",
        .details = "The shop is four services in C with libspanflame, a supplier and a shopper, "
                   "all on loopback, with nine problems planted in them. After a while one slow "
                   "order is explained, nine questions are asked, each with the command that asks "
                   "it again, and a table says what was planted, what was measured and what was "
                   "found; demo/README.md shows the code of every problem. Busy ports are replaced "
                   "by free ones.",
        .examples = "spanflame demo\nspanflame demo --once\nspanflame demo --off all --once",
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
    if (!d.shop.rate || d.shop.rate > MAX_RATE || d.seconds < 2 || d.seconds > MAX_SECONDS)
        return sf_answer_usage("demo", "--load is 1 to 200, --seconds 2 to 3600");
    err = sf_dir_make_temporary("spanflame-demo", d.home, sizeof(d.home), &why);
    if (!err && !choose_ports(&d))
        err = sf_fail(&why, SF_ERR_BUSY, "no free ports on 127.0.0.1");
    snprintf(d.data, sizeof(d.data), "%s/data", d.home);
    snprintf(d.log, sizeof(d.log), "%s/server.log", d.home);
    if (!err)
        err = play(&d, &why);
    if (err && d.is_told && !d.is_once)
        fprintf(stderr, "spanflame demo: %s\n", why.text);
    if (d.is_told && !d.is_once) {
        stay(&d);
        err = SF_OK;
    }
    sf_demo_shop_close(&d.shop);
    sf_child_stop(&d.child, 10000);
    if (err)
        fprintf(stderr, "spanflame demo: %s\n", sf_interrupt_is_set() ? "interrupted" : why.text);
    if (d.is_kept || (err && !sf_interrupt_is_set()))
        printf("The data stays in %s\n", d.home);
    else if (d.home[0])
        (void)sf_dir_delete_tree(d.home, NULL);
    return err ? 1 : 0;
}
