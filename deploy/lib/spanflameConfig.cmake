# find_package(spanflame CONFIG) gives spanflame::spanflame (shared) and spanflame::static.
get_filename_component(_spanflame_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)
if(NOT TARGET spanflame::spanflame)
  add_library(spanflame::spanflame SHARED IMPORTED)
  set_target_properties(spanflame::spanflame PROPERTIES
    IMPORTED_LOCATION "${_spanflame_prefix}/lib/libspanflame.so.1.0.0"
    IMPORTED_SONAME "libspanflame.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_spanflame_prefix}/include")
  add_library(spanflame::static STATIC IMPORTED)
  # Profilers outside the process look for the symbol in the executable's dynamic table; what stands
  # before libc's functions comes after libc; -static leaves the index of unwind tables out.
  set_target_properties(spanflame::static PROPERTIES
    IMPORTED_LOCATION "${_spanflame_prefix}/lib/libspanflame.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_spanflame_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;-Wl,--export-dynamic-symbol=otel_thread_ctx_v1;-Wl,--eh-frame-hdr,-u,sf_hook_names,-u,sf_hooks;-lc;${_spanflame_prefix}/lib/libspanflame_hooks.a")
endif()
unset(_spanflame_prefix)
