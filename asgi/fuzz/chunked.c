/* Fuzzes the decoder of chunked bodies: whole and byte by byte it must give the same body. */
#include "../src/core/chunked.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  uint8_t body[1 << 16];
  size_t length, used;
  ChunkedResult result;
} Outcome;

static void decode(Outcome *o, const uint8_t *data, size_t size, size_t step) {
  Chunked state;
  chunked_reset(&state);
  o->length = o->used = 0;
  o->result = CHUNKED_MORE;
  while (o->used < size && o->result == CHUNKED_MORE) {
    size_t end = o->used + step < size ? o->used + step : size;
    const uint8_t *at = data + o->used, *piece;
    size_t length;
    while ((o->result = chunked_next(&state, &at, data + end, &piece, &length)) == CHUNKED_DATA) {
      memcpy(o->body + o->length, piece, length);
      o->length += length;
    }
    o->used = (size_t) (at - data);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Outcome whole, pieces;
  if (size > sizeof(whole.body)) return 0;
  decode(&whole, data, size, size + 1);
  decode(&pieces, data, size, 1);
  if (whole.result != pieces.result || whole.length != pieces.length) abort();
  if (whole.result == CHUNKED_END && whole.used != pieces.used) abort();
  if (memcmp(whole.body, pieces.body, whole.length) != 0) abort();
  return 0;
}
