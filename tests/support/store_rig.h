/* store_rig.h - an embedded store in a temporary directory, batches of known content, and answers
 * collected for comparison. */
#pragma once
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/heap.h"
#include "model/batch_codec.h"
#include "model/profile_codec.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/thread.h"
#include "store/local/engine.h"
#include "store/local/local.h"
#include "support/otlp_make.h"
#include "support/temp_base.h"

struct store_rig {
    char path[128];
    struct sf_dir *dir;
    struct sf_store *store;
    struct sf_local_config config;
    struct sf_mutex lock; /* guards the two below */
    struct sf_condvar done;
    unsigned n_notices;
    char last_notice[400];
    struct sf_why why;
    struct sf_arena arena; /* answers; reset by the test */
    struct sf_query_ctx q;
    uint32_t tenant;
};

struct store_ticket {
    struct sf_ticket base;
    struct store_rig *rig;
    bool is_done;
};

static inline void store_notice(void *arg, const char *sentence)
{
    struct store_rig *r = arg;
    sf_mutex_lock(&r->lock);
    r->n_notices++;
    snprintf(r->last_notice, sizeof(r->last_notice), "%s", sentence);
    if (getenv("STORE_RIG_NOTICES"))
        fprintf(stderr, "# %s\n", sentence);
    sf_mutex_unlock(&r->lock);
}

/* A logged body back into rows; the request hash is its own. */
static inline enum sf_err store_replay(void *arg, const struct sf_logged *rec,
                                       struct sf_batch **out, struct sf_why *why)
{
    struct sf_batch *b = sf_batch_new((size_t)1 << 30);
    struct sf_span_batch *spans;
    struct sf_profile_batch *profiles = NULL;
    sf_bytes body = rec->body;
    uint8_t *copy;
    enum sf_err err;
    (void)arg;
    if (!b)
        return sf_fail(why, SF_ERR_NOMEM, "rig: no memory");
    copy = sf_arena_raw(&b->arena, body.len + 1, 16);
    spans = sf_arena_new(&b->arena, sizeof(*spans));
    memcpy(copy, body.p, body.len);
    if (rec->kind == SF_LOG_PROFILES) {
        profiles = sf_arena_new(&b->arena, sizeof(*profiles));
        err = sf_profile_codec_decode((sf_bytes){copy, body.len}, &b->arena, profiles, why);
    } else {
        err = sf_batch_codec_decode((sf_bytes){copy, body.len}, &b->arena, spans, why);
    }
    if (err) {
        sf_batch_free(b);
        return err;
    }
    b->log = *rec;
    b->log.body = (sf_bytes){copy, body.len};
    b->spans = profiles ? NULL : spans;
    b->profiles = profiles;
    if (rec->meta.len == 8)
        memcpy(&b->dup_hash, rec->meta.p, 8);
    *out = b;
    return SF_OK;
}

static inline void store_rig_dir(struct store_rig *r)
{
    if (sf_dir_open(r->path, SF_DIR_CREATE, &r->dir, &r->why))
        abort();
    r->config.dir = r->dir;
}

/* No threads: flush and compaction run when the test reports it. */
static inline void store_rig_init_in(struct store_rig *r, const char *base)
{
    memset(r, 0, sizeof(*r));
    snprintf(r->path, sizeof(r->path), "%s/sf_store.XXXXXX", base);
    sf_mutex_init(&r->lock, SF_LOCK_APART);
    sf_condvar_init(&r->done);
    if (!mkdtemp(r->path) || !sf_arena_init(&r->arena, (size_t)2 << 30))
        abort();
    r->tenant = 1;
    r->q = (struct sf_query_ctx){.tenants = &r->tenant, .n_tenants = 1, .req = &r->arena};
    r->config = (struct sf_local_config){
        .replay = store_replay,
        .notice = store_notice,
        .notice_arg = r,
        .n_writers = 2,
        .retention = {.min_free_len = 1},
        .tuning = {.has_no_threads = true, .segment_len = 1 << 20, .seal_gap_ns = 1},
    };
    store_rig_dir(r);
}

static inline void store_rig_init(struct store_rig *r)
{
    store_rig_init_in(r, temp_base());
}

static inline enum sf_err store_rig_open(struct store_rig *r)
{
    return sf_local_open_store(&r->config, &r->store, &r->why);
}

static inline void store_rig_close(struct store_rig *r)
{
    sf_store_local_ops.close(r->store);
    r->store = NULL;
}

static inline struct sf_local *store_rig_local(struct store_rig *r)
{
    return (struct sf_local *)r->store;
}

static inline void store_rig_remove(const char *path)
{
    DIR *list = opendir(path);
    struct dirent *e;
    while (list && (e = readdir(list))) {
        char sub[700];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(sub, sizeof(sub), "%.400s/%.255s", path, e->d_name);
        if (lstat(sub, &st) == 0 && S_ISDIR(st.st_mode))
            store_rig_remove(sub);
        else
            unlink(sub);
    }
    if (list)
        closedir(list);
    rmdir(path);
}

static inline void store_rig_done(struct store_rig *r)
{
    store_rig_close(r);
    sf_dir_close(r->dir);
    store_rig_remove(r->path);
    sf_arena_done(&r->arena);
    sf_condvar_done(&r->done);
    sf_mutex_done(&r->lock);
}

static inline void store_ticket_done(struct sf_ticket *t)
{
    struct store_ticket *own = (struct store_ticket *)t;
    sf_mutex_lock(&own->rig->lock);
    own->is_done = true;
    sf_condvar_wake_all(&own->rig->done);
    sf_mutex_unlock(&own->rig->lock);
}

static inline enum sf_err store_ticket_wait(struct store_ticket *t)
{
    sf_mutex_lock(&t->rig->lock);
    while (!t->is_done)
        sf_condvar_wait(&t->rig->done, &t->rig->lock);
    sf_mutex_unlock(&t->rig->lock);
    return t->base.result;
}

/* The spans as a batch of their own: encoded for the log, and decoded again for the rows. */
static inline struct sf_batch *store_batch(struct store_rig *r, uint32_t tenant,
                                           const struct sf_span_batch *spans, uint64_t dup_hash,
                                           int64_t recv_ns)
{
    struct sf_buf body = {0};
    struct sf_logged rec = {.kind = SF_LOG_BATCH, .tenant = tenant, .recv_ns = recv_ns};
    struct sf_batch *b = NULL;
    uint8_t *meta;
    sf_batch_codec_encode(spans, &body);
    rec.body = sf_buf_bytes(&body);
    if (!sf_buf_ok(&body) || store_replay(NULL, &rec, &b, &r->why))
        abort();
    sf_buf_done(&body);
    meta = sf_arena_raw(&b->arena, 8, 8);
    memcpy(meta, &dup_hash, 8);
    b->log.meta = (sf_bytes){meta, 8};
    b->dup_hash = dup_hash;
    return b;
}

/* Appends and waits for the acknowledgement. */
static inline enum sf_err store_put_batch(struct store_rig *r, unsigned writer, struct sf_batch *b)
{
    struct store_ticket t = {.base = {.done = store_ticket_done}, .rig = r};
    enum sf_err err = r->store->ops->append(r->store, writer, &b, &t.base, &r->why);
    if (err) {
        sf_batch_free(b);
        return err;
    }
    return store_ticket_wait(&t);
}

static inline enum sf_err store_put(struct store_rig *r, unsigned writer, uint32_t tenant,
                                    const struct sf_span_batch *spans, uint64_t dup_hash)
{
    int64_t recv = r->config.tuning.wall_ns ? r->config.tuning.wall_ns() : sf_clock_wall_ns();
    return store_put_batch(r, writer, store_batch(r, tenant, spans, dup_hash, recv));
}

struct store_answer { /* rows of a cursor, copied (shallow views into the rig's arena) */
    struct sf_span *spans;
    struct sf_resource *resources;
    uint32_t *tenants;
    uint32_t n, cap;
    enum sf_err err;
    bool is_exact;
};

static inline sf_str store_copy(struct store_rig *r, sf_str s)
{
    sf_str out;
    if (!sf_arena_copy(&r->arena, s, &out))
        abort();
    return out;
}

static inline struct sf_attrs store_copy_attrs(struct store_rig *r, struct sf_attrs a)
{
    struct sf_attr *list = sf_arena_new_n(&r->arena, a.n + 1, sizeof(*list));
    for (uint32_t i = 0; i < a.n; i++) {
        list[i] = a.list[i];
        list[i].key = store_copy(r, list[i].key);
        if (list[i].val.type == SF_VALUE_STR || list[i].val.type >= SF_VALUE_BYTES)
            list[i].val.str = store_copy(r, list[i].val.str);
    }
    return (struct sf_attrs){list, a.n};
}

static inline struct sf_span store_copy_span(struct store_rig *r, struct sf_span s)
{
    struct sf_event *events = sf_arena_new_n(&r->arena, s.n_events + 1, sizeof(*events));
    struct sf_link *links = sf_arena_new_n(&r->arena, s.n_links + 1, sizeof(*links));
    s.name = store_copy(r, s.name);
    s.status_msg = store_copy(r, s.status_msg);
    s.trace_state = store_copy(r, s.trace_state);
    s.attrs = store_copy_attrs(r, s.attrs);
    for (uint32_t i = 0; i < s.n_events; i++) {
        events[i] = s.events[i];
        events[i].name = store_copy(r, events[i].name);
        events[i].attrs = store_copy_attrs(r, events[i].attrs);
    }
    for (uint32_t i = 0; i < s.n_links; i++) {
        links[i] = s.links[i];
        links[i].trace_state = store_copy(r, links[i].trace_state);
        links[i].attrs = store_copy_attrs(r, links[i].attrs);
    }
    s.events = events;
    s.links = links;
    return s;
}

static inline struct store_answer store_drain(struct store_rig *r, struct sf_span_cursor *c)
{
    struct store_answer a = {0};
    struct sf_span_rows rows;
    while (c->next(c, &rows)) {
        for (uint32_t i = 0; i < rows.n_rows; i++) {
            if (a.n == a.cap) {
                uint32_t cap = a.cap ? a.cap * 2 : 64;
                a.spans = sf_arena_grow(&r->arena, a.spans, a.cap * sizeof(*a.spans),
                                        cap * sizeof(*a.spans));
                a.resources = sf_arena_grow(&r->arena, a.resources, a.cap * sizeof(*a.resources),
                                            cap * sizeof(*a.resources));
                a.tenants = sf_arena_grow(&r->arena, a.tenants, a.cap * sizeof(*a.tenants),
                                          cap * sizeof(*a.tenants));
                a.cap = cap;
                if (!a.spans || !a.resources || !a.tenants)
                    abort();
            }
            a.spans[a.n] = store_copy_span(r, sf_span_rows_get(&rows, i));
            if (rows.resource) {
                struct sf_resource res = rows.resources[rows.resource[i]];
                res.attrs = store_copy_attrs(r, res.attrs);
                res.service = store_copy(r, res.service);
                a.resources[a.n] = res;
            }
            a.tenants[a.n] = rows.tenant;
            a.n++;
        }
    }
    a.err = c->err;
    a.is_exact = r->q.is_exact;
    c->close(c);
    return a;
}

static inline struct store_answer store_trace(struct store_rig *r, uint32_t tenant, sf_trace_id id)
{
    struct sf_span_cursor *c;
    r->tenant = tenant;
    enum sf_err err = sf_store_trace(r->store, id, &r->q, &c, &r->why);
    if (err)
        return (struct store_answer){.err = err};
    return store_drain(r, c);
}

/* Runs `run` in a process of its own that ends without closing anything. */
static inline void store_in_crashing_process(struct store_rig *r, void (*run)(struct store_rig *r))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        run(r);
        _exit(42);
    }
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 42)
        abort();
}

/* Do these bytes occur in any file below the directory? */
static inline bool store_has_bytes(const char *path, const void *needle, size_t len)
{
    DIR *list = opendir(path);
    struct dirent *e;
    bool is_found = false;
    while (list && !is_found && (e = readdir(list))) {
        char sub[700];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(sub, sizeof(sub), "%.400s/%.255s", path, e->d_name);
        if (lstat(sub, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            is_found = store_has_bytes(sub, needle, len);
        } else if (st.st_size > 0) {
            FILE *f = fopen(sub, "rb");
            char *all = malloc((size_t)st.st_size);
            size_t got = f && all ? fread(all, 1, (size_t)st.st_size, f) : 0;
            is_found = memmem(all, got, needle, len) != NULL;
            if (is_found)
                fprintf(stderr, "# found in %s\n", sub);
            free(all);
            if (f)
                fclose(f);
        }
    }
    if (list)
        closedir(list);
    return is_found;
}
