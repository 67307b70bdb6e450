/* Writes what a connection has queued: memory, files, and with TLS what its filter makes of them. */
#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "core.h"

enum { VECTORS_MOST = 16 };
/* What one connection may write before others get their turn. */
enum { FLUSHED_AT_ONCE = 1024 * 1024, SEALED_AT_ONCE = 128 * 1024, SEALED_MOST = 8 };

/* With TLS the filter turns what is to be sent into what goes over the wire, a piece at a time, so
 * that neither a large body nor a file is ever sealed as a whole. */
static bool seal_piece(Conn *c) {
  PyObject *plain = outq_take(&c->out, SEALED_AT_ONCE);
  PyObject *sealed = plain ? PyObject_CallMethodOneArg(c->filter, str_seal, plain) : NULL;
  bool sound = sealed && PyBytes_CheckExact(sealed) && outq_add_object(&c->sealed, sealed);
  Py_XDECREF(plain);
  Py_XDECREF(sealed);
  return sound && !PyErr_Occurred();
}

static bool say_farewell(Conn *c) {
  if (!c->close_when_flushed || c->said_farewell) return true;
  c->said_farewell = true;
  PyObject *last = PyObject_CallMethodNoArgs(c->filter, str_farewell);
  bool sound = last && PyBytes_CheckExact(last) && outq_add_object(&c->sealed, last);
  Py_XDECREF(last);
  return sound;
}

static size_t length_of(const struct iovec *vectors, int count) {
  size_t sum = 0;
  for (int i = 0; i < count; i++) sum += vectors[i].iov_len;
  return sum;
}

/* What follows at once, as a file does its head, may share a packet with it. */
static ssize_t write_once(int fd, const Outq *queue) {
  struct iovec vectors[VECTORS_MOST];
  int count = outq_vectors(queue, vectors, VECTORS_MOST), flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (length_of(vectors, count) < queue->bytes) flags |= MSG_MORE;
  struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t) count};
  if (count > 1) return sendmsg(fd, &message, flags);
  return send(fd, vectors[0].iov_base, vectors[0].iov_len, flags); /* the common, and cheaper, call */
}

/* From the page cache to the socket; 0 means that the file has become shorter. */
static ssize_t send_file(int fd, int file, off_t offset, size_t length) {
  ssize_t written = sendfile(fd, file, &offset, length < FLUSHED_AT_ONCE ? length : FLUSHED_AT_ONCE);
  if (written == 0) errno = EIO;
  return written > 0 ? written : -1;
}

static ssize_t write_some(Conn *c, const Outq *queue) {
  off_t offset;
  size_t length;
  ssize_t written;
  int file = outq_file(queue, &offset, &length);
  do written = file >= 0 ? send_file(c->fd, file, offset, length) : write_once(c->fd, queue);
  while (written < 0 && errno == EINTR);
  return written;
}

/* False when the connection is lost. A client that reads as fast as it is written to gets the rest
 * when others have had their turn. */
static bool write_all(Conn *c, Outq *queue) {
  for (size_t sum = 0; queue->bytes && sum < FLUSHED_AT_ONCE;) {
    ssize_t written = write_some(c, queue);
    if (written < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    outq_drop(queue, (size_t) written);
    sum += (size_t) written;
    c->bytes_out += (uint64_t) written;
    c->core->counters.bytes_out += (uint64_t) written;
  }
  return true;
}

/* False when the connection is lost or its filter failed. */
static bool flush_sealed(Conn *c) {
  for (int i = 0; i < SEALED_MOST; i++) {
    if (c->sealed.bytes == 0 && c->out.bytes && !seal_piece(c)) return false;
    if (c->out.bytes == 0 && !say_farewell(c)) return false;
    if (!write_all(c, &c->sealed)) return false;
    if (c->sealed.bytes || c->out.bytes == 0) break;
  }
  return true;
}

void net_flush(Conn *c) {
  if (c->state == IN_CLOSED) return;
  if (!(c->filter ? flush_sealed(c) : c->fd < 0 || write_all(c, &c->out))) {
    core_trouble(c->core);
    conn_lost(c);
    return;
  }
  deadline_watch_output(c);
  net_watch(c);
  conn_drained(c);
}
