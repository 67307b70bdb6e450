/* A strict, resumable decoder of chunked bodies (RFC 9112, section 7.1). */
#ifndef ROOKERY_CHUNKED_H
#define ROOKERY_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t state;
  uint8_t digits;
  uint32_t overhead;  /* extension and trailer bytes seen since the last data: bounded */
  uint64_t left;      /* bytes of the present chunk still to come */
} Chunked;

typedef enum {
  CHUNKED_DATA,  /* *data, *size are body bytes; call again with the rest */
  CHUNKED_MORE,  /* all bytes were used, more must come */
  CHUNKED_END,   /* the body is complete; the rest belongs to the next request */
  CHUNKED_BAD,
} ChunkedResult;

void chunked_reset(Chunked *chunked);

/* Uses up bytes from *at (advancing it towards `end`) until there is something to say. */
ChunkedResult chunked_next(Chunked *chunked, const unsigned char **at, const unsigned char *end,
                           const unsigned char **data, size_t *size);

#endif
