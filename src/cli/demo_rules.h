/* demo_rules.h - the rules by which the server of `spanflame demo` notices what is switched. */
#pragma once
#include "base/buf.h"

/* Adds the block `alerts:` of its configuration. */
void sf_demo_rules_write(struct sf_buf *out);
