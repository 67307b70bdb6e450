/* Fuzzes the parser of heads: the outcome must not depend on the pieces in which bytes arrive. */
#include <stdlib.h>
#include <string.h>

#include "../src/core/head.h"

static long parse(Head *head, const uint8_t *data, size_t size, size_t step, const HeadLimits *limits) {
  long used = HEAD_MORE;
  head_reset(head);
  for (size_t seen = 0; seen < size && used == HEAD_MORE;) {
    seen = seen + step < size ? seen + step : size;
    /* an exact copy, so that reading beyond what has arrived is seen */
    uint8_t *arrived = malloc(seen);
    memcpy(arrived, data, seen);
    used = head_parse(head, arrived, seen, limits);
    free(arrived);
  }
  return used;
}

static void check_fields(const Head *head, long used) {
  for (uint32_t i = 0; i < head->count; i++) {
    const HeadField *f = &head->fields[i];
    if (f->name_length == 0 || f->name + f->name_length >= f->value + 1) abort();
    if ((long) (f->value + f->value_length) > used) abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Head whole, pieces;
  HeadLimits limits = {200, 1000};
  size_t step = size ? 1 + data[size - 1] % 5 : 1;
  long used = parse(&whole, data, size, size + 1, &limits);
  if (parse(&pieces, data, size, step, &limits) != used) abort();
  if (used > (long) limits.head_bytes || used > (long) size) abort();
  if (used <= 0) return 0;
  if (whole.count != pieces.count || whole.content_length != pieces.content_length) abort();
  if (whole.chunked && whole.content_length != HEAD_LENGTH_NONE) abort();
  if (memchr(data, 0, (size_t) used)) abort();
  check_fields(&whole, used);
  return 0;
}
