/* jfr_name.h - readable names of Java classes. Private to this module. */
#pragma once
#include "base/str.h"

/* Writes a name that is never longer than `in`. Removes parts that differ in every process (numbers
 * of lambdas, proxies and accessors), so that the same code has the same name. */
size_t sf_jfr_name_of_class(sf_str in, bool has_dots, char *out);
/* The same for a native library: removes the random part of the name of an unpacked copy. */
size_t sf_jfr_name_of_library(sf_str in, char *out);
