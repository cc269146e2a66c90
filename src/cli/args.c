/* args.c - help, parsing and checks of a command's flags, all from one table: wrapped help and the
 * manual page; words and flags in any order, with suggestions for unknown ones; and, for commands
 * with several forms, which of the given flags belong to which form. */
#include "cli/args.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/setting.h"
#include "base/text.h"
#include "cli/manual.h"
#include "os/terminal.h"

enum { HELP_WIDTH = 80, HELP_WIDTH_MAX = 100, HELP_WIDTH_MIN = 40, MAX_NAMES = 128 };
static const char client_flags[] = "server token-file tenant ca-file timeout";

/* ---- --help ---- */

/* Wraps `text` to `width` columns. Lines are indented by `indent` blanks, except the first, which
 * begins at column `at`. Newlines in the text are kept; lines that begin with blanks are not
 * wrapped. */
static void add_wrapped(struct sf_buf *out, sf_str text, size_t indent, size_t at, size_t width)
{
    sf_str line;
    bool is_first = true;

    while (sf_str_split_next(&text, '\n', &line)) {
        bool is_kept = line.len && line.p[0] == ' ';
        sf_str word;
        size_t column = at;
        if (!is_first) {
            sf_buf_print(out, "%*s", line.len ? (int)indent : 0, "");
            column = indent;
        }
        is_first = false;
        if (is_kept) {
            sf_buf_add_str(out, line);
            line = SF_STR_NONE;
        }
        for (bool is_line_start = true; sf_str_split_next(&line, ' ', &word);) {
            size_t len = sf_utf8_width(word);
            if (!is_line_start && column + 1 + len > width) {
                sf_buf_print(out, "\n%*s", (int)indent, "");
                column = indent;
                is_line_start = true;
            }
            if (!is_line_start) {
                sf_buf_add_u8(out, ' ');
                column++;
            }
            sf_buf_add_str(out, word);
            column += len;
            is_line_start = false;
        }
        sf_buf_add_u8(out, '\n');
    }
}

static int flag_label(const struct sf_flag *flag, char *to, size_t cap)
{
    bool is_on = flag->kind == SF_FLAG_BOOL && flag->to && *(const bool *)flag->to;
    return snprintf(to, cap, "--%s%s%s%s", is_on ? "[no-]" : "", flag->name,
                    flag->value_name ? " " : "", flag->value_name ? flag->value_name : "");
}

static void args_add_flags(struct sf_buf *out, const struct sf_args *args, size_t width)
{
    static const struct sf_flag help = {
        .name = "help", .kind = SF_FLAG_BOOL, .help = "print usage and exit"};
    size_t longest = 0;
    char label[96];

    for (size_t i = 0; i <= args->n_flags; i++) {
        int len = flag_label(i < args->n_flags ? &args->flags[i] : &help, label, sizeof(label));
        if (len > 0 && (size_t)len > longest && len <= 28)
            longest = (size_t)len;
    }
    sf_buf_print(out, "\nFlags:\n");
    for (size_t i = 0; i <= args->n_flags; i++) {
        const struct sf_flag *flag = i < args->n_flags ? &args->flags[i] : &help;
        int len = flag_label(flag, label, sizeof(label));
        sf_buf_print(out, "  %-*s  ", (int)longest, label);
        if (len > 28)
            sf_buf_print(out, "\n%*s", (int)longest + 4, "");
        add_wrapped(out, sf_str_from(flag->help), longest + 4, longest + 4, width);
    }
}

void sf_args_help(const struct sf_args *args, size_t width, struct sf_buf *out)
{
    if (width < HELP_WIDTH_MIN)
        width = HELP_WIDTH_MIN;
    if (width > HELP_WIDTH_MAX)
        width = HELP_WIDTH_MAX; /* longer lines are hard to read */
    sf_buf_print(out, "Usage: spanflame %s", args->command);
    if (args->usage && args->usage[0])
        sf_buf_print(out, " %s", args->usage);
    sf_buf_print(out, "\n\n");
    add_wrapped(out, sf_str_from(args->summary), 0, 0, width);
    if (args->details && args->details[0]) {
        sf_buf_add_u8(out, '\n');
        add_wrapped(out, sf_str_from(args->details), 0, 0, width);
    }
    args_add_flags(out, args, width);
    if (args->examples && args->examples[0]) {
        sf_str rest = sf_str_from(args->examples), line;
        sf_buf_print(out, "\nExamples:\n");
        while (sf_str_split_next(&rest, '\n', &line)) {
            if (line.len || rest.len)
                sf_buf_print(out, "%s%.*s\n", line.len ? "  " : "", SF_STR_ARG(line));
        }
    }
}

static enum sf_args_result args_print_help(const struct sf_args *args)
{
    struct sf_buf out = {0};
    sf_args_help(args, sf_terminal_width(STDOUT_FILENO, HELP_WIDTH), &out);
    fwrite(out.p, 1, out.len, stdout);
    sf_buf_done(&out);
    return SF_ARGS_DONE;
}

/* For tools/manual: prints the command's manual page. */
static enum sf_args_result args_print_manual(const struct sf_args *args)
{
    struct sf_buf out = {0};
    sf_manual_command(args, &out);
    fwrite(out.p, 1, out.len, stdout);
    sf_buf_done(&out);
    return SF_ARGS_DONE;
}

/* For shell completion: prints one flag per line. */
static enum sf_args_result print_flags(const struct sf_args *args)
{
    for (size_t i = 0; i < args->n_flags; i++)
        printf("--%s\n", args->flags[i].name);
    printf("--help\n");
    return SF_ARGS_DONE;
}

/* ---- parsing ---- */

static enum sf_args_result args_bad(const struct sf_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static enum sf_args_result args_bad(const struct sf_args *args, const char *format, ...)
{
    struct sf_why why;
    va_list list;
    va_start(list, format);
    sf_fail_va(&why, SF_ERR_INPUT, format, list);
    va_end(list);
    fprintf(stderr, "spanflame %s: %s\nTry: spanflame %s --help\n", args->command, why.text,
            args->command);
    return SF_ARGS_BAD;
}

static const struct sf_flag *find_flag(const struct sf_args *args, sf_str name)
{
    for (size_t i = 0; i < args->n_flags; i++) {
        if (sf_str_eq(name, sf_str_from(args->flags[i].name)))
            return &args->flags[i];
    }
    return NULL;
}

static enum sf_args_result unknown_flag(const struct sf_args *args, sf_str name)
{
    const char *known[MAX_NAMES];
    const char *nearest;
    size_t n = 0;

    for (; n < args->n_flags && n < MAX_NAMES - 1; n++)
        known[n] = args->flags[n].name;
    known[n++] = "help";
    nearest = sf_text_nearest(name, known, n);
    if (nearest)
        return args_bad(args, "there is no flag --%.*s; did you mean --%s?", SF_STR_ARG(name),
                        nearest);
    return args_bad(args, "there is no flag --%.*s", SF_STR_ARG(name));
}

static bool set_bool(const struct sf_flag *flag, sf_str text)
{
    bool is_true = sf_str_eq(text, SF_STR("true")), is_false = sf_str_eq(text, SF_STR("false"));
    if (is_true || is_false)
        *(bool *)flag->to = is_true;
    return is_true || is_false;
}

static enum sf_args_result set_flag(const struct sf_args *args, const struct sf_flag *flag,
                                    const char *value)
{
    struct sf_why why;
    sf_str text = sf_str_from(value);
    struct sf_flag_list *list;

    switch (flag->kind) {
    case SF_FLAG_BOOL:
        if (!set_bool(flag, text))
            return args_bad(args, "--%s is true or false, not \"%s\"", flag->name, value);
        break;
    case SF_FLAG_STR: *(const char **)flag->to = value; break;
    case SF_FLAG_LIST:
        list = flag->to;
        if (list->n == sizeof(list->items) / sizeof(list->items[0]))
            return args_bad(args, "--%s is allowed at most %zu times", flag->name, list->n);
        list->items[list->n++] = value;
        break;
    case SF_FLAG_U64:
        if (!sf_str_to_u64(text, flag->to))
            return args_bad(args, "--%s expects a whole number, not \"%s\"", flag->name, value);
        break;
    case SF_FLAG_DURATION:
        if (sf_setting_duration_parse(text, SF_DURATION_PLAIN, flag->to, &why))
            return args_bad(args,
                            "--%s expects a duration such as 500ms, 1h30m or 7d, not \"%s\": %s",
                            flag->name, value, why.text);
        break;
    case SF_FLAG_SIZE:
        if (sf_setting_size_parse(text, flag->to, &why))
            return args_bad(args,
                            "--%s expects a size such as 512KB, 64MiB or 50GB, not \"%s\": %s",
                            flag->name, value, why.text);
        break;
    }
    return SF_ARGS_RUN;
}

static void args_note_given(struct sf_args *args, const struct sf_flag *flag)
{
    size_t i = (size_t)(flag - args->flags);
    args->given[i / 64] |= (uint64_t)1 << i % 64;
}

/* One "--name", "--name=VALUE", "--name VALUE" or "--no-name". *at is advanced past a value. */
static enum sf_args_result parse_flag(struct sf_args *args, int argc, char **argv, int *at)
{
    const char *given = argv[*at] + 2;
    const char *equals = strchr(given, '=');
    sf_str name = {given, equals ? (size_t)(equals - given) : strlen(given)};
    const struct sf_flag *flag = find_flag(args, name);

    if (!flag && sf_str_starts(name, SF_STR("no-"))) {
        flag = find_flag(args, sf_str_from_at(name, 3));
        if (flag && flag->kind == SF_FLAG_BOOL && !equals) {
            *(bool *)flag->to = false;
            args_note_given(args, flag);
            return SF_ARGS_RUN;
        }
        flag = NULL;
    }
    if (!flag)
        return unknown_flag(args, name);
    args_note_given(args, flag);
    if (equals)
        return set_flag(args, flag, equals + 1);
    if (flag->kind == SF_FLAG_BOOL) {
        *(bool *)flag->to = true;
        return SF_ARGS_RUN;
    }
    if (*at + 1 >= argc)
        return args_bad(args, "--%s expects a value: --%s %s", flag->name, flag->name,
                        flag->value_name ? flag->value_name : "VALUE");
    return set_flag(args, flag, argv[++*at]);
}

enum sf_args_result sf_args_parse(struct sf_args *args, int argc, char **argv)
{
    bool has_flags = true;

    args->n_words = 0;
    memset(args->given, 0, sizeof(args->given));
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        enum sf_args_result result;
        if (!has_flags || arg[0] != '-' || arg[1] == 0) {
            if (args->n_words == sizeof(args->words) / sizeof(args->words[0]))
                return args_bad(args, "at most %zu arguments are allowed", args->n_words);
            args->words[args->n_words++] = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            has_flags = false;
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
            return args_print_help(args);
        if (strcmp(arg, "--list-flags") == 0)
            return print_flags(args);
        if (strcmp(arg, "--manual") == 0)
            return args_print_manual(args);
        if (arg[1] != '-')
            return args_bad(args, "flags begin with two dashes: \"%s\" does not", arg);
        result = parse_flag(args, argc, argv, &i);
        if (result != SF_ARGS_RUN)
            return result;
    }
    return SF_ARGS_RUN;
}

/* ---- forms ---- */

static bool args_has_word(const char *words, const char *word)
{
    sf_str rest = sf_str_from(words), one;
    while (sf_str_split_next(&rest, ' ', &one)) {
        if (sf_str_eq(one, sf_str_from(word)))
            return true;
    }
    return false;
}

bool sf_args_allow(const struct sf_args *args, const char *form, const char *names)
{
    for (size_t i = 0; i < args->n_flags; i++) {
        const char *name = args->flags[i].name;
        if (!(args->given[i / 64] >> i % 64 & 1) || args_has_word(names, name) ||
            args_has_word(client_flags, name))
            continue;
        (void)args_bad(args, "--%s does not apply to %s", name, form);
        return false;
    }
    return true;
}
