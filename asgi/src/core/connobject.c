/* A connection as a Python object: what TLS, WebSockets and tests do with it. */
#include <string.h>

#include "core.h"

Conn *conn_new(Core *core, PyObject *client, PyObject *server) {
  Conn *c = PyObject_New(Conn, &ConnType);
  if (c == NULL) return NULL;
  memset((char *) c + sizeof(PyObject), 0, sizeof(Conn) - sizeof(PyObject));
  c->core = (Core *) Py_NewRef((PyObject *) core);
  c->client = Py_NewRef(client);
  c->server = Py_NewRef(server);
  c->fd = -1;
  c->reading.conn = c->writing.conn = c;
  c->next = core->conns;
  if (core->conns) core->conns->prev = c;
  core->conns = c;
  core->conn_count++;
  core->counters.connections++;
  deadline_set(c, WAIT_HEAD);
  return c;
}

static void conn_dealloc(Conn *c) {
  if (c->state != IN_CLOSED) {
    Py_SET_REFCNT((PyObject *) c, 1); /* conn_lost takes and gives back a reference */
    conn_lost(c);
  }
  outq_clear(&c->out);
  outq_clear(&c->sealed);
  Py_CLEAR(c->client);
  Py_CLEAR(c->server);
  Py_CLEAR(c->filter);
  Py_CLEAR(c->sink);
  Py_CLEAR(c->core);
  PyObject_Free(c);
}

static PyObject *conn_py_feed(Conn *c, PyObject *data) {
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
  conn_feed(c, view.buf, (size_t) view.len);
  PyBuffer_Release(&view);
  Py_RETURN_NONE;
}

static PyObject *conn_py_feed_eof(Conn *c, PyObject *unused) {
  (void) unused;
  conn_eof(c);
  Py_RETURN_NONE;
}

static PyObject *conn_py_take(Conn *c, PyObject *unused) {
  (void) unused;
  PyObject *bytes = outq_take(&c->out, SIZE_MAX);
  if (bytes && c->state != IN_CLOSED) conn_drained(c);
  return bytes;
}

static bool queue_part(Conn *c, Outq *queue, PyObject *part) {
  if (!PyBytes_CheckExact(part)) { /* a subclass could run code when it is dropped */
    PyErr_SetString(PyExc_TypeError, "only bytes can be written");
    return false;
  }
  return c->state == IN_CLOSED || outq_add_bytes(queue, part);
}

/* Returns whether more may be written at once; when not, the sink is told when it may. */
static PyObject *conn_py_write(Conn *c, PyObject *const *parts, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!queue_part(c, &c->out, parts[i])) return NULL;
  }
  if (!c->running) net_flush(c);
  else c->corked = true;
  /* once full, it stays so until the sink has been told that it may go on */
  c->pipe_full = c->pipe_full || pending_output(c) > c->core->high_water;
  return PyBool_FromLong(!c->pipe_full);
}

static PyObject *conn_py_write_sealed(Conn *c, PyObject *part) {
  if (!queue_part(c, &c->sealed, part)) return NULL;
  net_flush(c);
  Py_RETURN_NONE;
}

static PyObject *conn_py_close(Conn *c, PyObject *unused) {
  (void) unused;
  conn_close_gently(c, !c->eof);
  Py_RETURN_NONE;
}

static PyObject *conn_py_abort(Conn *c, PyObject *unused) {
  (void) unused;
  conn_lost(c);
  Py_RETURN_NONE;
}

static PyObject *conn_py_hold(Conn *c, PyObject *flag) {
  c->held = PyObject_IsTrue(flag) == 1;
  if (!c->held && c->paused && c->state != IN_CLOSED) net_watch(c);
  Py_RETURN_NONE;
}

static PyObject *conn_get_buffered(Conn *c, void *unused) {
  (void) unused;
  return PyLong_FromSize_t(pending_output(c));
}

static PyObject *conn_get_open(Conn *c, void *unused) {
  (void) unused;
  return PyBool_FromLong(c->state != IN_CLOSED);
}

static PyObject *conn_get_own_fields(Conn *c, void *unused) {
  (void) unused;
  return response_own_fields(c->core);
}

static PyObject *conn_get_held(Conn *c, void *unused) {
  (void) unused;
  return PyBool_FromLong(c->held);
}

static PyObject *conn_get_client(Conn *c, void *unused) {
  (void) unused;
  return Py_NewRef(c->client);
}

static PyMethodDef conn_methods[] = {
    {"feed", (PyCFunction) conn_py_feed, METH_O, NULL},
    {"feed_eof", (PyCFunction) conn_py_feed_eof, METH_NOARGS, NULL},
    {"take", (PyCFunction) conn_py_take, METH_NOARGS, NULL},
    {"write", (PyCFunction) (void (*)(void)) conn_py_write, METH_FASTCALL, NULL},
    {"write_sealed", (PyCFunction) conn_py_write_sealed, METH_O, NULL},
    {"close", (PyCFunction) conn_py_close, METH_NOARGS, NULL},
    {"abort", (PyCFunction) conn_py_abort, METH_NOARGS, NULL},
    {"hold", (PyCFunction) conn_py_hold, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef conn_getset[] = {
    {"buffered", (getter) conn_get_buffered, NULL, NULL, NULL},
    {"open", (getter) conn_get_open, NULL, NULL, NULL},
    {"client", (getter) conn_get_client, NULL, NULL, NULL},
    {"held", (getter) conn_get_held, NULL, NULL, NULL},
    {"own_fields", (getter) conn_get_own_fields, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject ConnType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rookery_asgi._core.Connection",
    .tp_basicsize = sizeof(Conn),
    .tp_dealloc = (destructor) conn_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "One connection: a machine fed with bytes.",
    .tp_methods = conn_methods,
    .tp_getset = conn_getset,
};
