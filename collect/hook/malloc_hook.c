/* Wrappers of malloc and its family.
 *
 * They call the allocator that the program would have used without them, found with RTLD_NEXT:
 * libc's, jemalloc, mimalloc. An allocation costs one additional subtraction and branch; a free one
 * test. Sampled objects are allocated with page alignment, by which free recognises them. The
 * aligned allocation must come from the same library as malloc: otherwise a library that only
 * replaces malloc and free would get pointers of libc.
 *
 * The loader allocates while it searches for the next malloc. Those few blocks come from a static
 * buffer and are never reused. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "collect/hook/next.h"
#include "collect/lib/heap_profiler.h"

static void *first_alloc(size_t len);
static void *first_calloc(size_t n, size_t size);
static void *first_realloc(void *p, size_t len);
static void first_free(void *p);
static void *first_aligned(size_t align, size_t len);
static int first_posix_memalign(void **out, size_t align, size_t len);
static void *first_valloc(size_t len);

/* Initially functions that look up the real ones. */
static struct {
    void *(*alloc)(size_t);
    void *(*zeroed)(size_t, size_t);
    void *(*resize)(void *, size_t);
    void (*release)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*for_samples)(size_t align, size_t len); /* aligned allocation of the same library as
                                                     * malloc; NULL: none */
} next = {first_alloc,   first_calloc,         first_realloc, first_free, first_aligned,
          first_aligned, first_posix_memalign, first_valloc,  NULL};

/* ---- before the real allocator is found ---- */

enum { BOOT_PAGES = 32 };
static alignas(SF_HEAP_ALIGN) char boot[BOOT_PAGES][SF_HEAP_ALIGN];
static atomic_uint boot_used;

static bool is_boot(const void *p)
{
    return (uintptr_t)p - (uintptr_t)boot < sizeof(boot);
}

static void *boot_take(size_t len)
{
    unsigned n = len < sizeof(boot) ? (unsigned)((len + SF_HEAP_ALIGN - 1) / SF_HEAP_ALIGN) : 0;
    unsigned at = n ? atomic_fetch_add(&boot_used, n) : BOOT_PAGES;
    if (at + n > BOOT_PAGES || !n) {
        errno = ENOMEM;
        return NULL;
    }
    atomic_fetch_add(sf_heap_class(boot[at]), 1); /* so that free checks the block's address */
    return boot[at];
}

/* True: the program, or a library before this one, defines malloc, so its blocks do not pass
 * through these hooks. Functions of the family that it does not define still come here and must be
 * passed on to it. */
static bool is_passed_by;

static void *malloc_hook_library_of(void *function)
{
    Dl_info info;
    return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

static void *by_posix(size_t align, size_t len)
{
    void *p;
    int err = next.posix_memalign(&p, align, len);
    if (err)
        errno = err;
    return err ? NULL : p;
}

/* Runs once, in the first thread that allocates: before main, while there is no other. */
static bool malloc_hook_look_up(void)
{
    static _Thread_local bool is_looking;
    void *alloc, *aligned;
    if (is_looking)
        return false;
    is_looking = true;
    SF_NEXT(next.zeroed, "calloc");
    SF_NEXT(next.resize, "realloc");
    SF_NEXT(next.release, "free");
    SF_NEXT(next.memalign, "memalign");
    SF_NEXT(next.aligned_alloc, "aligned_alloc");
    SF_NEXT(next.posix_memalign, "posix_memalign");
    SF_NEXT(next.valloc, "valloc");
    SF_NEXT(next.alloc, "malloc");
    memcpy(&alloc, &next.alloc, sizeof(alloc));
    memcpy(&aligned, &next.memalign, sizeof(aligned));
    if (malloc_hook_library_of(aligned) == malloc_hook_library_of(alloc)) {
        next.for_samples = next.memalign;
    } else {
        memcpy(&aligned, &next.posix_memalign, sizeof(aligned));
        if (malloc_hook_library_of(aligned) == malloc_hook_library_of(alloc))
            next.for_samples = by_posix;
    }
    is_looking = false;
    return true;
}

static bool is_found(void)
{
    if (!malloc_hook_look_up())
        return false;
    if (next.alloc == first_alloc)
        sf_next_is_missing("malloc");
    return true;
}

static void *first_alloc(size_t len)
{
    return is_found() ? next.alloc(len) : boot_take(len ? len : 1);
}

static void *first_calloc(size_t n, size_t size)
{
    size_t len;
    if (is_found())
        return next.zeroed(n, size);
    return sf_mul_size(n, size, &len) ? boot_take(len ? len : 1) : NULL; /* never used before */
}

static void *first_realloc(void *p, size_t len)
{
    if (is_found())
        return next.resize(p, len);
    return p ? NULL : boot_take(len ? len : 1);
}

static void first_free(void *p)
{
    if (is_found())
        next.release(p);
}

static void *first_aligned(size_t align, size_t len)
{
    if (is_found())
        return next.memalign(align, len);
    return align <= SF_HEAP_ALIGN ? boot_take(len ? len : 1) : NULL;
}

static int first_posix_memalign(void **out, size_t align, size_t len)
{
    return is_found() ? next.posix_memalign(out, align, len) : ENOMEM;
}

static void *first_valloc(size_t len)
{
    return first_aligned(SF_HEAP_ALIGN, len);
}

SF_OWN(malloc);

__attribute__((constructor(101))) static void malloc_hook_at_load(void)
{
    malloc_hook_look_up();
    if (!SF_IS_CALLED(malloc) && !sf_next_is_there())
        return; /* libc's malloc is used directly and cannot be wrapped */
    is_passed_by = !SF_IS_CALLED(malloc) || malloc_hook_library_of(dlsym(RTLD_DEFAULT, "malloc")) !=
                                                malloc_hook_library_of(&next);
    if (is_passed_by)
        sf_heap_profiler_set_blind(
            "the program has its own malloc, which is used instead of the library's");
    sf_profiler_set_source(SF_SAMPLES_ALLOC, &sf_heap_alloc_source);
    sf_profiler_set_source(SF_SAMPLES_INUSE, &sf_heap_inuse_source);
}

/* ---- when a sampling point is reached ---- */

/* Allocates a block at an address that free recognises. It is never a small block, because libc
 * caches those by size and reuses them at once, so with time all small blocks of a program would
 * lie at the beginning of pages and compete for the same lines of the L1 cache: 2 % of a program
 * that allocates 700,000 times a second. Larger blocks are merged with their neighbours when
 * freed. */
static void *take_marked(size_t align, size_t len)
{
    enum { NOT_SMALL = 1100 };
    return next.for_samples(align > SF_HEAP_ALIGN ? align : SF_HEAP_ALIGN,
                            len > NOT_SMALL ? len : NOT_SMALL);
}

static __attribute__((noinline)) void *sampled(size_t align, size_t len, const void *caller)
{
    struct sf_hook_thread *t = &sf_hook_self;
    void *p = NULL;
    if (next.for_samples)
        p = take_marked(align, len);
    if (!p) /* no aligned allocator, or no memory with that alignment */
        p = align ? next.memalign(align, len) : next.alloc(len);
    sf_heap_profiler_add(t, p, len, caller);
    return p;
}

static __attribute__((noinline)) void *slow_alloc(size_t len, const void *caller)
{
    return sf_heap_profiler_wants(&sf_hook_self, len) ? sampled(0, len, caller) : next.alloc(len);
}

/* A large block consists of fresh pages, which need no clearing and are sufficiently aligned. */
static __attribute__((noinline)) void *slow_calloc(size_t n, size_t size, const void *caller)
{
    enum { LARGE = 128 * 1024 };
    struct sf_hook_thread *t = &sf_hook_self;
    size_t len;
    void *p = NULL;
    if (!sf_mul_size(n, size, &len) || !sf_heap_profiler_wants(t, len))
        return next.zeroed(n, size);
    if (len >= LARGE || !next.for_samples) {
        p = next.zeroed(n, size);
        if (p && (uintptr_t)p & SF_HEAP_MARK && next.for_samples) {
            next.release(p);
            p = NULL;
        }
    }
    if (!p && next.for_samples) {
        p = take_marked(0, len);
        if (p)
            memset(p, 0, len);
    }
    if (!p)
        p = next.zeroed(n, size);
    sf_heap_profiler_add(t, p, len, caller);
    return p;
}

/* Moves a resized block to an address that free recognises; the largest ones have such an address
 * anyway. */
static void *move_to_mark(void *p, size_t len)
{
    enum { MOST = 32 << 20 };
    void *marked;
    if (!((uintptr_t)p & SF_HEAP_MARK) || !next.for_samples || len > MOST)
        return p;
    marked = take_marked(0, len);
    if (!marked)
        return p;
    memcpy(marked, p, len);
    next.release(p);
    return marked;
}

static void *resize_boot(void *p, size_t len)
{
    void *moved = next.alloc(len);
    size_t room = (size_t)(boot[BOOT_PAGES - 1] + SF_HEAP_ALIGN - (char *)p);
    if (moved)
        memcpy(moved, p, len < room ? len : room);
    return moved;
}

static __attribute__((noinline)) void *slow_realloc(void *p, size_t len, const void *caller)
{
    struct sf_hook_thread *t = &sf_hook_self;
    struct sf_heap_held held = {0};
    bool is_wanted = false;
    void *resized;

    if (SF_RARELY(is_boot(p)))
        return resize_boot(p, len);
    t->heap_n++;
    if (len < t->heap_left)
        t->heap_left -= len;
    else
        is_wanted = sf_heap_profiler_wants(t, len);
    if (p && sf_heap_may_be_sampled(p))
        sf_heap_profiler_take(p, &held); /* remove it before another thread can get the same
                                          * address */
    resized = next.resize(p, len);
    if (!resized && len)
        sf_heap_profiler_put_back(&held);
    if (is_wanted && resized)
        resized = move_to_mark(resized, len);
    if (is_wanted)
        sf_heap_profiler_add(t, resized, len, caller);
    return resized;
}

static __attribute__((noinline)) void slow_free(void *p)
{
    if (is_boot(p))
        return;
    sf_heap_profiler_take(p, NULL);
    next.release(p);
}

/* ---- the wrappers ---- */

/* True: the allocation reaches the next sampling point. */
static inline bool malloc_hook_is_due(size_t len)
{
    struct sf_hook_thread *t = &sf_hook_self;
    uint64_t left = t->heap_left;
    t->heap_n++;
    if (SF_RARELY(len >= left))
        return true;
    t->heap_left = left - len;
    return false;
}

SF_HOOK void *malloc(size_t len)
{
    if (SF_RARELY(malloc_hook_is_due(len)))
        return slow_alloc(len, __builtin_return_address(0));
    return next.alloc(len);
}

SF_HOOK void free(void *p)
{
    if (SF_RARELY(sf_heap_may_be_sampled(p))) {
        slow_free(p);
        return;
    }
    next.release(p);
}

SF_HOOK void *calloc(size_t n, size_t size)
{
    size_t len;
    if (SF_RARELY(!sf_mul_size(n, size, &len) || malloc_hook_is_due(len)))
        return slow_calloc(n, size, __builtin_return_address(0));
    return next.zeroed(n, size);
}

SF_HOOK void *realloc(void *p, size_t len)
{
    if (SF_RARELY(sf_heap_may_be_sampled(p) || len >= sf_hook_self.heap_left))
        return slow_realloc(p, len, __builtin_return_address(0));
    sf_hook_self.heap_n++;
    sf_hook_self.heap_left -= len;
    return next.resize(p, len);
}

/* Implemented here through realloc: libc's calls realloc, and other allocators have none. */
SF_HOOK void *reallocarray(void *p, size_t n, size_t size)
{
    size_t len;
    if (!sf_mul_size(n, size, &len)) {
        errno = ENOMEM;
        return NULL;
    }
    if (SF_RARELY(is_passed_by))
        return SF_STAY(realloc(p, len)); /* the other allocator's realloc */
    if (SF_RARELY(sf_heap_may_be_sampled(p) || len >= sf_hook_self.heap_left))
        return slow_realloc(p, len, __builtin_return_address(0));
    sf_hook_self.heap_n++;
    sf_hook_self.heap_left -= len;
    return next.resize(p, len);
}

static bool is_power_of_two(size_t n)
{
    return n && !(n & (n - 1));
}

SF_HOOK void *memalign(size_t align, size_t len)
{
    if (SF_RARELY(malloc_hook_is_due(len)) && is_power_of_two(align) &&
        sf_heap_profiler_wants(&sf_hook_self, len))
        return sampled(align, len, __builtin_return_address(0));
    return next.memalign(align, len);
}

SF_HOOK void *aligned_alloc(size_t align, size_t len)
{
    if (SF_RARELY(malloc_hook_is_due(len)) && is_power_of_two(align) &&
        sf_heap_profiler_wants(&sf_hook_self, len))
        return sampled(align, len, __builtin_return_address(0));
    return next.aligned_alloc(align, len);
}

SF_HOOK int posix_memalign(void **out, size_t align, size_t len)
{
    if (SF_RARELY(malloc_hook_is_due(len)) && is_power_of_two(align) && align >= sizeof(void *) &&
        sf_heap_profiler_wants(&sf_hook_self, len)) {
        int saved = errno;
        void *p = sampled(align, len, __builtin_return_address(0));
        errno = saved; /* restore errno: this function does not set it */
        if (p)
            *out = p;
        return p ? 0 : ENOMEM;
    }
    return next.posix_memalign(out, align, len);
}

SF_HOOK void *valloc(size_t len)
{
    if (SF_RARELY(malloc_hook_is_due(len)) && sf_heap_profiler_wants(&sf_hook_self, len))
        return sampled(SF_HEAP_ALIGN, len, __builtin_return_address(0));
    return next.valloc(len);
}
