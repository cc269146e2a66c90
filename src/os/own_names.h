/* own_names.h - the names of this machine. */
#pragma once
#include "base/buf.h"

/* Adds them to `out`, separated by blanks: the host name, and other names on the same line of
 * /etc/hosts. The network is not used. */
void sf_own_names_add(struct sf_buf *out);
/* The same for a text in the format of that file. */
void sf_own_names_add_aliases(struct sf_buf *out, sf_str hosts_text, sf_str name);
