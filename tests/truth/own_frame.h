/* own_frame.h - a function that keeps its name and its frame, whatever the compiler sees in it. */
#pragma once
#ifdef __clang__
#define OWN_FRAME __attribute__((noinline))
#else
#define OWN_FRAME __attribute__((noipa))
#endif
