/* Turns the application's messages into a response. A response's head is kept until the first
 * body message, for only then is it known how the body is framed. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "chars.h"
#include "core.h"
#include "phrases.h"

/* What an application may write to a fast reader before others get their turn. */
enum { BURST_MOST = 512 * 1024 };

/* --- writing a head ---------------------------------------------------------------------------------- */

static bool grow_head(Request *r, size_t more) {
  size_t wanted = (r->head_length + more) * 2;
  char *grown = r->head == r->head_inline ? malloc(wanted) : realloc(r->head, wanted);
  if (grown == NULL) {
    PyErr_NoMemory();
    return false;
  }
  if (r->head == r->head_inline) memcpy(grown, r->head_inline, r->head_length);
  r->head = grown;
  r->head_capacity = wanted;
  return true;
}

static bool put(Request *r, const char *text, size_t length) {
  if (r->head_length + length > r->head_capacity && !grow_head(r, length)) return false;
  memcpy(r->head + r->head_length, text, length);
  r->head_length += length;
  return true;
}

#define PUT(r, literal) put(r, literal, sizeof(literal) - 1)

static size_t decimal(char *to, uint64_t number) {
  char reversed[20];
  size_t digits = 0;
  do reversed[digits++] = (char) ('0' + number % 10);
  while (number /= 10);
  for (size_t i = 0; i < digits; i++) to[i] = reversed[digits - 1 - i];
  return digits;
}

static bool put_number(Request *r, uint64_t number) {
  char text[20];
  return put(r, text, decimal(text, number));
}

static bool put_status(Request *r) {
  if (r->status == 200) return PUT(r, "HTTP/1.1 200 OK\r\n");
  const char *phrase = status_phrase(r->status);
  return PUT(r, "HTTP/1.1 ") && put_number(r, r->status) && PUT(r, " ") &&
         put(r, phrase, strlen(phrase)) && PUT(r, "\r\n");
}

/* --- the application's headers ------------------------------------------------------------------------- */

typedef struct {
  const unsigned char *name, *value;
  size_t name_length, value_length;
} Field;

typedef struct {
  bool date, server, connection, chunked, skip;
  uint32_t own; /* a bit for each of the operator's fields */
} Seen;

static bool bad_message(const char *why) {
  PyErr_SetString(PyExc_RuntimeError, why);
  return false;
}

static bool all_of(const unsigned char *text, size_t length, int class_bits) {
  for (size_t i = 0; i < length; i++) {
    if (!char_is(text[i], class_bits)) return false;
  }
  return true;
}

static bool read_length(Request *r, const Field *f) {
  int64_t sum = 0;
  if (f->value_length == 0 || f->value_length > 18 || r->content_length_given) {
    return bad_message("the response's content-length is not one number");
  }
  for (size_t i = 0; i < f->value_length; i++) {
    if (f->value[i] < '0' || f->value[i] > '9') {
      return bad_message("the response's content-length is not one number");
    }
    sum = sum * 10 + (f->value[i] - '0');
  }
  r->declared = sum;
  r->content_length_given = true;
  return true;
}

/* The server frames the body itself, so only "chunked" may be asked for, and it is not repeated. */
static bool read_coding(const Field *f, Seen *seen) {
  if (!bytes_equal_nocase(f->value, f->value_length, "chunked")) {
    return bad_message("the only transfer-encoding of a response is chunked");
  }
  seen->chunked = seen->skip = true;
  return true;
}

static bool read_connection(Request *r, const Field *f, Seen *seen) {
  seen->connection = true;
  if (bytes_equal_nocase(f->value, f->value_length, "close")) r->keep_alive = false;
  else seen->skip = true, seen->connection = false; /* "keep-alive" is ours to say */
  return true;
}

/* A 204 has no body, so it can't have a length either (RFC 9110, section 8.6). */
static bool read_given_length(Request *r, const Field *f, Seen *seen) {
  seen->skip = r->status == 204;
  return seen->skip || read_length(r, f);
}

static bool interpret(Request *r, const Field *f, Seen *seen) {
  switch (f->name_length) {
    case 4:
      if (bytes_equal_nocase(f->name, 4, "date")) seen->date = true;
      return true;
    case 6:
      if (bytes_equal_nocase(f->name, 6, "server")) seen->server = true;
      return true;
    case 10:
      return !bytes_equal_nocase(f->name, 10, "connection") || read_connection(r, f, seen);
    case 14:
      return !bytes_equal_nocase(f->name, 14, "content-length") || read_given_length(r, f, seen);
    case 17:
      return !bytes_equal_nocase(f->name, 17, "transfer-encoding") || read_coding(f, seen);
    default:
      return true;
  }
}

static void note_own(const Core *core, const Field *f, Seen *seen) {
  for (int i = 0; i < core->field_count; i++) {
    const OwnField *own = &core->fields[i];
    if (own->name_length == f->name_length && strncasecmp(own->line, (const char *) f->name, f->name_length) == 0) {
      seen->own |= 1u << i;
    }
  }
}

static bool put_field(Request *r, const Field *f, Seen *seen) {
  if (f->name_length == 0 || !all_of(f->name, f->name_length, CHAR_TOKEN) ||
      !all_of(f->value, f->value_length, CHAR_VALUE)) {
    return bad_message("a response header has a character that headers can't have");
  }
  seen->skip = false;
  if (!interpret(r, f, seen)) return false;
  if (r->core->field_count) note_own(r->core, f, seen);
  if (seen->skip) return true;
  return put(r, (const char *) f->name, f->name_length) && PUT(r, ": ") &&
         put(r, (const char *) f->value, f->value_length) && PUT(r, "\r\n");
}

/* A new reference to the bytes; a bytearray or memoryview is copied. */
static PyObject *bytes_of(PyObject *given) {
  if (PyBytes_Check(given)) return Py_NewRef(given);
  if (PyByteArray_Check(given) || PyMemoryView_Check(given)) return PyBytes_FromObject(given);
  PyErr_SetString(PyExc_TypeError, "a response header is a pair of bytes");
  return NULL;
}

static bool put_name_and_value(Request *r, PyObject *const *items, Seen *seen) {
  PyObject *name = bytes_of(items[0]), *value = name ? bytes_of(items[1]) : NULL;
  bool sound = value != NULL;
  if (sound) {
    Field f = {(unsigned char *) PyBytes_AS_STRING(name), (unsigned char *) PyBytes_AS_STRING(value),
               (size_t) PyBytes_GET_SIZE(name), (size_t) PyBytes_GET_SIZE(value)};
    sound = put_field(r, &f, seen);
  }
  Py_XDECREF(name);
  Py_XDECREF(value);
  return sound;
}

static bool put_pair(Request *r, PyObject *pair, Seen *seen) {
  PyObject *fast = PySequence_Fast(pair, "a response header is a pair of bytes");
  if (fast == NULL) return false;
  bool two = PySequence_Fast_GET_SIZE(fast) == 2;
  if (!two) PyErr_SetString(PyExc_TypeError, "a response header is a pair of bytes");
  bool sound = two && put_name_and_value(r, PySequence_Fast_ITEMS(fast), seen);
  Py_DECREF(fast);
  return sound;
}

static bool put_fields(Request *r, PyObject *headers, Seen *seen) {
  if (headers == NULL) return true;
  PyObject *fast = PySequence_Fast(headers, "response headers are an iterable of pairs");
  if (fast == NULL) return false;
  bool sound = true;
  for (Py_ssize_t i = 0; sound && i < PySequence_Fast_GET_SIZE(fast); i++) {
    sound = put_pair(r, PySequence_Fast_GET_ITEM(fast, i), seen);
  }
  Py_DECREF(fast);
  return sound;
}

static const char server_line[] = "server: rookery-asgi\r\n";

static bool put_defaults(Request *r, const Seen *seen) {
  size_t length;
  const char *date = date_line(&length);
  if (r->core->send_server && !seen->server && !PUT(r, server_line)) return false;
  if (r->core->send_date && !seen->date && !put(r, date, length)) return false;
  for (int i = 0; i < r->core->field_count; i++) {
    const OwnField *own = &r->core->fields[i];
    if (!(seen->own & 1u << i) && !put(r, own->line, own->length)) return false;
  }
  return true;
}

/* --- http.response.start ---------------------------------------------------------------------------------- */

static bool read_status(Request *r, PyObject *message) {
  PyObject *status = PyDict_GetItemWithError(message, str_status);
  long number = status ? PyLong_AsLong(status) : -1;
  if (PyErr_Occurred()) return false;
  if (number < 200 || number > 999) return bad_message("a response's status is a number from 200 to 999");
  r->status = (uint16_t) number;
  r->bodiless = number == 204 || number == 304;
  return true;
}

static bool write_start(Request *r, PyObject *message, Seen *seen) {
  return read_status(r, message) && put_status(r) &&
         put_fields(r, PyDict_GetItemWithError(message, str_headers), seen) && put_defaults(r, seen);
}

static PyObject *send_start(Request *r, PyObject *message) {
  Seen seen = {0};
  bool kept_alive = r->keep_alive;
  if (r->out != OUT_NOTHING) {
    bad_message("http.response.start was sent twice");
    return NULL;
  }
  if (!write_start(r, message, &seen)) {
    /* the application may catch this and try again */
    r->head_length = 0;
    r->content_length_given = false;
    r->declared = -1;
    r->keep_alive = kept_alive;
    return NULL;
  }
  r->connection_named = seen.connection;
  r->chunked = seen.chunked && !r->content_length_given;
  r->out = OUT_STARTED;
  return await_nothing();
}

/* --- http.response.body ------------------------------------------------------------------------------------ */

static bool put_framing(Request *r, size_t length, bool more) {
  bool silent = r->bodiless || (r->head_only && (more || length == 0));
  if (r->content_length_given || silent) return true;
  if (!more && !r->chunked) {
    r->declared = (int64_t) length;
    return PUT(r, "content-length: ") && put_number(r, length) && PUT(r, "\r\n");
  }
  r->chunked = !r->http10;
  if (r->http10) r->keep_alive = false; /* the end of the connection is the end of the body */
  return r->http10 || PUT(r, "transfer-encoding: chunked\r\n");
}

static bool put_connection(Request *r) {
  /* a client that was never told to continue may send its body or may not */
  if (r->expects_continue && !r->body_complete) r->keep_alive = false;
  if (r->core->stopping) r->keep_alive = false;
  if (!r->keep_alive) return r->connection_named || PUT(r, "connection: close\r\n");
  return !r->http10 || PUT(r, "connection: keep-alive\r\n");
}

static bool finish_head(Request *r, size_t length, bool more) {
  if (!put_framing(r, length, more) || !put_connection(r) || !PUT(r, "\r\n")) return false;
  bool written = outq_add(&r->conn->out, r->head, r->head_length);
  r->out = OUT_STREAMING;
  return written;
}

static bool add_chunk(Outq *queue, PyObject *body, bool more) {
  static const char digits[] = "0123456789abcdef";
  char line[20];
  size_t at = sizeof(line);
  size_t length = (size_t) PyBytes_GET_SIZE(body);
  line[--at] = '\n', line[--at] = '\r';
  for (size_t rest = length; rest; rest >>= 4) line[--at] = digits[rest & 15];
  if (length && !(outq_add(queue, line + at, sizeof(line) - at) && outq_add_bytes(queue, body) &&
                  outq_add(queue, "\r\n", 2))) {
    return false;
  }
  return more || outq_add(queue, "0\r\n\r\n", 5);
}

static bool check_length(Request *r, int64_t length, bool more) {
  if (r->declared < 0 || r->bodiless || r->head_only) return true;
  if (r->sent + length > r->declared) return bad_message("the response is longer than its content-length");
  if (!more && r->sent + length < r->declared) return bad_message("the response is shorter than its content-length");
  return true;
}

static bool write_body(Request *r, PyObject *body, bool more) {
  Conn *c = r->conn;
  int64_t length = PyBytes_GET_SIZE(body);
  if (!check_length(r, length, more)) return false; /* first: no head has left yet, so a 500 can */
  if (r->out == OUT_STARTED && !finish_head(r, (size_t) length, more)) return false;
  if (r->bodiless || r->head_only) return true;
  r->sent += length;
  c->burst += (uint32_t) length;
  return r->chunked ? add_chunk(&c->out, body, more) : outq_add_bytes(&c->out, body);
}

static void end_response(Request *r) {
  Conn *c = r->conn;
  r->out = OUT_ENDED;
  r->core->counters.responses[r->status / 100 < 6 ? r->status / 100 : 0]++;
  request_log(r);
  wake(&r->receivers);
  if (!c->running) net_flush(c);
  else c->corked = true;
  if (r->conn) conn_response_ended(c, r->keep_alive);
}

static PyObject *after_chunk(Request *r) {
  Conn *c = r->conn;
  net_flush(c);
  if (r->conn == NULL) return await_nothing(); /* lost: the next send will say so */
  if (pending_output(c) > r->core->high_water) return await_send(r);
  if (c->burst < BURST_MOST) return await_nothing();
  c->burst = 0;
  return await_turn();
}

static PyObject *send_bytes(Request *r, PyObject *body, bool more) {
  PyObject *answer = NULL;
  Conn *c = (Conn *) Py_NewRef((PyObject *) r->conn);
  if (write_body(r, body, more)) {
    if (!more) end_response(r);
    answer = more ? after_chunk(r) : await_nothing();
  }
  Py_DECREF((PyObject *) c);
  return answer;
}

static PyObject *send_body(Request *r, PyObject *message) {
  PyObject *given = PyDict_GetItemWithError(message, str_body);
  PyObject *flag = PyDict_GetItemWithError(message, str_more_body);
  int more = flag ? PyObject_IsTrue(flag) : 0;
  if (PyErr_Occurred()) return NULL;
  if (given == NULL) given = bytes_empty;
  PyObject *body = PyBytes_CheckExact(given) ? Py_NewRef(given) : PyBytes_FromObject(given);
  if (body == NULL) return NULL;
  PyObject *answer = send_bytes(r, body, more != 0);
  Py_DECREF(body);
  return answer;
}

/* --- send() ---------------------------------------------------------------------------------------------------- */

static bool is_type(PyObject *given, PyObject *known) {
  return given == known || (PyUnicode_Check(given) && PyUnicode_Compare(given, known) == 0);
}

static PyObject *send_known(Request *r, PyObject *message, PyObject *type) {
  if (r->gone) {
    PyErr_SetString(ClientDisconnected, "the client has closed the connection");
    return NULL;
  }
  if (is_type(type, str_response_start)) return send_start(r, message);
  if (!is_type(type, str_response_body)) {
    return PyErr_Format(PyExc_RuntimeError, "an HTTP response has no message of type %R", type);
  }
  if (r->out == OUT_NOTHING) bad_message("http.response.body was sent before http.response.start");
  else if (r->out == OUT_ENDED) bad_message("the response has already ended");
  else return send_body(r, message);
  return NULL;
}

PyObject *request_send(Request *r, PyObject *message) {
  if (!PyDict_Check(message)) {
    PyErr_SetString(PyExc_TypeError, "an ASGI message is a dictionary");
    return NULL;
  }
  PyObject *type = PyDict_GetItemWithError(message, str_type);
  if (type == NULL) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "an ASGI message has a type");
    return NULL;
  }
  return send_known(r, message, type);
}

/* --- the server's own responses ----------------------------------------------------------------------------------- */

static bool add_own_lines(Outq *queue, const Core *core) {
  for (int i = 0; i < core->field_count; i++) {
    if (!outq_add(queue, core->fields[i].line, core->fields[i].length)) return false;
  }
  return true;
}

bool response_write_error(Conn *c, int status) {
  char text[512];
  size_t date_length;
  const char *phrase = status_phrase(status), *date = date_line(&date_length);
  bool head_only = c->request && c->request->head_only;
  int length = snprintf(text, sizeof(text),
                        "HTTP/1.1 %d %s\r\ncontent-type: text/plain; charset=utf-8\r\n"
                        "content-length: %zu\r\nconnection: close\r\n%s%.*s",
                        status, phrase, strlen(phrase) + 1, c->core->send_server ? server_line : "",
                        c->core->send_date ? (int) date_length : 0, date);
  c->core->counters.responses[status / 100]++;
  if (!outq_add(&c->out, text, (size_t) length) || !add_own_lines(&c->out, c->core)) return false;
  length = snprintf(text, sizeof(text), "\r\n%s%s", head_only ? "" : phrase, head_only ? "" : "\n");
  return outq_add(&c->out, text, (size_t) length);
}

/* Adds ("name", "value") of a line "name: value" to the list. */
static bool add_own_field(PyObject *fields, const char *line, size_t length) {
  const char *colon = memchr(line, ':', length);
  size_t name = (size_t) (colon - line);
  PyObject *pair = Py_BuildValue("(y#y#)", line, (Py_ssize_t) name, colon + 2, (Py_ssize_t) (length - name - 4));
  bool added = pair && PyList_Append(fields, pair) == 0;
  Py_XDECREF(pair);
  return added;
}

/* The fields that the server adds by itself, for those responses that are written in Python. */
PyObject *response_own_fields(Core *core) {
  size_t length;
  const char *date = date_line(&length);
  PyObject *fields = PyList_New(0);
  bool whole = fields && (!core->send_server || add_own_field(fields, server_line, sizeof(server_line) - 1)) &&
               (!core->send_date || add_own_field(fields, date, length));
  for (int i = 0; whole && i < core->field_count; i++) {
    whole = add_own_field(fields, core->fields[i].line, core->fields[i].length);
  }
  if (!whole) Py_CLEAR(fields);
  return fields;
}
