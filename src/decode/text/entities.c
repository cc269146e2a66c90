#include "decode/text/entities.h"

sf_str sf_entities_decode(struct sf_profile_build *b, sf_str s)
{
    static const struct {
        sf_str from;
        char to;
    } all[] = {{SF_STR("&amp;"), '&'},  {SF_STR("&lt;"), '<'},    {SF_STR("&gt;"), '>'},
               {SF_STR("&quot;"), '"'}, {SF_STR("&apos;"), '\''}, {SF_STR("&#39;"), '\''}};
    size_t n_all = sizeof(all) / sizeof(*all), len = 0;
    char *to;
    if (!sf_str_find_char(s, '&', &len))
        return s;
    to = sf_profile_new(b, s.len, 1);
    len = 0;
    for (size_t i = 0; to && i < s.len; i++) {
        size_t k = 0;
        while (k < n_all && !sf_str_starts(sf_str_from_at(s, i), all[k].from))
            k++;
        to[len++] = k < n_all ? all[k].to : s.p[i];
        i += k < n_all ? all[k].from.len - 1 : 0;
    }
    return to ? (sf_str){to, len} : SF_STR_NONE;
}
