/* Writes the fields of a response: the application's, checked, and the server's own. */
#include "fields.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "chars.h"
#include "phrases.h"

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

bool fields_put(Request *r, const char *text, size_t length) {
  if (r->head_length + length > r->head_capacity && !grow_head(r, length)) return false;
  memcpy(r->head + r->head_length, text, length);
  r->head_length += length;
  return true;
}

static size_t decimal(char *to, uint64_t number) {
  char reversed[20];
  size_t digits = 0;
  do reversed[digits++] = (char) ('0' + number % 10);
  while (number /= 10);
  for (size_t i = 0; i < digits; i++) to[i] = reversed[digits - 1 - i];
  return digits;
}

bool fields_put_number(Request *r, uint64_t number) {
  char text[20];
  return fields_put(r, text, decimal(text, number));
}

bool fields_put_status(Request *r) {
  if (r->status == 200) return PUT(r, "HTTP/1.1 200 OK\r\n");
  const char *phrase = status_phrase(r->status);
  return PUT(r, "HTTP/1.1 ") && fields_put_number(r, r->status) && PUT(r, " ") &&
         fields_put(r, phrase, strlen(phrase)) && PUT(r, "\r\n");
}

/* --- the application's headers ------------------------------------------------------------------------- */

typedef struct {
  const unsigned char *name, *value;
  size_t name_length, value_length;
} Field;

bool bad_message(const char *why) {
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

/* What frames or routes a message, or says how to read it, comes too late (RFC 9110, 6.5.1). */
static bool may_trail(const Field *f) {
  static const char *const names[] = {
      "connection", "content-encoding", "content-length", "content-range", "content-type", "host",
      "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
  };
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (bytes_equal_nocase(f->name, f->name_length, names[i])) {
      return bad_message("a trailer has a field that only a head can have");
    }
  }
  return true;
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
  if (seen->trailers ? !may_trail(f) : !interpret(r, f, seen)) return false;
  if (r->core->field_count) note_own(r->core, f, seen);
  if (seen->skip) return true;
  return fields_put(r, (const char *) f->name, f->name_length) && PUT(r, ": ") &&
         fields_put(r, (const char *) f->value, f->value_length) && PUT(r, "\r\n");
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

bool fields_put_all(Request *r, PyObject *headers, Seen *seen) {
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

bool fields_put_own(Request *r, const Seen *seen) {
  size_t length;
  const char *date = date_line(&length);
  if (r->core->send_server && !seen->server && !PUT(r, SERVER_LINE)) return false;
  if (r->core->send_date && !seen->date && !fields_put(r, date, length)) return false;
  for (int i = 0; i < r->core->field_count; i++) {
    const OwnField *own = &r->core->fields[i];
    if (!(seen->own & 1u << i) && !fields_put(r, own->line, own->length)) return false;
  }
  return true;
}

/* --- trailers and hints ------------------------------------------------------------------------------ */

bool response_put_trailers(Request *r, PyObject *headers) {
  Seen seen = {.trailers = true};
  size_t before = r->head_length;
  if (fields_put_all(r, headers, &seen)) return true;
  r->head_length = before; /* the application may catch this and try again */
  return false;
}

static bool put_link(Request *r, PyObject *given) {
  PyObject *link = bytes_of(given);
  if (link == NULL) return false;
  const unsigned char *text = (unsigned char *) PyBytes_AS_STRING(link);
  size_t length = (size_t) PyBytes_GET_SIZE(link);
  bool sound = all_of(text, length, CHAR_VALUE);
  if (!sound) bad_message("a link has a character that headers can't have");
  sound = sound && PUT(r, "link: ") && fields_put(r, (const char *) text, length) && PUT(r, "\r\n");
  Py_DECREF(link);
  return sound;
}

/* A whole response with status 103, before the one that counts. */
bool response_put_hints(Request *r, PyObject *links) {
  PyObject *fast = PySequence_Fast(links, "links are an iterable of bytes");
  bool sound = fast && PUT(r, "HTTP/1.1 103 Early Hints\r\n");
  for (Py_ssize_t i = 0; sound && i < PySequence_Fast_GET_SIZE(fast); i++) {
    sound = put_link(r, PySequence_Fast_GET_ITEM(fast, i));
  }
  sound = sound && PUT(r, "\r\n") && outq_add(&r->conn->out, r->head, r->head_length);
  r->head_length = 0;
  Py_XDECREF(fast);
  return sound;
}
