#include "serve/pyroscope/profile_uuid.h"

#include "base/text.h"

bool sf_profile_uuid_parse(sf_str text, sf_profile_id *out)
{
    sf_profile_id id;
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = sf_hex_digit(text.p[i]);
        if (text.p[i] == '-')
            continue;
        if (digit < 0 || n == 32)
            return false;
        id.b[n / 2] = (uint8_t)(n % 2 ? id.b[n / 2] | digit : digit << 4);
        n++;
    }
    if (n != 32)
        return false;
    *out = id;
    return true;
}

void sf_profile_uuid_render(sf_profile_id id, char out[37])
{
    static const char digits[] = "0123456789abcdef";
    char *to = out;
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = digits[id.b[i] >> 4];
        *to++ = digits[id.b[i] & 15];
    }
    *to = 0;
}
