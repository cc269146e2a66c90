/* late_signals.h - whether signals come when they are sent. */
#pragma once

/* The thread sanitizer runs handlers later, from a frame of its own. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATE_SIGNALS 1
#endif
#endif
#ifndef LATE_SIGNALS
#define LATE_SIGNALS 0
#endif
