#include "model/ids.h"

#include "base/hash.h"
#include "base/num.h"
#include "base/text.h"

bool sf_trace_id_is_zero(sf_trace_id id)
{
    return (sf_load_u64le(id.b) | sf_load_u64le(id.b + 8)) == 0;
}

uint64_t sf_trace_id_hash(sf_trace_id id, uint32_t tenant)
{
    return sf_hash_seeded(id.b, sizeof(id.b), tenant);
}

static bool parse_padded(sf_str hex, uint8_t *out, size_t len)
{
    if (hex.len == 2 * len) /* nearly all */
        return sf_hex_decode(hex, out, len);
    if (hex.len == 0 || hex.len > 2 * len)
        return false;
    memset(out, 0, len);
    for (size_t i = 0; i < hex.len; i++) {
        size_t place = 2 * len - hex.len + i; /* index of the digit, from the left */
        int digit = sf_hex_digit(hex.p[i]);
        if (digit < 0)
            return false;
        out[place / 2] = (uint8_t)(out[place / 2] | (place % 2 ? digit : digit << 4));
    }
    return true;
}

bool sf_trace_id_parse(sf_str hex, sf_trace_id *out)
{
    sf_trace_id id;
    if (!parse_padded(hex, id.b, sizeof(id.b)))
        return false;
    *out = id;
    return true;
}

void sf_trace_id_render(sf_trace_id id, char out[33])
{
    sf_hex_encode(id.b, sizeof(id.b), out);
    out[32] = 0;
}

bool sf_span_id_parse(sf_str hex, sf_span_id *out)
{
    uint8_t raw[8];
    if (!parse_padded(hex, raw, sizeof(raw)))
        return false;
    *out = sf_load_u64be(raw);
    return true;
}

void sf_span_id_render(sf_span_id id, char out[17])
{
    uint8_t raw[8];
    sf_store_u64be(raw, id);
    sf_hex_encode(raw, sizeof(raw), out);
    out[16] = 0;
}
