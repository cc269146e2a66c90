/* Traces and OTLP profiles are made fresh for every request. A pprof is compressed by its client,
 * which costs more than the server's whole work on it, so a stock of them is made before the first
 * is sent; each is sent again and again as another process's profile of another moment, which the
 * parameters say. */
#include "cargo.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "os/clock.h"
#include "support/otlp_make.h"
#include "support/profile_wire.h"
#include "wire/deflate.h"

enum { N_STOCK = 64, N_PROCESSES = 50 };

struct cargo {
    struct cargo_config config;
    struct sf_otlp_make traces;
    struct sf_profile_wire profiles;
    struct sf_deflate *gzip;
    struct sf_buf body, packed;
    struct sf_buf stock[N_STOCK];
    uint32_t services[N_STOCK]; /* whose profile each is */
    uint64_t n_sent;
    char path[256];
};

static uint32_t service_of(const struct cargo *c, uint64_t i)
{
    return (uint32_t)((c->config.number * 7 + i) % SF_PROFILE_WIRE_SERVICES);
}

static enum sf_err make_stock(struct cargo *c, struct sf_why *why)
{
    for (uint32_t i = 0; i < N_STOCK; i++) {
        enum sf_err err;
        c->profiles.service = c->services[i] = service_of(c, i);
        sf_buf_reset(&c->body);
        sf_profile_wire_pprof(&c->profiles, c->config.n_items, &c->body);
        if (!sf_buf_ok(&c->body))
            return sf_fail(why, SF_ERR_NOMEM, "no memory");
        err = sf_deflate_gzip(c->gzip, 1, sf_buf_bytes(&c->body), &c->stock[i], why);
        if (err)
            return err;
    }
    return SF_OK;
}

enum sf_err cargo_new(const struct cargo_config *config, struct cargo **out, struct sf_why *why)
{
    struct cargo *c = sf_heap_new(sizeof(*c));
    uint64_t seed = config->seed * 1000 + config->number;
    enum sf_err err = SF_OK;
    if (!c)
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    c->config = *config;
    c->gzip = sf_deflate_new();
    c->profiles = (struct sf_profile_wire){.rng = seed,
                                           .span_key = seed,
                                           .n_types = config->n_types,
                                           .own_frames = config->own_frames};
    sf_otlp_make_init(&c->traces, seed, (uint64_t)sf_clock_wall_ns());
    if (!c->gzip)
        err = sf_fail(why, SF_ERR_NOMEM, "no memory");
    if (!err && config->is_profiles && config->is_pprof)
        err = make_stock(c, why);
    if (err) {
        cargo_free(c);
        return err;
    }
    *out = c;
    return SF_OK;
}

void cargo_free(struct cargo *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < N_STOCK; i++)
        sf_buf_done(&c->stock[i]);
    sf_buf_done(&c->body);
    sf_buf_done(&c->packed);
    sf_deflate_free(c->gzip);
    sf_heap_free(c);
}

static void next_pprof(struct cargo *c, struct cargo_item *out)
{
    uint32_t at = (uint32_t)(c->n_sent % N_STOCK);
    int64_t now_ns = sf_clock_wall_ns();
    snprintf(c->path, sizeof(c->path),
             "/ingest?name=service-%u%%7B__session_id__%%3D%llx%%7D&format=pprof&spyName=gospy"
             "&sampleRate=100&from=%lld&until=%lld",
             c->services[at],
             (unsigned long long)(c->config.number * N_PROCESSES + c->n_sent % N_PROCESSES),
             (long long)(now_ns - INT64_C(10000000000)), (long long)now_ns);
    out->body = sf_buf_bytes(&c->stock[at]);
    out->path = c->path;
}

static void make_request(struct cargo *c, struct cargo_item *out)
{
    sf_buf_reset(&c->body);
    if (c->config.is_profiles) {
        c->profiles.service = service_of(c, c->n_sent);
        c->profiles.time_ns = sf_clock_wall_ns() - INT64_C(10000000000);
        sf_profile_wire_otlp(&c->profiles, c->config.n_items, &c->body);
        out->path = c->config.is_grpc ? "/opentelemetry.proto.collector.profiles.v1development."
                                        "ProfilesService/Export"
                                      : "/v1development/profiles";
    } else {
        c->traces.now_ns = (uint64_t)sf_clock_wall_ns();
        if (c->config.is_json)
            sf_otlp_make_request_json(&c->traces, c->config.n_items, &c->body, NULL);
        else
            sf_otlp_make_request(&c->traces, c->config.n_items, &c->body, NULL);
        out->path = c->config.is_grpc
                        ? "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
                        : "/v1/traces";
    }
    out->body = sf_buf_bytes(&c->body);
}

enum sf_err cargo_next(struct cargo *c, struct cargo_item *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (c->config.is_profiles && c->config.is_pprof) {
        next_pprof(c, out);
    } else {
        make_request(c, out);
        if (!sf_buf_ok(&c->body))
            return sf_fail(why, SF_ERR_NOMEM, "no memory");
        if (c->config.is_gzip || c->config.is_zstd) {
            sf_buf_reset(&c->packed);
            err = c->config.is_zstd ? sf_deflate_zstd(c->gzip, 1, false, out->body, &c->packed, why)
                                    : sf_deflate_gzip(c->gzip, 1, out->body, &c->packed, why);
            out->body = sf_buf_bytes(&c->packed);
        }
    }
    c->n_sent++;
    return err;
}
