/* Thin bindings of the plain C parsers. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "frames.h"
#include "bindings.h"

/* --- heads: for tests, which feed them whole and byte by byte ---------------------------------------- */

static PyObject *describe(const Head *head, const unsigned char *bytes, long used) {
  PyObject *fields = PyList_New(0);
  for (uint32_t i = 0; fields && i < head->count; i++) {
    const HeadField *f = &head->fields[i];
    PyObject *pair = Py_BuildValue("(y#y#)", bytes + f->name, (Py_ssize_t) f->name_length,
                                   bytes + f->value, (Py_ssize_t) f->value_length);
    if (pair == NULL || PyList_Append(fields, pair) < 0) Py_CLEAR(fields);
    Py_XDECREF(pair);
  }
  return Py_BuildValue("(ly#y#iNLOO)", used, bytes + head->method, (Py_ssize_t) head->method_length,
                       bytes + head->target, (Py_ssize_t) head->target_length,
                       (int) head->minor_version, fields, (long long) head->content_length,
                       head->chunked ? Py_True : Py_False, head->keep_alive ? Py_True : Py_False);
}

/* parse_head(bytes, step, line_bytes, head_bytes): the outcome when `step` bytes arrive at a time. */
PyObject *testing_parse_head(PyObject *module, PyObject *args) {
  const unsigned char *bytes;
  Py_ssize_t length, step;
  HeadLimits limits;
  Head head = {0};
  long used = HEAD_MORE;
  (void) module;
  if (!PyArg_ParseTuple(args, "y#nII", &bytes, &length, &step, &limits.line_bytes, &limits.head_bytes)) {
    return NULL;
  }
  head_reset(&head);
  for (Py_ssize_t seen = 0; seen < length && used == HEAD_MORE;) {
    seen = seen + step < length ? seen + step : length;
    used = head_parse(&head, bytes, (size_t) seen, &limits);
  }
  PyObject *outcome = used > 0 ? describe(&head, bytes, used) : PyLong_FromLong(used);
  head_free(&head);
  return outcome;
}

/* --- chunked bodies: for tests ---------------------------------------------------------------------- */

static ChunkedResult decode_piece(Chunked *state, PyObject *piece, PyObject *body) {
  const unsigned char *at = (unsigned char *) PyBytes_AS_STRING(piece), *data;
  const unsigned char *end = at + PyBytes_GET_SIZE(piece);
  size_t size;
  ChunkedResult result;
  while ((result = chunked_next(state, &at, end, &data, &size)) == CHUNKED_DATA) {
    Py_ssize_t before = PyByteArray_GET_SIZE(body);
    if (PyByteArray_Resize(body, before + (Py_ssize_t) size) < 0) return CHUNKED_BAD;
    memcpy(PyByteArray_AS_STRING(body) + before, data, size);
  }
  return result;
}

/* decode_chunked(list of bytes): (body, "more" | "end" | "bad"). */
PyObject *testing_decode_chunked(PyObject *module, PyObject *pieces) {
  static const char *const names[] = {"", "more", "end", "bad"};
  Chunked state;
  ChunkedResult result = CHUNKED_MORE;
  PyObject *body = PyByteArray_FromStringAndSize(NULL, 0);
  PyObject *fast = PySequence_Fast(pieces, "a list of bytes");
  (void) module;
  chunked_reset(&state);
  for (Py_ssize_t i = 0; fast && body && result == CHUNKED_MORE && i < PySequence_Fast_GET_SIZE(fast); i++) {
    result = decode_piece(&state, PySequence_Fast_GET_ITEM(fast, i), body);
  }
  Py_XDECREF(fast);
  if (fast == NULL || body == NULL) {
    Py_XDECREF(body);
    return NULL;
  }
  return Py_BuildValue("(Ns)", body, names[result]);
}

/* --- WebSocket frames --------------------------------------------------------------------------------- */

typedef struct {
  PyObject_HEAD
  unsigned char pending[FRAME_HEAD_LONGEST]; /* a header that came in pieces */
  size_t pending_length;
  FrameHead head;
  PyObject *payload; /* of the frame that is arriving; NULL between frames */
  uint64_t got, most;
  bool broken; /* there is no way back into step with a peer that broke the rules */
} Frames;

static int frames_init(Frames *f, PyObject *args, PyObject *kwargs) {
  unsigned long long most;
  static char *names[] = {"most", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K", names, &most)) return -1;
  f->most = most;
  return 0;
}

static void frames_dealloc(Frames *f) {
  Py_XDECREF(f->payload);
  Py_TYPE(f)->tp_free((PyObject *) f);
}

/* Takes header bytes from *at until the header is whole: 1 whole, 0 more needed, -1 error. */
static int take_head(Frames *f, const unsigned char **at, const unsigned char *end) {
  while (*at < end) {
    f->pending[f->pending_length++] = *(*at)++;
    int size = frame_head_read(&f->head, f->pending, f->pending_length);
    if (size == FRAME_BAD) {
      PyErr_SetString(PyExc_ValueError, "malformed frame");
      return -1;
    }
    if (size == FRAME_MORE) continue;
    f->pending_length = 0;
    if (f->head.length <= f->most) return 1;
    PyErr_SetString(PyExc_OverflowError, "frame too large");
    return -1;
  }
  return 0;
}

static bool begin_payload(Frames *f) {
  f->got = 0;
  f->payload = PyBytes_FromStringAndSize(NULL, (Py_ssize_t) f->head.length);
  return f->payload != NULL;
}

static void take_payload(Frames *f, const unsigned char **at, const unsigned char *end) {
  uint64_t here = (uint64_t) (end - *at), left = f->head.length - f->got;
  size_t take = (size_t) (here < left ? here : left);
  unsigned char *to = (unsigned char *) PyBytes_AS_STRING(f->payload) + f->got;
  memcpy(to, *at, take);
  frame_unmask(to, take, f->head.mask, f->got);
  f->got += take;
  *at += take;
}

static bool emit(Frames *f, PyObject *frames) {
  PyObject *pair = Py_BuildValue("(iN)", (int) f->head.first, f->payload);
  f->payload = NULL;
  bool added = pair && PyList_Append(frames, pair) == 0;
  Py_XDECREF(pair);
  return added;
}

static bool run_frames(Frames *f, const unsigned char *at, const unsigned char *end, PyObject *frames) {
  while (at < end || (f->payload && f->got == f->head.length)) {
    if (f->payload == NULL) {
      int whole = take_head(f, &at, end);
      if (whole < 0 || (whole && !begin_payload(f))) return false;
      if (!whole) return true;
    }
    take_payload(f, &at, end);
    if (f->got == f->head.length && !emit(f, frames)) return false;
  }
  return true;
}

/* feed(data, frames): appends (first byte, payload) of every completed frame to the list. Raises
 * ValueError for a malformed frame, OverflowError for one that is too large; what came before it
 * is in the list by then. */
static PyObject *frames_feed(Frames *f, PyObject *args) {
  Py_buffer data;
  PyObject *frames;
  if (!PyArg_ParseTuple(args, "y*O!", &data, &PyList_Type, &frames)) return NULL;
  if (f->broken) PyErr_SetString(PyExc_ValueError, "malformed frame");
  else f->broken = !run_frames(f, data.buf, (unsigned char *) data.buf + data.len, frames);
  PyBuffer_Release(&data);
  if (f->broken) return NULL;
  Py_RETURN_NONE;
}

PyObject *frames_write(PyObject *module, PyObject *args) {
  int first;
  unsigned long long length;
  unsigned char head[FRAME_HEAD_LONGEST];
  (void) module;
  if (!PyArg_ParseTuple(args, "iK", &first, &length)) return NULL;
  size_t size = frame_head_write(head, (uint8_t) first, length);
  return PyBytes_FromStringAndSize((char *) head, (Py_ssize_t) size);
}

static PyMethodDef frames_methods[] = {
    {"feed", (PyCFunction) frames_feed, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject FramesType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rookery_asgi._core.Frames",
    .tp_basicsize = sizeof(Frames),
    .tp_dealloc = (destructor) frames_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Splits a client's bytes into WebSocket frames.",
    .tp_methods = frames_methods,
    .tp_init = (initproc) frames_init,
    .tp_new = PyType_GenericNew,
};
