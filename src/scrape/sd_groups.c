#include "scrape/sd_groups.h"

#include "base/list.h"
#include "base/text.h"
#include "wire/json.h"

struct sf_sd_group *sf_sd_groups_add(struct sf_sd_groups *g, struct sf_arena *req)
{
    struct sf_sd_group *group = sf_arena_new(req, sizeof(*group));
    if (!group)
        return NULL;
    if (g->last)
        g->last->next = group;
    else
        g->first = group;
    g->last = group;
    return group;
}

bool sf_sd_groups_is_address(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 127 || c == '/' || c == '?' || c == '#' || c == '@' || c == '\\')
            return false;
    }
    return s.len > 0 && s.len <= 256;
}

enum sf_err sf_sd_groups_target(struct sf_sd_groups *g, struct sf_sd_group *group, sf_str address,
                                struct sf_arena *req, struct sf_why *why)
{
    if (!sf_sd_groups_is_address(address))
        return sf_fail(why, SF_ERR_INPUT, "\"%.*s\" is not an address: write HOST:PORT",
                       SF_STR_ARG(sf_str_part(address, 0, 60)));
    if (g->n_targets == SF_LIMIT_SCRAPE_TARGETS)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d targets", SF_LIMIT_SCRAPE_TARGETS);
    if (group->n_targets == group->cap_targets) {
        size_t cap = group->cap_targets ? 2 * group->cap_targets : 8;
        sf_str *more = sf_arena_grow(req, group->targets,
                                     group->cap_targets * sizeof(*group->targets),
                                     cap * sizeof(*group->targets));
        if (!more)
            return sf_no_room(why, "targets");
        group->targets = more;
        group->cap_targets = cap;
    }
    if (!sf_arena_copy(req, address, &group->targets[group->n_targets]))
        return sf_no_room(why, "targets");
    group->n_targets++;
    g->n_targets++;
    return SF_OK;
}

enum sf_err sf_sd_groups_label(struct sf_sd_group *group, sf_str key, sf_str val,
                               struct sf_arena *req, struct sf_why *why)
{
    if (!key.len || !sf_utf8_is_valid(key) || !sf_utf8_is_valid(val))
        return sf_fail(why, SF_ERR_INPUT, "a label without a name, or that is not UTF-8");
    if (!sf_arena_copy(req, key, &key) || !sf_arena_copy(req, val, &val))
        return sf_no_room(why, "labels");
    return sf_relabel_label_put(&group->labels, key, val, why);
}

static enum sf_err sd_groups_read_group(struct sf_json *j, struct sf_sd_groups *out,
                                        struct sf_why *why)
{
    struct sf_sd_group *group = sf_sd_groups_add(out, j->req);
    enum sf_err err = group ? SF_OK : sf_no_room(why, "targets");
    sf_str key, name;
    if (err || !sf_json_object(j))
        return err;
    while (!err && sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("targets"))) {
            if (sf_json_array(j)) {
                while (!err && sf_json_item(j)) {
                    sf_str address = sf_json_str(j);
                    if (sf_json_ok(j))
                        err = sf_sd_groups_target(out, group, address, j->req, why);
                }
            }
        } else if (sf_str_eq(key, SF_STR("labels"))) {
            if (sf_json_object(j)) {
                while (!err && sf_json_key(j, &name)) {
                    sf_str val = sf_json_str(j);
                    if (sf_json_ok(j))
                        err = sf_sd_groups_label(group, name, val, j->req, why);
                }
            }
        } else {
            sf_json_skip(j);
        }
    }
    return err;
}

enum sf_err sf_sd_groups_read(sf_str json, struct sf_arena *req, struct sf_sd_groups *out,
                              struct sf_why *why)
{
    struct sf_json j;
    enum sf_err err = SF_OK;
    sf_json_init(&j, json, req);
    if (sf_json_peek(&j) != SF_JSON_ARRAY)
        return sf_fail(why, SF_ERR_INPUT,
                       "not a list of targets: write [{\"targets\": [\"HOST:PORT\"]}]");
    if (sf_json_array(&j)) {
        while (!err && sf_json_item(&j))
            err = sd_groups_read_group(&j, out, why);
    }
    if (err)
        return err;
    (void)sf_json_end(&j);
    return sf_json_ok(&j) ? SF_OK : sf_json_why(&j, "targets", why);
}
