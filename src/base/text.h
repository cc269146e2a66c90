/* text.h - bytes as text and back: hexadecimal, base64, UTF-8. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* `out` holds 2 * len characters, no terminator. Lower case. */
void sf_hex_encode(const uint8_t *p, size_t len, char *out);
/* Either case; false unless there are exactly 2 * len digits. */
bool sf_hex_decode(sf_str text, uint8_t *out, size_t len);
int sf_hex_digit(char c); /* -1: not one */

void sf_base64_encode(struct sf_buf *out, sf_bytes in); /* standard alphabet, padded */
/* Standard or URL-safe alphabet, with or without padding. False: not base64. */
bool sf_base64_decode(struct sf_buf *out, sf_str in);

/* Length of the valid UTF-8 character at the start of s (1-4), 0 if there is none. Surrogates,
 * overlong forms and values above 10FFFF are not valid. */
size_t sf_utf8_char_len(sf_str s, uint32_t *out_code);
bool sf_utf8_is_valid(sf_str s);
/* The longest prefix of at most `max` bytes that does not cut a character. */
size_t sf_utf8_cut(sf_str s, size_t max);
/* Writes a valid character and returns its length (1-4). */
size_t sf_utf8_put(char to[4], uint32_t code);
void sf_utf8_add(struct sf_buf *out, uint32_t code);
/* Columns a terminal needs: control and zero-width characters count 0, wide ones 2. */
size_t sf_utf8_width(sf_str s);
/* Characters that are invisible or change how others are displayed: controls,
 * bidirectional marks, zero-width ones, tags. */
bool sf_text_is_unseen(uint32_t code);
/* Quotes the text as one word for a shell; invisible characters and invalid UTF-8 become '?',
 * because a terminal into which the line is pasted would act on control characters, also inside
 * quotes. */
void sf_text_shell_word(struct sf_buf *out, sf_str text);
/* The known word nearest to `word` when it is probably a typing error, else NULL. */
const char *sf_text_nearest(sf_str word, const char *const *known, size_t n_known);
