/* The bytes a connection still has to write: copies of small things, references to large ones. */
#ifndef ROOKERY_OUTQ_H
#define ROOKERY_OUTQ_H

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

typedef struct Segment Segment;

typedef struct {
  Segment *first, *last;
  size_t bytes;
} Outq;

/* All return false, with a MemoryError set, when memory is out. Of a bytes object the second keeps
 * a reference where it is large and a copy where it is small, the third always a reference. */
bool outq_add(Outq *queue, const void *bytes, size_t length);
bool outq_add_bytes(Outq *queue, PyObject *bytes_object);
bool outq_add_object(Outq *queue, PyObject *bytes_object);

/* Fills up to `most` vectors with the head of the queue; returns how many. */
int outq_vectors(const Outq *queue, struct iovec *vectors, int most);
void outq_drop(Outq *queue, size_t written);
void outq_clear(Outq *queue);

/* All bytes as one Python object, leaving the queue empty; NULL with an error set. */
PyObject *outq_take(Outq *queue);

#endif
