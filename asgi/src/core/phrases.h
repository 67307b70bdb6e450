/* What a response's head says by itself: the reason phrase of a status, and the date. Plain C. */
#ifndef ROOKERY_PHRASES_H
#define ROOKERY_PHRASES_H

#include <stddef.h>

/* Empty for a status that has none. */
const char *status_phrase(int status);

/* The whole header line with its line end; good until the next call. */
const char *date_line(size_t *length);

#endif
