/* What receive() and send() return. Most of the time the answer is there and awaiting it costs
 * nothing; else the awaitable yields a future to the task and looks again when that is done. It
 * has a coroutine's methods, so it may also be handed to create_task(). */
#include <string.h>

#include "core.h"

typedef enum { NOTHING, VALUE, TURN, RECEIVE, SEND } Kind;

typedef struct {
  PyObject_HEAD
  uint8_t kind;
  bool yielded;
  PyObject *value;   /* VALUE */
  Request *request;  /* RECEIVE, SEND */
  PyObject *future;  /* in the request's list while we wait for it */
  PyObject *waiting; /* its iterator */
} Awaitable;

static Awaitable *nothing;

static Awaitable *make(Kind kind) {
  Awaitable *a = PyObject_New(Awaitable, &AwaitableType);
  if (a == NULL) return NULL;
  a->kind = kind;
  a->yielded = false;
  a->value = a->future = a->waiting = NULL;
  a->request = NULL;
  return a;
}

bool awaitable_setup(void) {
  if (nothing == NULL) nothing = make(NOTHING);
  return nothing != NULL;
}

PyObject *await_nothing(void) {
  return Py_NewRef((PyObject *) nothing);
}

PyObject *await_value(PyObject *stolen) {
  Awaitable *a = stolen ? make(VALUE) : NULL;
  if (a == NULL) Py_XDECREF(stolen);
  else a->value = stolen;
  return (PyObject *) a;
}

PyObject *await_turn(void) {
  return (PyObject *) make(TURN);
}

static PyObject *make_for(Request *r, Kind kind) {
  Awaitable *a = make(kind);
  if (a != NULL) a->request = (Request *) Py_NewRef((PyObject *) r);
  return (PyObject *) a;
}

PyObject *await_receive(Request *r) {
  return make_for(r, RECEIVE);
}

PyObject *await_send(Request *r) {
  return make_for(r, SEND);
}

static PyObject **waiters_of(const Awaitable *a) {
  return a->kind == RECEIVE ? &a->request->receivers : &a->request->senders;
}

static void leave_list(PyObject *list, const PyObject *future) {
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
    if (PyList_GET_ITEM(list, i) != future) continue;
    PyList_SetSlice(list, i, i + 1, NULL);
    return;
  }
}

/* A future that is given up leaves the list at once, for a request may live long and be asked often. */
static void stop_waiting(Awaitable *a) {
  if (a->future != NULL) leave_list(*waiters_of(a), a->future);
  Py_CLEAR(a->waiting);
  Py_CLEAR(a->future);
}

static void awaitable_dealloc(Awaitable *a) {
  stop_waiting(a);
  Py_XDECREF(a->value);
  Py_XDECREF((PyObject *) a->request);
  PyObject_Free(a);
}

/* --- waiting ------------------------------------------------------------------------------------- */

/* Registers a new future with the request and keeps its iterator. */
static bool wait_for_change(Awaitable *a) {
  PyObject **waiters = waiters_of(a);
  if (*waiters == NULL && (*waiters = PyList_New(0)) == NULL) return false;
  a->future = PyObject_CallNoArgs(a->request->core->create_future);
  if (a->future == NULL) return false;
  if (PyList_Append(*waiters, a->future) == 0) a->waiting = PyObject_GetIter(a->future);
  return a->waiting != NULL;
}

/* The answer, or NULL: with an error set, or without one when there is none yet. */
static PyObject *answer(Awaitable *a) {
  Request *r = a->request;
  if (a->kind == RECEIVE) return request_message(r);
  if (r->gone) {
    PyErr_SetString(ClientDisconnected, "the client has closed the connection");
    return NULL;
  }
  bool still_full = r->conn && pending_output(r->conn) > r->core->high_water;
  return still_full ? NULL : Py_NewRef(Py_None);
}

static PySendResult step_waiting(Awaitable *a, PyObject **result) {
  for (;;) {
    if (a->waiting == NULL) {
      *result = answer(a);
      if (*result != NULL) return PYGEN_RETURN;
      if (PyErr_Occurred() || !wait_for_change(a)) return PYGEN_ERROR;
    }
    PySendResult outcome = PyIter_Send(a->waiting, Py_None, result);
    if (outcome != PYGEN_RETURN) return outcome;
    Py_CLEAR(*result);
    stop_waiting(a);
  }
}

static PySendResult awaitable_send(Awaitable *a, PyObject *unused, PyObject **result) {
  (void) unused;
  switch (a->kind) {
    case VALUE:
      *result = a->value ? a->value : Py_NewRef(Py_None);
      a->value = NULL;
      return PYGEN_RETURN;
    case TURN:
      *result = Py_NewRef(Py_None);
      if (a->yielded) return PYGEN_RETURN;
      a->yielded = true;
      return PYGEN_NEXT; /* a bare yield: the task goes to the end of the loop's queue */
    case NOTHING:
      *result = Py_NewRef(Py_None);
      return PYGEN_RETURN;
    default:
      return step_waiting(a, result);
  }
}

/* --- the coroutine's methods ------------------------------------------------------------------------ */

static PyObject *finish_with(PyObject *result) {
  PyObject *stop = PyObject_CallOneArg(PyExc_StopIteration, result);
  if (stop != NULL) PyErr_SetObject(PyExc_StopIteration, stop);
  Py_XDECREF(stop);
  Py_DECREF(result);
  return NULL;
}

static PyObject *method_send(Awaitable *a, PyObject *value) {
  PyObject *result = NULL;
  PySendResult outcome = awaitable_send(a, value, &result);
  return outcome == PYGEN_RETURN ? finish_with(result) : result;
}

static PyObject *awaitable_next(Awaitable *a) {
  return method_send(a, Py_None);
}

static PyObject *raise_given(PyObject *const *given, Py_ssize_t count) {
  if (count > 0 && PyExceptionInstance_Check(given[0])) {
    PyErr_SetObject((PyObject *) Py_TYPE(given[0]), given[0]);
  } else if (count > 0 && PyExceptionClass_Check(given[0])) {
    PyErr_SetObject(given[0], count > 1 && given[1] != Py_None ? given[1] : NULL);
  } else {
    PyErr_SetString(PyExc_TypeError, "throw() takes an exception");
  }
  return NULL;
}

static PyObject *method_throw(Awaitable *a, PyObject *const *given, Py_ssize_t count) {
  stop_waiting(a);
  return raise_given(given, count);
}

static PyObject *method_close(Awaitable *a, PyObject *unused) {
  (void) unused;
  stop_waiting(a);
  Py_RETURN_NONE;
}

static PyObject *awaitable_self(PyObject *self) {
  return Py_NewRef(self);
}

static PyMethodDef awaitable_methods[] = {
    {"send", (PyCFunction) method_send, METH_O, NULL},
    {"throw", (PyCFunction) (void (*)(void)) method_throw, METH_FASTCALL, NULL},
    {"close", (PyCFunction) method_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyAsyncMethods awaitable_async = {
    .am_await = awaitable_self,
    .am_send = (sendfunc) awaitable_send,
};

PyTypeObject AwaitableType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rookery_asgi._core.Awaitable",
    .tp_basicsize = sizeof(Awaitable),
    .tp_dealloc = (destructor) awaitable_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_as_async = &awaitable_async,
    .tp_iter = awaitable_self,
    .tp_iternext = (iternextfunc) awaitable_next,
    .tp_methods = awaitable_methods,
};
