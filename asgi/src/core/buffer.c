#include "buffer.h"

#include <stdlib.h>
#include <string.h>

void buffer_clear(Buffer *b) {
  free(b->data);
  *b = (Buffer) {0};
}

bool buffer_add(Buffer *b, const unsigned char *bytes, size_t length) {
  if (b->start + b->length + length > b->capacity) {
    size_t wanted = (b->length + length) * 2;
    unsigned char *grown = malloc(wanted);
    if (grown == NULL) return false;
    if (b->length) memcpy(grown, b->data + b->start, b->length);
    free(b->data);
    *b = (Buffer) {grown, 0, b->length, wanted};
  }
  memcpy(b->data + b->start + b->length, bytes, length);
  b->length += length;
  return true;
}
