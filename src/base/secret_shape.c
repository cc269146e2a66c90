/* secret_shape.c - finds secrets by their shape in two steps. sf_secret_shape_scan() scans 16 bytes
 * at a time and says which checks could apply; sf_secret_shape_find() then runs those checks at the
 * positions in question: card numbers, SQL and URL passwords, token prefixes, name=value pairs,
 * command arguments. */
#include "base/secret_shape.h"

#include <string.h>

#include "base/num.h"
#include "base/secret_args.h"
#include "base/secret_scan.h"
#include "base/text.h"

/* ---- cards ---- */

static bool is_luhn(const uint8_t *digits, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = digits[n - 1 - i];
        if (i % 2)
            d = d > 4 ? 2 * d - 9 : 2 * d;
        sum += d;
    }
    return sum % 10 == 0;
}

/* Issuers' prefixes and lengths. Without them one timestamp in ten would be taken for a card. */
static bool is_issued(const uint8_t *d, size_t n)
{
    unsigned two = d[0] * 10u + d[1], four = two * 100 + d[2] * 10u + d[3];
    if (d[0] == 4)
        return n == 13 || n == 16 || n == 19;
    if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720) || two == 35)
        return n == 16;
    if (two == 34 || two == 37)
        return n == 15;
    if (two == 30 || two == 36 || two == 38)
        return n == 14;
    if (four == 6011 || two == 65 || (four / 10 >= 644 && four / 10 <= 649) || two == 62)
        return n >= 16 && n <= 19;
    return false;
}

static bool is_card(const uint8_t *digits, size_t n)
{
    return n >= 13 && n <= 19 && is_issued(digits, n) && is_luhn(digits, n);
}

bool sf_secret_shape_is_card_slow(uint64_t number)
{
    uint8_t digits[20];
    size_t n = 0;
    for (uint64_t rest = number; rest; rest /= 10)
        n++;
    for (size_t i = n; i > 0; i--, number /= 10)
        digits[i - 1] = (uint8_t)(number % 10);
    return is_card(digits, n);
}

static bool is_card_char(char c)
{
    return (c >= '0' && c <= '9') || c == ' ' || c == '-';
}

/* Checks groups of digits from `start`, separated by single blanks or dashes: whether any sequence
 * that begins here is a card number. Returns the end of the card, or of the first group. */
static size_t check_groups(struct sf_secret_scan *s, size_t start, size_t end)
{
    sf_str t = s->text;
    uint8_t digits[20];
    size_t n = 0, first_end = 0, i = start;

    while (i < end) {
        size_t group = i;
        for (; i < end && (sf_scan_class(t.p[i]) & SF_CHAR_DIGIT); i++) {
            if (n == sizeof(digits))
                return first_end ? first_end : sf_scan_run(t, start, SF_CHAR_DIGIT);
            digits[n++] = (uint8_t)(t.p[i] - '0');
        }
        first_end = first_end ? first_end : i;
        if (i - group < 3)
            break; /* cards are written in groups of 3 to 6 digits: 1 2 3 4 ... is a list */
        if (!(i < t.len && (sf_scan_class(t.p[i]) & SF_CHAR_ALNUM)) && is_card(digits, n)) {
            sf_scan_add(s, SF_SHAPE_CARD, start, i);
            return i;
        }
        i++; /* skip one separator; a second one ends the sequence */
        if (i >= end || !(sf_scan_class(t.p[i]) & SF_CHAR_DIGIT))
            break;
    }
    return first_end;
}

/* The run of digits, blanks and dashes around `at`. Returns its end. */
static size_t check_card(struct sf_secret_scan *s, size_t at)
{
    sf_str t = s->text;
    size_t start = at, end = at;

    while (start > 0 && is_card_char(t.p[start - 1]))
        start--;
    while (end < t.len && is_card_char(t.p[end]))
        end++;
    if (end - start < 13)
        return end;
    if (start > 0 && (sf_scan_class(t.p[start - 1]) & SF_CHAR_ALNUM))
        start = sf_scan_run(t, start, SF_CHAR_DIGIT); /* the end of an identifier is not a number */
    for (size_t i = start; i < end;) {
        if (sf_scan_class(t.p[i]) & SF_CHAR_DIGIT)
            i = check_groups(s, i, end);
        else
            i++;
    }
    return end;
}

static void find_cards(struct sf_secret_scan *s)
{
    sf_str t = s->text;
    /* A card has 13 digits with a gap after every fourth, so at most one of three consecutive ones
     * among every third character is not a digit. It is enough to examine every third character: a
     * digit and a card character after it. */
    for (size_t i = 2; i + 3 < t.len; i += 3) {
        if ((unsigned char)(t.p[i] - '0') <= 9 &&
            ((unsigned char)(t.p[i + 3] - '0') <= 9 || is_card_char(t.p[i + 3]))) {
            size_t end = check_card(s, i);
            while (i + 3 < end)
                i += 3;
        }
    }
}

/* ---- passwords in SQL ---- */

static size_t before_blanks(sf_str t, size_t at)
{
    while (at > 0 && (uint8_t)t.p[at - 1] <= ' ')
        at--;
    return at;
}

/* Does the statement contain IDENTIFIED shortly before `at`: IDENTIFIED BY, IDENTIFIED WITH plugin
 * BY? */
static bool is_identified(sf_str t, size_t at)
{
    size_t word_end = at;
    for (int words = 0; words < 3; words++) {
        word_end = before_blanks(t, word_end);
        if (sf_scan_has_word_before(t, word_end, "identified"))
            return true;
        while (word_end > 0 && ((sf_scan_class(t.p[word_end - 1]) & SF_CHAR_NAME) ||
                                sf_scan_is_one_of(t.p[word_end - 1], "'`\"")))
            word_end--;
    }
    return false;
}

/* Whether the text is an SQL statement; "the user was identified by the driver" is not. */
static bool is_statement(sf_str t)
{
    static const char *const verbs[] = {"create", "alter", "grant"};
    size_t start = 0, end;
    while (start < t.len && (uint8_t)t.p[start] <= ' ')
        start++;
    end = sf_scan_run(t, start, SF_CHAR_ALNUM);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (sf_str_ieq(sf_str_part(t, start, end - start), sf_str_from(verbs[i])))
            return true;
    }
    return false;
}

static size_t after_blanks(sf_str t, size_t at)
{
    while (at < t.len && (uint8_t)t.p[at] <= ' ')
        at++;
    return at;
}

/* `at` is at a quote. Returns the end of the text in it, in which '' stands for one quote. */
static size_t sql_quoted_end(sf_str t, size_t at)
{
    char quote = t.p[at];
    size_t end = sf_secret_args_quoted_end(t, at + 1, quote, false);
    while (end + 1 < t.len && t.p[end + 1] == quote)
        end = sf_secret_args_quoted_end(t, end + 2, quote, false);
    return end;
}

/* IDENTIFIED BY 'new' REPLACE 'old' */
static void check_replaced(struct sf_secret_scan *s, size_t at)
{
    sf_str t = s->text;
    size_t word = after_blanks(t, at), start = after_blanks(t, word + 7);
    if (sf_str_ieq(sf_str_part(t, word, 7), SF_STR("replace")) && start < t.len &&
        sf_scan_is_one_of(t.p[start], "'\""))
        sf_scan_add(s, SF_SHAPE_SQL, start + 1, sql_quoted_end(t, start));
}

/* SET PASSWORD FOR user = 'X'; `at` is at the equals sign. With SET PASSWORD = 'X' this is also a
 * pair, and with PASSWORD('X') a call. */
static void check_set_password(struct sf_secret_scan *s, size_t at)
{
    sf_str t = s->text;
    size_t set = after_blanks(t, 0), word = after_blanks(t, set + 3);
    size_t start = after_blanks(t, at + 1);
    if (sf_str_ieq(sf_str_part(t, set, 3), SF_STR("set")) && word < at &&
        sf_str_ieq(sf_str_part(t, word, 8), SF_STR("password")) && start < t.len &&
        sf_scan_is_one_of(t.p[start], "'\""))
        sf_scan_add(s, SF_SHAPE_SQL, start + 1, sql_quoted_end(t, start));
}

/* `at` is after BY or PASSWORD: blanks or a parenthesis follow, then the secret, with or without
 * quotes. */
static void check_sql(struct sf_secret_scan *s, size_t at)
{
    sf_str t = s->text;
    bool is_by = sf_scan_has_word_before(t, at, "by");
    size_t start = after_blanks(t, at), end;
    bool is_call = !is_by && start < t.len && t.p[start] == '(';

    start += is_call;
    if (start >= t.len ||
        (is_by ? !is_identified(t, at - 2)
               : t.p[start] != '\'' || !sf_scan_has_word_before(t, at, "password")))
        return;
    if (sf_scan_has_at(t, start, "PASSWORD ") ||
        sf_scan_has_at(t, start, "password ")) /* the hash of a password, in MySQL 5 */
        start += 9;
    if (start < t.len && sf_scan_is_one_of(t.p[start], "'\"")) {
        end = sql_quoted_end(t, start);
        check_replaced(s, end + 1);
        start++;
    } else if (is_statement(t)) {
        for (end = start; end < t.len && !(sf_scan_class(t.p[end]) & SF_CHAR_END);)
            end++;
    } else {
        return;
    }
    sf_scan_add(s, SF_SHAPE_SQL, start, end);
}

/* ---- passwords in URLs ---- */

enum { USER_MAX = 512 }; /* user and password */

static void check_url_password(struct sf_secret_scan *s, size_t at) /* at the @ */
{
    sf_str t = s->text;
    size_t start = at, colon = 0;

    while (start > 0 && at - start <= USER_MAX &&
           !sf_scan_is_one_of(t.p[start - 1], "/?# \t\r\n\"'<>")) {
        start--;
        if (t.p[start] == ':')
            colon = start; /* the first colon separates user and password */
        if (start == s->user_at) {
            start = s->user_start;
            colon = s->user_colon ? s->user_colon : colon;
            break;
        }
    }
    s->user_at = at;
    s->user_start = start;
    s->user_colon = colon;
    if (at - start > USER_MAX)
        return;
    if (start < 2 || t.p[start - 1] != '/' || t.p[start - 2] != '/' || start == at)
        return;
    if (colon)
        sf_scan_add(s, SF_SHAPE_URL_PASSWORD, colon + 1, at);
    else if (at - start >= 20) /* too long for a user name: a token in its place */
        sf_scan_add(s, SF_SHAPE_URL_PASSWORD, start, at);
}

/* ---- name=value ---- */

static bool is_header_line(sf_str name)
{
    size_t len = name.len;
    static const char *const headers[] = {"authorization", "cookie"};
    for (size_t i = 0; i < 2; i++) {
        size_t want = strlen(headers[i]);
        if (len >= want && sf_str_ieq(sf_str_from_at(name, len - want), sf_str_from(headers[i])))
            return true;
    }
    return false;
}

/* Pairs whose name alone is not enough. */
static void check_odd_pair(struct sf_secret_scan *s, sf_str name, size_t name_start, size_t start,
                           size_t end)
{
    sf_str t = s->text;
    bool is_in_query = name_start > 0 && sf_scan_is_one_of(t.p[name_start - 1], "?&");
    size_t token = sf_scan_run(t, start, SF_CHAR_BASE64URL);

    /* Signed URLs of cloud providers: ...?Signature=, &sig= */
    if (is_in_query && end - start >= 16 &&
        (sf_str_ieq(name, SF_STR("signature")) || sf_str_ieq(name, SF_STR("sig"))))
        sf_scan_add(s, SF_SHAPE_PAIR, start, end);
    /* Telegram: /bot123456789:secret/ */
    if (sf_str_starts(name, SF_STR("bot")) && name.len > 8 && token - start >= 30 &&
        sf_scan_run(name, 3, SF_CHAR_DIGIT) == name.len)
        sf_scan_add(s, SF_SHAPE_TOKEN, start, token);
}

/* The name of a pair that ends before `end`: in -Dpassword= the flag is not part of it, in the
 * address %3Ftoken%3D the escape before it is not. */
static sf_str pair_name(sf_str t, size_t end)
{
    size_t start = end;
    sf_str name;
    while (start > 0 && end - start < 128 && (sf_scan_class(t.p[start - 1]) & SF_CHAR_NAME))
        start--;
    name = sf_str_part(t, start, end - start);
    if (name.len > 2 && name.p[0] == '-' && name.p[1] == 'D')
        return sf_str_from_at(name, 2);
    if (name.len > 2 && start > 0 && t.p[start - 1] == '%' && sf_hex_digit(name.p[0]) >= 0 &&
        sf_hex_digit(name.p[1]) >= 0)
        return sf_str_from_at(name, 2);
    return name;
}

/* Of {"name": "password", "value": "X"} and <add key="password" value="X">, where `start` is at the
 * name `value`: what is before it. `name` itself: it is no such pair. */
static sf_str name_before(sf_str t, size_t start, sf_str name)
{
    size_t end = start, word;
    sf_str found;
    while (end > 0 && start - end < 16 && sf_scan_is_one_of(t.p[end - 1], " \t\r\n\"'\\,&"))
        end--;
    found = pair_name(t, end);
    word = end - found.len;
    while (word > 0 && end - word < 160 && sf_scan_is_one_of(t.p[word - 1], " \t\"'\\:="))
        word--;
    return found.len && (sf_scan_has_word_before(t, word, "name") ||
                         sf_scan_has_word_before(t, word, "key"))
               ? found
               : name;
}

static size_t pair_value_end(struct sf_secret_scan *s, size_t start)
{
    size_t end = start;
    if (start >= s->value_end) {
        while (end < s->text.len && !(sf_scan_class(s->text.p[end]) & SF_CHAR_END))
            end++;
        s->value_end = end;
    }
    return s->value_end;
}

static size_t pair_line_end(struct sf_secret_scan *s, size_t start)
{
    size_t end = start;
    if (start >= s->line_end) {
        while (end < s->text.len && !sf_scan_is_one_of(s->text.p[end], "\n\r\""))
            end++;
        s->line_end = end;
    }
    return s->line_end;
}

static bool is_escaped_end(sf_str t, size_t at)
{
    return sf_scan_has_at(t, at, "%26") || sf_scan_has_at(t, at, "%22");
}

/* name%3Dvalue, an address as parameter of another; `at` is at the D. */
static void check_escaped_pair(struct sf_secret_scan *s, size_t at)
{
    sf_str t = s->text, name = pair_name(t, at - 2);
    size_t end = sf_scan_run(t, at + 1, SF_CHAR_DIGIT);
    bool is_number = end == t.len || (sf_scan_class(t.p[end]) & SF_CHAR_END) ||
                     is_escaped_end(t, end);
    if (name.len == 0 || !s->names->is_secret(s->names->arg, name, is_number))
        return;
    while (end < t.len && !(sf_scan_class(t.p[end]) & SF_CHAR_END) && !is_escaped_end(t, end))
        end++;
    sf_scan_add(s, SF_SHAPE_PAIR, at + 1, end);
}

static void check_pair(struct sf_secret_scan *s, size_t at) /* at = or : */
{
    sf_str t = s->text;
    size_t name_end = at, name_start, start = at + 1, end;
    bool is_number = true;
    sf_str name;

    if (t.p[at] == ':' && start < t.len && (t.p[start] == '/' || t.p[start] == ':'))
        return;
    while (name_end > 0 && sf_scan_is_one_of(t.p[name_end - 1], " \t\"'\\]"))
        name_end--;
    name = pair_name(t, name_end);
    name_start = name_end - name.len;
    if (name.len == 0)
        return;
    while (start < t.len && sf_scan_is_one_of(t.p[start], " \t=>\\")) /* == and => are
                                                                       * assignments too */
        start++;
    if (start >= t.len)
        return;
    if (sf_str_ieq(name, SF_STR("value")) && !sf_scan_is_one_of(t.p[start], "{["))
        name = name_before(t, name_start, name);
    if (t.p[start] == '"' || t.p[start] == '\'') {
        end = sf_secret_args_quoted_end(t, start + 1, t.p[start], t.p[start - 1] == '\\');
        start++;
    } else if (is_header_line(name)) {
        end = pair_line_end(s, start);
    } else {
        end = pair_value_end(s, start);
        if (end < t.len && end > start && t.p[end - 1] == '(' && sf_scan_is_one_of(t.p[end], "'\""))
            end = sf_secret_args_quoted_end(t, end + 1, t.p[end], false); /* = PASSWORD('...') */
    }
    for (size_t i = start; i < end && is_number; i++)
        is_number = (sf_scan_class(t.p[i]) & SF_CHAR_DIGIT) != 0;
    if (end > start && s->names->is_secret(s->names->arg, name, is_number))
        sf_scan_add(s, SF_SHAPE_PAIR, start, end);
    else if (s->names->has_shapes)
        check_odd_pair(s, name, name_start, start, end);
}

/* ---- <name>value</name> ---- */

static const char cdata[] = "<![CDATA[", cdata_end[] = "]]>";

/* `at` is at the slash of </name> or </prefix:name>. What is before it, back to the next mark, is
 * read once: for the mark that follows. */
static void check_element(struct sf_secret_scan *s, size_t at)
{
    sf_str t = s->text, name;
    size_t name_end = sf_scan_run(t, at + 1, SF_CHAR_NAME), name_start = at + 1, start,
           end = at - 1;
    bool is_number = true, is_cdata = end >= 3 && memcmp(t.p + end - 3, cdata_end, 3) == 0;

    if (sf_scan_has_at(t, name_end, ":")) {
        name_start = name_end + 1;
        name_end = sf_scan_run(t, name_start, SF_CHAR_NAME);
    }
    name = sf_str_part(t, name_start, name_end - name_start);
    if (name.len == 0 || name.len > 128 || !sf_scan_has_at(t, name_end, ">"))
        return;
    end -= is_cdata ? 3 : 0;
    for (start = end; start > 0 && !sf_scan_is_one_of(t.p[start - 1], is_cdata ? "<[" : "<>");)
        start--;
    if (is_cdata ? start < 9 || memcmp(t.p + start - 9, cdata, 9) != 0
                 : start == 0 || t.p[start - 1] != '>')
        return;
    for (size_t i = start; i < end && is_number; i++)
        is_number = (sf_scan_class(t.p[i]) & SF_CHAR_DIGIT) != 0;
    if (s->names->is_secret(s->names->arg, name, is_number))
        sf_scan_add(s, SF_SHAPE_PAIR, start, end);
}

/* ---- arguments ---- */

static void find_args(struct sf_secret_scan *s)
{
    struct sf_secret_line line = {.text = s->text};
    size_t at, end;
    while (sf_secret_args_line_next(&line, s->names, &at, &end))
        sf_scan_add(s, SF_SHAPE_ARG, at, end);
}

/* ---- the table over two bytes ---- */

enum {
    AT = 1,
    PAIR = 2,
    JWT = 4,
    CLOUD = 8,
    PEM = 16,
    BLANK = 32,
    PREFIX = 64,
    QUOTE = 128,
    HOOK = 256,
    ESCAPE = 512,
    CLOSE = 1024, /* the slash of </ */
    ALWAYS = AT | PAIR
};

/* The checks made at a character (such as the J of eyJ), and those that its predecessor allows. */
static const uint16_t here[256] = {
    ['@'] = AT,           ['='] = PAIR,   [':'] = PAIR,   ['J'] = JWT,    ['A'] = CLOUD,
    ['z'] = CLOUD,        ['B'] = PEM,    [' '] = BLANK,  ['\t'] = BLANK, ['\n'] = BLANK,
    ['\r'] = BLANK,       ['_'] = PREFIX, ['-'] = PREFIX, ['.'] = PREFIX, ['\''] = QUOTE,
    ['/'] = HOOK | CLOSE, ['D'] = ESCAPE, ['d'] = ESCAPE};
static const uint16_t before[256] = {
    ['<'] = CLOSE,
    ['y'] = JWT | BLANK | QUOTE,
    ['Y'] = BLANK | QUOTE | PREFIX,
    [' '] = QUOTE,
    ['('] = QUOTE,
    ['I'] = CLOUD,
    ['-'] = PEM,
    ['r'] = BLANK | PREFIX,
    ['R'] = BLANK,
    ['c'] = BLANK | PREFIX,
    ['C'] = BLANK,
    ['s'] = PREFIX | HOOK,
    ['G'] = PREFIX,
    ['a'] = PREFIX,
    ['b'] = PREFIX,
    ['d'] = PREFIX,
    ['e'] = PREFIX,
    ['f'] = PREFIX,
    ['i'] = PREFIX,
    ['k'] = PREFIX,
    ['m'] = PREFIX,
    ['o'] = PREFIX,
    ['p'] = PREFIX,
    ['t'] = PREFIX,
    ['u'] = PREFIX,
    ['w'] = PREFIX,
    ['K'] = PREFIX,
    ['X'] = PREFIX,
    ['1'] = PREFIX,
    ['9'] = PREFIX,
    ['3'] = ESCAPE,
};

static inline uint16_t checks_at(const uint8_t *p)
{
    return here[p[0]] & (before[p[-1]] | ALWAYS);
}

/* Whether a flag begins: one or two dashes, after the start, a blank or a quote, and before a
 * letter. */
static inline bool is_flag_at(const uint8_t *p, size_t at)
{
    return p[at - 1] == '-' && p[at] >= '@' &&
           (at < 2 || p[at - 2] <= ' ' || sf_scan_is_one_of((char)p[at - 2], "\"'-"));
}

static inline bool is_databricks_at(const uint8_t *p, size_t at)
{
    return p[at] == 'p' && at >= 2 && p[at - 1] == 'a' && p[at - 2] == 'd';
}

static void secret_shape_check_at(struct sf_secret_scan *s, size_t at)
{
    const uint8_t *p = (const uint8_t *)s->text.p;
    uint16_t bits = checks_at(p + at);

    s->has_args = s->has_args || is_flag_at(p, at);
    if (bits & PAIR)
        check_pair(s, at);
    if ((bits & ESCAPE) && at >= 2 && p[at - 2] == '%')
        check_escaped_pair(s, at);
    if (bits & CLOSE)
        check_element(s, at);
    if (!s->names->has_shapes)
        return;
    if (p[at] == '=')
        check_set_password(s, at);
    if (p[at] == ':')
        sf_secret_token_check_slack_flow(s, at);
    if (bits & AT)
        check_url_password(s, at);
    if (bits & JWT)
        sf_secret_token_check_jwt(s, at);
    if (bits & CLOUD)
        sf_secret_token_check_cloud_key(s, at);
    if (bits & PEM)
        sf_secret_token_check_private_key(s, at);
    if (bits & BLANK) {
        sf_secret_token_check_auth_header(s, at);
        if (sf_scan_has_word_before(s->text, at, "by"))
            check_sql(s, at);
    }
    if (bits & QUOTE) {
        check_sql(s, before_blanks(s->text, at - (p[at - 1] == '(')));
    }
    if (bits & PREFIX) {
        sf_secret_token_check_token(s, at);
        sf_secret_token_check_sendgrid(s, at);
    }
    if (bits & HOOK)
        sf_secret_token_check_discord(s, at);
    if (p[at] == 'B' && p[at - 1] == '/')
        sf_secret_token_check_slack(s, at);
    if (is_databricks_at(p, at))
        sf_secret_token_check_databricks(s, at);
}

/* ---- the fast scan, sixteen bytes at a time ---- */

enum { WIDE = 16, CARD_LEN = 13 };
typedef uint8_t wide __attribute__((vector_size(WIDE)));

static inline wide secret_shape_load(const uint8_t *p)
{
    wide v;
    memcpy(&v, p, WIDE);
    return v;
}

/* The highest bit of each lane. */
static inline uint32_t mask_of(wide v)
{
#ifdef __SSE2__
    typedef char lanes __attribute__((vector_size(WIDE)));
    return (uint32_t)__builtin_ia32_pmovmskb128((lanes)v);
#else
    uint64_t half[2];
    const uint64_t ones = 0x0101010101010101, gather = 0x0102040810204080;
    memcpy(half, &v, sizeof(half));
    half[0] = half[0] >> 7 & ones;
    half[1] = half[1] >> 7 & ones;
    return (uint32_t)(half[0] * gather >> 56 | (half[1] * gather >> 56) << 8);
#endif
}

/* The checks of the table above for the 16 characters at p, in the highest bit of each lane; the
 * two before them must be readable. To be fast it may report false positives: prefixes are
 * recognised by single characters (the capitals in gHp_, pAt-, nPm_, liVe_, teSt_, xoXb-, sFt_,
 * glc_, whsec_, glpTt-, pmaK-, gocspX-, hVs., Sg., ya29., webhooKs/, Dapi), a flag by a letter
 * after a dash that follows neither letter nor digit. */
static inline __attribute__((always_inline)) wide checks_of(wide c, wide p1, wide p2)
{
    wide low = p1 | 0x20;
    wide is_dash = (wide)(c == '-'), is_after_dash = (wide)(p1 == '-'),
         v_before = (wide)(p2 == 'v');
    wide any = (wide)(c == '@') | (wide)(c == '=') | (wide)(c == ':');
    any |= (wide)(c == 'J') & (wide)(p1 == 'y');
    any |= (wide)(p1 == 'I') & ((wide)(c == 'A') | (wide)(c == 'z'));
    any |= (wide)(c == 'B') & (is_after_dash | (wide)(p1 == '/'));
    any |= (wide)(c <= ' ') & ((wide)(low == 'r') | (wide)(low == 'c') | (wide)(low == 'y'));
    any |= (wide)(c == '\'') & (wide)((p1 | 8) == '(') & (wide)((p2 | 0x20) == 'd');
    any |= is_after_dash & (wide)(p2 <= '-') & (c + c); /* letters have the second highest bit
                                                         * set */
    any |= (wide)(c == '/') & ((wide)(p2 == 'k') | (wide)(p1 == '<'));
    any |= (wide)(c == 'p') & (wide)(p2 == 'd');
    any |= (wide)((c | 0x20) == 'd') & (wide)(p2 == '%');
    any |= (wide)(c == '.') &
           (v_before | (wide)(p2 == 'S') | ((wide)(p2 == '2') & (wide)(p1 == '9')));
    /* a and f need a following t: hexadecimal ids often have both before a dash. */
    any |= ((wide)(c == '_') | is_dash) &
           ((wide)((p2 & 0xe7) == 0x60) | v_before | (wide)(p2 == 's') | /* h, p, x */
            ((wide)(p1 == 't') & ((wide)(p2 == 'a') | (wide)(p2 == 'f') | (wide)(p2 == 't'))));
    any |= (wide)(c == '_') & (wide)(p1 == 'c');
    any |= is_dash & ((wide)(p2 == 'E') | (wide)(p1 == 'K') | (wide)(p1 == 'X'));
    return any;
}

static inline __attribute__((always_inline)) wide checks_wide(const uint8_t *p)
{
    return checks_of(secret_shape_load(p), secret_shape_load(p - 1), secret_shape_load(p - 2));
}

static inline uint32_t card_mask(wide c)
{
    return mask_of((wide)((c - '0') <= 9) | (wide)(c == ' ') | (wide)(c == '-'));
}

/* Whether 13 consecutive bits are set. */
static inline bool has_card_run(uint32_t w)
{
    uint32_t two = w & w >> 1, four = two & two >> 2, twelve = four & four >> 4 & four >> 8;
    return (twelve & w >> 12) != 0;
}

static inline wide wide_of(uint64_t low, uint64_t high)
{
    typedef uint64_t two __attribute__((vector_size(WIDE)));
    return (wide)(two){low, high};
}

/* Checks 4 to 17 characters, padded with zeros, which are part of no secret. They are combined in
 * registers: storing them and loading them at other offsets would stall. The 17th, if there is one,
 * is left to a second check. */
static unsigned look_short(const uint8_t *p, size_t len)
{
    uint64_t low, high = 0;
    uint32_t found;
    wide c;

    if (len > WIDE) {
        if (here[p[WIDE]] || is_card_char((char)p[WIDE]))
            return SF_SHAPE_LOOK_CHECKS | SF_SHAPE_LOOK_CARDS;
        len = WIDE;
    }
    if (len >= 8) {
        low = sf_load_u64le(p);
        if (len > 8)
            high = sf_load_u64le(p + len - 8) >> (WIDE - len) * 8;
    } else if (len >= 4) {
        low = sf_load_u32le(p) | (uint64_t)sf_load_u32le(p + len - 4) << (len - 4) * 8;
    } else {
        return 0;
    }
    c = wide_of(low, high);
    found = mask_of(checks_of(c, wide_of(low << 8, high << 8 | low >> 56),
                              wide_of(low << 16, high << 16 | low >> 48)));
    found &= (1u << len) - 1;
    return (found ? SF_SHAPE_LOOK_CHECKS : 0) |
           (has_card_run(card_mask(c)) ? SF_SHAPE_LOOK_CARDS : 0);
}

unsigned sf_secret_shape_scan(sf_str text)
{
    const uint8_t *p = (const uint8_t *)text.p;
    wide any = {0};
    uint32_t last;
    unsigned found = 0;
    size_t i = 2;

    if (text.len < WIDE + 2)
        return look_short(p, text.len);
    if (checks_at(p + 1) || is_flag_at(p, 1))
        found |= SF_SHAPE_LOOK_CHECKS;
    /* Card characters of the previous 16 bytes: here only the first two of the text. */
    last = (uint32_t)is_card_char((char)p[0]) << 14 | (uint32_t)is_card_char((char)p[1]) << 15;
    for (; i + WIDE <= text.len; i += WIDE) {
        uint32_t cards = card_mask(secret_shape_load(p + i));
        any |= checks_wide(p + i);
        if (has_card_run(last | cards << 16))
            found |= SF_SHAPE_LOOK_CARDS;
        last = cards;
    }
    if (i < text.len) { /* the rest, together with some characters already checked */
        uint32_t cards = card_mask(secret_shape_load(p + text.len - WIDE)) >>
                         (WIDE - (text.len - i));
        any |= checks_wide(p + text.len - WIDE);
        if (has_card_run(last | cards << 16))
            found |= SF_SHAPE_LOOK_CARDS;
    }
    if (mask_of(any))
        found |= SF_SHAPE_LOOK_CHECKS;
    return found;
}

/* ---- the exact checks ---- */

static void secret_shape_check_all(struct sf_secret_scan *s)
{
    const uint8_t *p = (const uint8_t *)s->text.p;
    size_t len = s->text.len, i = 1;

    for (; i < len && (i < 2 || len < WIDE + 2); i++)
        secret_shape_check_at(s, i);
    while (i < len) {
        size_t from = i + WIDE <= len ? i : len - WIDE;
        uint32_t mask = mask_of(checks_wide(p + from)) >> (i - from) << (i - from);
        for (; mask; mask &= mask - 1) {
            size_t at = from + (size_t)__builtin_ctz(mask);
            secret_shape_check_at(s, at);
        }
        i = from + WIDE;
    }
    if (s->has_args)
        find_args(s);
}

size_t sf_secret_shape_find(sf_str text, unsigned look, const struct sf_shape_names *names,
                            struct sf_shape_hit *out, size_t max)
{
    struct sf_secret_scan s = {.text = text, .names = names, .out = out, .max = max};
    if (look & SF_SHAPE_LOOK_CHECKS)
        secret_shape_check_all(&s);
    if ((look & SF_SHAPE_LOOK_CARDS) && names->has_shapes)
        find_cards(&s);
    return s.n;
}
