/* Sockets: what Mongoose's epoll descriptor reports is read, written, accepted and closed here. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net.h"

enum { EVENTS_MOST = 256, ACCEPTS_MOST = 256, VECTORS_MOST = 16 };

static int fd_of(const mongoose_conn *socket) {
  return (int) (size_t) socket->fd;
}

/* --- watching ------------------------------------------------------------------------------------- */

static void watch(mongoose_conn *socket, uint32_t events) {
  struct epoll_event event = {.events = events, .data = {.ptr = socket}};
  epoll_ctl(socket->mgr->epoll_fd, EPOLL_CTL_MOD, fd_of(socket), &event);
}

/* While reading rests, EPOLLRDHUP still tells of a client that leaves; once is enough. */
void net_watch(Conn *c) {
  if (c->socket == NULL || c->state == IN_CLOSED) return;
  if (c->paused && !conn_is_full(c)) c->paused = false;
  uint32_t wanted = 0;
  if (c->out.bytes + c->sealed.bytes) wanted |= EPOLLOUT;
  if (!c->paused && !c->eof) wanted |= EPOLLIN;
  else if (!c->eof && !c->half_closed) wanted |= EPOLLRDHUP;
  if (wanted == c->watching) return;
  c->watching = wanted;
  watch(c->socket, wanted);
}

/* --- writing --------------------------------------------------------------------------------------- */

/* With TLS the filter turns what is to be sent into what goes over the wire. */
static bool seal(Conn *c) {
  PyObject *plain = c->out.bytes ? outq_take(&c->out) : NULL;
  PyObject *sealed = plain ? PyObject_CallMethodOneArg(c->filter, str_seal, plain) : NULL;
  bool sound = c->out.bytes == 0 && (plain == NULL || (sealed && PyBytes_Check(sealed)));
  if (sound && sealed) sound = outq_add_object(&c->sealed, sealed);
  Py_XDECREF(plain);
  Py_XDECREF(sealed);
  return sound && !PyErr_Occurred();
}

static bool say_farewell(Conn *c) {
  if (!c->close_when_flushed || c->said_farewell) return true;
  c->said_farewell = true;
  PyObject *last = PyObject_CallMethodNoArgs(c->filter, str_farewell);
  bool sound = last && PyBytes_Check(last) && outq_add_object(&c->sealed, last);
  Py_XDECREF(last);
  return sound;
}

static ssize_t write_once(int fd, struct iovec *vectors, int count) {
  struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t) count};
  if (count > 1) return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  /* the common case, and the cheaper call */
  return send(fd, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t write_some(Conn *c, const Outq *queue) {
  struct iovec vectors[VECTORS_MOST];
  int count = outq_vectors(queue, vectors, VECTORS_MOST);
  ssize_t written;
  do written = write_once(fd_of(c->socket), vectors, count);
  while (written < 0 && errno == EINTR);
  return written;
}

/* False when the connection is lost. */
static bool write_all(Conn *c, Outq *queue) {
  while (queue->bytes) {
    ssize_t written = write_some(c, queue);
    if (written < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    outq_drop(queue, (size_t) written);
    c->bytes_out += (uint64_t) written;
    c->core->counters.bytes_out += (uint64_t) written;
  }
  return true;
}

void net_flush(Conn *c) {
  if (c->state == IN_CLOSED) return;
  if (c->filter && !(seal(c) && say_farewell(c))) {
    core_trouble(c->core);
    conn_lost(c);
    return;
  }
  if (c->socket && !write_all(c, c->filter ? &c->sealed : &c->out)) {
    conn_lost(c);
    return;
  }
  deadline_watch_output(c);
  net_watch(c);
  conn_drained(c);
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

static void readable(Conn *c) {
  if (conn_is_full(c)) {
    c->paused = true;
    net_watch(c);
    return;
  }
  ssize_t count = recv(fd_of(c->socket), c->core->rx, RECEIVE_BUFFER, MSG_DONTWAIT);
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
  if (c->state != IN_CLOSED && (events & (EPOLLIN | EPOLLHUP)) && (c->watching & EPOLLIN)) readable(c);
  if (c->state != IN_CLOSED && (events & EPOLLRDHUP) && (c->watching & EPOLLRDHUP)) half_closed(c);
  Py_DECREF(c);
}

/* --- closing ----------------------------------------------------------------------------------------- */

void net_shut(Conn *c) {
  shutdown(fd_of(c->socket), SHUT_WR);
  c->linger = false;
  c->close_when_flushed = false;
  deadline_set(c, WAIT_LINGER);
  net_watch(c);
}

static void on_event(mongoose_conn *socket, int event, void *data) {
  Conn *c = socket->fn_data;
  (void) data;
  if (event != MONGOOSE_EV_CLOSE || c == NULL) return;
  c->socket = NULL;
  Py_DECREF((PyObject *) c);
}

/* The descriptor goes at once. Mongoose's connection stays until the round is over, because the
 * events still to be looked at may point to it. */
void net_close(Conn *c) {
  Core *core = c->core;
  if (c->socket == NULL) return;
  outq_clear(&c->out);
  outq_clear(&c->sealed);
  epoll_ctl(core->mgr.epoll_fd, EPOLL_CTL_DEL, fd_of(c->socket), NULL);
  close(fd_of(c->socket));
  if (core->resting) net_wake_listeners(core);
  if (!core->polling) {
    mongoose_close(c->socket);
    return;
  }
  c->next_doomed = core->doomed;
  core->doomed = c;
}

static void bury(Core *core) {
  while (core->doomed) {
    Conn *c = core->doomed;
    core->doomed = c->next_doomed;
    mongoose_close(c->socket);
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
  c->socket = mongoose_open(&core->mgr, fd, on_event, c);
  if (c->socket == NULL) {
    Py_DECREF(c);
    return false;
  }
  c->watching = EPOLLIN; /* that is how Mongoose begins */
  if (!add_filter(c)) {
    core_trouble(core);
    conn_lost(c); /* the reference now belongs to Mongoose's connection */
  }
  return true;
}

static void rest(Core *core) {
  core->resting = true;
  core->counters.rests++;
  for (int i = 0; i < core->listener_count; i++) watch(core->listeners[i].socket, 0);
}

void net_wake_listeners(Core *core) {
  core->resting = false;
  for (int i = 0; i < core->listener_count; i++) watch(core->listeners[i].socket, EPOLLIN);
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
    fd = accept4(fd_of(listener->socket), (struct sockaddr *) &peer, &length,
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

static void ignore_event(mongoose_conn *socket, int event, void *data) {
  (void) socket, (void) event, (void) data;
}

bool net_listen(Core *core, int fd, PyObject *server, bool tcp) {
  if (core->listener_count == LISTENERS_MOST) {
    PyErr_SetString(PyExc_ValueError, "too many listening sockets");
    return false;
  }
  mongoose_conn *socket = mongoose_open(&core->mgr, fd, ignore_event, NULL);
  if (socket == NULL) {
    PyErr_NoMemory();
    return false;
  }
  core->listeners[core->listener_count++] =
      (Listener) {socket, server == Py_None ? NULL : Py_NewRef(server), tcp};
  return true;
}

/* The descriptors stay the caller's: they may be inherited by the next process. */
void net_stop_listening(Core *core) {
  while (core->listener_count) {
    Listener *listener = &core->listeners[--core->listener_count];
    epoll_ctl(core->mgr.epoll_fd, EPOLL_CTL_DEL, fd_of(listener->socket), NULL);
    mongoose_close(listener->socket);
    Py_CLEAR(listener->server);
  }
  core->resting = false;
}

/* --- a round ------------------------------------------------------------------------------------------- */

static const Listener *listener_of(const Core *core, const mongoose_conn *socket) {
  for (int i = 0; i < core->listener_count; i++) {
    if (core->listeners[i].socket == socket) return &core->listeners[i];
  }
  return NULL;
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
  mongoose_conn *socket = event->data.ptr;
  if (socket->fn_data != NULL) {
    dispatch(socket->fn_data, event->events);
    return;
  }
  const Listener *listener = listener_of(core, socket);
  if (listener != NULL) accept_all(core, listener);
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
  int count = core->manager_open ? epoll_wait(core->mgr.epoll_fd, events, EVENTS_MOST, 0) : 0;
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
