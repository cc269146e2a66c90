#include "cli/answer.h"

#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"
#include "os/terminal.h"

enum { NOTES = 8 }; /* distinct notes that are printed once each */

enum sf_output sf_answer_output(const char *command, const char *word, bool has_csv)
{
    sf_str w = sf_str_from(word);
    if (!word || sf_str_eq(w, SF_STR("text")))
        return SF_OUTPUT_TEXT;
    if (sf_str_eq(w, SF_STR("json")))
        return SF_OUTPUT_JSON;
    if (has_csv && sf_str_eq(w, SF_STR("csv")))
        return SF_OUTPUT_CSV;
    fprintf(stderr, "spanflame %s: --output %s: use text%s json%s\n", command, word,
            has_csv ? "," : " or", has_csv ? " or csv" : "");
    return SF_OUTPUT_BAD;
}

int sf_answer_fault(const char *command, const struct sf_why *why)
{
    fprintf(stderr, "spanflame %s: %s\n", command, why->text);
    return 1;
}

void sf_answer_note(const char *command, const char *note)
{
    fprintf(stderr, "spanflame %s: note: %s\n", command, note);
}

void sf_answer_note_once(const char *note)
{
    static uint64_t said[NOTES];
    static size_t n;
    uint64_t hash = sf_hash_str(sf_str_from(note));
    for (size_t i = 0; i < n; i++) {
        if (said[i] == hash)
            return;
    }
    if (n == NOTES)
        return;
    said[n++] = hash;
    fprintf(stderr, "spanflame: note: %s\n", note);
}

int sf_answer_usage(const char *command, const char *sentence)
{
    fprintf(stderr, "spanflame %s: %s\nTry: spanflame %s --help\n", command, sentence, command);
    return 2;
}

int sf_answer_write(struct sf_buf *out)
{
    bool is_written = sf_buf_ok(out) && sf_terminal_write(STDOUT_FILENO, sf_buf_str(out));
    bool is_whole = sf_buf_ok(out);
    sf_buf_done(out);
    if (!is_whole)
        fprintf(stderr, "spanflame: no memory for the answer\n");
    return is_written ? 0 : 1;
}

int sf_answer_end(const char *command, enum sf_err err, struct sf_buf *out,
                  const struct sf_why *why)
{
    if (!err)
        return sf_answer_write(out);
    sf_buf_done(out);
    return sf_answer_fault(command, why);
}
