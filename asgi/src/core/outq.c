#include "outq.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Segment {
  Segment *next;
  PyObject *owner; /* keeps `at` alive, or NULL when the bytes are in `own` */
  const unsigned char *at; /* NULL where they are in a file */
  size_t length, capacity;
  off_t offset;
  int file; /* -1 without one */
  unsigned char own[];
};

/* Large enough for the head and the body of most responses, so that they go out in one piece. */
enum { OWN_LEAST = 4096 - sizeof(Segment) };

/* Copying more than this costs more than a further piece to write. */
enum { REFER_FROM = 16384 };

/* Most responses are written at once, so one segment serves nearly all of them in turn. */
static Segment *spare;

static Segment *take_segment(size_t capacity) {
  Segment *segment = spare;
  if (segment == NULL || capacity != OWN_LEAST) return malloc(sizeof(Segment) + capacity);
  spare = NULL;
  return segment;
}

static void give_segment(Segment *segment) {
  Py_XDECREF(segment->owner);
  if (segment->file >= 0) close(segment->file);
  if (spare == NULL && segment->capacity == OWN_LEAST) spare = segment;
  else free(segment);
}

static Segment *append_segment(Outq *queue, size_t capacity) {
  Segment *segment = take_segment(capacity);
  if (segment == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  segment->next = NULL;
  segment->owner = NULL;
  segment->file = -1;
  segment->at = segment->own;
  segment->length = 0;
  segment->capacity = capacity;
  if (queue->last) queue->last->next = segment;
  else queue->first = segment;
  queue->last = segment;
  return segment;
}

/* The room behind what the segment holds; dropped bytes at its front are not won back. */
static size_t room(const Segment *segment) {
  if (segment == NULL || segment->owner != NULL || segment->file >= 0) return 0;
  return segment->capacity - (size_t) (segment->at - segment->own) - segment->length;
}

bool outq_add(Outq *queue, const void *bytes, size_t length) {
  Segment *segment = queue->last;
  if (length == 0) return true;
  if (room(segment) < length) {
    segment = append_segment(queue, length > OWN_LEAST ? length : OWN_LEAST);
    if (segment == NULL) return false;
  }
  memcpy((unsigned char *) segment->at + segment->length, bytes, length);
  segment->length += length;
  queue->bytes += length;
  return true;
}

bool outq_add_bytes(Outq *queue, PyObject *bytes_object) {
  size_t length = (size_t) PyBytes_GET_SIZE(bytes_object);
  return length >= REFER_FROM ? outq_add_object(queue, bytes_object)
                              : outq_add(queue, PyBytes_AS_STRING(bytes_object), length);
}

bool outq_add_object(Outq *queue, PyObject *bytes_object) {
  Segment *segment = append_segment(queue, 0);
  if (segment == NULL) return false;
  segment->owner = Py_NewRef(bytes_object);
  segment->at = (const unsigned char *) PyBytes_AS_STRING(bytes_object);
  segment->length = (size_t) PyBytes_GET_SIZE(bytes_object);
  queue->bytes += segment->length;
  return true;
}

bool outq_add_file(Outq *queue, int file, off_t offset, size_t length) {
  Segment *segment = append_segment(queue, 0);
  if (segment == NULL) return false;
  segment->at = NULL;
  segment->file = file;
  segment->offset = offset;
  segment->length = length;
  queue->bytes += length;
  return true;
}

int outq_file(const Outq *queue, off_t *offset, size_t *length) {
  const Segment *first = queue->first;
  if (first == NULL || first->file < 0) return -1;
  *offset = first->offset;
  *length = first->length;
  return first->file;
}

int outq_vectors(const Outq *queue, struct iovec *vectors, int most) {
  int count = 0;
  for (Segment *s = queue->first; s != NULL && s->file < 0 && count < most; s = s->next) {
    vectors[count].iov_base = (void *) s->at;
    vectors[count++].iov_len = s->length;
  }
  return count;
}

static void drop_first(Outq *queue) {
  Segment *gone = queue->first;
  queue->first = gone->next;
  if (queue->first == NULL) queue->last = NULL;
  give_segment(gone);
}

void outq_drop(Outq *queue, size_t written) {
  queue->bytes -= written;
  while (queue->first != NULL && written >= queue->first->length) {
    written -= queue->first->length;
    drop_first(queue);
  }
  Segment *first = queue->first;
  if (first == NULL) return;
  first->length -= written;
  if (first->file >= 0) first->offset += (off_t) written;
  else first->at += written;
}

void outq_clear(Outq *queue) {
  while (queue->first != NULL) drop_first(queue);
  queue->bytes = 0;
}

/* A file that has become shorter since it was queued can't be sent any more. */
static bool read_file(const Segment *segment, char *to, size_t length) {
  for (size_t at = 0; at < length;) {
    ssize_t count = pread(segment->file, to + at, length - at, segment->offset + (off_t) at);
    if (count <= 0) {
      PyErr_SetString(PyExc_OSError, "a file became unreadable while it was sent");
      return false;
    }
    at += (size_t) count;
  }
  return true;
}

static bool copy(const Segment *segment, char *to, size_t length) {
  if (segment->file >= 0) return read_file(segment, to, length);
  memcpy(to, segment->at, length);
  return true;
}

PyObject *outq_take(Outq *queue, size_t most) {
  size_t whole = queue->bytes < most ? queue->bytes : most, at = 0;
  PyObject *taken = PyBytes_FromStringAndSize(NULL, (Py_ssize_t) whole);
  if (taken == NULL) return NULL;
  for (Segment *s = queue->first; at < whole; s = s->next) {
    size_t length = s->length < whole - at ? s->length : whole - at;
    if (!copy(s, PyBytes_AS_STRING(taken) + at, length)) {
      Py_DECREF(taken);
      return NULL;
    }
    at += length;
  }
  outq_drop(queue, whole);
  return taken;
}
