/* pin_names.h - the set of pins that a node has read from the table `shared`, by tenant and name.
 */
#pragma once
#include "base/buf.h"
#include "base/table.h"

struct sf_pin_name {
    size_t at; /* in `text`: the tenant, then the name */
    size_t tenant_len, name_len;
};

struct sf_pin_names { /* a zeroed one is empty */
    struct sf_buf text;
    struct sf_pin_name *list;
    uint32_t n, cap;
    struct sf_table table; /* of indices in `list` */
};

bool sf_pin_names_add(struct sf_pin_names *p, sf_str tenant, sf_str name); /* false: no memory */
bool sf_pin_names_has(const struct sf_pin_names *p, sf_str tenant, sf_str name);
void sf_pin_names_done(struct sf_pin_names *p);
