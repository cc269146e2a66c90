#include "render/xml_text.h"

void sf_xml_text_escape(struct sf_buf *out, sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        switch (s.p[i]) {
        case '&': sf_buf_add_str(out, SF_STR("&amp;")); break;
        case '<': sf_buf_add_str(out, SF_STR("&lt;")); break;
        case '>': sf_buf_add_str(out, SF_STR("&gt;")); break;
        case '"': sf_buf_add_str(out, SF_STR("&quot;")); break;
        case '\'': sf_buf_add_str(out, SF_STR("&#39;")); break;
        default: sf_buf_add_u8(out, (uint8_t)s.p[i]); break;
        }
    }
}

void sf_xml_text_drop_noncharacters(struct sf_buf *text)
{
    for (size_t i = 0; i + 2 < text->len; i++) {
        if (text->p[i] == 0xef && text->p[i + 1] == 0xbf && text->p[i + 2] >= 0xbe) {
            text->p[i] = text->p[i + 1] = text->p[i + 2] = '?';
        }
    }
}
