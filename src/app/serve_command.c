#include "app/serve_command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/config.h"
#include "app/log.h"
#include "app/server.h"
#include "app/version.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/notify.h"
#include "os/terminal.h"
#include "os/thread.h"

static sigset_t handled_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Waits up to `ms` for a signal; 0: none came. */
static int next_signal(unsigned ms)
{
    sigset_t set = handled_signals();
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * SF_NS_PER_MS};
    int sig = sigtimedwait(&set, NULL, &wait);
    return sig > 0 ? sig : 0;
}

/* A second signal during the orderly stop ends the process at once. Everything acknowledged is in
 * the log on disk, which the next start replays. */
static void end_on_second_signal(__attribute__((unused)) void *arg)
{
    sigset_t set;
    int sig;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (sigwait(&set, &sig) == 0)
        _exit(1);
}

static struct sf_log *open_log(const struct sf_config *config)
{
    bool is_human = config->log.format == SF_FORMAT_HUMAN ||
                    (config->log.format == SF_FORMAT_AUTO && sf_terminal_is(STDERR_FILENO));
    return sf_log_new(STDERR_FILENO, is_human, is_human && sf_terminal_has_color(STDERR_FILENO),
                      (enum sf_say_level)config->log.level);
}

static void serve_command_reload(struct sf_server *server, struct sf_log *log,
                                 const struct sf_notify *manager)
{
    struct sf_why why = {0};
    char state[64];
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)(sf_clock_mono_ns() / SF_NS_PER_US));
    sf_notify_send(manager, state);
    if (sf_server_reload(server, &why))
        sf_log_print(log, SF_SAY_ERROR, "server: tokens were not reloaded: %s", why.text);
    else
        sf_log_print(log, SF_SAY_INFO, "server: tokens were reloaded");
    sf_notify_send(manager, "READY=1");
}

/* During the replay of the log, which takes seconds per gigabyte: extends the service manager's
 * start timeout. */
static void tell_starting(const struct sf_notify *manager, int64_t *told_ns)
{
    int64_t now_ns = sf_clock_mono_ns();
    if (now_ns - *told_ns < SF_NS_PER_S)
        return;
    *told_ns = now_ns;
    sf_notify_send(manager, "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=opening the store");
}

static void tell_ready(const struct sf_notify *manager, const char *addresses)
{
    char state[300];
    snprintf(state, sizeof(state), "READY=1\nSTATUS=serving %s", addresses);
    sf_notify_send(manager, state);
}

static void reload_limits(struct sf_server *server, struct sf_log *log, bool is_asked)
{
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    if (!sf_server_reload_limits(server, is_asked, &err, &why))
        return;
    if (err)
        sf_log_print(log, SF_SAY_ERROR, "server: limits of tenants were not reloaded: %s",
                     why.text);
    else
        sf_log_print(log, SF_SAY_INFO, "server: limits of tenants were reloaded");
}

/* Reloads alerts and scraping only: other changes of the configuration need a restart. */
static void reload_alerts(struct sf_server *server, struct sf_log *log,
                          const struct sf_config_flags *flags)
{
    struct sf_config *config = NULL;
    struct sf_why why = {0};
    if (sf_config_flags_load(flags, &config, &why)) {
        sf_log_print(log, SF_SAY_ERROR, "server: alerts and scraping were not reloaded: %s",
                     why.text);
    } else {
        sf_server_replace_alerts(server, config);
        sf_log_print(log, SF_SAY_INFO, "server: alerts and scraping were reloaded");
    }
    sf_config_free(config);
}

/* Runs until a signal stops the server. Returns the exit code. */
static int serve_command_watch(struct sf_server *server, struct sf_log *log,
                               const struct sf_config *config, const struct sf_config_flags *flags,
                               const struct sf_notify *manager)
{
    char data[SF_DIR_PATH_MAX];
    bool is_ready = false;
    int64_t started_ns = sf_clock_mono_ns(), told_ns = started_ns;
    for (;;) {
        enum sf_err err = SF_OK;
        struct sf_why why = {0};
        int sig = next_signal(is_ready ? 1000 : 20);
        if (sig == SIGTERM || sig == SIGINT) {
            sf_log_print(log, SF_SAY_INFO, "server: stopping (%s)",
                         sig == SIGTERM ? "SIGTERM" : "SIGINT");
            sf_notify_send(manager, "STOPPING=1\nSTATUS=writing what is in memory");
            /* During the replay nothing needs to be flushed: all data in memory is also in the
             * log. */
            if (!is_ready)
                _exit(0);
            return 0;
        }
        if (sig == SIGHUP) {
            serve_command_reload(server, log, manager);
            reload_alerts(server, log, flags);
        }
        reload_limits(server, log, sig == SIGHUP);
        if (!is_ready)
            tell_starting(manager, &told_ns);
        sf_log_tick(log, sf_clock_mono_ns());
        if (is_ready || !sf_server_is_open(server, &err, &why))
            continue;
        if (err) {
            sf_log_print(log, SF_SAY_ERROR, "%s", why.text);
            return 1;
        }
        is_ready = true;
        tell_ready(manager, sf_server_addresses(server));
        sf_log_print(log, SF_SAY_INFO, "spanflame %s is ready: %s data=%s (%lld ms)", sf_version(),
                     sf_server_addresses(server), sf_dir_full_path(config->data_dir, data),
                     (long long)((sf_clock_mono_ns() - started_ns) / SF_NS_PER_MS));
    }
}

static int serve(const struct sf_config *config, const struct sf_config_flags *flags,
                 struct sf_log *log)
{
    struct sf_server *server = NULL;
    struct sf_thread impatience = {0};
    struct sf_notify manager;
    struct sf_why why = {0};
    sigset_t set = handled_signals();
    sf_notify_open(&manager);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < config->warnings.n; i++)
        sf_log_print(log, SF_SAY_WARN, "config: %s", config->warnings.items[i]);
    if (config->other_signals == SF_OTHER_SIGNALS_DISCARD)
        sf_log_print(log, SF_SAY_INFO,
                     "server: traces and profiles are stored; OTLP metrics and logs are accepted, "
                     "counted and discarded (other_signals: reject refuses them)");
    if (sf_server_start(config, log, &server, &why)) {
        sf_log_print(log, SF_SAY_ERROR, "%s", why.text);
        sf_notify_close(&manager);
        return 1;
    }
    int code = serve_command_watch(server, log, config, flags, &manager);
    /* Not joined: it ends with the process, or ends the process itself. */
    (void)sf_thread_start(&impatience, "signals", 0, end_on_second_signal, NULL, NULL);
    sf_server_stop(server);
    sf_server_free(server);
    sf_notify_close(&manager);
    if (code == 0)
        sf_log_print(log, SF_SAY_INFO, "server: stopped");
    return code;
}

int sf_serve_command_run(int argc, char **argv)
{
    struct sf_config_flags flags;
    struct sf_args args = {
        .command = "serve",
        .usage = "[--data DIR] [--config FILE] [--listen HOST:PORT]...",
        .summary = "Run the server in the foreground.",
        .details =
            "It receives OTLP data and serves queries on every listening address, by default "
            "127.0.0.1 and ::1 on 4317, 4318, 4040 and 3200. --listen replaces these. Addresses "
            "that other machines can reach require auth.token_file, TLS client certificates or "
            "--allow-public-without-auth. SIGTERM shuts it down cleanly; SIGHUP reloads tokens, "
            "tenant limits, alert rules and scrape targets.",
        .examples = "spanflame serve --data /var/lib/spanflame\n"
                    "spanflame serve --listen 127.0.0.1:4319 --listen [::1]:4319\n"
                    "spanflame serve --config /etc/spanflame/spanflame.yaml --memory 512MB",
        .flags = flags.table,
        .n_flags = SF_CONFIG_N_FLAGS,
    };
    struct sf_config *config = NULL;
    struct sf_why why = {0};
    sf_config_flags_init(&flags);
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words) {
        fprintf(stderr, "spanflame serve: takes no arguments; did you mean --data %s?\n",
                args.words[0]);
        return 2;
    }
    if (sf_config_flags_load(&flags, &config, &why) ||
        sf_config_address_check_public(config, &why)) {
        fprintf(stderr, "spanflame serve: %s\n", why.text);
        sf_config_free(config);
        return 1;
    }
    struct sf_log *log = open_log(config);
    int code = log ? serve(config, &flags, log) : 1;
    sf_log_free(log);
    sf_config_free(config);
    return code;
}
