#include "os/own_profiler.h"

#include <dlfcn.h>
#include <string.h>

#include "os/beside.h"

bool sf_own_profiler_library(char out[SF_LIBRARY_PATH_CAP])
{
    static const char *const places[] = {"/collect/libspanflame.so.1", "/../lib/libspanflame.so.1"};
    return sf_beside_find(places, 2, out, SF_LIBRARY_PATH_CAP);
}

/* Finds a function by name. C has no conversion from an object pointer to a function pointer;
 * copying the bytes is what the manual of dlsym recommends. */
static bool own_profiler_find(void *library, const char *name, void *out)
{
    void *at = dlsym(library, name);

    memcpy(out, &at, sizeof(at));
    return at != NULL;
}

/* If the library is preloaded, that copy is used: a second one would use the same signal. */
static void *own_profiler_load(void)
{
    char path[SF_LIBRARY_PATH_CAP];

    if (dlsym(RTLD_DEFAULT, "sf_cpu_profile_start"))
        return RTLD_DEFAULT;
    return sf_own_profiler_library(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

enum sf_err sf_own_profiler_open(struct sf_own_profiler *out, struct sf_why *why)
{
    struct sf_own_profiler p = {0};
    bool is_preloaded = dlsym(RTLD_DEFAULT, "sf_cpu_profile_start") != NULL;
    void *library = own_profiler_load();

    if (!is_preloaded && !library)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "libspanflame.so.1 is neither beside this program nor in ../lib");
    if (!own_profiler_find(library, "sf_cpu_profile_start", (void *)&p.cpu_start) ||
        !own_profiler_find(library, "sf_cpu_profile_stop", (void *)&p.cpu_stop) ||
        !own_profiler_find(library, "sf_problem", (void *)&p.problem))
        return sf_fail(why, SF_ERR_UNSUPPORTED, "libspanflame.so.1 has no CPU profiler");
    /* If loaded only now, it comes after the malloc that all libraries have already bound to. */
    if (is_preloaded &&
        (!own_profiler_find(library, "sf_heap_profile_start", (void *)&p.heap_start) ||
         !own_profiler_find(library, "sf_heap_profile_write", (void *)&p.heap_write)))
        p.heap_start = NULL;
    *out = p;
    return SF_OK;
}

static enum sf_err own_profiler_say(const struct sf_own_profiler *p, enum sf_err err,
                                    struct sf_why *why)
{
    char text[160] = "";

    (void)p->problem(text, sizeof(text));
    return sf_fail(why, err, "%s", text[0] ? text : "the profiler failed");
}

enum sf_err sf_own_profiler_cpu_start(const struct sf_own_profiler *p, const char *path,
                                      unsigned rate_hz, struct sf_why *why)
{
    return p->cpu_start(path, rate_hz) ? own_profiler_say(p, SF_ERR_BUSY, why) : SF_OK;
}

enum sf_err sf_own_profiler_cpu_stop(const struct sf_own_profiler *p, struct sf_why *why)
{
    return p->cpu_stop() ? own_profiler_say(p, SF_ERR_IO, why) : SF_OK;
}

enum sf_err sf_own_profiler_heap(const struct sf_own_profiler *p, const char *path,
                                 struct sf_why *why)
{
    if (!p->heap_start)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "memory is sampled when the server was started with libspanflame.so.1 "
                       "preloaded: LD_PRELOAD=libspanflame.so.1 spanflame serve ...");
    /* Works only if the profiler is already on. */
    if (p->heap_write(path) == 0)
        return SF_OK;
    if (p->heap_start(0) || p->heap_write(path))
        return own_profiler_say(p, SF_ERR_IO, why);
    return SF_OK;
}
