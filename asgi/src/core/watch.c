/* File events: which folders have changed, so that nobody has to look at every file all the time. */
#include <sys/inotify.h>

#include "bindings.h"

/* A file that was written and closed, came, went or was renamed; a folder that came or went. */
enum { WATCHED = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB };

/* watch_open(): a descriptor that is readable when something has changed. */
PyObject *watch_open(PyObject *module, PyObject *unused) {
  (void) module, (void) unused;
  int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

/* watch_folder(descriptor, path): one that is watched already stays so. */
PyObject *watch_folder(PyObject *module, PyObject *args) {
  int fd;
  PyObject *path;
  (void) module;
  if (!PyArg_ParseTuple(args, "iO&", &fd, PyUnicode_FSConverter, &path)) return NULL;
  int wanted = WATCHED | IN_ONLYDIR;
  int watch = inotify_add_watch(fd, PyBytes_AS_STRING(path), (uint32_t) wanted);
  Py_DECREF(path);
  return watch < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(watch);
}
