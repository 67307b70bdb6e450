/* Character classes of HTTP (RFC 9110, RFC 9112), as one table. */
#ifndef ROOKERY_CHARS_H
#define ROOKERY_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  CHAR_TOKEN = 1,   /* may stand in a method or a field name */
  CHAR_VALUE = 2,   /* may stand in a field value: visible, space, tab, 0x80 and above */
  CHAR_TARGET = 4,  /* may stand in a request target: visible ASCII */
  CHAR_HEX = 8,
};

extern const uint8_t char_class[256];

static inline bool char_is(unsigned char c, int class_bits) {
  return (char_class[c] & class_bits) != 0;
}

static inline unsigned char char_lower(unsigned char c) {
  return (unsigned char) (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* The value of a hexadecimal digit; the caller has checked CHAR_HEX. */
static inline unsigned hex_value(unsigned char c) {
  return c <= '9' ? (unsigned) (c - '0') : (unsigned) ((c | 0x20) - 'a' + 10);
}

bool bytes_equal_nocase(const unsigned char *text, size_t length, const char *lower);

#endif
