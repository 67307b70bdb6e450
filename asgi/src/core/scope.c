/* Builds ASGI scopes from parsed heads. Scopes start as copies of a template, so that only what
 * differs between requests is made anew. */
#include <string.h>

#include "chars.h"
#include "core.h"

/* --- names of headers that nearly every request has, made once --------------------------------- */

static const char *const known_names[] = {
    "host", "user-agent", "accept", "accept-encoding", "accept-language", "connection",
    "content-length", "content-type", "cookie", "authorization", "cache-control", "referer",
    "origin", "upgrade-insecure-requests", "transfer-encoding", "x-forwarded-for",
    "x-forwarded-proto", "x-real-ip", "if-none-match", "if-modified-since", "range", "pragma",
};
enum { KNOWN_COUNT = sizeof(known_names) / sizeof(known_names[0]), NAME_LONGEST_KNOWN = 32 };

/* By length, so that a lookup compares one or two candidates. */
static PyObject *known_by_length[NAME_LONGEST_KNOWN][4];

static bool setup_names(void) {
  if (known_by_length[4][0] != NULL) return true;
  for (int i = 0; i < KNOWN_COUNT; i++) {
    size_t length = strlen(known_names[i]);
    int slot = 0;
    while (slot < 3 && known_by_length[length][slot] != NULL) slot++;
    known_by_length[length][slot] = PyBytes_FromString(known_names[i]);
    if (known_by_length[length][slot] == NULL) return false;
  }
  return true;
}

static PyObject *known_name(const unsigned char *text, size_t length) {
  if (length >= NAME_LONGEST_KNOWN) return NULL;
  for (int slot = 0; slot < 4 && known_by_length[length][slot]; slot++) {
    PyObject *known = known_by_length[length][slot];
    if (bytes_equal_nocase(text, length, PyBytes_AS_STRING(known))) return Py_NewRef(known);
  }
  return NULL;
}

static PyObject *header_name(const unsigned char *text, size_t length) {
  PyObject *name = known_name(text, length);
  if (name != NULL) return name;
  name = PyBytes_FromStringAndSize(NULL, (Py_ssize_t) length);
  if (name == NULL) return NULL;
  char *to = PyBytes_AS_STRING(name);
  for (size_t i = 0; i < length; i++) to[i] = (char) char_lower(text[i]);
  return name;
}

static PyObject *header_pair(const HeadField *f, const unsigned char *bytes) {
  PyObject *name = header_name(bytes + f->name, f->name_length);
  PyObject *value = PyBytes_FromStringAndSize((const char *) bytes + f->value, f->value_length);
  PyObject *pair = name && value ? PyTuple_New(2) : NULL;
  if (pair == NULL) {
    Py_XDECREF(name);
    Py_XDECREF(value);
    return NULL;
  }
  PyTuple_SET_ITEM(pair, 0, name);
  PyTuple_SET_ITEM(pair, 1, value);
  return pair;
}

static PyObject *header_list(const Head *head, const unsigned char *bytes) {
  PyObject *list = PyList_New(head->count);
  for (uint32_t i = 0; list != NULL && i < head->count; i++) {
    PyObject *pair = header_pair(&head->fields[i], bytes);
    if (pair == NULL) Py_CLEAR(list);
    else PyList_SET_ITEM(list, i, pair);
  }
  return list;
}

/* --- the target --------------------------------------------------------------------------------- */

typedef struct {
  const unsigned char *path, *query;
  size_t path_length, query_length;
} Target;

/* An absolute target counts from the path on; "http://host" without one means "/". */
static void skip_authority(Target *t) {
  const unsigned char *scheme_end = memchr(t->path, ':', t->path_length);
  const unsigned char *end = t->path + t->path_length, *at = scheme_end + 3;
  while (at < end && *at != '/' && *at != '?') at++;
  t->path_length = (size_t) (end - at);
  t->path = at;
}

static Target split_target(const Head *head, const unsigned char *bytes) {
  Target t = {bytes + head->target, NULL, head->target_length, 0};
  if (t.path[0] != '/' && t.path[0] != '*') skip_authority(&t);
  const unsigned char *mark = memchr(t.path, '?', t.path_length);
  if (mark != NULL) {
    t.query = mark + 1;
    t.query_length = t.path_length - (size_t) (t.query - t.path);
    t.path_length = (size_t) (mark - t.path);
  }
  if (t.path_length == 0) t.path = (const unsigned char *) "/", t.path_length = 1;
  return t;
}

static size_t percent_decode(char *to, const unsigned char *from, size_t length) {
  size_t written = 0;
  for (size_t i = 0; i < length; i++) {
    bool escape = from[i] == '%' && i + 2 < length && char_is(from[i + 1], CHAR_HEX) &&
                  char_is(from[i + 2], CHAR_HEX);
    to[written++] = (char) (escape ? hex_value(from[i + 1]) << 4 | hex_value(from[i + 2]) : from[i]);
    if (escape) i += 2;
  }
  return written;
}

static PyObject *decoded_path(const Target *t) {
  if (memchr(t->path, '%', t->path_length) == NULL) { /* a target is ASCII: the parser saw to it */
    return PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, t->path, (Py_ssize_t) t->path_length);
  }
  char *decoded = PyMem_Malloc(t->path_length);
  if (decoded == NULL) return PyErr_NoMemory();
  size_t length = percent_decode(decoded, t->path, t->path_length);
  PyObject *path = PyUnicode_DecodeUTF8(decoded, (Py_ssize_t) length, "replace");
  PyMem_Free(decoded);
  return path;
}

/* --- the scope ------------------------------------------------------------------------------------ */

/* Takes over the reference to value; a NULL value is an error that is already set. */
static bool put(PyObject *dict, PyObject *key, PyObject *value) {
  int failed = value == NULL || PyDict_SetItem(dict, key, value) < 0;
  Py_XDECREF(value);
  return !failed;
}

/* The application's path includes the prefix under which a proxy has mounted it. */
static PyObject *with_prefix(PyObject *prefix, PyObject *path, bool raw) {
  PyObject *whole;
  if (path == NULL || prefix == NULL) return path;
  if (raw) {
    whole = Py_NewRef(prefix);
    PyBytes_Concat(&whole, path);
  } else {
    whole = PyUnicode_Concat(prefix, path);
  }
  Py_DECREF(path);
  return whole;
}

static bool put_target(PyObject *scope, Core *core, const Head *head, const unsigned char *bytes) {
  Target t = split_target(head, bytes);
  PyObject *raw = PyBytes_FromStringAndSize((const char *) t.path, (Py_ssize_t) t.path_length);
  return put(scope, str_path, with_prefix(core->root_path, decoded_path(&t), false)) &&
         put(scope, str_raw_path, with_prefix(core->root_path_raw, raw, true)) &&
         (t.query_length == 0 ||
          put(scope, str_query_string,
              PyBytes_FromStringAndSize((const char *) t.query, (Py_ssize_t) t.query_length)));
}

static PyObject *method_name(const unsigned char *text, size_t length) {
  static PyObject *get, *post;
  if (get == NULL) get = PyUnicode_InternFromString("GET");
  if (post == NULL) post = PyUnicode_InternFromString("POST");
  if (length == 3 && memcmp(text, "GET", 3) == 0) return Py_XNewRef(get);
  if (length == 4 && memcmp(text, "POST", 4) == 0) return Py_XNewRef(post);
  return PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, text, (Py_ssize_t) length);
}

static bool put_shared(PyObject *scope, Conn *c, const Head *head, const unsigned char *bytes) {
  return PyDict_SetItem(scope, str_server, c->server) == 0 &&
         PyDict_SetItem(scope, str_client, c->client) == 0 &&
         put_target(scope, c->core, head, bytes) &&
         put(scope, str_headers, header_list(head, bytes)) &&
         put(scope, str_state, PyDict_Copy(c->core->state));
}

/* Only requests from trusted addresses that carry such headers pay for them. */
static bool apply_forwarded(PyObject *scope, Conn *c, const Head *head) {
  if (!head->forwarded || c->core->hook_forwarded == Py_None) return true;
  PyObject *done = PyObject_CallOneArg(c->core->hook_forwarded, scope);
  Py_XDECREF(done);
  return done != NULL;
}

PyObject *scope_http(Conn *c, const Head *head, const unsigned char *bytes) {
  PyObject *scope = PyDict_Copy(c->core->http_template);
  if (scope == NULL) return NULL;
  bool whole =
      put(scope, str_asgi, PyDict_Copy(c->core->asgi_versions)) &&
      put(scope, str_extensions, extensions_of(c, head)) &&
      put(scope, str_method, method_name(bytes + head->method, head->method_length)) &&
      (head->minor_version == 1 || PyDict_SetItem(scope, str_http_version, str_1_0) == 0) &&
      (!c->secure || PyDict_SetItem(scope, str_scheme, str_https) == 0) &&
      put_shared(scope, c, head, bytes) && apply_forwarded(scope, c, head);
  if (!whole) Py_CLEAR(scope);
  return scope;
}

PyObject *scope_websocket(Conn *c, const Head *head, const unsigned char *bytes) {
  PyObject *scope = PyDict_Copy(c->core->websocket_template);
  if (scope == NULL) return NULL;
  bool whole = (!c->secure || PyDict_SetItem(scope, str_scheme, str_wss) == 0) &&
               put(scope, str_asgi, PyDict_Copy(c->core->asgi_versions)) &&
               put(scope, str_extensions, extensions_of(c, NULL)) &&
               put(scope, str_subprotocols, PyList_New(0)) && put_shared(scope, c, head, bytes) &&
               apply_forwarded(scope, c, head);
  if (!whole) Py_CLEAR(scope);
  return scope;
}

/* --- templates -------------------------------------------------------------------------------------- */

static PyObject *make_template(PyObject *type, PyObject *scheme, PyObject *root_path) {
  PyObject *dict = PyDict_New();
  PyObject *keys[] = {str_asgi, str_path, str_raw_path, str_headers, str_server, str_client, str_state,
                      str_extensions};
  if (dict == NULL) return NULL;
  bool whole = PyDict_SetItem(dict, str_type, type) == 0 &&
               PyDict_SetItem(dict, str_http_version, str_1_1) == 0 &&
               PyDict_SetItem(dict, str_scheme, scheme) == 0 &&
               PyDict_SetItem(dict, str_query_string, bytes_empty) == 0 &&
               PyDict_SetItem(dict, str_root_path, root_path) == 0;
  for (size_t i = 0; whole && i < sizeof(keys) / sizeof(keys[0]); i++) {
    whole = PyDict_SetItem(dict, keys[i], Py_None) == 0;
  }
  if (!whole) Py_CLEAR(dict);
  return dict;
}

bool scope_setup(Core *core, PyObject *root_path) {
  core->asgi_versions = Py_BuildValue("{ssss}", "version", "3.0", "spec_version", "2.5");
  core->http_template = make_template(str_http, str_http, root_path);
  core->websocket_template = make_template(str_websocket, str_ws, root_path);
  if (!setup_names() || !core->asgi_versions || !core->http_template || !core->websocket_template) return false;
  if (PyUnicode_GET_LENGTH(root_path)) {
    core->root_path = Py_NewRef(root_path);
    core->root_path_raw = PyUnicode_AsUTF8String(root_path);
    if (core->root_path_raw == NULL) return false;
  }
  return PyDict_SetItem(core->http_template, str_method, Py_None) == 0 &&
         PyDict_SetItem(core->websocket_template, str_subprotocols, Py_None) == 0;
}
