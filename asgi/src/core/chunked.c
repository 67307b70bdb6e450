#include "chunked.h"

#include <string.h>

#include "chars.h"

enum {
  SIZE_FIRST, SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF,
  TRAILER_START, TRAILER_NAME, TRAILER_VALUE, TRAILER_LF, LAST_LF, ENDED,
};

/* Fifteen digits can't overflow 64 bits; one chunk that long never ends anyway. Extensions and
 * trailers are read over, and bounded, since a client could send them for ever. */
enum { MOST_DIGITS = 15, MOST_OVERHEAD = 16384 };

void chunked_reset(Chunked *chunked) {
  memset(chunked, 0, sizeof(*chunked));
}

static bool size_digit(Chunked *chunked, unsigned char c) {
  if (!char_is(c, CHAR_HEX) || ++chunked->digits > MOST_DIGITS) return false;
  chunked->left = chunked->left * 16 + hex_value(c);
  chunked->state = SIZE;
  return true;
}

static bool after_size(Chunked *chunked, unsigned char c) {
  if (c == '\r') chunked->state = SIZE_LF;
  else if (c == ';') chunked->state = EXTENSION;
  else return size_digit(chunked, c);
  return true;
}

static bool in_extension(Chunked *chunked, unsigned char c) {
  if (++chunked->overhead > MOST_OVERHEAD) return false;
  if (c == '\r') chunked->state = SIZE_LF;
  else return char_is(c, CHAR_VALUE);
  return true;
}

static bool size_line_feed(Chunked *chunked, unsigned char c) {
  chunked->state = chunked->left ? DATA : TRAILER_START;
  chunked->digits = 0;
  return c == '\n';
}

static bool in_trailer(Chunked *chunked, unsigned char c) {
  if (++chunked->overhead > MOST_OVERHEAD) return false;
  switch (chunked->state) {
    case TRAILER_START:
      chunked->state = c == '\r' ? LAST_LF : TRAILER_NAME;
      return c == '\r' || char_is(c, CHAR_TOKEN);
    case TRAILER_NAME:
      if (c == ':') chunked->state = TRAILER_VALUE;
      return c == ':' || char_is(c, CHAR_TOKEN);
    case TRAILER_VALUE:
      if (c == '\r') chunked->state = TRAILER_LF;
      return c == '\r' || char_is(c, CHAR_VALUE);
    default:
      chunked->state = TRAILER_START;
      return c == '\n';
  }
}

static bool framing_byte(Chunked *chunked, unsigned char c) {
  switch (chunked->state) {
    case SIZE_FIRST:
      return size_digit(chunked, c);
    case SIZE:
      return after_size(chunked, c);
    case EXTENSION:
      return in_extension(chunked, c);
    case SIZE_LF:
      return size_line_feed(chunked, c);
    case DATA_CR:
      chunked->state = DATA_LF;
      return c == '\r';
    case DATA_LF:
      chunked->state = SIZE_FIRST;
      return c == '\n';
    case LAST_LF:
      chunked->state = ENDED;
      return c == '\n';
    default:
      return in_trailer(chunked, c);
  }
}

ChunkedResult chunked_next(Chunked *chunked, const unsigned char **at, const unsigned char *end,
                           const unsigned char **data, size_t *size) {
  while (*at < end && chunked->state != ENDED) {
    if (chunked->state == DATA) {
      size_t here = (size_t) (end - *at);
      *data = *at;
      *size = here < chunked->left ? here : (size_t) chunked->left;
      *at += *size;
      chunked->left -= *size;
      if (chunked->left == 0) chunked->state = DATA_CR, chunked->overhead = 0;
      return CHUNKED_DATA;
    }
    if (!framing_byte(chunked, *(*at)++)) return CHUNKED_BAD;
  }
  return chunked->state == ENDED ? CHUNKED_END : CHUNKED_MORE;
}
