#include "cli/demo_shop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os/beside.h"
#include "os/clock.h"
#include "os/port.h"
#include "os/program.h"

enum { STOP_MS = 8000, READY_MS = 15000, MAX_ENV = 24 };

static const struct {
    const char *program, *variable;
} parts[SF_DEMO_PARTS] = {
    [SF_DEMO_SUPPLIER] = {"shop_supplier", "SHOP_SUPPLIER_PORT"},
    [SF_DEMO_INVENTORY] = {"shop_inventory", "SHOP_INVENTORY_PORT"},
    [SF_DEMO_PRICING] = {"shop_pricing", "SHOP_PRICING_PORT"},
    [SF_DEMO_RECOMMEND] = {"recommend.py", "SHOP_RECOMMEND_PORT"},
    [SF_DEMO_ORDER] = {"shop_order_service", "SHOP_ORDER_SERVICE_PORT"},
    [SF_DEMO_GATEWAY] = {"shop_gateway", "SHOP_GATEWAY_PORT"},
    [SF_DEMO_SHOPPER] = {"shop_shopper", NULL},
};

static enum sf_err find_programs(struct sf_demo_shop *s, struct sf_why *why)
{
    static const char *const places[] = {"/demo/shop_gateway",
                                         "/../libexec/spanflame/shop_gateway"};
    if (!sf_beside_find(places, 2, s->programs, sizeof(s->programs)))
        return sf_fail(why, SF_ERR_NOT_FOUND,
                       "the shop's programs are neither in %s/demo nor in %s/../libexec/spanflame; "
                       "`make` builds and `make install` installs them",
                       s->programs, s->programs);
    *strrchr(s->programs, '/') = '\0';
    return SF_OK;
}

static enum sf_err demo_shop_start(struct sf_demo_shop *s, enum sf_demo_part part,
                                   const char *commit, struct sf_why *why)
{
    char headers[192], program[640], log[400], ports[SF_DEMO_PARTS][8], own[8], rate[24], seed[24],
        resource[96];
    const char *argv[] = {program, NULL, NULL, NULL};
    struct sf_child_env env[MAX_ENV];
    size_t n = 0;

    snprintf(program, sizeof(program), "%s/%s", s->programs, parts[part].program);
    snprintf(log, sizeof(log), "%s/%s.log", s->home, parts[part].program);
    if (part == SF_DEMO_RECOMMEND) {
        argv[0] = "/usr/bin/env";
        argv[1] = "python3";
        argv[2] = program;
    }
    for (int i = 0; i < SF_DEMO_SHOPPER; i++) {
        if (!s->ports[i])
            continue;
        snprintf(ports[i], sizeof(ports[i]), "%u", s->ports[i]);
        env[n++] = (struct sf_child_env){parts[i].variable, ports[i]};
    }
    snprintf(own, sizeof(own), "%u", s->ports[part]);
    snprintf(rate, sizeof(rate), "%" PRIu64, s->rate);
    snprintf(seed, sizeof(seed), "%" PRIu64, s->seed);
    snprintf(resource, sizeof(resource), "commit=%s,service.version=%s,deployment.environment=demo",
             commit, commit);
    env[n++] = (struct sf_child_env){"SHOP_PORT", own};
    env[n++] = (struct sf_child_env){"SHOP_HOME", s->home};
    env[n++] = (struct sf_child_env){"SHOP_COMMIT", commit};
    env[n++] = (struct sf_child_env){"SHOP_RATE", rate};
    env[n++] = (struct sf_child_env){"SHOP_SEED", seed};
    env[n++] = (struct sf_child_env){"SHOP_SWITCHES", s->switches};
    if (s->token[0]) {
        snprintf(headers, sizeof(headers), "Authorization=Bearer%%20%s", s->token);
        env[n++] = (struct sf_child_env){"OTEL_EXPORTER_OTLP_HEADERS", headers};
    }
    env[n++] = (struct sf_child_env){"OTEL_RESOURCE_ATTRIBUTES", resource};
    env[n++] = (struct sf_child_env){"OTEL_EXPORTER_OTLP_ENDPOINT", s->otlp};
    env[n++] = (struct sf_child_env){"SPANFLAME_PROFILES", "cpu,heap,mutex,block"};
    env[n++] = (struct sf_child_env){"SPANFLAME_SPAN_COST", "cpu,run_queue,waits"};
    env[n++] = (struct sf_child_env){"SPANFLAME_PROFILING_CPU_SAMPLE_RATE", "250"};
    env[n++] = (struct sf_child_env){"SPANFLAME_PROFILING_UPLOAD_INTERVAL", "2s"};
    /* The shop is profiled on small machines too, whatever the overhead. */
    env[n++] = (struct sf_child_env){"SPANFLAME_PROFILING_ADAPTIVE_BUDGET", "100%"};
    env[n++] = (struct sf_child_env){"SPANFLAME_PROFILING_LOAD_SHEDDING_ENABLED", "false"};
    /* It allocates little and leaks 32 KB an order: with a sample every 512 KB, 40 s give 50
     * samples. */
    if (part == SF_DEMO_PRICING)
        env[n++] = (struct sf_child_env){"SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE", "64KB"};
    return sf_child_start(argv, env, n, log, &s->parts[part], why);
}

static enum sf_err demo_shop_wait_for(struct sf_demo_shop *s, enum sf_demo_part part,
                                      struct sf_why *why)
{
    for (unsigned ms = 0; ms < READY_MS && !sf_child_interrupt_is_set(); ms += 20) {
        enum sf_err err = sf_demo_shop_check(s, why);
        if (err)
            return err;
        if (!sf_port_is_free(s->ports[part]))
            return SF_OK;
        sf_clock_sleep_ms(20);
    }
    return sf_fail(why, SF_ERR_DEADLINE, "%s does not listen on 127.0.0.1:%u", parts[part].program,
                   s->ports[part]);
}

static bool is_there(const struct sf_demo_shop *s, int part)
{
    return part != SF_DEMO_RECOMMEND || s->has_python;
}

enum sf_err sf_demo_shop_open(struct sf_demo_shop *s, const char *commit, struct sf_why *why)
{
    struct sf_program python;
    enum sf_err err = find_programs(s, why);
    sf_program_inspect("python3", &python);
    s->has_python = python.kind != SF_PROGRAM_UNKNOWN;
    for (int i = 0; !err && i < SF_DEMO_SHOPPER; i++) {
        if (!is_there(s, i))
            continue;
        s->ports[i] = sf_port_find();
        if (!s->ports[i])
            err = sf_fail(why, SF_ERR_BUSY, "no free ports on 127.0.0.1 for the shop");
    }
    for (int i = 0; !err && i < SF_DEMO_SHOPPER; i++)
        if (is_there(s, i))
            err = demo_shop_start(s, (enum sf_demo_part)i, i == SF_DEMO_ORDER ? commit : "abc123",
                                  why);
    for (int i = 0; !err && i < SF_DEMO_SHOPPER; i++)
        if (is_there(s, i))
            err = demo_shop_wait_for(s, (enum sf_demo_part)i, why);
    if (!err)
        err = demo_shop_start(s, SF_DEMO_SHOPPER, commit, why);
    snprintf(s->commit, sizeof(s->commit), "%s", commit);
    return err;
}

enum sf_err sf_demo_shop_deploy(struct sf_demo_shop *s, const char *commit, struct sf_why *why)
{
    enum sf_err err;
    s->old_order = s->parts[SF_DEMO_ORDER];
    s->parts[SF_DEMO_ORDER] = (struct sf_child){0};
    err = demo_shop_start(s, SF_DEMO_ORDER, commit, why);
    sf_clock_sleep_ms(
        500); /* both share the port; the new process must listen before the old one ends */
    sf_child_stop(&s->old_order, STOP_MS);
    if (!err)
        snprintf(s->commit, sizeof(s->commit), "%s", commit);
    return err ? err : sf_demo_shop_check(s, why);
}

enum sf_err sf_demo_shop_check(struct sf_demo_shop *s, struct sf_why *why)
{
    int code;
    for (int i = 0; i < SF_DEMO_PARTS; i++) {
        if (s->parts[i].pid && !sf_child_is_running(&s->parts[i], &code))
            return sf_fail(why, SF_ERR_IO, "%s ended with code %d; its log is %s/%s.log",
                           parts[i].program, code, s->home, parts[i].program);
    }
    return SF_OK;
}

void sf_demo_shop_close(struct sf_demo_shop *s)
{
    sf_child_stop(&s->old_order, STOP_MS);
    for (int i = SF_DEMO_PARTS; i-- > 0;)
        sf_child_stop(&s->parts[i], STOP_MS);
}
