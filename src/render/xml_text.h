/* xml_text.h - text from telemetry inside XML: SVG drawings and JUnit reports. */
#pragma once
#include "base/buf.h"

/* Control characters and what is not UTF-8 must be gone already (sf_units_text, sf_units_plain). */
void sf_xml_text_escape(struct sf_buf *out, sf_str s);
/* U+FFFE and U+FFFF are characters of UTF-8 and none of XML: they become '?'. */
void sf_xml_text_drop_noncharacters(struct sf_buf *text);
