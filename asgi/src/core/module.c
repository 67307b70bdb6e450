/* Python's face of the core: the Core type and the module's functions. */
#include "net.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bindings.h"
#include "phrases.h"

#define DEFINE_STRING(name) PyObject *str_##name;
STRINGS(DEFINE_STRING)
PyObject *str_http_request, *str_http_disconnect, *str_response_start, *str_response_body;
PyObject *str_eof, *str_1_1, *str_1_0, *bytes_empty;
PyObject *ClientDisconnected;

/* Errors of single requests are reported where they happen; what gets here is either a wish to end
 * the process, which must reach the loop, or a fault of a hook, which must not stop the server. */
void core_trouble(Core *core) {
  PyObject *type, *error, *trace;
  if (!PyErr_Occurred()) return;
  if (PyErr_ExceptionMatches(PyExc_Exception) || core->error != NULL) {
    PyErr_WriteUnraisable((PyObject *) core);
    return;
  }
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  core->error = error;
  Py_XDECREF(type);
  Py_XDECREF(trace);
}

/* --- Core ----------------------------------------------------------------------------------------------- */

typedef struct {
  double head, idle, body, write, linger;
} Seconds;

static void set_waits(Core *core, const Seconds *s) {
  core->wait_ms[WAIT_HEAD] = (int64_t) (s->head * 1000);
  core->wait_ms[WAIT_IDLE] = (int64_t) (s->idle * 1000);
  core->wait_ms[WAIT_BODY] = (int64_t) (s->body * 1000);
  core->wait_ms[WAIT_WRITE] = (int64_t) (s->write * 1000);
  core->wait_ms[WAIT_LINGER] = (int64_t) (s->linger * 1000);
}

static bool take_hooks(Core *core, PyObject *hooks) {
  core->hook_websocket = PyObject_GetAttrString(hooks, "websocket");
  core->hook_failed = PyObject_GetAttrString(hooks, "failed");
  core->hook_refused = PyObject_GetAttrString(hooks, "refused");
  core->hook_forwarded = PyObject_GetAttrString(hooks, "forwarded");
  core->hook_accepted = PyObject_GetAttrString(hooks, "accepted");
  return core->hook_websocket && core->hook_failed && core->hook_refused && core->hook_forwarded &&
         core->hook_accepted;
}

static bool take_python(Core *core, PyObject *app, PyObject *loop, PyObject *state, PyObject *access) {
  core->app = Py_NewRef(app);
  core->loop = Py_NewRef(loop);
  core->state = Py_NewRef(state);
  core->access = Py_NewRef(access);
  core->create_future = PyObject_GetAttr(loop, str_create_future);
  return core->create_future != NULL && tasks_choose(core);
}

/* Lines of a head, which Python's side has checked. */
static bool take_fields(Core *core, PyObject *lines) {
  Py_ssize_t count = lines ? PyTuple_GET_SIZE(lines) : 0;
  core->field_lines = Py_XNewRef(lines);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *line = PyTuple_GET_ITEM(lines, i);
    const char *text = PyBytes_Check(line) ? PyBytes_AS_STRING(line) : NULL;
    const char *colon = text ? memchr(text, ':', (size_t) PyBytes_GET_SIZE(line)) : NULL;
    if (colon == NULL || i == FIELDS_MOST) {
      PyErr_SetString(PyExc_ValueError, "at most 32 lines of the form name: value");
      return false;
    }
    core->fields[i] = (OwnField) {text, (size_t) (colon - text), (size_t) PyBytes_GET_SIZE(line)};
    core->field_count++;
  }
  return true;
}

static bool open_epoll(Core *core) {
  core->rx = malloc(RECEIVE_BUFFER);
  core->now = clock_ms();
  core->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (core->rx == NULL) PyErr_NoMemory();
  else if (core->epoll < 0) PyErr_SetFromErrno(PyExc_OSError);
  return !PyErr_Occurred();
}

/* A core whose making failed must not close descriptor 0. */
static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  Core *core = (Core *) PyType_GenericNew(type, args, kwargs);
  if (core != NULL) core->epoll = -1;
  return (PyObject *) core;
}

static int core_init(Core *core, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"app", "loop", "hooks", "state", "access", "root_path", "line_bytes",
                          "head_bytes", "body_bytes", "high_water", "connections", "least_bytes",
                          "head_seconds", "idle_seconds", "body_seconds", "write_seconds",
                          "linger_seconds", "date", "server", "fields", "log_headers", NULL};
  PyObject *app, *loop, *hooks, *state, *access, *root_path, *fields = NULL;
  unsigned line = 16384, head = 65536;
  long long body = 0;
  Py_ssize_t high = 65536, connections = 0, least = 1024;
  Seconds s = {20, 5, 30, 60, 2};
  int date = 1, server = 1, log_headers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO!OU|$IILnnndddddppO!p", names, &app, &loop, &hooks,
                                   &PyDict_Type, &state, &access, &root_path, &line, &head, &body,
                                   &high, &connections, &least, &s.head, &s.idle, &s.body, &s.write,
                                   &s.linger, &date, &server, &PyTuple_Type, &fields, &log_headers)) {
    return -1;
  }
  core->limits = (HeadLimits) {line, head};
  core->body_most = body;
  core->high_water = (size_t) high;
  core->connections_most = (size_t) connections;
  core->least_bytes = (uint64_t) least;
  core->send_date = date, core->send_server = server, core->log_headers = log_headers;
  set_waits(core, &s);
  bool whole = take_hooks(core, hooks) && take_python(core, app, loop, state, access) &&
               take_fields(core, fields) && scope_setup(core, root_path) && open_epoll(core);
  return whole ? 0 : -1;
}

static PyObject *core_close(Core *core, PyObject *unused) {
  (void) unused;
  while (core->conns) conn_lost(core->conns);
  net_stop_listening(core);
  if (core->epoll >= 0) close(core->epoll);
  core->epoll = -1;
  Py_RETURN_NONE;
}

static void core_dealloc(Core *core) {
  core_close(core, NULL);
  head_free(&core->head);
  free(core->rx);
  PyObject **owned[] = {&core->app, &core->loop, &core->create_future, &core->hook_websocket,
                        &core->hook_failed, &core->hook_refused, &core->hook_forwarded,
                        &core->hook_accepted, &core->state, &core->http_template, &core->websocket_template,
                        &core->asgi_versions,
                        &core->field_lines, &core->access, &core->error, &core->root_path, &core->root_path_raw};
  for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) Py_CLEAR(*owned[i]);
  PyObject_Free(core);
}

static PyObject *core_fileno(Core *core, PyObject *unused) {
  (void) unused;
  return PyLong_FromLong(core->epoll);
}

static PyObject *core_listen(Core *core, PyObject *args) {
  int fd, tcp, secure = 1;
  PyObject *server;
  if (!PyArg_ParseTuple(args, "iOp|p", &fd, &server, &tcp, &secure)) return NULL;
  if (!net_listen(core, fd, server, tcp, secure)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *core_connection(Core *core, PyObject *args) {
  PyObject *client = Py_None, *server = Py_None;
  if (!PyArg_ParseTuple(args, "|OO", &client, &server)) return NULL;
  return (PyObject *) conn_new(core, client, server);
}

static PyObject *core_stop_listening(Core *core, PyObject *unused) {
  (void) unused;
  net_stop_listening(core);
  Py_RETURN_NONE;
}

/* All connections, each held: what runs meanwhile may end any of them. */
static Conn **hold_all(const Core *core) {
  Conn **all = malloc((core->conn_count + 1) * sizeof(Conn *));
  size_t count = 0;
  if (all == NULL) return (Conn **) PyErr_NoMemory();
  for (Conn *c = core->conns; c != NULL; c = c->next) all[count++] = (Conn *) Py_NewRef((PyObject *) c);
  all[count] = NULL;
  return all;
}

/* A request that has arrived is still answered, and a client that has only just come, or has sent
 * part of one, has a little time for the rest: it knows of no reason to try again. */
static void stop_idle(Conn *c) {
  if (conn_is_between(c)) net_read(c);
  if (!conn_is_between(c)) return;
  if (pending_output(c)) conn_close_gently(c, true);
  else if (c->bytes_in == 0 || c->in.length) deadline_set(c, WAIT_LINGER);
  else conn_lost(c);
}

/* From now on every response is the last of its connection; idle connections end at once, and
 * those whose client is still reading when it has read. */
static PyObject *core_begin_stop(Core *core, PyObject *unused) {
  (void) unused;
  Conn **all = hold_all(core);
  if (all == NULL) return NULL;
  core->stopping = true;
  for (size_t i = 0; all[i] != NULL; i++) {
    stop_idle(all[i]);
    Py_DECREF((PyObject *) all[i]);
  }
  free(all);
  Py_RETURN_NONE;
}

/* Tells every running request that its client is gone; the connection itself stays. */
static PyObject *core_disconnect(Core *core, PyObject *unused) {
  (void) unused;
  for (Request *r = core->live; r != NULL; r = r->next) request_disconnect(r, false);
  Py_RETURN_NONE;
}

static PyObject *core_tasks(Core *core, PyObject *unused) {
  (void) unused;
  PyObject *list = PyList_New(0);
  for (Request *r = core->live; list && r != NULL; r = r->next) {
    if (r->task && PyList_Append(list, r->task) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *core_counters(Core *core, PyObject *unused) {
  const Counters *n = &core->counters;
  (void) unused;
  return Py_BuildValue(
      "{sK sK sK sK sK sK sK sK sK sK sn sn s(KKKKK)}", "connections", n->connections, "requests",
      n->requests, "websockets", n->websockets, "refused", n->refused, "timeouts", n->timeouts,
      "failures", n->failures, "disconnects", n->disconnects, "rests", n->rests, "bytes_in",
      n->bytes_in, "bytes_out", n->bytes_out, "open", (Py_ssize_t) core->conn_count, "running",
      (Py_ssize_t) core->live_count, "responses", n->responses[1], n->responses[2],
      n->responses[3], n->responses[4], n->responses[5]);
}

static PyMethodDef core_methods[] = {
    {"poll", (PyCFunction) core_poll, METH_NOARGS, NULL},
    {"sweep", (PyCFunction) core_sweep, METH_NOARGS, NULL},
    {"fileno", (PyCFunction) core_fileno, METH_NOARGS, NULL},
    {"listen", (PyCFunction) core_listen, METH_VARARGS, NULL},
    {"connection", (PyCFunction) core_connection, METH_VARARGS, NULL},
    {"stop_listening", (PyCFunction) core_stop_listening, METH_NOARGS, NULL},
    {"begin_stop", (PyCFunction) core_begin_stop, METH_NOARGS, NULL},
    {"disconnect", (PyCFunction) core_disconnect, METH_NOARGS, NULL},
    {"tasks", (PyCFunction) core_tasks, METH_NOARGS, NULL},
    {"counters", (PyCFunction) core_counters, METH_NOARGS, NULL},
    {"close", (PyCFunction) core_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject CoreType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rookery_asgi._core.Core",
    .tp_basicsize = sizeof(Core),
    .tp_dealloc = (destructor) core_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "An epoll descriptor with its listeners and connections.",
    .tp_methods = core_methods,
    .tp_init = (initproc) core_init,
    .tp_new = core_new,
};

/* --- the module ------------------------------------------------------------------------------------------- */

static PyObject *phrase_of(PyObject *module, PyObject *status) {
  long number = PyLong_AsLong(status);
  (void) module;
  if (PyErr_Occurred()) return NULL;
  return PyUnicode_FromString(status_phrase((int) number));
}

static bool setup_strings(void) {
#define MAKE_STRING(name) \
  if ((str_##name = PyUnicode_InternFromString(#name)) == NULL) return false;
  STRINGS(MAKE_STRING)
  str_http_request = PyUnicode_InternFromString("http.request");
  str_http_disconnect = PyUnicode_InternFromString("http.disconnect");
  str_response_start = PyUnicode_InternFromString("http.response.start");
  str_response_body = PyUnicode_InternFromString("http.response.body");
  str_eof = PyUnicode_InternFromString("eof");
  str_1_1 = PyUnicode_InternFromString("1.1");
  str_1_0 = PyUnicode_InternFromString("1.0");
  bytes_empty = PyBytes_FromString("");
  return str_http_request && str_http_disconnect && str_response_start && str_response_body &&
         str_eof && str_1_1 && str_1_0 && bytes_empty;
}

static PyMethodDef module_methods[] = {
    {"adopt_loop", tasks_adopt_loop, METH_O, "Lets a loop class start tasks at once."},
    {"phrase", phrase_of, METH_O, "The reason phrase of a status."},
    {"parse_head", testing_parse_head, METH_VARARGS, "Parses a head given in pieces."},
    {"decode_chunked", testing_decode_chunked, METH_O, "Decodes a chunked body given in pieces."},
    {"watch_open", watch_open, METH_NOARGS, "A descriptor that tells of changes in folders."},
    {"watch_folder", watch_folder, METH_VARARGS, "Watches a folder, not those below it."},
    {"frame", frames_write, METH_VARARGS, "A server's WebSocket frame header."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rookery_asgi._core",
    .m_size = -1,
    .m_methods = module_methods,
};

static bool add_types(PyObject *module) {
  PyTypeObject *hidden[] = {&RequestType, &AwaitableType};
  PyTypeObject *shown[] = {&CoreType, &ConnType, &FramesType};
  for (int i = 0; i < 2; i++) {
    if (PyType_Ready(hidden[i]) < 0) return false;
  }
  for (int i = 0; i < 3; i++) {
    if (PyModule_AddType(module, shown[i]) < 0) return false;
  }
  ClientDisconnected = PyErr_NewExceptionWithDoc(
      "rookery_asgi.ClientDisconnected", "The client has closed the connection.", PyExc_OSError, NULL);
  return ClientDisconnected && PyModule_AddObjectRef(module, "ClientDisconnected", ClientDisconnected) == 0;
}

PyMODINIT_FUNC PyInit__core(void) {
  if (!setup_strings()) return NULL;
  PyObject *module = PyModule_Create(&module_definition);
  if (module == NULL) return NULL;
  if (!tasks_setup(module) || !add_types(module) || !awaitable_setup() || !extensions_setup()) Py_CLEAR(module);
  return module;
}
