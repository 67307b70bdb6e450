/* The bytes a connection still has to write: copies of small things, references to large ones, and
 * parts of files, which the kernel sends by itself. */
#ifndef ROOKERY_OUTQ_H
#define ROOKERY_OUTQ_H

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
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

/* Takes the descriptor over, and closes it in the end; not when it returns false. */
bool outq_add_file(Outq *queue, int file, off_t offset, size_t length);

/* The descriptor, when the queue begins with part of a file, else -1. */
int outq_file(const Outq *queue, off_t *offset, size_t *length);

/* Fills up to `most` vectors with the head of the queue, up to the next file; returns how many. */
int outq_vectors(const Outq *queue, struct iovec *vectors, int most);
void outq_drop(Outq *queue, size_t written);
void outq_clear(Outq *queue);

/* The first `most` bytes as one Python object, those of files as well; NULL with an error set. */
PyObject *outq_take(Outq *queue, size_t most);

#endif
