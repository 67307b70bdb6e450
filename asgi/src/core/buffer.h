/* Bytes that have come and could not be used yet: of a head in pieces, of requests to come. Plain C. */
#ifndef ROOKERY_BUFFER_H
#define ROOKERY_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  unsigned char *data;
  size_t start, length, capacity;
} Buffer;

bool buffer_add(Buffer *buffer, const unsigned char *bytes, size_t length); /* false: no memory */
void buffer_clear(Buffer *buffer);

#endif
