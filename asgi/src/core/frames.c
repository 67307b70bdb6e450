#include "frames.h"

#include <stdbool.h>
#include <string.h>

enum { FIN = 0x80, RESERVED_23 = 0x30, RESERVED_1 = 0x40, OPCODE = 0x0f, MASKED = 0x80 };

static bool first_is_legal(uint8_t first) {
  uint8_t opcode = first & OPCODE;
  if (first & RESERVED_23) return false;
  if (opcode >= 8) return opcode <= 10 && (first & FIN) && !(first & RESERVED_1);
  return opcode <= 2;
}

static uint64_t big_endian(const unsigned char *bytes, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; i++) sum = sum << 8 | bytes[i];
  return sum;
}

/* RFC 6455 wants the shortest form of a length, and no length of 2^63 or more. */
static bool length_is_legal(uint64_t length, int extra, uint8_t first) {
  if ((first & 8) && length > 125) return false;
  if (extra == 2) return length > 125;
  return extra != 8 || (length > 0xffff && length >> 63 == 0);
}

int frame_head_read(FrameHead *head, const unsigned char *bytes, size_t length) {
  if (length >= 1 && !first_is_legal(bytes[0])) return FRAME_BAD;
  if (length < 2) return FRAME_MORE;
  if (!(bytes[1] & MASKED)) return FRAME_BAD; /* a client must mask */
  int small = bytes[1] & 0x7f, extra = small == 126 ? 2 : small == 127 ? 8 : 0;
  size_t whole = 2 + (size_t) extra + 4;
  if (length < whole) return FRAME_MORE;
  head->first = bytes[0];
  head->length = extra ? big_endian(bytes + 2, extra) : (uint64_t) small;
  memcpy(head->mask, bytes + 2 + extra, 4);
  return length_is_legal(head->length, extra, bytes[0]) ? (int) whole : FRAME_BAD;
}

size_t frame_head_write(unsigned char *out, uint8_t first, uint64_t length) {
  int extra = length < 126 ? 0 : length <= 0xffff ? 2 : 8;
  out[0] = first;
  out[1] = (unsigned char) (extra == 0 ? length : extra == 2 ? 126 : 127);
  for (int i = 0; i < extra; i++) out[2 + i] = (unsigned char) (length >> 8 * (extra - 1 - i));
  return 2 + (size_t) extra;
}

void frame_unmask(unsigned char *bytes, size_t length, const uint8_t mask[4], uint64_t offset) {
  uint8_t turned[8];
  uint64_t wide, word;
  size_t i = 0;
  for (int k = 0; k < 8; k++) turned[k] = mask[(offset + (uint64_t) k) & 3];
  memcpy(&wide, turned, 8);
  for (; i + 8 <= length; i += 8) { /* eight at a time; memcpy keeps it legal when unaligned */
    memcpy(&word, bytes + i, 8);
    word ^= wide;
    memcpy(bytes + i, &word, 8);
  }
  for (; i < length; i++) bytes[i] ^= turned[i & 7];
}
