#include "cli/demo_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "cli/demo_bar.h"
#include "cli/demo_score.h"
#include "cli/demo_server.h"
#include "cli/demo_shop.h"
#include "cli/demo_steps.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/dir.h"

enum {
    UPLOAD_MS = 6000, /* time for the last profiles to be uploaded */
    MAX_RATE = 200,
    MAX_SECONDS = 3600
};

struct demo {
    char home[256]; /* temporary directory */
    struct sf_demo_server server;
    struct sf_demo_shop shop;
    struct sf_demo_switches switches;
    struct sf_demo_bar bar;
    const char *off;
    uint64_t seconds; /* seconds that the shop runs before the steps */
    bool is_once, is_kept;
    bool is_told; /* all steps were run */
};

/* ---- the steps ---- */

/* Lets the shop run for a while, with a countdown on a terminal. */
static enum sf_err sell(struct demo *d, uint64_t seconds, const char *commit, struct sf_why *why)
{
    bool is_watched = isatty(STDERR_FILENO);
    enum sf_err err = SF_OK;
    printf("Running the shop for %" PRIu64 " s with order-service at commit %s.\n", seconds,
           commit);
    fflush(stdout);
    sf_demo_bar_tell(&d->bar, "running the shop before the first step");
    for (uint64_t left = seconds * 10; left && !err && !sf_child_interrupt_is_set(); left--) {
        if (is_watched && left % 10 == 0)
            fprintf(stderr, "\r%4" PRIu64 " s ", left / 10);
        if (!is_watched && left % 100 == 0 && left != seconds * 10) {
            printf("%" PRIu64 " s left.\n", left / 10);
            fflush(stdout);
        }
        sf_clock_sleep_ms(100);
        err = sf_demo_shop_check(&d->shop, why);
        if (!err)
            err = sf_demo_bar_turn(&d->bar, why);
    }
    if (is_watched)
        fprintf(stderr, "\r       \r");
    if (!err && sf_child_interrupt_is_set())
        err = sf_fail(why, SF_ERR_CANCELLED, "interrupted");
    return err;
}

/* While a step runs, requests of the demo bar are not processed. */
static void inspect_bar(void *arg)
{
    struct demo *d = arg;
    struct sf_why why = {0};
    if (sf_demo_bar_turn(&d->bar, &why))
        fprintf(stderr, "spanflame demo: %s\n", why.text);
}

static void print_ready(const struct demo *d)
{
    const struct sf_demo_server *s = &d->server;
    printf("The server is ready: %s (data in %s)\n", s->page, s->data);
    if (!s->listen)
        return;
    if (s->token[0])
        printf("Other machines can reach it; it requires this token:\n    %s\n"
               "For the commands below: export SPANFLAME_TOKEN=%s\n",
               s->token, s->token);
    else if (s->is_open)
        printf("Everyone who can reach this machine can read and change it.\n");
}

static enum sf_err open_all(struct demo *d, struct sf_why *why)
{
    size_t at;
    enum sf_err err;
    printf("Starting a server.\n");
    fflush(stdout);
    d->server.home = d->home;
    err = sf_demo_server_start(&d->server, why);
    if (err)
        return err;
    print_ready(d);
    fflush(stdout);
    err = sf_demo_switches_open(&d->switches, d->home, why);
    if (err)
        return err;
    d->shop.home = d->home;
    d->shop.otlp = d->server.otlp;
    d->shop.token = d->server.token;
    d->shop.switches = d->switches.path;
    err = sf_demo_shop_open(&d->shop, "abc123", why);
    if (!err && !d->shop.has_python) {
        printf("python3 is not installed: the shop runs without its service in Python.\n");
        if (sf_demo_switch_problem_find(SF_STR("python"), &at))
            err = sf_demo_switches_set(&d->switches, at, true, why);
    }
    return err;
}

static enum sf_err play(struct demo *d, struct sf_why *why)
{
    struct sf_demo_sale sale = {0};
    enum sf_err err = open_all(d, why);
    if (err)
        return err;
    d->bar = (struct sf_demo_bar){
        .server = d->server.url, .shop = &d->shop, .switches = &d->switches, .doing = ""};
    d->bar.started_ms = sf_clock_wall_ns() / SF_NS_PER_MS;
    sale.from_s = d->bar.started_ms / 1000;
    err = sell(d, d->seconds - d->seconds / 2, "abc123", why);
    if (!err)
        err = sf_demo_bar_deploy(&d->bar, "def456", why);
    if (!err)
        err = sell(d, d->seconds / 2, "def456", why);
    sale.until_s = sf_clock_wall_ns() / SF_NS_PER_S;
    if (err)
        return err;
    if (d->is_once)
        sf_demo_shop_close(&d->shop); /* its last profiles are sent */
    else
        sf_clock_sleep_ms(UPLOAD_MS);
    struct sf_demo_story story = {.server = d->server.url,
                                  .page = d->server.page,
                                  .is_all_planted = sf_demo_switches_are_all_on(&d->switches),
                                  .between = d->is_once ? NULL : inspect_bar,
                                  .arg = d};
    err = sf_demo_steps_tell(&story, why);
    sf_demo_score_tell(d->server.url, &d->switches, sale);
    d->is_told = true;
    return err;
}

static void stay(struct demo *d)
{
    struct sf_why why;
    printf("\nThe page is at %s; its bar switches problems while the shop\n"
           "sells. Try the commands above, send your own traces\n"
           "(OTEL_EXPORTER_OTLP_ENDPOINT=%s), and end it with Ctrl-C.\n",
           d->server.page, d->server.otlp);
    fflush(stdout);
    sf_demo_bar_tell(&d->bar, "");
    while (!sf_child_interrupt_is_set() && sf_demo_server_is_running(&d->server)) {
        if (sf_demo_shop_check(&d->shop, &why) || sf_demo_bar_turn(&d->bar, &why)) {
            fprintf(stderr, "spanflame demo: %s\n", why.text);
            break;
        }
        sf_clock_sleep_ms(100);
    }
    printf("\nStopping.\n");
}

int sf_demo_command_run(int argc, char **argv)
{
    static struct demo d = {.seconds = 40, .shop = {.rate = 20, .seed = 1}};
    struct sf_flag flags[] = {
        {"once", SF_FLAG_BOOL, &d.is_once, NULL,
         "run all steps once and exit; the exit code is not 0 if a step finds nothing"},
        {"keep", SF_FLAG_BOOL, &d.is_kept, NULL, "keep the data directory"},
        {"load", SF_FLAG_U64, &d.shop.rate, "N", "orders per second (default 20)"},
        {"seconds", SF_FLAG_U64, &d.seconds, "N",
         "seconds of load before the first step, half with each commit (default 40)"},
        {"seed", SF_FLAG_U64, &d.shop.seed, "N", "number of the first order (default 1)"},
        {"off", SF_FLAG_STR, &d.off, "A,B",
         "problems to leave out: regex, json, serialiser, n+1, lock, allocation, database, "
         "legacy, regression, failure, leak, python, or all"},
        {"listen", SF_FLAG_STR, &d.server.listen, "HOST[:PORT]",
         "address of the page (default 127.0.0.1:4040); an address that other machines can reach "
         "requires a token, which is printed"},
        {"allow-public-without-auth", SF_FLAG_BOOL, &d.server.is_open, NULL,
         "accept requests from other machines without a token"},
    };
    struct sf_args args = {
        .command = "demo",
        .usage =
            "[--once] [--keep] [--load N] [--seconds N] [--seed N] [--off A,B] [--listen HOST]",
        .summary = "Start a server and a small shop with planted problems, and find them.",
        .details = "The shop is four services in C with libspanflame, one in Python where there is "
                   "a python3, a supplier and a shopper, "
                   "all on loopback, with twelve problems planted in them. It then explains one "
                   "slow order, runs ten queries, each printed with its command, and ends with a "
                   "table of planted cost, measured cost and findings; demo/README.md shows the "
                   "code of every problem. The page has a bar that "
                   "switches problems on and off and deploys a bad commit. Ports in use are "
                   "replaced by free ones, except one given with --listen.",
        .examples = "spanflame demo\nspanflame demo --once\nspanflame demo --off all --once\n"
                    "spanflame demo --listen 0.0.0.0",
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
    sf_child_interrupt_watch();
    if (!d.shop.rate || d.shop.rate > MAX_RATE || d.seconds < 2 || d.seconds > MAX_SECONDS)
        return sf_answer_usage("demo", "--load is 1 to 200, --seconds 2 to 3600");
    if (sf_demo_switches_read(&d.switches, d.off, &why))
        return sf_answer_usage("demo", why.text);
    if (d.server.listen && !sf_demo_server_knows(d.server.listen))
        return sf_answer_usage("demo", "--listen is HOST or HOST:PORT, such as 0.0.0.0:4040; an "
                                       "IPv6 address stands in brackets");
    err = sf_dir_make_temporary("spanflame-demo", d.home, sizeof(d.home), &why);
    if (!err)
        err = play(&d, &why);
    if (err && d.is_told && !d.is_once)
        fprintf(stderr, "spanflame demo: %s\n", why.text);
    if (d.is_told && !d.is_once) {
        stay(&d);
        err = SF_OK;
    }
    sf_demo_bar_close(&d.bar);
    sf_demo_shop_close(&d.shop);
    sf_demo_server_stop(&d.server);
    sf_demo_switches_close(&d.switches);
    if (err)
        fprintf(stderr, "spanflame demo: %s\n",
                sf_child_interrupt_is_set() ? "interrupted" : why.text);
    if (d.is_kept || (err && !sf_child_interrupt_is_set()))
        printf("The data stays in %s\n", d.home);
    else if (d.home[0])
        (void)sf_dir_delete_tree(d.home, NULL);
    return err ? 1 : 0;
}
