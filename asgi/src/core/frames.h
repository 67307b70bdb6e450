/* WebSocket frames (RFC 6455, section 5.2): headers in and out, and masking. */
#ifndef ROOKERY_FRAMES_H
#define ROOKERY_FRAMES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t first;  /* FIN, RSV1-3 and opcode as they stand on the wire */
  uint8_t mask[4];
  uint64_t length;
} FrameHead;

enum { FRAME_MORE = 0, FRAME_BAD = -1, FRAME_HEAD_LONGEST = 14 };

/* Reads the header of a client's frame: its size in bytes, FRAME_MORE or FRAME_BAD. */
int frame_head_read(FrameHead *head, const unsigned char *bytes, size_t length);

/* Writes the header of a server's (unmasked) frame; returns its size, at most 10. */
size_t frame_head_write(unsigned char *out, uint8_t first, uint64_t length);

/* Unmasks `length` bytes that begin `offset` bytes into the payload. */
void frame_unmask(unsigned char *bytes, size_t length, const uint8_t mask[4], uint64_t offset);

#endif
