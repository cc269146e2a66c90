/* asan.h - defines HAS_ASAN if this build uses the address sanitizer. */
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
