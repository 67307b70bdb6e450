/* Starts a request's task so that its first step runs at once.
 *
 * From Python 3.12 on asyncio can do that itself. On 3.11 a task queues its first step with
 * loop.call_soon. Loops of ours have a call_soon that keeps that one call instead of passing it
 * on while a task is being made; the step is then run here, in the task's own context. */
#include "core.h"

enum { TASK_QUEUED, TASK_CAPTURED, TASK_EAGER };
enum { LOOPS_MOST = 4 };

static PyObject *task_type, *ensure_future, *cancelled_error, *task_name;
static PyObject *keywords, *keywords_eager, *keywords_loop;

typedef struct {
  PyTypeObject *type;
  PyObject *call_soon; /* of the base class */
} AdoptedLoop;

static AdoptedLoop adopted[LOOPS_MOST];

/* The step that is being kept. One thread runs a loop, and nothing runs between set and reset. */
static bool capturing;
static PyObject *captured_step, *captured_context;

static PyObject *base_call_soon(PyObject *loop) {
  for (PyTypeObject *type = Py_TYPE(loop); type != NULL; type = type->tp_base) {
    for (int i = 0; i < LOOPS_MOST; i++) {
      if (adopted[i].type == type) return adopted[i].call_soon;
    }
  }
  PyErr_SetString(PyExc_RuntimeError, "this loop was not adopted");
  return NULL;
}

static PyObject *forward(PyObject *loop, PyObject *const *given, Py_ssize_t count, PyObject *names) {
  PyObject *stack[16];
  PyObject *base = base_call_soon(loop);
  Py_ssize_t whole = count + (names ? PyTuple_GET_SIZE(names) : 0);
  if (base == NULL) return NULL;
  if (whole >= 16) {
    PyErr_SetString(PyExc_TypeError, "too many arguments");
    return NULL;
  }
  stack[0] = loop;
  for (Py_ssize_t i = 0; i < whole; i++) stack[i + 1] = given[i];
  return PyObject_Vectorcall(base, stack, (size_t) count + 1, names);
}

static PyObject *loop_call_soon(PyObject *loop, PyObject *const *given, Py_ssize_t count,
                                PyObject *names) {
  bool first_step = capturing && count == 1 && names && PyTuple_GET_SIZE(names) == 1 &&
                    PyContext_CheckExact(given[1]);
  if (!first_step) return forward(loop, given, count, names);
  capturing = false;
  captured_step = Py_NewRef(given[0]);
  captured_context = Py_NewRef(given[1]);
  Py_RETURN_NONE;
}

static PyMethodDef call_soon_method = {
    "call_soon", (PyCFunction) (void (*)(void)) loop_call_soon, METH_FASTCALL | METH_KEYWORDS, NULL};

static int remember_loop(PyTypeObject *type, PyObject *base) {
  for (int i = 0; i < LOOPS_MOST; i++) {
    if (adopted[i].type != NULL && adopted[i].type != type) continue;
    adopted[i].type = (PyTypeObject *) Py_NewRef((PyObject *) type);
    adopted[i].call_soon = Py_NewRef(base);
    return 0;
  }
  PyErr_SetString(PyExc_RuntimeError, "too many loop classes");
  return -1;
}

PyObject *tasks_adopt_loop(PyObject *module, PyObject *loop_type) {
  (void) module;
  PyTypeObject *type = (PyTypeObject *) loop_type;
  PyObject *base = PyObject_GetAttr(loop_type, str_call_soon);
  PyObject *method = base ? PyDescr_NewMethod(type, &call_soon_method) : NULL;
  int failed = method == NULL || remember_loop(type, base) < 0 ||
               PyObject_SetAttr(loop_type, str_call_soon, method) < 0;
  Py_XDECREF(base);
  Py_XDECREF(method);
  if (failed) return NULL;
  return Py_NewRef(loop_type);
}

bool tasks_choose(Core *core) {
  core->task_mode = TASK_QUEUED;
#if PY_VERSION_HEX >= 0x030C0000
  core->task_mode = TASK_EAGER;
#else
  PyObject *base = base_call_soon(core->loop);
  if (base != NULL) core->task_mode = TASK_CAPTURED;
  PyErr_Clear();
#endif
  return true;
}

bool tasks_setup(PyObject *module) {
  (void) module;
  if (task_type != NULL) return true;
  PyObject *asyncio = PyImport_ImportModule("asyncio");
  task_type = asyncio ? PyObject_GetAttrString(asyncio, "Task") : NULL;
  ensure_future = asyncio ? PyObject_GetAttrString(asyncio, "ensure_future") : NULL;
  cancelled_error = asyncio ? PyObject_GetAttrString(asyncio, "CancelledError") : NULL;
  Py_XDECREF(asyncio);
  task_name = PyUnicode_InternFromString("request");
  keywords = Py_BuildValue("(OO)", str_loop, str_name);
  keywords_eager = Py_BuildValue("(OOO)", str_loop, str_name, str_eager_start);
  keywords_loop = Py_BuildValue("(O)", str_loop);
  return task_type && ensure_future && cancelled_error && task_name && keywords && keywords_eager &&
         keywords_loop;
}

bool tasks_was_cancelled(void) {
  return PyErr_ExceptionMatches(cancelled_error);
}

/* All have one name: making up a number for each costs as much as parsing its head. */
static PyObject *make_task(Core *core, PyObject *coroutine, bool at_once) {
  PyObject *arguments[] = {coroutine, core->loop, task_name, Py_True};
  bool eager = at_once && core->task_mode == TASK_EAGER;
  capturing = at_once && core->task_mode == TASK_CAPTURED;
  PyObject *task = PyObject_Vectorcall(task_type, arguments, 1, eager ? keywords_eager : keywords);
  capturing = false;
  return task;
}

static int run_captured_step(void) {
  PyObject *step = captured_step, *context = captured_context;
  PyObject *done = NULL;
  captured_step = captured_context = NULL;
  if (step == NULL) return 0;
  if (PyContext_Enter(context) == 0) {
    done = PyObject_CallNoArgs(step);
    if (PyContext_Exit(context) < 0) Py_CLEAR(done);
  }
  Py_DECREF(step);
  Py_DECREF(context);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static PyObject *start(Core *core, PyObject *coroutine, bool at_once) {
  PyObject *task = make_task(core, coroutine, at_once);
  if (task == NULL) {
    Py_CLEAR(captured_step);
    Py_CLEAR(captured_context);
    return NULL;
  }
  if (run_captured_step() < 0) core_trouble(core); /* the interpreter is asked to exit */
  return task;
}

/* An application may also return another awaitable, as an object with __await__ is. */
static PyObject *start_awaitable(Core *core, PyObject *awaitable) {
  PyObject *arguments[] = {awaitable, core->loop};
  return PyObject_Vectorcall(ensure_future, arguments, 1, keywords_loop);
}

/* A step may only be run from the loop's own callbacks, where no other task is the current one. */
PyObject *task_start(Core *core, PyObject *awaitable) {
  if (!PyCoro_CheckExact(awaitable)) return start_awaitable(core, awaitable);
  bool nested = core->stepping;
  core->stepping = true;
  PyObject *task = start(core, awaitable, core->polling && !nested);
  core->stepping = nested;
  return task;
}
