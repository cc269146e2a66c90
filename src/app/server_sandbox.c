#include "app/server_sandbox.h"

#include <string.h>

#include "os/own_profiler.h"
#include "os/sandbox.h"
#include "scrape/scrape_job.h"

static enum sf_err allow_certificates(struct sf_sandbox *box, const struct sf_config *c,
                                      struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < c->n_addresses; i++) {
        const struct sf_listen_tls *tls = c->addresses[i].tls;
        if (!tls)
            continue;
        err = sf_sandbox_read(box, tls->cert_file, why);
        if (!err)
            err = sf_sandbox_read(box, tls->key_file, why);
        if (!err)
            err = sf_sandbox_read(box, tls->client_ca_file, why);
    }
    return err;
}

static enum sf_err allow_scraping(struct sf_sandbox *box, const struct sf_scrape_jobs *jobs,
                                  struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < jobs->n; i++) {
        const struct sf_scrape_job *job = &jobs->list[i];
        const sf_str files[] = {job->token_file, job->ca_file, job->cert_file, job->key_file};
        for (size_t k = 0; !err && k < sizeof(files) / sizeof(files[0]); k++)
            err = sf_sandbox_read(box, files[k].p, why);
        for (size_t k = 0; !err && k < job->file_sd.n; k++)
            err = sf_sandbox_read(box, job->file_sd.list[k].p, why);
    }
    return err;
}

static enum sf_err allow_files(struct sf_sandbox *box, const struct sf_config *c,
                               struct sf_why *why)
{
    char library[SF_LIBRARY_PATH_CAP];
    enum sf_err err = sf_sandbox_read(box, c->auth.token_file, why);
    if (!err)
        err = sf_sandbox_read(box, c->auth.users_file, why);
    if (!err)
        err = sf_sandbox_read(box, c->limits.overrides_file, why);
    if (!err)
        err = sf_sandbox_read(box, c->page.source_folder, why);
    if (!err)
        err = sf_sandbox_read(box, c->store.remote.ca_file, why);
    if (!err) /* the configuration is read again at SIGHUP, for alert rules */
        err = sf_sandbox_read(box, c->file, why);
    for (size_t i = 0; !err && i < c->alerts.rules_files.n; i++)
        err = sf_sandbox_read(box, c->alerts.rules_files.items[i], why);
    if (!err && c->scrape)
        err = allow_scraping(box, c->scrape, why);
    if (!err) /* its own program file, to symbolize the server's own profiles */
        err = sf_sandbox_read(box, "/proc/self/exe", why);
    if (!err && sf_own_profiler_library(library))
        err = sf_sandbox_read(box, library, why);
    return err ? err : allow_certificates(box, c, why);
}

enum sf_err sf_server_sandbox_enter(const struct sf_config *c, struct sf_log *log,
                                    struct sf_why *why)
{
    struct sf_sandbox box = {.write = {c->data_dir}, .n_write = 1};
    struct sf_sandbox_state state;
    enum sf_err err;
    if (!c->has_sandbox) {
        sf_log_print(log, SF_SAY_INFO, "server: sandbox: off (server.sandbox)");
        return SF_OK;
    }
    sf_sandbox_usual(&box);
    err = allow_files(&box, c, why);
    if (err)
        return err;
    sf_sandbox_enter(&box, &state);
    sf_log_print(log, SF_SAY_INFO, "server: sandbox: files %s%s, calls %s%s",
                 state.has_files ? "on (Landlock)" : "off: ",
                 state.has_files ? "" : strerror(state.files_err),
                 state.has_calls ? "on (seccomp)" : "off: ",
                 state.has_calls ? "" : strerror(state.calls_err));
    return SF_OK;
}
