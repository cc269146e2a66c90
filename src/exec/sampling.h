/* sampling.h - how many spans one kept span represents, according to its trace state.
 *
 * OpenTelemetry's samplers write "ot=th:c": spans whose random part is below the threshold
 * (hexadecimal, up to 14 digits, padded with zeros on the right) were not kept. Older ones write
 * "ot=p:3": one of 2^3. */
#pragma once
#include "base/str.h"

/* At least 1; 1 if there is no valid value. */
double sf_sampling_weight(sf_str trace_state);
