#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/unwind/modules.h"
#include "symbol/elf_symbols.h"

__attribute__((noinline)) static int a_function_to_find(int n)
{
    return n * 3;
}

TEST(elf_symbols, names_a_function_by_any_of_its_addresses)
{
    struct sf_elf_symbols s;
    struct sf_elf_file f;
    const struct sf_module *m;
    uintptr_t at = (uintptr_t)a_function_to_find;
    uint64_t asked[2] = {0, UINT64_MAX};
    struct sf_elf_symbol found;
    assert_true(sf_modules_refresh());
    m = sf_modules_find(sf_modules_enter(), at);
    assert_non_null(m);
    assert_true(sf_elf_file_open(&f, m->path));
    asked[0] = at - m->base;
    assert_true(sf_elf_symbols_read(&s, &f, asked, 2));
    assert_int_equal(s.n, 1);
    assert_str(sf_elf_symbols_find(&s, at - m->base, &found), "a_function_to_find");
    assert_str(sf_elf_symbols_find(&s, at - m->base + 1, &found), "a_function_to_find");
    assert_int_equal(found.at, at - m->base);
    assert_int_equal(sf_elf_symbols_find(&s, UINT64_MAX, &found).len, 0);
    assert_int_equal(sf_elf_symbols_find(&s, 0, &found).len, 0);
    sf_elf_symbols_done(&s);
    sf_elf_file_close(&f);
    sf_modules_leave();
    assert_int_equal(a_function_to_find(2), 6);
}

__attribute__((noinline, used)) int ___plainest(int n);
__attribute__((noinline, used)) int ___plainest(int n)
{
    return n * 5;
}
int plainest(int n) __attribute__((alias("___plainest")));
int aplainest(int n) __attribute__((alias("___plainest")));
int __GI___plainest(int n) __attribute__((alias("___plainest")));

TEST(elf_symbols, takes_the_plainest_of_a_functions_names)
{
    struct sf_elf_symbols s;
    struct sf_elf_file f;
    uintptr_t at = (uintptr_t)plainest;
    uint64_t asked;
    struct sf_elf_symbol found;
    assert_true(sf_modules_refresh());
    const struct sf_module *m = sf_modules_find(sf_modules_enter(), at);
    assert_non_null(m);
    assert_true(sf_elf_file_open(&f, m->path));
    asked = at - m->base;
    assert_true(sf_elf_symbols_read(&s, &f, &asked, 1));
    assert_str(sf_elf_symbols_find(&s, at - m->base, &found), "plainest");
    assert_int_equal(found.at, at - m->base);
    sf_elf_symbols_done(&s);
    sf_elf_file_close(&f);
    sf_modules_leave();
}

TEST(elf_symbols, refuses_what_is_no_elf_file)
{
    struct sf_elf_file f;
    assert_false(sf_elf_file_open(&f, "/nonexistent"));
    assert_false(sf_elf_file_open(&f, "/etc/passwd"));
    assert_false(sf_elf_file_open(&f, "/"));
    assert_false(sf_elf_file_open(&f, "/dev/null"));
    sf_elf_file_close(&f);
}

/* Any damage: found or refused, never read past the end. */
TEST(elf_symbols, survives_damaged_files)
{
    char path[] = "/tmp/spanflame-elf-XXXXXX";
    uint8_t head[4096];
    FILE *self = fopen("/proc/self/exe", "rb");
    size_t n = fread(head, 1, sizeof(head), self);
    int fd = mkstemp(path);
    uint64_t chance = 7;
    struct sf_elf_symbol found;
    fclose(self);
    assert_true(n == sizeof(head) && fd >= 0);
    for (int round = 0; round < 300; round++) {
        struct sf_elf_symbols s;
        struct sf_elf_file f;
        uint8_t copy[sizeof(head)];
        memcpy(copy, head, sizeof(head));
        for (int i = 0; i < 4; i++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            copy[4 + (chance >> 33) % 60] = (uint8_t)(chance >> 20);
        }
        assert_int_equal(pwrite(fd, copy, sizeof(copy), 0), (ssize_t)sizeof(copy));
        if (sf_elf_file_open(&f, path) && sf_elf_symbols_read(&s, &f, &chance, 1)) {
            sf_elf_symbols_find(&s, chance, &found);
            sf_elf_symbols_done(&s);
        }
        sf_elf_file_close(&f);
    }
    close(fd);
    unlink(path);
}
