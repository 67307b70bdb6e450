/* Turns the application's messages into a response. A response's head is kept until the first
 * body message, for only then is it known how the body is framed. */
#include <string.h>

#include "core.h"
#include "fields.h"
#include "phrases.h"

/* What an application may write to a fast reader before others get their turn. */
enum { BURST_MOST = 512 * 1024 };

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
  return read_status(r, message) && fields_put_status(r) &&
         fields_put_all(r, PyDict_GetItemWithError(message, str_headers), seen) && fields_put_own(r, seen);
}

static PyObject *send_start(Request *r, PyObject *message) {
  Seen seen = {0};
  bool kept_alive = r->keep_alive;
  if (r->out != OUT_NOTHING) {
    bad_message("http.response.start was sent twice");
    return NULL;
  }
  PyObject *promised = PyDict_GetItemWithError(message, str_trailers);
  if (PyErr_Occurred() || !write_start(r, message, &seen)) {
    /* the application may catch this and try again */
    r->head_length = 0;
    r->content_length_given = false;
    r->declared = -1;
    r->keep_alive = kept_alive;
    return NULL;
  }
  r->connection_named = seen.connection;
  r->chunked = seen.chunked && !r->content_length_given;
  r->trailers = promised && PyObject_IsTrue(promised) == 1;
  r->out = OUT_STARTED;
  return await_nothing();
}

/* --- http.response.body ------------------------------------------------------------------------------------ */

static bool put_framing(Request *r, size_t length, bool more) {
  bool silent = r->bodiless || (r->head_only && (more || length == 0));
  if (r->content_length_given || silent) return true;
  if (!more && !r->chunked && (!r->trailers || r->http10)) {
    r->declared = (int64_t) length;
    return PUT(r, "content-length: ") && fields_put_number(r, length) && PUT(r, "\r\n");
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
  r->head_length = 0; /* trailers are written there */
  return written;
}

static bool add_piece(Outq *queue, Piece *piece) {
  if (piece->bytes != NULL) return outq_add_bytes(queue, piece->bytes);
  if (piece->length == 0) return true;
  if (!outq_add_file(queue, piece->file, piece->offset, piece->length)) return false;
  piece->file = -1;
  return true;
}

static bool add_chunk(Outq *queue, Piece *piece) {
  static const char digits[] = "0123456789abcdef";
  char line[20];
  size_t at = sizeof(line);
  if (piece->length == 0) return true;
  line[--at] = '\n', line[--at] = '\r';
  for (size_t rest = piece->length; rest; rest >>= 4) line[--at] = digits[rest & 15];
  return outq_add(queue, line + at, sizeof(line) - at) && add_piece(queue, piece) &&
         outq_add(queue, "\r\n", 2);
}

static bool check_length(Request *r, int64_t length, bool more) {
  if (r->declared < 0 || r->bodiless || r->head_only) return true;
  if (r->sent + length > r->declared) return bad_message("the response is longer than its content-length");
  if (!more && r->sent + length < r->declared) return bad_message("the response is shorter than its content-length");
  return true;
}

static bool write_piece(Request *r, Piece *piece, bool more) {
  Conn *c = r->conn;
  int64_t length = (int64_t) piece->length;
  if (!check_length(r, length, more)) return false; /* first: no head has left yet, so a 500 can */
  if (r->out == OUT_STARTED && !finish_head(r, piece->length, more)) return false;
  if (r->bodiless || r->head_only) return true;
  r->sent += length;
  if (piece->bytes) c->burst += (uint32_t) length;
  if (!r->chunked) return add_piece(&c->out, piece);
  return add_chunk(&c->out, piece) && (more || r->trailers || outq_add(&c->out, "0\r\n\r\n", 5));
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

PyObject *response_after_chunk(Request *r) {
  Conn *c = r->conn;
  net_flush(c);
  if (r->conn == NULL) return await_nothing(); /* lost: the next send will say so */
  if (pending_output(c) > r->core->high_water) return await_send(r);
  if (c->burst < BURST_MOST) return await_nothing();
  c->burst = 0;
  return await_turn();
}

PyObject *response_send_piece(Request *r, Piece *piece, bool more) {
  PyObject *answer = NULL;
  Conn *c = (Conn *) Py_NewRef((PyObject *) r->conn);
  if (write_piece(r, piece, more)) {
    if (!more && r->trailers) r->out = OUT_TRAILERS;
    else if (!more) end_response(r);
    answer = r->out == OUT_ENDED ? await_nothing() : response_after_chunk(r);
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
  Piece piece = {body, -1, 0, (size_t) PyBytes_GET_SIZE(body)};
  PyObject *answer = response_send_piece(r, &piece, more != 0);
  Py_DECREF(body);
  return answer;
}

/* --- trailers --------------------------------------------------------------------------------------- */

/* Where the body is not chunked there is no place for them. */
static bool write_trailers(Request *r) {
  Outq *out = &r->conn->out;
  if (!r->chunked || r->bodiless || r->head_only) return true;
  return outq_add(out, "0\r\n", 3) && outq_add(out, r->head, r->head_length) && outq_add(out, "\r\n", 2);
}

PyObject *response_end_trailers(Request *r) {
  PyObject *answer = NULL;
  Conn *c = (Conn *) Py_NewRef((PyObject *) r->conn);
  if (write_trailers(r)) {
    end_response(r);
    answer = await_nothing();
  }
  Py_DECREF((PyObject *) c);
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
  if (!is_type(type, str_response_body)) return request_send_extension(r, message, type);
  if (r->out == OUT_NOTHING) bad_message("http.response.body was sent before http.response.start");
  else if (r->out > OUT_STREAMING) bad_message("the response has already ended");
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
                        status, phrase, strlen(phrase) + 1, c->core->send_server ? SERVER_LINE : "",
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
  bool whole = fields && (!core->send_server || add_own_field(fields, SERVER_LINE, sizeof(SERVER_LINE) - 1)) &&
               (!core->send_date || add_own_field(fields, date, length));
  for (int i = 0; whole && i < core->field_count; i++) {
    whole = add_own_field(fields, core->fields[i].line, core->fields[i].length);
  }
  if (!whole) Py_CLEAR(fields);
  return fields;
}
