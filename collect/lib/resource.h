/* resource.h - the resource attributes of the process. */
#pragma once
#include "base/buf.h"
#include "collect/lib/settings.h"

enum { SF_INSTANCE_ID_CAP = 37 };

/* A random UUID (version 4) as text. */
void sf_resource_instance_id(char out[SF_INSTANCE_ID_CAP]);
/* Writes all attributes, as field 1 each. */
void sf_resource_write(struct sf_buf *out, const struct sf_settings *s, const char *instance_id);
