/* How requests and connections end: answered, refused, closed in good order or lost. */
#include "core.h"

static void request_leave(Conn *c) {
  Request *r = c->request;
  if (r == NULL) return;
  c->request = NULL;
  r->conn = NULL;
  Py_DECREF(r);
}

static void tell_sink(Conn *c) {
  PyObject *sink = c->sink;
  if (sink == NULL) return;
  c->sink = NULL;
  PyObject *done = PyObject_CallMethodNoArgs(sink, str_lost);
  if (done == NULL) core_trouble(c->core);
  Py_XDECREF(done);
  Py_DECREF(sink);
}

void conn_lost(Conn *c) {
  Core *core = c->core;
  Request *r = c->request;
  if (c->state == IN_CLOSED) return;
  c->state = IN_CLOSED;
  Py_INCREF(c);
  if (c->prev) c->prev->next = c->next;
  else if (core->conns == c) core->conns = c->next;
  if (c->next) c->next->prev = c->prev;
  c->prev = c->next = NULL;
  core->conn_count--;
  deadline_clear(core, &c->reading);
  deadline_clear(core, &c->writing);
  buffer_clear(&c->in);
  conn_drop_head(c);
  if (r) {
    c->request = NULL;
    r->conn = NULL;
    request_disconnect(r, true);
    if (r->started) request_log(r);
    Py_DECREF(r);
  }
  net_close(c);
  tell_sink(c);
  Py_CLEAR(c->filter);
  Py_DECREF(c);
}

void conn_close_gently(Conn *c, bool linger) {
  if (c->state == IN_CLOSED) return;
  c->state = IN_DISCARD;
  c->close_when_flushed = true;
  c->linger = linger && !c->eof;
  conn_drop_head(c);
  if (!c->running) buffer_clear(&c->in);
  c->corked = false;
  deadline_set(c, WAIT_NONE); /* the output has its own limit */
  net_flush(c);
}

/* Python's side may want to log who was turned away. */
void conn_tell_refused(Conn *c, int status) {
  PyObject *hook = c->core->hook_refused;
  if (hook == Py_None) return;
  PyObject *done = PyObject_CallFunction(hook, "Oi", c->client, status);
  if (done == NULL) core_trouble(c->core);
  Py_XDECREF(done);
}

/* Whether the request whose bytes are arriving has been answered, at least in part. */
static bool is_answered(const Conn *c) {
  if (c->request != NULL) return c->request->out >= OUT_STREAMING;
  return c->state == IN_SIZED || c->state == IN_CHUNKED; /* the rest of its body was read over */
}

void conn_refuse(Conn *c, int status) {
  Request *r = c->request;
  bool answered = is_answered(c);
  c->core->counters.refused++;
  conn_tell_refused(c, status);
  if (r || !answered) request_log_refused(c, status);
  if (r) {
    Py_INCREF(r);
    request_leave(c);
    request_disconnect(r, true);
    Py_DECREF(r);
  }
  if (!answered && !response_write_error(c, status)) core_trouble(c->core);
  conn_close_gently(c, true);
}

void conn_make_ready(Conn *c) {
  Core *core = c->core;
  c->stalled = false;
  if (c->is_ready) return;
  c->is_ready = true;
  Py_INCREF(c);
  c->next_ready = core->ready;
  core->ready = c;
  net_schedule_poll(core);
}

void conn_response_ended(Conn *c, bool keep_alive) {
  bool unread = c->state == IN_SIZED || c->state == IN_CHUNKED;
  request_leave(c);
  if (!keep_alive || c->core->stopping) {
    /* closing over bytes that were not read resets the connection, and the client may lose the end
     * of its response; when it did not expect the end it may be sending at this moment */
    conn_close_gently(c, unread || c->in.length || c->core->stopping);
    return;
  }
  if (unread) c->discarded = 0;
  else if (c->state == IN_DONE) c->state = IN_HEAD;
  if (c->running) return;
  if (c->state == IN_HEAD && (c->in.length || c->eof)) conn_make_ready(c);
  if (c->paused) net_watch(c);
  if (!c->is_ready) conn_set_wait(c);
}
