#include "chars.h"

#include <string.h>

#define V (CHAR_VALUE | CHAR_TARGET)
#define T (CHAR_TOKEN | CHAR_VALUE | CHAR_TARGET)
#define X (T | CHAR_HEX)
#define O CHAR_VALUE

const uint8_t char_class[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, O, 0, 0, 0, 0, 0, 0, /* only tab of the controls */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    O, T, V, T, T, T, T, T, V, V, T, T, V, T, T, V, /*   ! " # $ % & ' ( ) * + , - . / */
    X, X, X, X, X, X, X, X, X, X, V, V, V, V, V, V, /* 0 .. 9 : ; < = > ? */
    V, X, X, X, X, X, X, T, T, T, T, T, T, T, T, T, /* @ A .. O */
    T, T, T, T, T, T, T, T, T, T, T, V, V, V, T, T, /* P .. Z [ \ ] ^ _ */
    T, X, X, X, X, X, X, T, T, T, T, T, T, T, T, T, /* ` a .. o */
    T, T, T, T, T, T, T, T, T, T, T, V, T, V, T, 0, /* p .. z { | } ~ DEL */
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
};

bool bytes_equal_nocase(const unsigned char *text, size_t length, const char *lower) {
  if (strlen(lower) != length) return false;
  for (size_t i = 0; i < length; i++) {
    if (char_lower(text[i]) != (unsigned char) lower[i]) return false;
  }
  return true;
}
