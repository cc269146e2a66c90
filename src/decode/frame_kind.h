/* frame_kind.h - whose code a frame is, from what little a format says about it. */
#pragma once
#include "base/str.h"
#include "model/profile.h"

/* From the source file's name ("shop.py") and the mapping's ("[kernel.kallsyms]"); UNKNOWN when
 * neither tells. */
enum sf_frame_kind sf_frame_kind_of_file(sf_str file, sf_str mapping);
/* OTLP's profile.frame.type. */
enum sf_frame_kind sf_frame_kind_of_word(sf_str word);
/* The client's name in a request ("gospy"). */
enum sf_frame_kind sf_frame_kind_of_spy(sf_str spy);
