/* What does it cost to say which functions, files and lines an address is, and how much memory?
 *
 * Addresses spread over the functions of a program with debug information (the first argument, or
 * the server), all at once as for a profile: found cold, with every unit of debug information read;
 * then again from what was kept. The fastest of several runs; memory is what the process
 * gained at its peak, the mapped pages of the file among it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/heap.h"
#include "collect/lib/symbol_cache.h"
#include "symbol/demangler.h"
#include "symbol/elf_symbols.h"
#include "symbol/module_symbols.h"

enum { RUNS = 5, MAX = 4000, NAMES = 20000 };

static uint64_t at[MAX];
static struct sf_symbol_cache cache;
static uint64_t n_lines;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others work here, too */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double memory_kb(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)r.ru_maxrss;
}

/* As a profile's writer does. */
static void take(void *arg, uint32_t query, const struct sf_symbol_line *lines, unsigned n)
{
    struct sf_cached_address *found;
    bool is_new;
    (void)arg;
    for (unsigned i = 0; i < n; i++)
        sf_symbol_cache_add(&cache, lines[i].name, lines[i].file, lines[i].line,
                            lines[i].decl_line);
    found = sf_symbol_cache_address(&cache, at[query], &is_new);
    if (found)
        found->n_lines = (uint8_t)n;
    n_lines += n;
}

static const struct sf_elf_symbol *symbol(const struct sf_elf_symbols *s, uint32_t i)
{
    return (const struct sf_elf_symbol *)(const void *)s->list.p + i;
}

/* In the middle of functions, evenly over the whole file. */
static uint32_t choose(const struct sf_elf_symbols *s)
{
    uint32_t n = s->n < MAX ? s->n : MAX, kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_elf_symbol *one = symbol(s, (uint32_t)((uint64_t)i * s->n / n));
        uint64_t place = one->at + one->len / 2;
        if (!kept || place > at[kept - 1])
            at[kept++] = place;
    }
    return kept;
}

static void bench_names(const struct sf_elf_symbols *s)
{
    struct sf_demangler *d = sf_demangler_new();
    struct sf_buf out = {0};
    uint32_t n = 0;
    double begin = now_ns();
    for (uint32_t i = 0; i < s->n && n < NAMES; i++) {
        uint32_t off = symbol(s, i)->name;
        sf_buf_reset(&out);
        n += sf_demangler_run(d, sf_file_pages_text(s->names.p + off, s->names.len - off), &out);
        sf_file_pages_trim();
    }
    if (n)
        printf("demangle %.0f ns/name\n", (now_ns() - begin) / n);
    sf_buf_done(&out);
    sf_demangler_free(d);
}

static double bench_kept(uint32_t n)
{
    double begin = now_ns();
    uint64_t sum = 0;
    bool is_new;
    for (uint32_t i = 0; i < n; i++)
        sum += sf_symbol_cache_address(&cache, at[i], &is_new)->n_lines;
    __asm__ volatile("" : : "r"(sum));
    return (now_ns() - begin) / n;
}

int main(int argc, char **argv)
{
    const char *server = getenv("SPANFLAME"); /* what the other benchmarks run */
    const char *path = argc > 1 ? argv[1] : server ? server : "/proc/self/exe";
    double before = memory_kb(), cold = 1e18, kept = 1e18;
    struct sf_elf_symbols s;
    struct sf_elf_file f;
    uint32_t n;
    if (!sf_elf_file_open(&f, path) || !sf_elf_symbols_read(&s, &f, NULL, 0)) {
        fprintf(stderr, "symbol_bench: %s: no symbols\n", path);
        return 1;
    }
    n = choose(&s);
    for (int run = 0; run < RUNS; run++) {
        double begin = now_ns(), took, again;
        sf_symbol_cache_done(&cache);
        n_lines = 0;
        if (!sf_module_symbols_find(path, SF_BYTES_NONE, &sf_module_symbols_inside, at, n, take,
                                    NULL, NULL))
            return 1;
        took = now_ns() - begin;
        again = bench_kept(n);
        cold = took < cold ? took : cold;
        kept = again < kept ? again : kept;
    }
    printf("addresses %u\nlines %.2f per address\n", n, (double)n_lines / n);
    printf("cold %.0f ns/address\ncold_line %.0f ns/line\nwhole %.2f ms\nkept %.0f ns/address\n",
           cold / n, cold / (double)(n_lines ? n_lines : 1), cold / 1e6, kept);
    printf("memory %.0f KiB\ncache %.0f KiB\n", memory_kb() - before,
           (double)(cache.text.cap + cache.lines.cap + cache.found.cap + cache.places.cap +
                    cache.demangled.cap + cache.addresses.entries.cap + cache.texts.entries.cap +
                    cache.names.entries.cap) /
               1024);
    bench_names(&s);
    sf_symbol_cache_done(&cache);
    sf_elf_symbols_done(&s);
    sf_elf_file_close(&f);
    return 0;
}
