/* Sockets: what the epoll descriptor reports is read, accepted and closed here. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net.h"

enum { EVENTS_MOST = 256, ACCEPTS_MOST = 256 };

/* --- watching ------------------------------------------------------------------------------------- */

/* `target` is the Conn or the Listener that the descriptor belongs to. */
static bool watch(const Core *core, int how, int fd, uint32_t events, void *target) {
  struct epoll_event event = {.events = events, .data = {.ptr = target}};
  return epoll_ctl(core->epoll, how, fd, &event) == 0;
}

/* While reading rests, EPOLLRDHUP still tells of a client that leaves; once is enough. */
void net_watch(Conn *c) {
  if (c->fd < 0 || c->state == IN_CLOSED) return;
  if (c->paused && !conn_is_full(c)) c->paused = false;
  uint32_t wanted = 0;
  if (pending_output(c)) wanted |= EPOLLOUT;
  if (!c->paused && !c->eof) wanted |= EPOLLIN;
  else if (!c->eof && !c->half_closed) wanted |= EPOLLRDHUP;
  if (wanted == c->watching) return;
  c->watching = wanted;
  watch(c->core, EPOLL_CTL_MOD, c->fd, wanted, c);
}

/* --- reading ---------------------------------------------------------------------------------------- */

static void received(Conn *c, const unsigned char *bytes, size_t length) {
  if (c->filter == NULL) {
    conn_feed(c, bytes, length);
    return;
  }
  PyObject *data = PyBytes_FromStringAndSize((const char *) bytes, (Py_ssize_t) length);
  PyObject *done = data ? PyObject_CallMethodOneArg(c->filter, str_received, data) : NULL;
  Py_XDECREF(data);
  Py_XDECREF(done);
  if (done != NULL) return;
  core_trouble(c->core);
  conn_lost(c);
}

void net_read(Conn *c) {
  if (conn_is_full(c)) {
    c->paused = true;
    net_watch(c);
    return;
  }
  if (c->fd < 0) return; /* a connection without a socket */
  ssize_t count = recv(c->fd, c->core->rx, RECEIVE_BUFFER, MSG_DONTWAIT);
  c->burst = 0;
  if (count > 0) received(c, c->core->rx, (size_t) count);
  else if (count == 0) conn_eof(c);
  else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) conn_lost(c);
}

static void half_closed(Conn *c) {
  c->half_closed = true;
  if (c->state == IN_DONE && c->request) request_disconnect(c->request, false);
  net_watch(c);
}

static void dispatch(Conn *c, uint32_t events) {
  Py_INCREF(c);
  bool hopeless = (events & EPOLLERR) || ((events & EPOLLHUP) && !(c->watching & EPOLLIN));
  if (c->state != IN_CLOSED && hopeless) conn_lost(c);
  if (c->state != IN_CLOSED && (events & EPOLLOUT)) net_flush(c);
  if (c->state != IN_CLOSED && (events & (EPOLLIN | EPOLLHUP)) && (c->watching & EPOLLIN)) net_read(c);
  if (c->state != IN_CLOSED && (events & EPOLLRDHUP) && (c->watching & EPOLLRDHUP)) half_closed(c);
  Py_DECREF(c);
}

/* --- closing ----------------------------------------------------------------------------------------- */

void net_shut(Conn *c) {
  shutdown(c->fd, SHUT_WR);
  c->linger = false;
  c->close_when_flushed = false;
  deadline_set(c, WAIT_LINGER);
  net_watch(c);
}

/* The descriptor goes at once. The socket's reference stays until the round is over, because the
 * events still to be looked at may point to the Conn. */
void net_close(Conn *c) {
  Core *core = c->core;
  if (c->fd < 0) return;
  outq_clear(&c->out);
  outq_clear(&c->sealed);
  watch(core, EPOLL_CTL_DEL, c->fd, 0, NULL); /* closing does not, where a child inherited it */
  close(c->fd);
  c->fd = -1;
  if (core->resting) net_wake_listeners(core);
  if (!core->polling) {
    Py_DECREF((PyObject *) c);
    return;
  }
  c->next_doomed = core->doomed;
  core->doomed = c;
}

static void bury(Core *core) {
  while (core->doomed) {
    Conn *c = core->doomed;
    core->doomed = c->next_doomed;
    Py_DECREF((PyObject *) c);
  }
}

/* --- accepting ---------------------------------------------------------------------------------------- */

static PyObject *address(const struct sockaddr_storage *any) {
  char text[INET6_ADDRSTRLEN] = "";
  if (any->ss_family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *) any;
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    return Py_BuildValue("(si)", text, (int) ntohs(v4->sin_port));
  }
  if (any->ss_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *) any;
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    return Py_BuildValue("(si)", text, (int) ntohs(v6->sin6_port));
  }
  Py_RETURN_NONE;
}

static PyObject *local_address(const Listener *listener, int fd) {
  struct sockaddr_storage local;
  socklen_t length = sizeof(local);
  if (listener->server != NULL) return Py_NewRef(listener->server);
  if (getsockname(fd, (struct sockaddr *) &local, &length) != 0) Py_RETURN_NONE;
  return address(&local);
}

/* Asks Python's side for a filter (TLS); None means there is none. */
static bool add_filter(Conn *c) {
  PyObject *hook = c->core->hook_accepted;
  if (hook == Py_None) return true;
  PyObject *filter = PyObject_CallOneArg(hook, (PyObject *) c);
  if (filter == NULL) return false;
  c->secure = filter != Py_None;
  if (filter != Py_None) c->filter = filter;
  else Py_DECREF(filter);
  return true;
}

static bool adopt(Core *core, const Listener *listener, int fd, const struct sockaddr_storage *peer) {
  PyObject *client = address(peer), *server = local_address(listener, fd);
  Conn *c = client && server ? conn_new(core, client, server) : NULL;
  Py_XDECREF(client);
  Py_XDECREF(server);
  if (c == NULL) return false;
  if (!watch(core, EPOLL_CTL_ADD, fd, EPOLLIN, c)) {
    Py_DECREF(c);
    return false;
  }
  c->fd = fd; /* the reference is now the socket's */
  c->watching = EPOLLIN;
  if (listener->secure && !add_filter(c)) {
    core_trouble(core);
    conn_lost(c);
  }
  return true;
}

static void watch_listeners(Core *core, uint32_t events) {
  for (int i = 0; i < core->listener_count; i++) {
    Listener *listener = &core->listeners[i];
    watch(core, EPOLL_CTL_MOD, listener->fd, events, listener);
  }
}

static void rest(Core *core) {
  core->resting = true;
  core->counters.rests++;
  watch_listeners(core, 0);
}

void net_wake_listeners(Core *core) {
  core->resting = false;
  watch_listeners(core, EPOLLIN);
}

/* Out of descriptors or memory: what waits stays in the backlog until there is room again. */
static bool must_rest(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void accept_all(Core *core, const Listener *listener) {
  int fd, on = 1;
  for (int i = 0; i < ACCEPTS_MOST; i++) {
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof(peer);
    if (core->connections_most && core->conn_count >= core->connections_most) {
      rest(core);
      return;
    }
    fd = accept4(listener->fd, (struct sockaddr *) &peer, &length,
                 SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (must_rest(errno)) rest(core);
      return;
    }
    if (listener->tcp) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!adopt(core, listener, fd, &peer)) {
      core_trouble(core);
      close(fd);
      return;
    }
  }
}

bool net_listen(Core *core, int fd, PyObject *server, bool tcp, bool secure) {
  if (core->listener_count == LISTENERS_MOST) {
    PyErr_SetString(PyExc_ValueError, "too many listening sockets");
    return false;
  }
  Listener *listener = &core->listeners[core->listener_count];
  if (!watch(core, EPOLL_CTL_ADD, fd, EPOLLIN, listener)) {
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
  }
  *listener = (Listener) {fd, server == Py_None ? NULL : Py_NewRef(server), tcp, secure};
  core->listener_count++;
  return true;
}

/* The descriptors stay the caller's: they may be inherited by the next process. */
void net_stop_listening(Core *core) {
  while (core->listener_count) {
    Listener *listener = &core->listeners[--core->listener_count];
    watch(core, EPOLL_CTL_DEL, listener->fd, 0, NULL);
    Py_CLEAR(listener->server);
  }
  core->resting = false;
}

/* --- a round ------------------------------------------------------------------------------------------- */

static bool is_listener(const Core *core, const void *target) {
  uintptr_t at = (uintptr_t) target, first = (uintptr_t) core->listeners;
  return at >= first && at < first + sizeof(core->listeners);
}

static void run_ready(Core *core) {
  Conn *list = core->ready;
  core->ready = NULL; /* whoever becomes ready again waits for the next round */
  while (list != NULL) {
    Conn *c = list;
    list = c->next_ready;
    c->is_ready = false;
    if (c->state != IN_CLOSED) conn_run_buffered(c);
    Py_DECREF(c);
  }
}

static void look_at(Core *core, const struct epoll_event *event) {
  const Listener *listener = event->data.ptr;
  if (!is_listener(core, listener)) dispatch(event->data.ptr, event->events);
  else if (listener < core->listeners + core->listener_count) accept_all(core, listener);
}

static PyObject *raise_kept(Core *core) {
  PyObject *error = core->error;
  core->error = NULL;
  PyErr_SetObject((PyObject *) Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

PyObject *core_poll(Core *core, PyObject *unused) {
  struct epoll_event events[EVENTS_MOST];
  (void) unused;
  if (core->polling) Py_RETURN_NONE;
  core->polling = true;
  core->poll_scheduled = false;
  core->now = clock_ms();
  int count = core->epoll >= 0 ? epoll_wait(core->epoll, events, EVENTS_MOST, 0) : 0;
  for (int i = 0; i < count; i++) look_at(core, &events[i]);
  run_ready(core);
  bury(core);
  core->polling = false;
  if (core->ready) net_schedule_poll(core);
  if (core->error) return raise_kept(core);
  Py_RETURN_NONE;
}

void net_schedule_poll(Core *core) {
  if (core->poll_scheduled || core->polling) return;
  PyObject *poll = PyObject_GetAttrString((PyObject *) core, "poll");
  PyObject *handle = poll ? PyObject_CallMethodOneArg(core->loop, str_call_soon, poll) : NULL;
  core->poll_scheduled = handle != NULL;
  if (handle == NULL) core_trouble(core);
  Py_XDECREF(poll);
  Py_XDECREF(handle);
}

PyObject *core_sweep(Core *core, PyObject *unused) {
  (void) unused;
  core->now = clock_ms();
  deadlines_expire(core);
  if (core->resting && !(core->connections_most && core->conn_count >= core->connections_most)) {
    net_wake_listeners(core);
  }
  if (core->error) return raise_kept(core);
  Py_RETURN_NONE;
}
