/* unit_main.c - runs every registered test of one program. */
#include <stdlib.h>

#include "test.h"

enum { MAX_TESTS = 1024 };
static struct CMUnitTest tests[MAX_TESTS];
static size_t n_tests;

void test_register(const char *name, void (*run)(void **state))
{
    if (n_tests == MAX_TESTS)
        abort();
    tests[n_tests++] = (struct CMUnitTest){.name = name, .test_func = run};
}

static double test_scale(void)
{
    const char *text = getenv("CHECK_SCALE");
    double scale = text ? strtod(text, NULL) : 1;
    return scale > 0 ? scale : 1;
}

unsigned test_scaled(unsigned n)
{
    double scaled = n * test_scale();
    return scaled < 1 ? 1 : (unsigned)scaled;
}

size_t test_stride(void)
{
    double scale = test_scale();
    return scale < 1 ? (size_t)(1 / scale) | 1 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < n_tests; i++) {
            if (strstr(tests[i].name, argv[1]))
                tests[kept++] = tests[i];
        }
        n_tests = kept;
    }
    return _cmocka_run_group_tests("", tests, n_tests, NULL, NULL);
}
