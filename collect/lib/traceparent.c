/* W3C trace context: reads and writes the headers traceparent and tracestate. */
#include "base/text.h"
#include "collect/lib/active.h"
#include "collect/lib/library.h"

enum { SF_BAGGAGE_MAX = 8192 };

static bool has_upper(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] >= 'A' && s.p[i] <= 'F')
            return true;
    }
    return false;
}

static bool traceparent_is_zero(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (p[i])
            return false;
    }
    return true;
}

/* Checks "key=value" members separated by commas, at most 32; keys are lower case, values
 * printable. */
static bool is_tracestate(sf_str text)
{
    sf_str rest = text, member;
    int n = 0;
    if (!text.len || text.len >= SF_TRACESTATE_CAP)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if ((text.p[i] < ' ' || text.p[i] > '~') && text.p[i] != '\t')
            return false;
    }
    while (sf_str_split_next(&rest, ',', &member)) {
        size_t at;
        member = sf_str_trim(member);
        if (!member.len)
            continue;
        if (++n > 32 || !sf_str_find_char(member, '=', &at) || at == 0 || at > 256 ||
            member.len - at - 1 > 256)
            return false;
        for (size_t i = 0; i < at; i++) {
            char c = member.p[i];
            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                  c == '*' || c == '/' || c == '@'))
                return false;
        }
    }
    return n > 0;
}

int sf_context_parse(const char *traceparent, const char *tracestate, sf_context *out)
{
    sf_context c = {.is_remote = 1};
    sf_str t = sf_str_trim(sf_str_from(traceparent)), state = sf_str_trim(sf_str_from(tracestate));
    uint8_t version;

    /* 00-<32>-<16>-<2>; a later version may have more after another dash */
    if (!out || t.len < 55 || has_upper(sf_str_part(t, 0, 55)) || t.p[2] != '-' || t.p[35] != '-' ||
        t.p[52] != '-' || !sf_hex_decode(sf_str_part(t, 0, 2), &version, 1) || version == 0xff ||
        (t.len > 55 && (version == 0 || t.p[55] != '-')))
        return -1;
    if (!sf_hex_decode(sf_str_part(t, 3, 32), c.trace_id, 16) ||
        !sf_hex_decode(sf_str_part(t, 36, 16), c.span_id, 8) ||
        !sf_hex_decode(sf_str_part(t, 53, 2), &c.flags, 1) || traceparent_is_zero(c.trace_id, 16) ||
        traceparent_is_zero(c.span_id, 8))
        return -1;
    if (is_tracestate(state))
        memcpy(c.tracestate, state.p, state.len);
    *out = c;
    return 0;
}

int sf_traceparent(const sf_context *context, char out[SF_TRACEPARENT_CAP])
{
    if (!context || !out || traceparent_is_zero(context->trace_id, 16) ||
        traceparent_is_zero(context->span_id, 8))
        return -1;
    memcpy(out, "00-", 3);
    sf_hex_encode(context->trace_id, 16, out + 3);
    out[35] = '-';
    sf_hex_encode(context->span_id, 8, out + 36);
    out[52] = '-';
    sf_hex_encode(&context->flags, 1, out + 53);
    out[55] = 0;
    return 0;
}

int sf_span_context(sf_span s, sf_context *out)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_span_slot *slot;
    const uint8_t *record = NULL;

    if (!out || !sf_library_enter(t))
        return -1;
    if (!s) {
        slot = sf_active_slot(t);
        s = slot ? sf_span_pool_name(slot) : 0;
    }
    slot = sf_span_pool_lock(s);
    if (slot)
        record = slot->record;
    else if (!s && t->is_foreign)
        record = t->record;
    if (record) {
        memset(out, 0, sizeof(*out));
        memcpy(out->trace_id, record, 16);
        memcpy(out->span_id, record + 16, 8);
        out->flags = record[SF_RECORD_FLAGS];
        if (slot && slot->tracestate)
            memcpy(out->tracestate, slot->tracestate, strlen(slot->tracestate));
    }
    if (slot)
        sf_lock_give(&slot->lock);
    sf_library_leave(t);
    return record ? 0 : -1;
}

/* A member is "key=value;property", with blanks around it. */
sf_span_profile sf_profile_asked(const char *header)
{
    sf_str rest = sf_str_from(header ? header : ""), member, key, val;
    if (rest.len > SF_BAGGAGE_MAX)
        return SF_SPAN_PROFILE_AUTO;
    val = sf_str_trim(rest);
    if (sf_str_eq(val, SF_STR("1")) || sf_str_ieq(val, SF_STR("true")))
        return SF_SPAN_PROFILE_ALWAYS;
    while (sf_str_split_next(&rest, ',', &member)) {
        sf_str pair;
        if (!sf_str_split_next(&member, ';', &pair) || !sf_str_split_next(&pair, '=', &key))
            continue;
        val = sf_str_trim(pair);
        if (sf_str_eq(sf_str_trim(key), SF_STR("profile")) &&
            (sf_str_eq(val, SF_STR("1")) || sf_str_ieq(val, SF_STR("true"))))
            return SF_SPAN_PROFILE_ALWAYS;
    }
    return SF_SPAN_PROFILE_AUTO;
}
