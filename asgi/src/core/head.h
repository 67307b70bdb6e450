/* A strict, resumable parser of HTTP/1.x request heads.
 *
 * Theory of operation. The caller keeps the bytes of one head in one contiguous buffer that may
 * move but not change, and calls head_parse() whenever more has arrived. Each byte is looked at
 * once: the parser remembers how far it came. The answer is HEAD_MORE, the number of bytes the
 * head takes, or a negative HTTP status. A head that was parsed is described by offsets into
 * the buffer and by what its fields say about framing, so no one interprets them a second time.
 *
 * Refused, because a proxy in front might read it otherwise: bare CR or LF, control characters,
 * folded lines, space before a colon, repeated or malformed Content-Length, Content-Length with
 * Transfer-Encoding, any coding but one "chunked", Host missing or repeated. */
#ifndef ROOKERY_HEAD_H
#define ROOKERY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_MORE 0

typedef struct {
  uint32_t name, name_length, value, value_length;
} HeadField;

typedef struct {
  uint32_t line_bytes;  /* longest request line, beyond it 414 */
  uint32_t head_bytes;  /* longest head, beyond it 431 */
} HeadLimits;

enum { HEAD_LENGTH_NONE = -1 };

typedef struct {
  /* progress */
  uint8_t state;
  uint8_t blank_lines;
  uint32_t position, mark;
  /* what was found, as offsets into the buffer */
  uint32_t method_length, method;
  uint32_t target, target_length;
  uint8_t minor_version;
  HeadField *fields;
  uint32_t count, capacity;
  /* what the fields mean */
  int64_t content_length;
  bool chunked, has_host, keep_alive, close, upgrade, websocket, expect_continue, forwarded;
} Head;

void head_reset(Head *head);
void head_free(Head *head);

/* Makes `copy` an independent head with the same progress; false when memory is out. */
bool head_clone(Head *copy, const Head *head);

/* HEAD_MORE, the length of the head in bytes, or minus an HTTP status. */
long head_parse(Head *head, const unsigned char *bytes, size_t length, const HeadLimits *limits);

#endif
