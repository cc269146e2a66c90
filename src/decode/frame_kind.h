/* frame_kind.h - the kind of code a frame belongs to (kernel, native, an interpreter's), from what
 * a format says about it. */
#pragma once
#include "base/str.h"
#include "model/profile.h"

/* From the extension of the source file ("shop.py") and the mapping's name ("[kernel.kallsyms]");
 * UNKNOWN when neither tells. */
enum sf_frame_kind sf_frame_kind_of_file(sf_str file, sf_str mapping);
/* From the value of OTLP's profile.frame.type. */
enum sf_frame_kind sf_frame_kind_of_word(sf_str word);
/* From the client's name in a request ("gospy"). */
enum sf_frame_kind sf_frame_kind_of_spy(sf_str spy);
