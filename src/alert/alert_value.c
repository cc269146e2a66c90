#include "alert/alert_value.h"

#include <inttypes.h>

#include "wire/json_write.h"

static bool alert_value_has_key(const struct sf_alert_found *f, sf_str key)
{
    for (size_t i = 0; i < f->n; i++) {
        if (sf_str_eq(f->pairs[i].key, key))
            return true;
    }
    return false;
}

bool sf_alert_value_found_label(struct sf_alert_found *f, sf_str key, sf_str val,
                                struct sf_arena *req)
{
    struct sf_buf name = {.max = 200};
    struct sf_alert_pair *p = &f->pairs[f->n];
    bool is_ok;
    sf_alert_rule_label_name(key, &name);
    is_ok = sf_arena_copy(req, sf_buf_str(&name), &p->key) &&
            sf_arena_copy(req, sf_str_part(val, 0, SF_LIMIT_ALERT_TEXT_LEN), &p->val);
    sf_buf_done(&name);
    if (is_ok && f->n < SF_ALERT_PAIRS - 1 && !alert_value_has_key(f, p->key))
        f->n++;
    return is_ok;
}

bool sf_alert_value_found_attr(struct sf_alert_found *f, sf_str key, struct sf_value v,
                               struct sf_arena *req)
{
    sf_str text = SF_STR_NONE;
    bool is_ok = true;
    switch (v.type) {
    case SF_VALUE_STR: text = v.str; break;
    case SF_VALUE_BOOL: text = v.is_true ? SF_STR("true") : SF_STR("false"); break;
    case SF_VALUE_INT: is_ok = sf_arena_print(req, &text, "%" PRId64, v.i64); break;
    case SF_VALUE_DOUBLE: is_ok = sf_arena_print(req, &text, "%.17g", v.f64); break;
    default: break;
    }
    return is_ok && sf_alert_value_found_label(f, key, text, req);
}

bool sf_alert_value_found_begin(struct sf_alert_found *f, const struct sf_alert_rule *rule,
                                struct sf_arena *req)
{
    bool is_ok = true;
    *f = (struct sf_alert_found){.n = 1};
    f->pairs[0] = (struct sf_alert_pair){SF_STR("alertname"), rule->name};
    for (size_t i = 0; is_ok && i < rule->labels.n; i++)
        is_ok = sf_alert_value_found_label(f, rule->labels.list[i].key, rule->labels.list[i].val,
                                           req);
    f->n_own = f->n;
    return is_ok;
}

/* Writes the members of a JSON object; fills templates if `value` is given. */
static bool write_pairs(const struct sf_alert_pair *list, size_t n, const struct sf_alert_found *f,
                        const double *value, struct sf_arena *req, sf_str *out)
{
    struct sf_buf text = {0}, filled = {.max = 4 * SF_LIMIT_ALERT_TEXT_LEN};
    struct sf_json_writer j = sf_json_writer_init(&text);
    bool is_ok;
    for (size_t i = 0; i < n; i++) {
        sf_buf_reset(&filled);
        if (value)
            sf_alert_rule_text_fill(list[i].val, f->pairs, f->n, *value, &filled);
        else
            sf_buf_add_str(&filled, list[i].val);
        sf_json_write_key_str(&j, list[i].key, sf_buf_str(&filled));
    }
    is_ok = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&filled);
    sf_buf_done(&text);
    return is_ok;
}

/* Fills the rule's own labels that refer to labels of the result. */
static bool fill_own(struct sf_alert_found *f, struct sf_arena *req)
{
    bool is_ok = true;
    size_t at;
    for (size_t i = 1; is_ok && i < f->n_own; i++) {
        struct sf_buf text = {.max = SF_LIMIT_ALERT_TEXT_LEN};
        if (!sf_str_find(f->pairs[i].val, SF_STR("{{"), &at))
            continue;
        sf_alert_rule_text_fill(f->pairs[i].val, f->pairs + f->n_own, f->n - f->n_own, 0, &text);
        is_ok = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), &f->pairs[i].val);
        sf_buf_done(&text);
    }
    return is_ok;
}

enum sf_err sf_alert_value_found_finish(struct sf_alert_found *f, const struct sf_alert_rule *rule,
                                        double value, struct sf_arena *req,
                                        struct sf_alert_value *out, struct sf_why *why)
{
    out->value = value;
    return fill_own(f, req) && write_pairs(f->pairs, f->n, f, NULL, req, &out->labels) &&
                   write_pairs(rule->annotations.list, rule->annotations.n, f, &value, req,
                               &out->notes)
               ? SF_OK
               : sf_no_room(why, "the rule");
}
