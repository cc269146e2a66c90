/* test.h - a test is a sentence: TEST(block_writer, refuses_rows_out_of_order) { ... }
 *
 * Each test registers itself; unit_main.c runs them all and prints TAP. A program holds the tests
 * of many files, and an argument on the command line picks some of them: `block_unit fuse` runs
 * those of fuse_test.c; a word that names no file picks the tests whose name contains it. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* `file` is the path of the source. */
void test_register(const char *file, const char *name, void (*run)(void **state));

/* CHECK_SCALE: how much of the long work this run wants; 1 unless told. */
unsigned test_scaled(unsigned n); /* n times the scale, at least 1 */
/* Looks at every thing when the scale is 1, at every so-many-th below. Odd, so that things which
 * lie at regular distances all have their turn. */
size_t test_stride(void);

/* Ends the test as skipped. The comment printed just before is the reason. */
__attribute__((noreturn)) void test_skip(void);
#undef skip /* cmocka's says "not ok" */
#define skip() test_skip()

#define TEST(noun, sentence)                                                    \
    static void noun##_##sentence(void **state);                                \
    __attribute__((constructor)) static void register_##noun##_##sentence(void) \
    {                                                                           \
        test_register(__BASE_FILE__, #noun " " #sentence, noun##_##sentence);   \
    }                                                                           \
    static void noun##_##sentence(__attribute__((unused)) void **state)

#define assert_ok(call)                                                 \
    do {                                                                \
        enum sf_err assert_ok_err = (call);                             \
        if (assert_ok_err)                                              \
            fail_msg("%s gives %s", #call, sf_err_name(assert_ok_err)); \
    } while (0)
#define assert_err(call, want)                                                  \
    do {                                                                        \
        enum sf_err assert_err_got = (call);                                    \
        if (assert_err_got != (want))                                           \
            fail_msg("%s gives %s, not %s", #call, sf_err_name(assert_err_got), \
                     sf_err_name(want));                                        \
    } while (0)
#define assert_str(s, literal)                                                             \
    do {                                                                                   \
        sf_str assert_str_s = (s);                                                         \
        if (!sf_str_eq(assert_str_s, SF_STR(literal)))                                     \
            fail_msg("%s is \"%.*s\", not \"%s\"", #s, SF_STR_ARG(assert_str_s), literal); \
    } while (0)
