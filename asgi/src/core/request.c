/* One request: its body on the way to the application, its task, its end. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* --- waking ------------------------------------------------------------------------------------- */

static void wake_one(PyObject *future) {
  PyObject *done = PyObject_CallMethodNoArgs(future, str_done);
  if (done == Py_False) {
    PyObject *set = PyObject_CallMethodOneArg(future, str_set_result, Py_None);
    Py_XDECREF(set);
  }
  Py_XDECREF(done);
  PyErr_Clear(); /* a loop that is closed already can't wake anyone */
}

/* Wakes everyone in the list and empties it. */
void wake(PyObject **waiters) {
  PyObject *list = *waiters;
  if (list == NULL) return;
  *waiters = NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) wake_one(PyList_GET_ITEM(list, i));
  Py_DECREF(list);
}

void request_wake_senders(Request *r) {
  wake(&r->senders);
}

/* --- the body ------------------------------------------------------------------------------------- */

/* No one else has seen the body yet, so it may grow in place; but Python shares its objects for
 * single bytes, and those must not. */
static void grow_body(Request *r, const unsigned char *bytes, size_t length) {
  Py_ssize_t before = PyBytes_GET_SIZE(r->body);
  if (before == 1) {
    PyObject *shared = r->body;
    r->body = PyBytes_FromStringAndSize(NULL, 1 + (Py_ssize_t) length);
    if (r->body != NULL) PyBytes_AS_STRING(r->body)[0] = PyBytes_AS_STRING(shared)[0];
    Py_DECREF(shared);
  } else {
    _PyBytes_Resize(&r->body, before + (Py_ssize_t) length);
  }
  if (r->body != NULL) memcpy(PyBytes_AS_STRING(r->body) + before, bytes, length);
}

bool request_add_body(Request *r, const unsigned char *bytes, size_t length) {
  if (length == 0) return true;
  if (r->body != NULL) grow_body(r, bytes, length);
  else r->body = PyBytes_FromStringAndSize((const char *) bytes, (Py_ssize_t) length);
  if (r->body != NULL) wake(&r->receivers);
  return r->body != NULL;
}

void request_body_complete(Request *r) {
  r->body_complete = true;
  wake(&r->receivers);
}

void request_disconnect(Request *r, bool gone) {
  if (!r->disconnected && r->out != OUT_ENDED) r->core->counters.disconnects++;
  r->disconnected = true;
  r->gone = r->gone || gone;
  if (gone) Py_CLEAR(r->body);
  wake(&r->receivers);
  if (gone) wake(&r->senders);
}

static PyObject *disconnect_message(void) {
  PyObject *message = PyDict_New();
  if (message && PyDict_SetItem(message, str_type, str_http_disconnect) < 0) Py_CLEAR(message);
  return message;
}

static PyObject *body_message(Request *r) {
  PyObject *message = PyDict_New();
  PyObject *body = r->body ? r->body : bytes_empty;
  if (message == NULL) return NULL;
  if (PyDict_SetItem(message, str_type, str_http_request) < 0 ||
      PyDict_SetItem(message, str_body, body) < 0 ||
      PyDict_SetItem(message, str_more_body, r->body_complete ? Py_False : Py_True) < 0) {
    Py_DECREF(message);
    return NULL;
  }
  Py_CLEAR(r->body);
  r->body_delivered = r->body_complete;
  if (r->conn && !r->body_complete) conn_body_taken(r->conn);
  return message;
}

static void ask_to_continue(Request *r) {
  static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
  if (!r->expects_continue || r->body_complete || r->out != OUT_NOTHING || !r->conn) return;
  r->expects_continue = false;
  if (outq_add(&r->conn->out, go_on, sizeof(go_on) - 1)) net_flush(r->conn);
  else PyErr_Clear();
}

PyObject *request_message(Request *r) {
  if (r->gone || r->out == OUT_ENDED) return disconnect_message();
  if (r->body || (r->body_complete && !r->body_delivered)) return body_message(r);
  if (r->disconnected) return disconnect_message();
  ask_to_continue(r);
  if (r->gone) return disconnect_message(); /* the write has just failed */
  return NULL;
}

static PyObject *request_receive(Request *r, PyObject *unused) {
  (void) unused;
  PyObject *message = request_message(r);
  if (message != NULL) return await_value(message);
  return PyErr_Occurred() ? NULL : await_receive(r);
}

/* --- the log ---------------------------------------------------------------------------------------- */

static bool prepare_log(Request *r, Conn *c, const Head *head, const unsigned char *bytes) {
  if (r->core->access == Py_None) return true;
  r->started_at = clock_us();
  PyObject *method = PyDict_GetItemWithError(r->scope, str_method);
  PyObject *client = PyDict_GetItemWithError(r->scope, str_client);
  const char *target = (const char *) bytes + head->target;
  Py_ssize_t length = head->target_length;
  if (client == NULL) client = c->client;
  if (method == NULL) method = Py_None;
  if (!r->core->log_headers) {
    r->log_line = Py_BuildValue("(OOy#)", client, method, target, length);
  } else {
    r->log_line = Py_BuildValue("(OOy#OO)", client, method, target, length,
                                PyDict_GetItemWithError(r->scope, str_http_version),
                                PyDict_GetItemWithError(r->scope, str_headers));
  }
  return r->log_line != NULL;
}

static void add_entry(Core *core, PyObject *entry) {
  if (entry == NULL || PyList_Append(core->access, entry) < 0) core_trouble(core);
  Py_XDECREF(entry);
}

/* One tuple per request; Python's side formats them by the hundred. */
void request_log(Request *r) {
  if (r->log_line == NULL) return;
  double seconds = (double) (clock_us() - r->started_at) / 1e6;
  PyObject *line = r->log_line;
  r->log_line = NULL;
  add_entry(r->core, Py_BuildValue("(NiLd)", line, (int) r->status, (long long) r->sent, seconds));
}

/* What was refused before it was a request has neither method nor target. */
void request_log_refused(Conn *c, int status) {
  Request *r = c->request;
  if (c->core->access == Py_None) return;
  if (r == NULL) {
    add_entry(c->core, Py_BuildValue("((Osy)iid)", c->client, "", "", status, 0, 0.0));
    return;
  }
  if (r->out < OUT_STREAMING) r->status = (uint16_t) status;
  request_log(r);
}

/* --- the task ---------------------------------------------------------------------------------------- */

static void enter_live(Request *r) {
  Core *core = r->core;
  Py_INCREF(r);
  r->live = true;
  r->next = core->live;
  if (core->live) core->live->prev = r;
  core->live = r;
  core->live_count++;
}

static void leave_live(Request *r) {
  Core *core = r->core;
  if (!r->live) return;
  r->live = false;
  if (r->prev) r->prev->next = r->next;
  else core->live = r->next;
  if (r->next) r->next->prev = r->prev;
  r->prev = r->next = NULL;
  core->live_count--;
  Py_CLEAR(r->task);
  Py_DECREF(r);
}

/* The application has ended without finishing its response. */
static void cut_short(Request *r) {
  Conn *c = r->conn;
  if (c == NULL || r->out == OUT_ENDED) return;
  if (r->out >= OUT_STREAMING) {
    conn_lost(c);
    return;
  }
  r->status = 500;
  r->out = OUT_ENDED;
  if (!response_write_error(c, 500)) core_trouble(r->core);
  request_log(r);
  conn_response_ended(c, false);
}

static void report(Request *r, PyObject *error) {
  if (PyErr_GivenExceptionMatches(error, ClientDisconnected) && r->gone) return;
  r->core->counters.failures++;
  PyObject *done = PyObject_CallOneArg(r->core->hook_failed, error);
  if (done == NULL) core_trouble(r->core);
  Py_XDECREF(done);
}

static void report_message(Request *r, const char *sentence) {
  PyObject *error = PyObject_CallFunction(PyExc_RuntimeError, "s", sentence);
  if (error != NULL) report(r, error);
  Py_XDECREF(error);
}

static void conclude(Request *r, PyObject *error) {
  if (error != NULL && error != Py_None) report(r, error);
  else if (r->conn && r->out == OUT_NOTHING) report_message(r, "the application sent no response");
  else if (r->conn && r->out != OUT_ENDED) report_message(r, "the application did not finish its response");
  cut_short(r);
  leave_live(r);
}

/* Reads the outcome so that asyncio does not complain about one nobody looked at. */
static void conclude_task(Request *r, PyObject *task) {
  PyObject *error = PyObject_CallMethodNoArgs(task, str_exception);
  if (error != NULL) {
    conclude(r, error);
    Py_DECREF(error);
    return;
  }
  if (tasks_was_cancelled()) PyErr_Clear();
  else core_trouble(r->core);
  cut_short(r);
  leave_live(r);
}

static PyObject *request_finished(Request *r, PyObject *task) {
  Py_INCREF(r);
  conclude_task(r, task);
  Py_DECREF(r);
  Py_RETURN_NONE;
}

static PyMethodDef receive_method = {"receive", (PyCFunction) request_receive, METH_NOARGS, NULL};
static PyMethodDef send_method = {"send", (PyCFunction) request_send, METH_O, NULL};
static PyMethodDef finished_method = {"finished", (PyCFunction) request_finished, METH_O, NULL};

static PyObject *call_application(Request *r) {
  PyObject *receive = PyCFunction_New(&receive_method, (PyObject *) r);
  PyObject *send = PyCFunction_New(&send_method, (PyObject *) r);
  PyObject *arguments[] = {r->scope, receive, send};
  PyObject *coroutine = NULL;
  if (receive && send) coroutine = PyObject_Vectorcall(r->core->app, arguments, 3, NULL);
  Py_XDECREF(receive);
  Py_XDECREF(send);
  Py_CLEAR(r->scope);
  return coroutine;
}

static void follow(Request *r, PyObject *task) {
  PyObject *done = PyObject_CallMethodNoArgs(task, str_done);
  if (done == Py_True) {
    conclude_task(r, task);
  } else if (done != NULL) {
    PyObject *finished = PyCFunction_New(&finished_method, (PyObject *) r);
    PyObject *added = finished ? PyObject_CallMethodOneArg(task, str_add_done_callback, finished) : NULL;
    if (added == NULL) core_trouble(r->core);
    Py_XDECREF(finished);
    Py_XDECREF(added);
    r->task = Py_NewRef(task);
  }
  Py_XDECREF(done);
}

static void conclude_raised(Request *r) {
  PyObject *type, *error, *trace;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) { /* a wish to end the process */
    core_trouble(r->core);
    cut_short(r);
    leave_live(r);
    return;
  }
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (trace != NULL) PyException_SetTraceback(error, trace);
  conclude(r, error);
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
}

void request_start(Request *r) {
  Py_INCREF(r);
  r->started = true;
  r->core->counters.requests++;
  enter_live(r);
  PyObject *coroutine = call_application(r);
  PyObject *task = coroutine ? task_start(r->core, coroutine) : NULL;
  if (task == NULL) conclude_raised(r);
  else follow(r, task);
  Py_XDECREF(coroutine);
  Py_XDECREF(task);
  Py_DECREF(r);
}

/* --- the object ----------------------------------------------------------------------------------------- */

Request *request_new(Conn *c, const Head *head, const unsigned char *bytes) {
  Request *r = PyObject_New(Request, &RequestType);
  if (r == NULL) return NULL;
  memset((char *) r + sizeof(PyObject), 0, offsetof(Request, head_inline) - sizeof(PyObject));
  r->core = (Core *) Py_NewRef((PyObject *) c->core);
  r->conn = c;
  r->head = r->head_inline;
  r->head_capacity = HEAD_INLINE;
  r->declared = -1;
  r->http10 = head->minor_version == 0;
  r->keep_alive = head->keep_alive;
  r->expects_continue = head->expect_continue;
  r->head_only = head->method_length == 4 && memcmp(bytes + head->method, "HEAD", 4) == 0;
  r->scope = scope_http(c, head, bytes);
  if (r->scope == NULL || !prepare_log(r, c, head, bytes)) {
    Py_DECREF(r);
    return NULL;
  }
  return r;
}

static void request_dealloc(Request *r) {
  if (r->head != r->head_inline) free(r->head);
  Py_CLEAR(r->scope);
  Py_CLEAR(r->body);
  Py_CLEAR(r->task);
  Py_CLEAR(r->receivers);
  Py_CLEAR(r->senders);
  Py_CLEAR(r->log_line);
  Py_CLEAR(r->core);
  PyObject_Free(r);
}

/* No cyclic garbage collection: the cycle through a waiting task is opened when the task ends or
 * the connection is lost, and one of the two always happens. */
PyTypeObject RequestType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rookery_asgi._core.Request",
    .tp_basicsize = sizeof(Request),
    .tp_dealloc = (destructor) request_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};
