#include "cli/manual.h"

#include <string.h>

/* Adds text to a manual page; escapes backslashes and characters that would start a macro. */
static void manual_add_text(struct sf_buf *out, sf_str text)
{
    bool is_line_start = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (is_line_start && (c == '.' || c == '\''))
            sf_buf_add_str(out, SF_STR("\\&"));
        /* A new sentence begins a new line. */
        is_line_start = c == ' ' && i && text.p[i - 1] == '.' && text.len - i > 1;
        if (c == '\\')
            sf_buf_add_str(out, SF_STR("\\e"));
        else if (c == '-')
            sf_buf_add_str(out, SF_STR("\\-"));
        else
            sf_buf_add_u8(out, (uint8_t)(is_line_start ? '\n' : c));
    }
    sf_buf_add_u8(out, '\n');
}

/* Adds a macro's argument, quoted so that no word in it is read as another macro. */
static void add_argument(struct sf_buf *out, const char *text)
{
    sf_buf_add_u8(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            sf_buf_add_str(out, SF_STR("\"\""));
        else if (*text == '\\')
            sf_buf_add_str(out, SF_STR("\\e"));
        else if (*text == '-')
            sf_buf_add_str(out, SF_STR("\\-"));
        else
            sf_buf_add_u8(out, (uint8_t)*text);
    }
    sf_buf_add_u8(out, '"');
}

static void add_paragraphs(struct sf_buf *out, const char *text)
{
    sf_str rest = sf_str_from(text), line;
    bool is_blank = false;
    while (sf_str_split_next(&rest, '\n', &line)) {
        line = sf_str_trim(line);
        if (line.len == 0) {
            is_blank = true;
            continue;
        }
        if (is_blank)
            sf_buf_add_str(out, SF_STR(".Pp\n"));
        is_blank = false;
        manual_add_text(out, line);
    }
}

static void manual_begin(struct sf_buf *out, const char *name, sf_str summary)
{
    if (summary.len && summary.p[summary.len - 1] == '.')
        summary.len--;
    sf_buf_add_str(out, SF_STR(".Dd November 15, 2026\n.Dt SPANFLAME"));
    if (*name)
        sf_buf_add_u8(out, '-');
    for (const char *c = name; *c; c++)
        sf_buf_add_u8(out, (uint8_t)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c));
    sf_buf_print(out, " 1\n.Os\n.Sh NAME\n.Nm spanflame%s%s\n.Nd ", *name ? "-" : "", name);
    manual_add_text(out, summary);
}

static void manual_add_flags(struct sf_buf *out, const struct sf_args *args)
{
    sf_buf_add_str(out, SF_STR(".Sh OPTIONS\n.Bl -tag -width Ds\n"));
    for (size_t i = 0; i < args->n_flags; i++) {
        const struct sf_flag *f = &args->flags[i];
        sf_buf_print(out, ".It Fl \\-");
        for (const char *c = f->name; *c; c++)
            sf_buf_print(out, *c == '-' ? "\\-" : "%c", *c);
        if (f->value_name) {
            sf_buf_add_str(out, SF_STR(" Ar "));
            add_argument(out, f->value_name);
        }
        sf_buf_add_u8(out, '\n');
        manual_add_text(out, sf_str_from(f->help));
    }
    sf_buf_add_str(out, SF_STR(".It Fl \\-help\nprint usage and exit\n.El\n"));
}

static void add_examples(struct sf_buf *out, const char *examples)
{
    sf_str rest = sf_str_from(examples), line;
    sf_buf_add_str(out, SF_STR(".Sh EXAMPLES\n.Bd -literal -offset indent\n"));
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (line.len)
            manual_add_text(out, line);
    }
    sf_buf_add_str(out, SF_STR(".Ed\n"));
}

void sf_manual_command(const struct sf_args *args, struct sf_buf *out)
{
    manual_begin(out, args->command, sf_str_from(args->summary));
    sf_buf_add_str(out, SF_STR(".Sh SYNOPSIS\n.Nm spanflame\n.Cm "));
    add_argument(out, args->command);
    sf_buf_add_u8(out, '\n');
    if (args->usage && *args->usage) {
        sf_buf_add_str(out, SF_STR(".Li "));
        add_argument(out, args->usage);
        sf_buf_add_u8(out, '\n');
    }
    sf_buf_add_str(out, SF_STR(".Sh DESCRIPTION\n"));
    add_paragraphs(out, args->summary);
    if (args->details && *args->details) {
        sf_buf_add_str(out, SF_STR(".Pp\n"));
        add_paragraphs(out, args->details);
    }
    manual_add_flags(out, args);
    sf_buf_add_str(out, SF_STR(".Sh EXIT STATUS\n0 on success, 1 on failure (the reason is printed "
                               "on standard error), 2 on invalid usage.\n"));
    if (args->examples && *args->examples)
        add_examples(out, args->examples);
    sf_buf_add_str(out, SF_STR(".Sh SEE ALSO\n.Xr spanflame 1\n"));
}

void sf_manual_main(const struct sf_command *const *commands, size_t n, struct sf_buf *out)
{
    manual_begin(out, "", SF_STR("traces and profiles in one store, joined"));
    sf_buf_add_str(out,
                   SF_STR(".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Sh DESCRIPTION\n"
                          "Spanflame stores OpenTelemetry traces and profiles together and shows\n"
                          "which code made a request slow.\nEach command has its own manual page "
                          "and prints its usage with\n"
                          ".Fl \\-help .\n.Sh COMMANDS\n.Bl -tag -width check-config\n"));
    for (size_t i = 0; i < n; i++) {
        if (commands[i]->alias_of)
            continue;
        sf_buf_add_str(out, SF_STR(".It Cm "));
        add_argument(out, commands[i]->name);
        sf_buf_add_u8(out, '\n');
        manual_add_text(out, sf_str_from(commands[i]->summary));
    }
    sf_buf_add_str(
        out, SF_STR(".El\n.Sh ENVIRONMENT\n.Bl -tag -width SPANFLAME_SERVER\n"
                    ".It Ev SPANFLAME_SERVER\nURL of the server, if\n.Fl \\-server\nis not given\n"
                    ".It Ev SPANFLAME_TOKEN\nthe bearer token for requests to it\n"
                    ".It Ev NO_COLOR\nif set, output has no colours\n.El\n"));
}
