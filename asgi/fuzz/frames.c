/* Fuzzes WebSocket frame headers and masking. */
#include "../src/core/frames.h"

#include <stdlib.h>
#include <string.h>

static void check_mask(const uint8_t *data, size_t size, const FrameHead *head) {
  uint8_t *copy = malloc(size + 1);
  size_t half = size / 2;
  memcpy(copy, data, size);
  frame_unmask(copy, size, head->mask, 0);
  for (size_t i = 0; i < size; i++) {
    if (copy[i] != (data[i] ^ head->mask[i & 3])) abort();
  }
  /* the same again in two pieces takes the mask off */
  frame_unmask(copy, half, head->mask, 0);
  frame_unmask(copy + half, size - half, head->mask, half);
  if (memcmp(copy, data, size) != 0) abort();
  free(copy);
}

static void check_head(const uint8_t *data, const FrameHead *head, int used) {
  uint8_t written[FRAME_HEAD_LONGEST];
  size_t length = frame_head_write(written, head->first, head->length);
  if (length + 4 != (size_t) used || written[0] != data[0]) abort();
  if ((written[1] | 0x80) != data[1] || memcmp(written + 2, data + 2, length - 2) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  FrameHead head;
  for (size_t arrived = 0; arrived <= size && arrived <= FRAME_HEAD_LONGEST; arrived++) {
    uint8_t *copy = malloc(arrived + 1);
    memcpy(copy, data, arrived);
    int used = frame_head_read(&head, copy, arrived);
    free(copy);
    if (used > (int) arrived) abort();
    if (used <= 0) continue;
    check_head(data, &head, used);
    check_mask(data + used, size - (size_t) used, &head);
    return 0;
  }
  return 0;
}
