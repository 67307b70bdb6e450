/* Time-outs. Every kind of wait has one length, so its list is in order of expiry by itself. */
#include <time.h>

#include "core.h"

int64_t clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_ms(void) {
  return clock_us() / 1000;
}

void deadline_clear(Core *core, Deadline *d) {
  DeadlineList *list = &core->waits[d->kind];
  if (d->kind == WAIT_NONE) return;
  if (d->prev) d->prev->next = d->next;
  else list->first = d->next;
  if (d->next) d->next->prev = d->prev;
  else list->last = d->prev;
  d->prev = d->next = NULL;
  d->kind = WAIT_NONE;
}

static void enter(Core *core, Deadline *d, Wait kind, uint64_t mark) {
  DeadlineList *list = &core->waits[kind];
  deadline_clear(core, d);
  if (kind == WAIT_NONE) return;
  d->kind = (uint8_t) kind;
  d->since = core->now;
  d->mark = mark;
  d->prev = list->last;
  if (list->last) list->last->next = d;
  else list->first = d;
  list->last = d;
}

void deadline_set(Conn *c, Wait kind) {
  enter(c->core, &c->reading, kind, c->bytes_in);
}

/* Called when output is pending and again when it is gone. */
void deadline_watch_output(Conn *c) {
  bool pending = pending_output(c) > 0;
  if (pending && c->writing.kind == WAIT_NONE) enter(c->core, &c->writing, WAIT_WRITE, c->bytes_out);
  else if (!pending) deadline_clear(c->core, &c->writing);
}

static void expire_reading(Conn *c, Wait kind) {
  Core *core = c->core;
  if (kind == WAIT_BODY && c->bytes_in - c->reading.mark >= core->least_bytes) {
    deadline_set(c, WAIT_BODY);
    return;
  }
  if (kind != WAIT_IDLE && kind != WAIT_LINGER) core->counters.timeouts++;
  if (kind == WAIT_BODY || (kind == WAIT_HEAD && c->in.length)) {
    conn_refuse(c, 408);
  } else {
    if (kind == WAIT_HEAD) conn_tell_refused(c, 408);
    conn_lost(c);
  }
}

static void expire_writing(Conn *c) {
  if (c->bytes_out - c->writing.mark >= c->core->least_bytes) {
    enter(c->core, &c->writing, WAIT_WRITE, c->bytes_out);
    return;
  }
  c->core->counters.timeouts++;
  conn_lost(c);
}

static void expire(Core *core, Wait kind) {
  Deadline *d;
  while ((d = core->waits[kind].first) != NULL && core->now - d->since >= core->wait_ms[kind]) {
    Conn *c = d->conn;
    Py_INCREF(c);
    if (kind == WAIT_WRITE) expire_writing(c);
    else expire_reading(c, kind);
    Py_DECREF(c);
  }
}

void deadlines_expire(Core *core) {
  for (Wait kind = WAIT_HEAD; kind < WAIT_KINDS; kind++) {
    if (core->wait_ms[kind] > 0) expire(core, kind);
  }
}
