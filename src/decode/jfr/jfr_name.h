/* jfr_name.h - readable names of Java classes. Private to this module. */
#pragma once
#include "base/str.h"

/* Room for a name: never longer than `in`. Takes away what is different in every process (numbers
 * of lambdas, proxies and accessors), so that the same code has the same name. */
size_t sf_jfr_name_of_class(sf_str in, bool has_dots, char *out);
/* The same for a native library: copies unpacked under a random name. */
size_t sf_jfr_name_of_library(sf_str in, char *out);
