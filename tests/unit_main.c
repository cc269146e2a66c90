/* unit_main.c - runs the registered tests of one program, or those an argument picks. */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

enum { MAX_TESTS = 4096, MAX_NAME = 200 };

struct own_test {
    const char *file, *name;
    void (*run)(void **state);
    char skipped[MAX_NAME]; /* its name when it was */
};

static struct own_test own[MAX_TESTS];
static struct CMUnitTest tests[MAX_TESTS];
static size_t n_tests;
static bool is_inside; /* a test has begun and not come to its end: it failed when another begins */
static jmp_buf left;   /* by a test that skips */

void test_register(const char *file, const char *name, void (*run)(void **state))
{
    if (n_tests == MAX_TESTS)
        abort();
    own[n_tests++] = (struct own_test){.file = file, .name = name, .run = run};
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

/* Whether the file is NOUN_test.c, NOUN_prop.c or NOUN_fault.c. */
static bool is_file_of(const char *file, const char *noun)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    const char *kind = strrchr(base, '_');
    return kind && strlen(noun) == (size_t)(kind - base) && strncmp(base, noun, strlen(noun)) == 0;
}

/* Keeps the tests of the file with that noun or, when there is none, those whose name contains it.
 */
static void pick(const char *word)
{
    bool is_noun = false;
    size_t kept = 0;

    for (size_t i = 0; i < n_tests; i++)
        is_noun |= is_file_of(own[i].file, word);
    for (size_t i = 0; i < n_tests; i++) {
        if (is_noun ? is_file_of(own[i].file, word) : strstr(own[i].name, word) != NULL)
            own[kept++] = own[i];
    }
    n_tests = kept;
}

void test_skip(void)
{
    longjmp(left, 1);
}

/* cmocka prints the name when the test is over, so a skip can be said there. */
static void run_one(void **state)
{
    struct own_test *test = *state;
    void *nothing = NULL;

    if (is_inside && getenv("TEST_STOPS")) /* who asks only whether one fails has the answer */
        _exit(1);
    is_inside = true;
    if (setjmp(left) == 0) {
        test->run(&nothing);
        is_inside = false;
        return;
    }
    is_inside = false;
    snprintf(test->skipped, sizeof(test->skipped), "%s # SKIP", test->name);
    tests[test - own].name = test->skipped;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        pick(argv[1]);
    if (n_tests == 0) { /* nothing ran, which proves nothing */
        printf("1..1\nnot ok 1 - no test here is called %s\n", argc > 1 ? argv[1] : "anything");
        return 1;
    }
    for (size_t i = 0; i < n_tests; i++)
        tests[i] = (struct CMUnitTest){
            .name = own[i].name, .test_func = run_one, .initial_state = &own[i]};
    return _cmocka_run_group_tests("", tests, n_tests, NULL, NULL);
}
