/* Python's view of the plain C parsers: WebSocket frames for the server, the rest for its tests. */
#ifndef ROOKERY_BINDINGS_H
#define ROOKERY_BINDINGS_H

#include <Python.h>

extern PyTypeObject FramesType;
PyObject *watch_open(PyObject *module, PyObject *unused);
PyObject *watch_folder(PyObject *module, PyObject *args);
PyObject *frames_write(PyObject *module, PyObject *args);
PyObject *testing_parse_head(PyObject *module, PyObject *args);
PyObject *testing_decode_chunked(PyObject *module, PyObject *pieces);

#endif
