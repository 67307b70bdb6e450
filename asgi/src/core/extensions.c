/* Extensions of ASGI: files that the kernel sends, trailers, early hints, and what TLS says. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"

static PyObject *str_pathsend, *str_zerocopysend, *str_response_trailers, *str_early_hint;

bool extensions_setup(void) {
  str_pathsend = PyUnicode_InternFromString("http.response.pathsend");
  str_zerocopysend = PyUnicode_InternFromString("http.response.zerocopysend");
  str_response_trailers = PyUnicode_InternFromString("http.response.trailers");
  str_early_hint = PyUnicode_InternFromString("http.response.early_hint");
  return str_pathsend && str_zerocopysend && str_response_trailers && str_early_hint;
}

static bool offer(PyObject *extensions, PyObject *name) {
  PyObject *nothing = PyDict_New();
  bool added = nothing && PyDict_SetItem(extensions, name, nothing) == 0;
  Py_XDECREF(nothing);
  return added;
}

static bool add_tls(PyObject *extensions, const Conn *c) {
  PyObject *shared = PyObject_GetAttr(c->filter, str_scope);
  PyObject *own = shared ? PyDict_Copy(shared) : NULL;
  bool added = own && PyDict_SetItem(extensions, str_tls, own) == 0;
  Py_XDECREF(shared);
  Py_XDECREF(own);
  return added;
}

/* Every request has its own: an application may write into them. HTTP/1.0 has neither trailers nor
 * responses before the response. `head` is NULL for a WebSocket. */
PyObject *extensions_of(const Conn *c, const Head *head) {
  PyObject *made = head ? PyDict_New() : Py_BuildValue("{s{}}", "websocket.http.response");
  bool whole = made && (!head || (offer(made, str_pathsend) && offer(made, str_zerocopysend))) &&
               (!head || head->minor_version == 0 ||
                (offer(made, str_response_trailers) && offer(made, str_early_hint))) &&
               (!c->filter || add_tls(made, c));
  if (!whole) Py_CLEAR(made);
  return made;
}

/* --- files -------------------------------------------------------------------------------------- */

/* The size of an ordinary file, or -1 with an error set. statx is as old as glibc 2.28; fstat under
 * its own name is of 2.33, and would bind wheels to that. */
static int64_t size_of(int file) {
  struct statx about;
  if (statx(file, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &about) != 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
  }
  if (!S_ISREG(about.stx_mode)) {
    bad_message("only an ordinary file can be sent");
    return -1;
  }
  return (int64_t) about.stx_size;
}

static PyObject *send_file(Request *r, Piece *piece, bool more) {
  PyObject *answer = response_send_piece(r, piece, more);
  if (piece->file >= 0) close(piece->file);
  return answer;
}

/* The specification wants an absolute path; frameworks also send others. */
static int open_path(PyObject *path) {
  PyObject *raw;
  if (path == NULL || !PyUnicode_FSConverter(path, &raw)) {
    if (!PyErr_Occurred()) bad_message("http.response.pathsend has no path");
    return -1;
  }
  int file = open(PyBytes_AS_STRING(raw), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
  Py_DECREF(raw);
  return file;
}

/* The whole file; of one that has grown since its length was declared, as a log does, no more. */
static PyObject *send_path(Request *r, PyObject *message) {
  int file = open_path(PyDict_GetItemWithError(message, str_path));
  int64_t length = file < 0 ? -1 : size_of(file);
  if (length < 0) {
    if (file >= 0) close(file);
    return NULL;
  }
  if (r->declared >= 0 && r->declared < length) length = r->declared;
  Piece piece = {NULL, file, 0, (size_t) length};
  return send_file(r, &piece, false);
}

/* A number of the message, or -1 without one; -2 with an error set. */
static int64_t number_of(PyObject *message, PyObject *key) {
  PyObject *given = PyDict_GetItemWithError(message, key);
  if (given == NULL || given == Py_None) return PyErr_Occurred() ? -2 : -1;
  int64_t number = PyLong_AsLongLong(given);
  if (number < 0 && !PyErr_Occurred()) bad_message("offset and count of a file are not negative");
  return PyErr_Occurred() ? -2 : number;
}

/* Without an offset the file's own position counts, and moves on. */
static bool choose_part(PyObject *message, int file, Piece *piece) {
  int64_t offset = number_of(message, str_offset), count = number_of(message, str_count), size = 0;
  bool own = offset == -1;
  if (offset == -2 || count == -2 || (size = size_of(file)) < 0) return false;
  if (own && (offset = lseek(file, 0, SEEK_CUR)) < 0) return PyErr_SetFromErrno(PyExc_OSError) != NULL;
  int64_t left = offset < size ? size - offset : 0;
  if (count < 0 || count > left) count = left;
  if (own) lseek(file, offset + count, SEEK_SET);
  piece->offset = offset;
  piece->length = (size_t) count;
  return true;
}

static PyObject *send_descriptor(Request *r, PyObject *message) {
  PyObject *given = PyDict_GetItemWithError(message, str_file);
  PyObject *flag = PyDict_GetItemWithError(message, str_more_body);
  int more = flag ? PyObject_IsTrue(flag) : 0;
  if (given == NULL && !PyErr_Occurred()) bad_message("http.response.zerocopysend has no file");
  if (PyErr_Occurred()) return NULL;
  int file = PyObject_AsFileDescriptor(given);
  Piece piece = {NULL, -1, 0, 0};
  if (file < 0 || more < 0 || !choose_part(message, file, &piece)) return NULL;
  piece.file = fcntl(file, F_DUPFD_CLOEXEC, 3); /* the application may close its own */
  if (piece.file < 0) return PyErr_SetFromErrno(PyExc_OSError);
  return send_file(r, &piece, more != 0);
}

/* --- trailers and early hints -------------------------------------------------------------------- */

static PyObject *send_trailers(Request *r, PyObject *message) {
  PyObject *flag = PyDict_GetItemWithError(message, str_more_trailers);
  int more = flag ? PyObject_IsTrue(flag) : 0;
  if (r->out != OUT_TRAILERS) {
    bad_message("trailers were not promised, or the body has not ended");
    return NULL;
  }
  if (more < 0 || !response_put_trailers(r, PyDict_GetItemWithError(message, str_headers))) return NULL;
  return more ? await_nothing() : response_end_trailers(r);
}

static PyObject *send_hint(Request *r, PyObject *message) {
  PyObject *links = PyDict_GetItemWithError(message, str_links);
  if (r->out != OUT_NOTHING) bad_message("early hints come before the response");
  else if (links == NULL) bad_message("http.response.early_hint has no links");
  if (PyErr_Occurred()) return NULL;
  if (r->http10) return await_nothing(); /* it would take them for the response */
  Conn *c = (Conn *) Py_NewRef((PyObject *) r->conn);
  PyObject *answer = response_put_hints(r, links) ? response_after_chunk(r) : NULL;
  Py_DECREF((PyObject *) c);
  return answer;
}

/* --- send() ----------------------------------------------------------------------------------------- */

static bool is(PyObject *type, PyObject *known) {
  return PyUnicode_Check(type) && PyUnicode_Compare(type, known) == 0;
}

PyObject *request_send_extension(Request *r, PyObject *message, PyObject *type) {
  bool path = is(type, str_pathsend), file = is(type, str_zerocopysend);
  if (is(type, str_early_hint)) return send_hint(r, message);
  if (is(type, str_response_trailers)) return send_trailers(r, message);
  if (!path && !file) {
    return PyErr_Format(PyExc_RuntimeError, "an HTTP response has no message of type %R", type);
  }
  if (r->out == OUT_NOTHING) bad_message("a file was sent before http.response.start");
  else if (r->out > OUT_STREAMING) bad_message("the response has already ended");
  else if (path && r->out != OUT_STARTED) bad_message("http.response.pathsend is the whole body");
  else return path ? send_path(r, message) : send_descriptor(r, message);
  return NULL;
}
