#include "decode/profile_label.h"

#include <stdlib.h>

#include "base/hash.h"

enum { MAX_KERNEL_ID = 1 << 22 };

enum sf_label_role sf_profile_label_role(sf_str key)
{
    static const struct {
        sf_str key;
        enum sf_label_role role;
    } roles[] = {
        {SF_STR("span_id"), SF_LABEL_SPAN_ID},
        {SF_STR("profile_id"), SF_LABEL_SPAN_ID}, /* the same, used by older clients */
        {SF_STR("span id"), SF_LABEL_SPAN_ID},    /* Datadog's spelling */
        {SF_STR("local root span id"), SF_LABEL_ROOT_SPAN_ID},
        {SF_STR("datadog.local_root_span_id"), SF_LABEL_ROOT_SPAN_ID},
        {SF_STR("trace_id"), SF_LABEL_TRACE_ID},
        {SF_STR("trace id"), SF_LABEL_TRACE_ID},
        {SF_STR("thread_id"), SF_LABEL_THREAD_ID},
        {SF_STR("thread id"), SF_LABEL_THREAD_ID},
        {SF_STR("thread.id"), SF_LABEL_THREAD_ID},
        {SF_STR("tid"), SF_LABEL_THREAD_ID},
        {SF_STR("thread_name"), SF_LABEL_THREAD_NAME},
        {SF_STR("thread name"), SF_LABEL_THREAD_NAME},
        {SF_STR("thread.name"), SF_LABEL_THREAD_NAME},
        {SF_STR("thread"), SF_LABEL_THREAD_NAME},
        {SF_STR("thread.state"), SF_LABEL_STATE},
        {SF_STR("end_timestamp_ns"), SF_LABEL_END_NS},
        {SF_STR("span_name"), SF_LABEL_HIDDEN},
        {SF_STR("span"), SF_LABEL_HIDDEN},
        {SF_STR("pid"), SF_LABEL_HIDDEN},
        {SF_STR("comm"), SF_LABEL_HIDDEN},
        {SF_STR("process.pid"), SF_LABEL_HIDDEN},
        {SF_STR("cpu.logical_number"), SF_LABEL_HIDDEN},
    };
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
        if (sf_str_eq(roles[i].key, key))
            return roles[i].role;
    }
    return sf_str_starts(key, SF_STR("pprof::")) ? SF_LABEL_HIDDEN : SF_LABEL_SERIES;
}

static sf_span_id span_id_of(sf_str key, sf_str val)
{
    sf_span_id id = 0;
    bool has_blank = sf_str_find_char(key, ' ', &(size_t){0});
    if (has_blank && sf_str_to_u64(val, &id))
        return id;
    return val.len == 16 && sf_span_id_parse(val, &id) ? id : 0;
}

static uint8_t profile_label_state_of(sf_str word)
{
    static const struct {
        sf_str word;
        uint8_t state;
    } words[] = {
        {SF_STR("running"), SF_STATE_RUNNING}, {SF_STR("run_queue"), SF_STATE_RUN_QUEUE},
        {SF_STR("lock"), SF_STATE_LOCK},       {SF_STR("condition"), SF_STATE_LOCK},
        {SF_STR("disk"), SF_STATE_DISK},       {SF_STR("network"), SF_STATE_NET},
        {SF_STR("io"), SF_STATE_IO},           {SF_STR("poll"), SF_STATE_IO},
        {SF_STR("sleep"), SF_STATE_SLEEP},     {SF_STR("gc"), SF_STATE_GC},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (sf_str_eq(words[i].word, word))
            return words[i].state;
    }
    return SF_STATE_UNKNOWN;
}

/* Numbers above the kernel's largest pid_max are the runtime's own: Python's are addresses. */
static void profile_label_take_thread(struct sf_profile_ids *ids, uint64_t id)
{
    ids->thread = id;
    ids->is_kernel_thread = id > 0 && id <= MAX_KERNEL_ID;
    ids->runtime_thread = id > MAX_KERNEL_ID ? id : 0;
}

bool sf_profile_label_ids_take_str(struct sf_profile_ids *ids, sf_str key, sf_str val)
{
    return sf_profile_label_ids_take_role(ids, sf_profile_label_role(key), key, val);
}

bool sf_profile_label_ids_take_role(struct sf_profile_ids *ids, enum sf_label_role role, sf_str key,
                                    sf_str val)
{
    uint64_t thread;
    switch (role) {
    case SF_LABEL_SERIES: return false;
    case SF_LABEL_SPAN_ID: ids->span_id = span_id_of(key, val); break;
    case SF_LABEL_ROOT_SPAN_ID: ids->root_span_id = span_id_of(key, val); break;
    case SF_LABEL_TRACE_ID:
        if (val.len != 32 || !sf_trace_id_parse(val, &ids->trace_id))
            ids->trace_id = (sf_trace_id){0};
        break;
    case SF_LABEL_THREAD_ID:
        if (sf_str_to_u64(val, &thread))
            profile_label_take_thread(ids, thread);
        else
            ids->thread = sf_hash_str(val);
        break;
    case SF_LABEL_THREAD_NAME: ids->thread_name = val; break;
    case SF_LABEL_STATE: ids->state = profile_label_state_of(val); return false;
    case SF_LABEL_END_NS:
        if (!sf_str_to_i64(val, &ids->end_ns))
            ids->end_ns = 0;
        break;
    case SF_LABEL_HIDDEN: break;
    }
    return true;
}

bool sf_profile_label_ids_take_num(struct sf_profile_ids *ids, sf_str key, int64_t val)
{
    switch (sf_profile_label_role(key)) {
    case SF_LABEL_SPAN_ID: ids->span_id = (sf_span_id)val; break;
    case SF_LABEL_ROOT_SPAN_ID: ids->root_span_id = (sf_span_id)val; break;
    case SF_LABEL_THREAD_ID: profile_label_take_thread(ids, (uint64_t)val); break;
    case SF_LABEL_END_NS: ids->end_ns = val; break;
    case SF_LABEL_TRACE_ID:
    case SF_LABEL_THREAD_NAME:
    case SF_LABEL_HIDDEN: break;
    case SF_LABEL_STATE:
    case SF_LABEL_SERIES: return false;
    }
    return true;
}

void sf_profile_label_ids_put(const struct sf_profile_ids *ids, struct sf_sample *s)
{
    if (!sf_trace_id_is_zero(ids->trace_id))
        s->trace_id = ids->trace_id;
    if (ids->span_id)
        s->span_id = ids->span_id;
    else if (ids->root_span_id)
        s->span_id = ids->root_span_id;
    if (ids->thread_name.len)
        s->thread_name = ids->thread_name;
    if (ids->thread) {
        s->thread = ids->thread;
        s->runtime_thread = ids->runtime_thread;
        s->is_kernel_thread = ids->is_kernel_thread;
    } else if (ids->thread_name.len) {
        s->thread = sf_hash_str(ids->thread_name);
    }
    if (ids->state)
        s->state = ids->state;
    if (ids->end_ns > 0) {
        s->start_ns = ids->end_ns - s->length_ns;
        s->has_time = true;
    }
}

static int profile_label_by_key(const void *x, const void *y)
{
    const struct sf_label *a = x, *b = y;
    return sf_str_cmp(a->key, b->key);
}

/* Short lists by insertion, which keeps the order of equal keys; long ones are rare, and there it
 * does not matter which duplicate is kept. */
static void profile_label_sort(struct sf_label *labels, uint32_t n)
{
    if (n > 64) {
        qsort(labels, n, sizeof(*labels), profile_label_by_key);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        struct sf_label l = labels[i];
        uint32_t at = i;
        for (; at && sf_str_cmp(labels[at - 1].key, l.key) > 0; at--)
            labels[at] = labels[at - 1];
        labels[at] = l;
    }
}

uint32_t sf_profile_label_sort(struct sf_label *labels, uint32_t n)
{
    uint32_t n_kept = 0;
    profile_label_sort(labels, n);
    for (uint32_t i = 0; i < n; i++) {
        if (n_kept && sf_str_eq(labels[n_kept - 1].key, labels[i].key))
            n_kept--;
        labels[n_kept++] = labels[i];
    }
    return n_kept;
}
