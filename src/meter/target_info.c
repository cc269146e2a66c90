#include "meter/target_info.h"

#include <string.h>

#include "base/heap.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "meter/dimension.h"
#include "meter/slack.h"
#include "os/thread.h"

enum { MAX_LABELS = 64, MAX_TEXT_LEN = 8192 };

static const int64_t stale_ns = (int64_t)SF_LIMIT_METER_STALE_MS * SF_NS_PER_MS;
static const int64_t slack_ns = (int64_t)SF_LIMIT_METER_SLACK_MS * SF_NS_PER_MS;

struct target {
    char *text; /* tenant, then labels; heap */
    uint32_t tenant_len, labels_len;
    uint64_t hash;
    int64_t seen_ns;
};

struct sf_target_info {
    uint32_t n_cap;
    struct sf_mutex mutex; /* guards what follows; no other lock is taken while it is held */
    struct target *list;
    uint32_t n;
    uint64_t n_over;
};

struct sf_target_info *sf_target_info_new(uint32_t max_targets)
{
    struct sf_target_info *t = sf_heap_new(sizeof(*t));
    if (!t)
        return NULL;
    t->n_cap = max_targets ? max_targets : SF_LIMIT_METER_TARGETS;
    t->list = sf_heap_new_n(t->n_cap, sizeof(*t->list));
    if (!t->list) {
        sf_heap_free(t);
        return NULL;
    }
    sf_mutex_init(&t->mutex, SF_LOCK_METER_TARGETS);
    return t;
}

void sf_target_info_free(struct sf_target_info *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->n; i++)
        sf_heap_free(t->list[i].text);
    sf_mutex_done(&t->mutex);
    sf_heap_free(t->list);
    sf_heap_free(t);
}

/* ---- one resource as labels ---- */

void sf_target_info_add_names(struct sf_buf *out, struct sf_attrs resource)
{
    struct sf_value space = sf_attrs_get(resource, SF_STR("service.namespace"));
    struct sf_value name = sf_attrs_get(resource, SF_STR("service.name"));
    struct sf_value instance = sf_attrs_get(resource, SF_STR("service.instance.id"));
    if (space.type == SF_VALUE_STR && space.str.len) {
        sf_dimension_add(out, &space);
        if (sf_buf_ok(out))
            out->p[out->len - 1] = '/'; /* replaces the zero byte */
    }
    sf_dimension_add(out, &name);
    sf_dimension_add(out, &instance);
}

static bool target_info_is_name(sf_str key)
{
    return sf_str_eq(key, SF_STR("service.name")) || sf_str_eq(key, SF_STR("service.namespace")) ||
           sf_str_eq(key, SF_STR("service.instance.id"));
}

static bool target_info_has_label(sf_str text, sf_str label)
{
    sf_str name, val;
    while (sf_str_split_next(&text, '\0', &name) && sf_str_split_next(&text, '\0', &val)) {
        if (sf_str_eq(name, label))
            return true;
    }
    return false;
}

static void target_info_add_label(struct sf_buf *out, const char *label)
{
    sf_buf_add_str(out, sf_str_from(label));
    sf_buf_add_u8(out, 0);
}

/* Empty when there are no attributes besides the names. Of two attributes that become the same
 * label the first is used, because a scraper refuses duplicate labels. */
static void target_info_make_labels(struct sf_attrs resource, struct sf_buf *out)
{
    static const char *const own[] = {"job", "instance", "tenant"};
    char label[SF_DIMENSION_LABEL_LEN];
    sf_buf_reset(out);
    uint32_t n = 0;
    for (uint32_t i = 0; i < resource.n && n < MAX_LABELS; i++) {
        const struct sf_attr *a = &resource.list[i];
        sf_dimension_label("", a->key, own, sizeof(own) / sizeof(own[0]), label);
        if (target_info_is_name(a->key) ||
            target_info_has_label(sf_buf_str(out), sf_str_from(label)))
            continue;
        size_t before = out->len;
        target_info_add_label(out, label);
        sf_dimension_add(out, &a->val);
        if (out->len > MAX_TEXT_LEN)
            out->len = before;
        else
            n++;
    }
    if (n == 0 || sf_attrs_str(resource, SF_STR("service.name")).len == 0) {
        sf_buf_reset(out);
        return;
    }
    struct sf_buf names = {0};
    sf_target_info_add_names(&names, resource);
    sf_str rest = sf_buf_str(&names), part;
    for (size_t i = 0; i < 2 && sf_str_split_next(&rest, '\0', &part); i++) {
        target_info_add_label(out, own[i]);
        sf_buf_add_str(out, part);
        sf_buf_add_u8(out, 0);
    }
    if (names.err)
        out->err = names.err;
    sf_buf_done(&names);
}

static bool target_info_add_resource(struct sf_target_tally *tally, struct sf_attrs resource,
                                     struct sf_buf *room, struct sf_arena *req)
{
    target_info_make_labels(resource, room);
    if (!sf_buf_ok(room))
        return false;
    if (room->len == 0)
        return true;
    struct sf_target *target = sf_arena_new(req, sizeof(*target));
    if (!target || !sf_arena_copy(req, sf_buf_str(room), &target->labels))
        return false;
    target->hash = sf_key_str(target->labels);
    target->next = tally->first;
    tally->first = target;
    tally->n++;
    return true;
}

bool sf_target_info_tally_add(struct sf_target_tally *tally, const struct sf_span_batch *batch,
                              int64_t now_ns, struct sf_arena *req)
{
    struct sf_buf room = {0};
    bool *is_seen = sf_arena_new_n(req, (size_t)batch->n_resources + 1, sizeof(*is_seen));
    bool is_ok = is_seen != NULL;
    for (uint32_t i = 0; is_ok && i < batch->n_spans; i++) {
        const struct sf_span *s = &batch->spans[i];
        if (is_seen[s->resource] || sf_slack_is_outside(s->end_ns, now_ns, slack_ns))
            continue;
        is_seen[s->resource] = true;
        if (tally->n == SF_LIMIT_METER_TARGETS)
            tally->n_over++;
        else
            is_ok = target_info_add_resource(tally, batch->resources[s->resource].attrs, &room,
                                             req);
    }
    sf_buf_done(&room);
    return is_ok;
}

/* ---- the shared list ---- */

static sf_str target_tenant(const struct target *x)
{
    return (sf_str){x->text, x->tenant_len};
}
static sf_str target_labels(const struct target *x)
{
    return (sf_str){x->text + x->tenant_len, x->labels_len};
}

static void target_info_drop_stale(struct sf_target_info *t, int64_t now_ns)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        if (now_ns - t->list[i].seen_ns > stale_ns)
            sf_heap_free(t->list[i].text);
        else
            t->list[n++] = t->list[i];
    }
    t->n = n;
}

static struct target *target_info_find(struct sf_target_info *t, sf_str tenant,
                                       const struct sf_target *x)
{
    for (uint32_t i = 0; i < t->n; i++) { /* a linear search: one per process, once per request */
        if (t->list[i].hash == x->hash && sf_str_eq(target_labels(&t->list[i]), x->labels) &&
            sf_str_eq(target_tenant(&t->list[i]), tenant))
            return &t->list[i];
    }
    return NULL;
}

static struct target *add_new(struct sf_target_info *t, sf_str tenant, const struct sf_target *x)
{
    char *text = t->n < t->n_cap ? sf_heap_new(tenant.len + x->labels.len + 1) : NULL;
    if (!text)
        return NULL;
    if (tenant.len)
        memcpy(text, tenant.p, tenant.len);
    memcpy(text + tenant.len, x->labels.p, x->labels.len);
    t->list[t->n] = (struct target){.text = text,
                                    .tenant_len = (uint32_t)tenant.len,
                                    .labels_len = (uint32_t)x->labels.len,
                                    .hash = x->hash};
    return &t->list[t->n++];
}

void sf_target_info_add(struct sf_target_info *t, sf_str tenant,
                        const struct sf_target_tally *tally, int64_t now_ns)
{
    sf_mutex_lock(&t->mutex);
    t->n_over += tally->n_over;
    for (const struct sf_target *x = tally->first; x; x = x->next) {
        struct target *target = target_info_find(t, tenant, x);
        if (!target)
            target = add_new(t, tenant, x);
        if (target)
            target->seen_ns = now_ns;
        else
            t->n_over++;
    }
    sf_mutex_unlock(&t->mutex);
}

static void render_target(const struct target *x, struct sf_exposition *e)
{
    struct sf_metric_label labels[MAX_LABELS + 3];
    size_t n = 0;
    sf_str rest = target_labels(x), name, val;
    while (n < MAX_LABELS + 2 && sf_str_split_next(&rest, '\0', &name) &&
           sf_str_split_next(&rest, '\0', &val))
        labels[n++] = (struct sf_metric_label){name.p, val}; /* terminated by its zero byte */
    if (x->tenant_len)
        labels[n++] = (struct sf_metric_label){"tenant", target_tenant(x)};
    sf_exposition_u64(e, labels, n, 1);
}

/* Written under the lock: these metrics are optional, and there are few. */
void sf_target_info_render(struct sf_target_info *t, int64_t now_ns, struct sf_exposition *e)
{
    sf_exposition_family(e, "traces_target_info", SF_METRIC_GAUGE,
                         "Attributes of the resources that send spans.");
    sf_mutex_lock(&t->mutex);
    target_info_drop_stale(t, now_ns);
    for (uint32_t i = 0; i < t->n; i++)
        render_target(&t->list[i], e);
    uint64_t n_over = t->n_over;
    sf_mutex_unlock(&t->mutex);
    sf_exposition_family(e, "spanflame_target_info_ignored_resources", SF_METRIC_COUNTER,
                         "Resources left out of traces_target_info: there were too many.");
    sf_exposition_u64(e, NULL, 0, n_over);
}
