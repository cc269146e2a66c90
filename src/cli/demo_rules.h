/* demo_rules.h - the alert rules by which the server of `spanflame demo` notices planted
 * problems. */
#pragma once
#include "base/buf.h"

/* Adds the block `alerts:` of its configuration. */
void sf_demo_rules_write(struct sf_buf *out);
