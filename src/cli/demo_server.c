#include "cli/demo_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/time_unit.h"
#include "cli/client.h"
#include "cli/demo_rules.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/host.h"
#include "os/own_names.h"
#include "os/port.h"
#include "os/text_file.h"
#include "wire/json.h"

enum { GRPC, OTLP, PAGE, TEMPO };
enum {
    READY_MS = 30000,
    STOP_MS = 10000,
    TOKEN_FILE_LEN = 4096,
    MAX_ARGS = 2 * SF_DEMO_PORTS + 10
};

/* ---- addresses ---- */

struct place {
    char host[256];
    uint16_t port; /* 0: not given */
};

static bool is_host(sf_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              strchr(".:-_", c)))
            return false;
    }
    return true;
}

static bool demo_server_read_place(const char *text, struct place *out)
{
    sf_str host = sf_str_from(text), port = SF_STR_NONE;
    uint64_t number = 0;
    size_t at;
    if (host.len && host.p[0] == '[') {
        if (!sf_str_find_char(host, ']', &at))
            return false;
        port = sf_str_from_at(host, at + 1);
        host = sf_str_part(host, 1, at - 1);
        if (port.len && port.p[0] != ':')
            return false;
        port = sf_str_from_at(port, 1);
        if (!port.len && text[at + 1])
            return false;
    } else if (sf_str_find_char(host, ':', &at)) {
        port = sf_str_from_at(host, at + 1);
        host = sf_str_part(host, 0, at);
        if (!port.len)
            return false;
    }
    if (!host.len || host.len >= sizeof(out->host) || !is_host(host))
        return false;
    if (port.len && (!sf_str_to_u64(port, &number) || number == 0 || number > 65535))
        return false;
    snprintf(out->host, sizeof(out->host), "%.*s", SF_STR_ARG(host));
    out->port = (uint16_t)number;
    return true;
}

bool sf_demo_server_knows(const char *listen)
{
    struct place place;
    return demo_server_read_place(listen, &place);
}

static bool choose_ports(struct sf_demo_server *s, const struct place *place)
{
    static const struct {
        uint16_t port;
        const char *what;
    } usual[SF_DEMO_PORTS] = {[GRPC] = {4317, "OTLP gRPC"},
                              [OTLP] = {4318, "OTLP HTTP"},
                              [PAGE] = {4040, "API, Pyroscope's port"},
                              [TEMPO] = {3200, "Tempo's query API"}};
    for (int i = 0; i < SF_DEMO_PORTS; i++) {
        if (i == PAGE && place->port) {
            s->ports[i] = place->port; /* a requested port is used or refused, never replaced */
            continue;
        }
        s->ports[i] = sf_port_is_free(usual[i].port) ? usual[i].port : sf_port_find();
        if (!s->ports[i])
            return false;
        if (s->ports[i] != usual[i].port)
            printf("Port %u is in use; %s is on %u instead.\n", usual[i].port, usual[i].what,
                   s->ports[i]);
    }
    return true;
}

/* The page's address may not include 127.0.0.1; every port of the server serves all calls, so the
 * demo's own calls then use another port. */
static void name_places(struct sf_demo_server *s, const struct place *place)
{
    struct sf_buf names = {0};
    sf_str rest, host = sf_str_from(place->host);
    bool is_six = strchr(place->host, ':') != NULL;
    snprintf(s->otlp, sizeof(s->otlp), "http://127.0.0.1:%u", s->ports[OTLP]);
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", s->ports[s->listen ? TEMPO : PAGE]);
    if (sf_host_is_any(place->host)) {
        sf_own_names_add(&names);
        rest = sf_buf_str(&names);
        if (sf_str_split_next(&rest, ' ', &host) && host.len)
            is_six = false;
    }
    snprintf(s->page, sizeof(s->page), "http://%s%.*s%s:%u", is_six ? "[" : "", SF_STR_ARG(host),
             is_six ? "]" : "", s->ports[PAGE]);
    sf_buf_done(&names);
}

/* ---- the token ---- */

static bool demo_server_read_token(sf_str text, struct sf_arena *req, sf_str *out_token,
                                   sf_str *out_line)
{
    struct sf_json j;
    sf_str key;
    sf_json_init(&j, text, req);
    if (!sf_json_object(&j))
        return false;
    while (sf_json_key(&j, &key)) {
        if (sf_str_eq(key, SF_STR("token")))
            *out_token = sf_json_str(&j);
        else if (sf_str_eq(key, SF_STR("line")))
            *out_line = sf_json_str(&j);
        else
            sf_json_skip(&j);
    }
    return sf_json_ok(&j) && out_token->len && out_line->len;
}

/* `spanflame token new` makes it: the file that the server reads keeps only a hash. */
static enum sf_err make_token(struct sf_demo_server *s, struct sf_dir *dir, struct sf_why *why)
{
    static const char *const argv[] = {
        "spanflame",          "token",    "new",  "--name", "demo", "--scopes",
        "read,write,control", "--output", "json", NULL};
    char made[320];
    struct sf_child maker = {0};
    struct sf_buf text = {0};
    struct sf_arena req = {0};
    sf_str token = SF_STR_NONE, line = SF_STR_NONE;
    int code = 0;
    enum sf_err err;
    snprintf(made, sizeof(made), "%s/token.json", s->home);
    err = sf_child_start_self(argv, made, &maker, why);
    for (unsigned ms = 0; !err && sf_child_is_running(&maker, &code) && ms < READY_MS; ms += 10)
        sf_clock_sleep_ms(10);
    sf_child_stop(&maker, STOP_MS);
    if (!err)
        err = sf_text_file_read(made, TOKEN_FILE_LEN, &text, why);
    if (!err && !sf_arena_init(&req, 1 << 20))
        err = sf_no_memory(why, "the token");
    if (!err && !demo_server_read_token(sf_buf_str(&text), &req, &token, &line))
        err = sf_fail(why, SF_ERR_IO, "no token could be made; see %s", made);
    if (!err)
        err = sf_dir_replace(dir, "tokens", sf_str_bytes(line), why);
    if (!err) {
        snprintf(s->token, sizeof(s->token), "%.*s", SF_STR_ARG(token));
        setenv("SPANFLAME_TOKEN", s->token, 1); /* for the commands that the demo runs */
        err = sf_dir_unlink(dir, "token.json", why);
    }
    sf_arena_done(&req);
    sf_buf_done(&text);
    return err;
}

/* ---- the server ---- */

static enum sf_err write_config(struct sf_dir *dir, struct sf_why *why)
{
    struct sf_buf text = {0};
    enum sf_err err;
    /* A demo keeps the samples of all requests: any of them may be opened. */
    sf_buf_print(&text, "memory: 512MiB\nretention: {detail_by_outcome: false}\n");
    sf_demo_rules_write(&text);
    err = sf_buf_ok(&text) ? sf_dir_replace(dir, "spanflame.yaml", sf_buf_bytes(&text), why)
                           : sf_no_memory(why, "the configuration");
    sf_buf_done(&text);
    return err;
}

static enum sf_err start_child(struct sf_demo_server *s, const struct place *place,
                               struct sf_why *why)
{
    char addresses[SF_DEMO_PORTS][300], config[320], tokens[340], hosts[300];
    const char *argv[MAX_ARGS] = {"spanflame", "serve", "--config", config, "--data", s->data};
    size_t n = 6;
    snprintf(config, sizeof(config), "%s/spanflame.yaml", s->home);
    snprintf(tokens, sizeof(tokens), "auth.token_file=%s/tokens", s->home);
    snprintf(hosts, sizeof(hosts), "server.hosts=%s", place->host);
    for (int i = 0; i < SF_DEMO_PORTS; i++) {
        const char *host = i == PAGE ? place->host : "127.0.0.1";
        bool is_six = strchr(host, ':') != NULL;
        snprintf(addresses[i], sizeof(addresses[i]), "%s%s%s:%u", is_six ? "[" : "", host,
                 is_six ? "]" : "", s->ports[i]);
        argv[n++] = "--listen";
        argv[n++] = addresses[i];
    }
    if (s->token[0]) {
        argv[n++] = "--set";
        argv[n++] = tokens;
    } else if (s->is_open && sf_host_is_public(place->host)) {
        argv[n++] = "--allow-public-without-auth";
        argv[n++] = "--set";
        argv[n++] = hosts;
    }
    argv[n] = NULL;
    return sf_child_start_self(argv, s->log, &s->child, why);
}

/* The last line of the log says why the server ended. */
static enum sf_err explain_end(const struct sf_demo_server *s, int code, struct sf_why *why)
{
    struct sf_buf text = {0};
    sf_str rest, line, last = SF_STR_NONE;
    if (!sf_text_file_read(s->log, 1 << 20, &text, NULL)) {
        rest = sf_buf_str(&text);
        while (sf_str_split_next(&rest, '\n', &line))
            last = line.len ? line : last;
    }
    sf_fail(why, SF_ERR_IO, "the server ended with code %d (%.*s); its log is %s", code,
            SF_STR_ARG(sf_str_part(last, 0, 200)), s->log);
    sf_buf_done(&text);
    return SF_ERR_IO;
}

static enum sf_err wait_until_ready(struct sf_demo_server *s, struct sf_why *why)
{
    struct sf_client client = {.server = s->url, .timeout_ns = SF_NS_PER_S};
    struct sf_buf answer = {0};
    enum sf_err err = SF_ERR_DEADLINE;
    int code;
    for (unsigned ms = 0; ms < READY_MS && !sf_child_interrupt_is_set(); ms += 20) {
        err = sf_client_get(&client, "/ready", NULL, &answer, why);
        sf_buf_done(&answer);
        if (!err)
            return SF_OK;
        if (!sf_child_is_running(&s->child, &code))
            return explain_end(s, code, why);
        sf_clock_sleep_ms(20);
    }
    return err;
}

enum sf_err sf_demo_server_start(struct sf_demo_server *s, struct sf_why *why)
{
    struct place place = {0};
    struct sf_dir *dir = NULL;
    enum sf_err err;
    if (!demo_server_read_place(s->listen ? s->listen : "127.0.0.1", &place))
        return sf_fail(why, SF_ERR_INPUT, "\"%s\" is not a HOST or HOST:PORT", s->listen);
    snprintf(s->data, sizeof(s->data), "%s/data", s->home);
    snprintf(s->log, sizeof(s->log), "%s/server.log", s->home);
    if (!choose_ports(s, &place))
        return sf_fail(why, SF_ERR_BUSY, "no free ports on 127.0.0.1");
    name_places(s, &place);
    err = sf_dir_open(s->home, SF_DIR_CREATE, &dir, why);
    if (!err && sf_host_is_public(place.host) && !s->is_open)
        err = make_token(s, dir, why);
    if (!err)
        err = write_config(dir, why);
    sf_dir_close(dir);
    if (!err)
        err = start_child(s, &place, why);
    return err ? err : wait_until_ready(s, why);
}

bool sf_demo_server_is_running(struct sf_demo_server *s)
{
    int code;
    return sf_child_is_running(&s->child, &code);
}

void sf_demo_server_stop(struct sf_demo_server *s)
{
    sf_child_stop(&s->child, STOP_MS);
}
