/* xml_text.h - text from telemetry in XML: SVG drawings and JUnit reports. */
#pragma once
#include "base/buf.h"

/* Control characters and invalid UTF-8 must have been replaced before (sf_units_text,
 * sf_units_plain). */
void sf_xml_text_escape(struct sf_buf *out, sf_str s);
/* U+FFFE and U+FFFF are valid in UTF-8 but not in XML: they become '?'. */
void sf_xml_text_drop_noncharacters(struct sf_buf *text);
