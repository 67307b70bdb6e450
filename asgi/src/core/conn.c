/* A connection's machine: bytes in, requests out. Knows nothing of sockets but net.h's verbs. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* What an application left unread of a body is read over up to here, to save the connection. */
enum { DISCARD_MOST = 256 * 1024 };

static void keep(Conn *c, const unsigned char *bytes, size_t length) {
  if (length == 0 || c->state == IN_CLOSED || c->state == IN_DISCARD) return;
  if (!buffer_add(&c->in, bytes, length)) conn_lost(c);
}

/* --- heads ------------------------------------------------------------------------------------ */

void conn_drop_head(Conn *c) {
  if (c->head == NULL) return;
  head_free(c->head);
  free(c->head);
  c->head = NULL;
}

/* The shared head belongs to whoever is parsed next, so a head in pieces takes its progress along. */
static bool keep_head(Conn *c) {
  if (c->head != NULL) return true;
  c->head = malloc(sizeof(Head));
  return c->head != NULL && head_clone(c->head, &c->core->head);
}

static void open_pipe(Conn *c, const Head *head, const unsigned char *bytes) {
  if (head->chunked || head->content_length > 0) {
    conn_refuse(c, 400);
    return;
  }
  PyObject *scope = scope_websocket(c, head, bytes);
  c->state = IN_PIPE;
  c->core->counters.websockets++;
  PyObject *arguments[] = {(PyObject *) c, scope};
  PyObject *sink = scope ? PyObject_Vectorcall(c->core->hook_websocket, arguments, 2, NULL) : NULL;
  Py_XDECREF(scope);
  if (sink == NULL) core_trouble(c->core);
  if (sink == NULL || c->state == IN_CLOSED) {
    Py_XDECREF(sink);
    conn_lost(c);
    return;
  }
  c->sink = sink;
}

static void expect_body(Conn *c, const Head *head) {
  c->body_left = 0;
  if (head->chunked) {
    chunked_reset(&c->chunked);
    c->state = IN_CHUNKED;
  } else if (head->content_length > 0) {
    c->body_left = head->content_length;
    c->state = IN_SIZED;
  } else {
    c->state = IN_DONE;
    request_body_complete(c->request);
  }
}

/* Where WebSockets are off the wish to upgrade is ignored, as HTTP allows. */
static bool wants_websocket(const Core *core, const Head *head, const unsigned char *bytes) {
  return core->hook_websocket != Py_None && head->websocket && head->upgrade && head->minor_version == 1 &&
         head->method_length == 3 && memcmp(bytes + head->method, "GET", 3) == 0;
}

static void begin_request(Conn *c, const Head *head, const unsigned char *bytes) {
  int64_t most = c->core->body_most;
  c->discarded = 0;
  if (most > 0 && head->content_length > most) {
    conn_refuse(c, 413);
  } else if (wants_websocket(c->core, head, bytes)) {
    open_pipe(c, head, bytes);
  } else if ((c->request = request_new(c, head, bytes)) == NULL) {
    core_trouble(c->core);
    conn_refuse(c, 500);
  } else {
    expect_body(c, head);
  }
}

/* Returns how many bytes the head took; 0 when more must come. */
static size_t run_head(Conn *c, const unsigned char *bytes, size_t length) {
  Head *head = c->head;
  if (head == NULL) {
    head = &c->core->head;
    head_reset(head);
  }
  long used = head_parse(head, bytes, length, &c->core->limits);
  if (used == HEAD_MORE) {
    if (!keep_head(c)) conn_lost(c);
    return 0;
  }
  if (used < 0) {
    conn_refuse(c, (int) -used);
    return length;
  }
  begin_request(c, head, bytes);
  conn_drop_head(c);
  return (size_t) used;
}

/* --- bodies ------------------------------------------------------------------------------------ */

/* False when the connection is no longer reading this body. */
static bool take_body(Conn *c, const unsigned char *bytes, size_t length) {
  c->discarded += (int64_t) length; /* for a chunked body: its size so far */
  if (c->request == NULL) {
    if (c->discarded > DISCARD_MOST) conn_close_gently(c, true);
  } else if (c->core->body_most > 0 && c->discarded > c->core->body_most) {
    conn_refuse(c, 413);
  } else if (!request_add_body(c->request, bytes, length)) {
    core_trouble(c->core);
    conn_lost(c);
  }
  return c->state == IN_SIZED || c->state == IN_CHUNKED;
}

static void end_body(Conn *c) {
  c->state = c->request ? IN_DONE : IN_HEAD;
  if (c->request) request_body_complete(c->request);
}

static size_t run_sized(Conn *c, const unsigned char *bytes, size_t length) {
  size_t take = (int64_t) length < c->body_left ? length : (size_t) c->body_left;
  c->body_left -= (int64_t) take;
  if (take_body(c, bytes, take) && c->body_left == 0) end_body(c);
  return take;
}

static size_t run_chunked(Conn *c, const unsigned char *bytes, size_t length) {
  const unsigned char *at = bytes, *data;
  size_t size;
  for (;;) {
    switch (chunked_next(&c->chunked, &at, bytes + length, &data, &size)) {
      case CHUNKED_DATA:
        if (!take_body(c, data, size)) return length;
        break;
      case CHUNKED_MORE:
        return length;
      case CHUNKED_END:
        end_body(c);
        return (size_t) (at - bytes);
      default:
        conn_refuse(c, 400);
        return length;
    }
  }
}

/* --- the machine ------------------------------------------------------------------------------- */

static void run_pipe(Conn *c, const unsigned char *bytes, size_t length) {
  PyObject *data = PyBytes_FromStringAndSize((const char *) bytes, (Py_ssize_t) length);
  PyObject *done = data ? PyObject_CallMethodOneArg(c->sink, str_data, data) : NULL;
  Py_XDECREF(data);
  Py_XDECREF(done);
  if (done != NULL) return;
  core_trouble(c->core);
  conn_lost(c);
}

/* Runs the machine over the bytes; returns how many it used. */
static size_t run(Conn *c, const unsigned char *bytes, size_t length) {
  size_t at = 0, used;
  for (;;) {
    if (c->state == IN_DONE) {
      if (c->request && !c->request->started) request_start(c->request);
      if (c->state == IN_DONE) return at; /* the response has not ended yet */
      continue;
    }
    if (at == length) return at;
    switch (c->state) {
      case IN_HEAD:
        c->stalled = pending_output(c) > c->core->high_water;
        if (c->stalled) return at;
        used = run_head(c, bytes + at, length - at);
        if (used == 0) return at;
        at += used;
        break;
      case IN_SIZED:
        at += run_sized(c, bytes + at, length - at);
        break;
      case IN_CHUNKED:
        at += run_chunked(c, bytes + at, length - at);
        break;
      case IN_PIPE:
        run_pipe(c, bytes + at, length - at);
        return length;
      default: /* IN_DISCARD, IN_CLOSED */
        return length;
    }
  }
}

void conn_set_wait(Conn *c) {
  switch (c->state) {
    case IN_HEAD:
      /* what is still to be written has its own limit */
      if (pending_output(c)) deadline_set(c, WAIT_NONE);
      else if (c->in.length == 0) deadline_set(c, WAIT_IDLE);
      else if (c->reading.kind != WAIT_HEAD) deadline_set(c, WAIT_HEAD);
      break;
    case IN_SIZED:
    case IN_CHUNKED:
      /* a body that the application does not take is not the client's fault */
      if (conn_is_full(c)) deadline_set(c, WAIT_NONE);
      else if (c->reading.kind != WAIT_BODY) deadline_set(c, WAIT_BODY);
      break;
    case IN_DISCARD:
      break;
    default:
      deadline_set(c, WAIT_NONE);
  }
}

/* What follows a run: a body that is still arriving starts its request, a client that has closed
 * its side and has nothing more to ask is let go. */
static void after_run(Conn *c) {
  if (c->request && !c->request->started) request_start(c->request);
  c->running = false;
  if (c->state == IN_CLOSED) return;
  if (c->state == IN_HEAD && c->eof && !c->stalled) conn_close_gently(c, false);
  if (c->corked) {
    c->corked = false;
    net_flush(c);
  } else if (c->paused) {
    net_watch(c);
  }
  if (c->state != IN_CLOSED) conn_set_wait(c);
}

void conn_run_buffered(Conn *c) {
  Py_INCREF(c);
  /* the bytes are taken out while they are run, for what runs may feed the connection */
  Buffer taken = c->in;
  c->in = (Buffer) {0};
  c->running = true;
  size_t used = run(c, taken.data + taken.start, taken.length);
  taken.start += used, taken.length -= used;
  Buffer newer = c->in;
  c->in = taken;
  if (newer.length) keep(c, newer.data + newer.start, newer.length);
  buffer_clear(&newer);
  if (c->in.length == 0 || c->state == IN_CLOSED || c->state == IN_DISCARD) buffer_clear(&c->in);
  after_run(c);
  Py_DECREF(c);
}

void conn_feed(Conn *c, const unsigned char *bytes, size_t length) {
  if (c->state == IN_CLOSED) return;
  c->bytes_in += length;
  c->core->counters.bytes_in += length;
  if (c->running || c->is_ready) {
    keep(c, bytes, length);
    return;
  }
  if (c->in.length) {
    keep(c, bytes, length);
    conn_run_buffered(c);
    return;
  }
  Py_INCREF(c);
  c->running = c->corked = true;
  size_t used = run(c, bytes, length);
  keep(c, bytes + used, length - used);
  after_run(c);
  Py_DECREF(c);
}

static void pipe_eof(Conn *c) {
  PyObject *done = c->sink ? PyObject_CallMethodNoArgs(c->sink, str_eof) : NULL;
  Py_XDECREF(done);
  if (done != NULL) return;
  if (PyErr_Occurred()) core_trouble(c->core);
  conn_lost(c);
}

void conn_eof(Conn *c) {
  if (c->eof || c->state == IN_CLOSED) return;
  c->eof = true;
  switch (c->state) {
    case IN_HEAD:
      if (!c->is_ready && !c->running && !c->stalled) conn_close_gently(c, false);
      break;
    case IN_DONE:
      if (c->request) request_disconnect(c->request, false);
      net_watch(c);
      break;
    case IN_PIPE:
      pipe_eof(c);
      break;
    case IN_DISCARD: /* the client may still be reading what is left to write */
      c->linger = false;
      if (pending_output(c)) net_watch(c);
      else conn_lost(c);
      break;
    default: /* a body that was cut short must never look complete */
      conn_lost(c);
  }
}

/* --- flow ----------------------------------------------------------------------------------------- */

bool conn_is_full(const Conn *c) {
  switch (c->state) {
    case IN_SIZED:
    case IN_CHUNKED:
      return c->request && c->request->body &&
             (size_t) PyBytes_GET_SIZE(c->request->body) >= c->core->high_water;
    case IN_PIPE:
      return c->held;
    case IN_DISCARD:
      return false;
    default:
      return c->stalled || c->in.length >= c->core->high_water;
  }
}

/* Between two requests; output of the last one may still be on its way. */
bool conn_is_between(const Conn *c) {
  return c->state == IN_HEAD && c->request == NULL && !c->is_ready && !c->running;
}

void conn_body_taken(Conn *c) {
  if (c->paused && !conn_is_full(c)) net_watch(c);
  if (!c->running && c->state != IN_CLOSED) conn_set_wait(c);
}

static void tell_drained(Conn *c) {
  c->pipe_full = false;
  PyObject *done = PyObject_CallMethodNoArgs(c->sink, str_drained);
  if (done == NULL) core_trouble(c->core);
  Py_XDECREF(done);
}

/* Whoever waited for the client to read goes on. */
static void go_on(Conn *c) {
  if (c->request) request_wake_senders(c->request);
  if (c->stalled && !c->running) conn_make_ready(c);
  if (c->sink && c->pipe_full) tell_drained(c);
}

/* Output has gone down: to nothing, or below the mark at which writers wait. */
void conn_drained(Conn *c) {
  if (pending_output(c) <= c->core->high_water / 4) go_on(c);
  if (pending_output(c) || c->state == IN_CLOSED) return;
  if (conn_is_between(c) && c->reading.kind == WAIT_NONE) conn_set_wait(c);
  if (!c->close_when_flushed) return;
  if (c->linger && c->fd >= 0) net_shut(c);
  else conn_lost(c);
}
