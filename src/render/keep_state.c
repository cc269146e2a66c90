#include "render/keep_state.h"

#include "base/time_unit.h"
#include "wire/time_text.h"

static const char *const fates[] = {"whole", "kept", "thinned"};

void sf_keep_state_json_always(const struct sf_keep_state *s, struct sf_json_writer *w)
{
    sf_json_write_key(w, SF_STR("keep"));
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("state"), sf_str_from(fates[s->fate]));
    sf_json_write_key(w, SF_STR("rules"));
    sf_json_write_array(w);
    for (unsigned i = 0; i < SF_KEEP_REASONS; i++) {
        if (s->reasons >> i & 1)
            sf_json_write_str(w, sf_str_from(sf_keep_rules_reason_name((enum sf_keep_reason)i)));
    }
    sf_json_write_array_end(w);
    sf_json_write_key(w, SF_STR("probability"));
    sf_json_write_f64(w, sf_keep_chance(s));
    if (s->version) {
        sf_json_write_key(w, SF_STR("hourUnixNano"));
        sf_json_write_u64_text(w, (uint64_t)(s->hour * SF_NS_PER_HOUR));
        sf_json_write_key_u64(w, SF_STR("ruleSet"), s->version);
    }
    sf_json_write_object_end(w);
}

void sf_keep_state_json(const struct sf_keep_state *s, struct sf_json_writer *w)
{
    if (s->version)
        sf_keep_state_json_always(s, w);
}

void sf_keep_state_text(const struct sf_keep_state *s, struct sf_buf *out)
{
    if (!s->version) {
        sf_buf_print(
            out, "whole: all samples of this trace are stored; its hour was not evaluated yet\n");
        return;
    }
    if (s->fate == SF_FATE_THINNED) {
        sf_buf_print(out, "thinned: no rule kept it, and it is not in the baseline\n");
    } else {
        sf_buf_print(out, "kept:");
        for (unsigned i = 0; i < SF_KEEP_REASONS; i++) {
            if (s->reasons >> i & 1)
                sf_buf_print(out, " %s", sf_keep_rules_reason_name((enum sf_keep_reason)i));
        }
        sf_buf_add_u8(out, '\n');
    }
    sf_buf_print(out, "probability to be kept: %g\nhour: ", sf_keep_chance(s));
    sf_time_text_add(out, (uint64_t)(s->hour * SF_NS_PER_HOUR));
    sf_buf_print(out, "\nrule set: %u\n", s->version);
}
