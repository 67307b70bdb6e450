/* The fields of a response's head, as the application and the operator want them. */
#ifndef ROOKERY_FIELDS_H
#define ROOKERY_FIELDS_H

#include "core.h"

#define SERVER_LINE "server: rookery-asgi\r\n"

typedef struct {
  bool date, server, connection, chunked, skip, trailers;
  uint32_t own; /* a bit for each of the operator's fields */
} Seen;

/* All write behind what the request has of its response's head; false with an error set. */
bool fields_put(Request *r, const char *text, size_t length);
bool fields_put_number(Request *r, uint64_t number);
bool fields_put_status(Request *r);
bool fields_put_all(Request *r, PyObject *headers, Seen *seen);
bool fields_put_own(Request *r, const Seen *seen);
#define PUT(r, literal) fields_put(r, literal, sizeof(literal) - 1)

#endif
