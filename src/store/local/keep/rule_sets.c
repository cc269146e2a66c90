#include "store/local/keep/rule_sets.h"

#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "store/local/engine.h"

/* The file has n u32, then for each set: version u32, first hour i64, length u32, rules. */
static enum sf_err add_set(struct sf_keep_book *b, uint32_t version, int64_t first_hour,
                           sf_bytes rules, struct sf_why *why)
{
    uint8_t *copy = sf_heap_new(rules.len + 1);
    if (!copy || !sf_list_room(&b->sets, b->n_sets, &b->cap_sets, 4)) {
        sf_heap_free(copy);
        return sf_no_memory(why, "the rules of profiling.conditional");
    }
    memcpy(copy, rules.p, rules.len);
    b->sets[b->n_sets++] = (struct sf_rule_set){version, first_hour, {copy, rules.len}};
    return SF_OK;
}

enum sf_err sf_rule_sets_decode(sf_bytes in,
                                enum sf_err (*see)(void *arg, const struct sf_rule_set *set,
                                                   struct sf_why *why),
                                void *arg, struct sf_why *why)
{
    size_t at = 4, n = in.len >= 4 ? sf_load_u32le(in.p) : 0;
    enum sf_err err = SF_OK;
    if (in.len < 4)
        return sf_fail(why, SF_ERR_CORRUPT, "store: " SF_RULE_SETS_FILE " is cut off");
    for (size_t i = 0; !err && i < n; i++) {
        size_t len = in.len - at >= 16 ? sf_load_u32le(in.p + at + 12) : SIZE_MAX;
        if (len > in.len - at || in.len - at - len < 16)
            return sf_fail(why, SF_ERR_CORRUPT, "store: " SF_RULE_SETS_FILE " is cut off");
        struct sf_rule_set set = {sf_load_u32le(in.p + at), (int64_t)sf_load_u64le(in.p + at + 4),
                                  (sf_bytes){in.p + at + 16, len}};
        err = see(arg, &set, why);
        at += 16 + len;
    }
    if (!err && at != in.len)
        err = sf_fail(why, SF_ERR_CORRUPT, "store: " SF_RULE_SETS_FILE " has bytes behind its end");
    return err;
}

static enum sf_err rule_sets_load_one(void *arg, const struct sf_rule_set *set, struct sf_why *why)
{
    return add_set(arg, set->version, set->first_hour, set->rules, why);
}

enum sf_err sf_rule_sets_load(struct sf_local *l, struct sf_why *why)
{
    struct sf_buf whole = {0};
    sf_bytes in;
    enum sf_err err = sf_keep_book_file_read(l->dir, SF_RULE_SETS_FILE, SF_RULE_SETS_MAGIC, l->uuid,
                                             &whole, &in, why);
    if (!err)
        err = sf_rule_sets_decode(in, rule_sets_load_one, &l->keep, why);
    sf_buf_done(&whole);
    return err == SF_ERR_NOT_FOUND ? SF_OK : err;
}

static enum sf_err rule_sets_save(struct sf_local *l, struct sf_why *why)
{
    const struct sf_keep_book *b = &l->keep;
    struct sf_buf out = {0};
    enum sf_err err;
    sf_keep_book_file_begin(&out, SF_RULE_SETS_MAGIC, l->uuid);
    sf_buf_add_u32le(&out, (uint32_t)b->n_sets);
    for (size_t i = 0; i < b->n_sets; i++) {
        sf_buf_add_u32le(&out, b->sets[i].version);
        sf_buf_add_u64le(&out, (uint64_t)b->sets[i].first_hour);
        sf_buf_add_u32le(&out, (uint32_t)b->sets[i].rules.len);
        sf_buf_add(&out, b->sets[i].rules.p, b->sets[i].rules.len);
    }
    err = sf_keep_book_file_write(l->dir, SF_RULE_SETS_FILE, &out, why);
    sf_buf_done(&out);
    return err;
}

static void drop_set(struct sf_keep_book *b, size_t at)
{
    sf_heap_free((void *)b->sets[at].rules.p);
    memmove(b->sets + at, b->sets + at + 1, (b->n_sets - at - 1) * sizeof(*b->sets));
    b->n_sets--;
}

static enum sf_err rule_sets_take(struct sf_local *l, sf_bytes rules, bool is_new, int64_t now_ns,
                                  struct sf_why *why)
{
    struct sf_keep_book *b = &l->keep;
    const struct sf_rule_set *last = b->n_sets ? &b->sets[b->n_sets - 1] : NULL;
    int64_t first = !last && is_new ? 0 : sf_local_hour_of(now_ns) + 1;
    uint32_t version = last ? last->version + 1 : 1;
    enum sf_err err;
    if (last && last->rules.len == rules.len && memcmp(last->rules.p, rules.p, rules.len) == 0)
        return SF_OK;
    while (b->n_sets && b->sets[b->n_sets - 1].first_hour >= first)
        drop_set(b, b->n_sets - 1); /* it never applied */
    if (b->n_sets == SF_LIMIT_RULE_SETS)
        drop_set(b, 0);
    err = add_set(b, version, first, rules, why);
    return err ? err : rule_sets_save(l, why);
}

enum sf_err sf_rule_sets_update(struct sf_local *l, bool is_new, struct sf_why *why)
{
    struct sf_buf rules = {0};
    int64_t now_ns;
    bool is_on;
    enum sf_err err;
    sf_mutex_lock(&l->rule_lock);
    sf_keep_rules_encode(&l->retention.keep, &rules);
    is_on = l->retention.keep.is_on;
    now_ns = l->now_ns;
    sf_mutex_unlock(&l->rule_lock);
    sf_mutex_lock(&l->keep.lock);
    /* Nothing needs to be recorded until a rule that deletes samples is on. */
    if (!is_on && l->keep.n_sets == 0)
        err = SF_OK;
    else
        err = sf_buf_ok(&rules) ? rule_sets_take(l, sf_buf_bytes(&rules), is_new, now_ns, why)
                                : sf_no_memory(why, "the rules of profiling.conditional");
    sf_mutex_unlock(&l->keep.lock);
    sf_buf_done(&rules);
    return err;
}

const struct sf_rule_set *sf_rule_sets_find(const struct sf_keep_book *b, int64_t hour)
{
    for (size_t i = b->n_sets; i-- > 0;) {
        if (b->sets[i].first_hour <= hour)
            return &b->sets[i];
    }
    return NULL;
}

bool sf_rule_sets_is_judged(const struct sf_keep_book *b, int64_t hour)
{
    const struct sf_rule_set *set = sf_rule_sets_find(b, hour);
    return set && set->rules.len > 0 && set->rules.p[0]; /* the first byte is is_on */
}
