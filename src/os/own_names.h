/* own_names.h - the names of this machine. */
#pragma once
#include "base/buf.h"

/* Adds them to `out`, blanks between them: the host name, and whatever /etc/hosts has on a line
 * with it. Nothing is looked up on the network. */
void sf_own_names_add(struct sf_buf *out);
/* The same of a text in that file's form. */
void sf_own_names_add_aliases(struct sf_buf *out, sf_str hosts_text, sf_str name);
