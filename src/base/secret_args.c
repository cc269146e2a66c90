/* secret_args.c - reads the words of a command one by one and remembers what the next may be: the
 * value of --password, the password behind the flag of a known program, or part of a user:password.
 * The second half cuts a text into such words, with quotes and the ends of commands. */
#include "base/secret_args.h"

#include <string.h>

#include "base/text.h"

enum expected { ANY, WHOLE, USER, OF_FLAG };
enum { FLAG_MAX = 128 }; /* longer words are not flag names */

/* How programs take a password with a one-letter flag. The letter alone is not enough: find has
 * -print, make -p, docker run -p 80:80. */
enum form {
    ATTACHED,  /* -pSECRET; with "-p WORD" the program prompts for the password and WORD is
                * something else */
    SEPARATE,  /* -a SECRET */
    EITHER,    /* -pSECRET, -p SECRET */
    USER_PASS, /* -u user:SECRET, -uuser:SECRET */
};

/* Flags without a value, which may stand in one word before the flag: curl -sSu user:SECRET. */
#define CURL_ALONE  "sSfkLvigINjJlnOpqRaBG0123456#"
#define MYSQL_ALONE "sNBvrtfnqCEHXAbGiL"
#define LDAP_ALONE  "xvZMnLAR"

static const struct program {
    const char *name, *subcommand;
    char flag;
    enum form form;
    const char *alone;
} programs[] = {
    {"mysql", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqldump", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqladmin", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqlimport", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqlcheck", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqlshow", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqlslap", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqlpump", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mysqlsh", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mariadb", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mariadb-dump", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"mariadb-admin", NULL, 'p', ATTACHED, MYSQL_ALONE},
    {"sshpass", NULL, 'p', EITHER, "v"},
    {"mongo", NULL, 'p', EITHER, ""},
    {"mongosh", NULL, 'p', EITHER, ""},
    {"mongodump", NULL, 'p', EITHER, ""},
    {"mongorestore", NULL, 'p', EITHER, ""},
    {"redis-cli", NULL, 'a', SEPARATE, ""},
    {"mosquitto_pub", NULL, 'P', SEPARATE, ""},
    {"mosquitto_sub", NULL, 'P', SEPARATE, ""},
    {"ldapsearch", NULL, 'w', EITHER, LDAP_ALONE},
    {"ldapmodify", NULL, 'w', EITHER, LDAP_ALONE},
    {"ldapadd", NULL, 'w', EITHER, LDAP_ALONE},
    {"sqlcmd", NULL, 'P', EITHER, ""},
    {"docker", "login", 'p', EITHER, ""},
    {"podman", "login", 'p', EITHER, ""},
    {"helm", "login", 'p', EITHER, ""},
    {"az", "login", 'p', SEPARATE, ""},
    {"zip", NULL, 'P', EITHER, ""},
    {"7z", NULL, 'p', ATTACHED, ""},
    {"curl", NULL, 'u', USER_PASS, CURL_ALONE},
    {"curl", NULL, 'U', USER_PASS, CURL_ALONE},
    {"http", NULL, 'a', USER_PASS, "jfvhb"},
    {"https", NULL, 'a', USER_PASS, "jfvhb"},
    {"ab", NULL, 'A', USER_PASS, ""},
};
enum { N_PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

/* Programs that start the command which follows them. */
static const char *const wrappers[] = {"sudo", "exec",    "env",    "time", "nohup", "docker",
                                       "sh",   "kubectl", "podman", "bash", "ssh",   "xargs"};

static sf_str base_of(sf_str word)
{
    for (size_t i = word.len; i > 0; i--) {
        if (word.p[i - 1] == '/')
            return sf_str_from_at(word, i);
    }
    return word;
}

/* Index + 1 of the first entry with this name; 0: none. */
static uint8_t secret_args_find_program(sf_str word)
{
    sf_str name = base_of(word);
    for (size_t i = 0; i < N_PROGRAMS; i++) {
        if (sf_str_eq(name, sf_str_from(programs[i].name)))
            return (uint8_t)(i + 1);
    }
    return 0;
}

static bool is_wrapper(sf_str word)
{
    sf_str name = base_of(word);
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
        if (sf_str_eq(name, sf_str_from(wrappers[i])))
            return true;
    }
    return false;
}

static bool is_digits(sf_str word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (word.p[i] < '0' || word.p[i] > '9')
            return false;
    }
    return word.len > 0;
}

static bool secret_args_is_letters(sf_str word)
{
    for (size_t i = 0; i < word.len; i++) {
        if ((word.p[i] | 0x20) < 'a' || (word.p[i] | 0x20) > 'z')
            return false;
    }
    return true;
}

/* Finds SECRET in user:SECRET; for a user alone the program prompts. */
static bool password_of_user(sf_str word, size_t from, size_t *at, size_t *end)
{
    size_t colon;
    if (!sf_str_find_char(sf_str_from_at(word, from), ':', &colon))
        return false;
    *at = from + colon + 1;
    *end = word.len;
    return *at < *end;
}

static bool take_letter(struct sf_secret_args *a, const struct program *p, sf_str word, size_t *at,
                        size_t *end)
{
    bool is_attached = word.len > 2;
    if (p->subcommand && !a->has_subcommand)
        return false;
    /* "the mysql -prod cluster" is a sentence; mysql -prod on its own logs in with "rod". */
    if (!a->is_command && is_attached && secret_args_is_letters(sf_str_from_at(word, 2)))
        return false;
    if (p->form == USER_PASS && is_attached)
        return password_of_user(word, 2, at, end);
    if (p->form == USER_PASS) {
        a->expected = USER;
        return false;
    }
    if (!is_attached) {
        a->expected = p->form == ATTACHED ? ANY : WHOLE;
        return false;
    }
    if (p->form == SEPARATE)
        return false;
    *at = 2;
    *end = word.len;
    return true;
}

/* The flag of the program in a word such as -pSECRET or -sSu, which may begin with flags without a
 * value. `*out` is the word from the character before the flag on. NULL: the word has none. */
static const struct program *find_letter(const struct sf_secret_args *a, sf_str word, sf_str *out)
{
    for (size_t i = a->program; i > 0 && i <= N_PROGRAMS; i++) {
        const struct program *p = &programs[i - 1];
        size_t at = 1;
        if (strcmp(p->name, programs[a->program - 1].name) != 0)
            break;
        while (at < word.len && word.p[at] != p->flag && word.p[at] && strchr(p->alone, word.p[at]))
            at++;
        if (at < word.len && word.p[at] == p->flag) {
            *out = sf_str_from_at(word, at - 1);
            return p;
        }
    }
    return NULL;
}

static bool is_user_flag(sf_str name)
{
    return sf_str_eq(name, SF_STR("user")) || sf_str_eq(name, SF_STR("proxy-user"));
}

static bool take_flag(struct sf_secret_args *a, sf_str word, const struct sf_shape_names *names,
                      size_t *at, size_t *end)
{
    size_t dashes = word.p[1] == '-' ? 2 : 1, equal;
    sf_str name = sf_str_from_at(word, dashes);
    const struct program *p = a->program ? &programs[a->program - 1] : NULL, *letter;
    sf_str part;

    a->is_wrapped = true;
    letter = dashes == 1 && names->has_shapes ? find_letter(a, word, &part) : NULL;
    if (letter) {
        size_t skipped = word.len - part.len;
        if (!take_letter(a, letter, part, at, end))
            return false;
        *at += skipped;
        *end += skipped;
        return true;
    }
    if (sf_str_find_char(name, '=', &equal)) /* --password=X is a name=value pair, which another
                                              * check finds */
        return p && p->form == USER_PASS && names->has_shapes &&
               is_user_flag(sf_str_part(name, 0, equal)) &&
               password_of_user(word, dashes + equal + 1, at, end);
    if (p && p->form == USER_PASS && is_user_flag(name) && names->has_shapes)
        a->expected = USER;
    else if (p && dashes == 2 && sf_str_eq(name, SF_STR("pass")) && names->has_shapes)
        a->expected = WHOLE; /* redis-cli --pass X */
    else if (name.len > 2 && name.len <= FLAG_MAX && name.p[0] != '-' &&
             !sf_str_starts(name, SF_STR("no-")) && names->is_secret(names->arg, name, false)) {
        a->expected = OF_FLAG;
        a->flag = name;
    }
    return false;
}

static void secret_args_take_word(struct sf_secret_args *a, sf_str word)
{
    uint8_t program = secret_args_find_program(word);
    const struct program *p = a->program ? &programs[a->program - 1] : NULL;
    if (p && p->subcommand && sf_str_eq(word, sf_str_from(p->subcommand)))
        a->has_subcommand = true;
    if (program) {
        a->program = program;
        a->is_command = !a->has_seen_word || a->is_wrapped;
        a->has_subcommand = false;
    }
    a->is_wrapped = a->is_wrapped || is_wrapper(word);
    a->has_seen_word = true;
}

bool sf_secret_args_next(struct sf_secret_args *a, sf_str word, const struct sf_shape_names *names,
                         size_t *at, size_t *end)
{
    enum expected expected = a->expected;
    bool is_flag = word.len > 1 && word.p[0] == '-';

    a->expected = ANY;
    if (expected == USER && !is_flag)
        return password_of_user(word, 0, at, end);
    if (expected == WHOLE || (expected == OF_FLAG && !is_flag)) {
        *at = 0;
        *end = word.len;
        return word.len > 0 &&
               (expected == WHOLE || names->is_secret(names->arg, a->flag, is_digits(word)));
    }
    if (is_flag)
        return take_flag(a, word, names, at, end);
    secret_args_take_word(a, word);
    return false;
}

/* Whether the next word is the value of this one. */
static bool wants_next(const struct sf_secret_args *a)
{
    return a->expected != ANY;
}

/* Behind ; | && */
static void begin_command(struct sf_secret_args *a)
{
    *a = (struct sf_secret_args){0};
}

/* ---- words of a command line ---- */

size_t sf_secret_args_quoted_end(sf_str t, size_t at, char quote, bool is_escaped)
{
    while (at < t.len && t.p[at] != quote) {
        if (t.p[at] == '\\' && at + 1 < t.len) {
            if (is_escaped && t.p[at + 1] == quote)
                return at;
            at++;
        }
        at++;
    }
    return at < t.len ? at : t.len;
}

static bool secret_args_is_one_of(char c, const char *set)
{
    return c && strchr(set, c) != NULL;
}

static bool secret_args_is_blank(char c)
{
    return (uint8_t)c <= ' ';
}

/* The next word of a command line at or after *at, without its quotes. A quoted text is one word
 * where a value is expected or a flag's value begins; elsewhere a quote is only a separator,
 * because of sh -c "mysql -pX". */
static bool secret_args_next_word(sf_str t, size_t *at, struct sf_secret_args *args, sf_str *out)
{
    size_t i = *at, end;
    while (i < t.len &&
           (secret_args_is_blank(t.p[i]) || secret_args_is_one_of(t.p[i], ",[](){};|&$`\\\"'"))) {
        if (secret_args_is_one_of(t.p[i], ";|&"))
            begin_command(args);
        if (secret_args_is_one_of(t.p[i], "\"'") && wants_next(args) &&
            sf_secret_args_quoted_end(t, i + 1, t.p[i], false) < t.len) {
            end = sf_secret_args_quoted_end(t, i + 1, t.p[i], i > 0 && t.p[i - 1] == '\\');
            *out = sf_str_part(t, i + 1, end - i - 1);
            *at = end + 1;
            return true;
        }
        i++;
    }
    for (end = i; end < t.len && !secret_args_is_blank(t.p[end]); end++) {
        size_t close;
        sf_str part;
        if (!secret_args_is_one_of(t.p[end], "\"'"))
            continue;
        if (t.p[i] != '-' ||
            (end != i + 2 && t.p[end - 1] != '=' &&
             !(find_letter(args, sf_str_part(t, i, end - i), &part) && part.len == 2)))
            break;
        close = sf_secret_args_quoted_end(t, end + 1, t.p[end], false);
        if (close >= t.len)
            break;
        end = close;
    }
    *at = end < t.len && !secret_args_is_blank(t.p[end]) ? end + 1 : end; /* skip a closing quote */
    *out = sf_str_part(t, i, end - i);
    while (out->len && secret_args_is_one_of(out->p[out->len - 1], ";\\")) {
        if (out->p[out->len - 1] == ';')
            *at = i + out->len - 1; /* read this character again: it ends the command */
        out->len--;
    }
    if (i < t.len && out->len == 0)
        *at = i + 1;
    return i < t.len;
}

bool sf_secret_args_line_next(struct sf_secret_line *l, const struct sf_shape_names *names,
                              size_t *at, size_t *end)
{
    sf_str word;
    while (secret_args_next_word(l->text, &l->next, &l->args, &word)) {
        if (sf_secret_args_next(&l->args, word, names, at, end)) {
            size_t from = (size_t)(word.p - l->text.p);
            *at += from;
            *end += from;
            return true;
        }
    }
    return false;
}
