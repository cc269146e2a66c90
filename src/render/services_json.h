/* services_json.h - services and operations with their figures. docs/api.md describes the
 * format. */
#pragma once
#include "base/buf.h"
#include "model/answer/services.h"

void sf_services_json(const struct sf_services *s, struct sf_buf *out);
