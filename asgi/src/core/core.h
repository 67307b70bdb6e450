/* The server's three objects and what its parts say to one another.
 *
 * Core     the epoll descriptor, its listeners and all that connections share
 * Conn     one connection: a machine fed with bytes; its socket is optional (tests, TLS)
 * Request  one request and its response, seen by the application as receive() and send()
 *
 * Ownership. An open socket holds its Conn. A Conn holds its present Request; a Request only
 * borrows its Conn and loses it when the response has ended or the connection is gone. The Core
 * holds every Request whose task has not ended. */
#ifndef ROOKERY_CORE_H
#define ROOKERY_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "chunked.h"
#include "head.h"
#include "outq.h"

typedef struct Core Core;
typedef struct Conn Conn;
typedef struct Request Request;

/* --- time-outs: lists ordered by time of entry, so that a tick looks at the expired only ---- */

typedef enum { WAIT_NONE, WAIT_HEAD, WAIT_IDLE, WAIT_BODY, WAIT_LINGER, WAIT_WRITE, WAIT_KINDS } Wait;

typedef struct Deadline {
  struct Deadline *prev, *next;
  Conn *conn;
  int64_t since;  /* milliseconds */
  uint64_t mark;  /* bytes that had passed then */
  uint8_t kind;   /* a Wait; WAIT_NONE when in no list */
} Deadline;

typedef struct {
  Deadline *first, *last;
} DeadlineList;

/* --- counters -------------------------------------------------------------------------------- */

typedef struct {
  uint64_t connections, requests, websockets, refused, timeouts, failures, disconnects, rests;
  uint64_t bytes_in, bytes_out;
  uint64_t responses[6]; /* by the first digit of the status */
} Counters;

/* --- the core -------------------------------------------------------------------------------- */

enum { RECEIVE_BUFFER = 128 * 1024, LISTENERS_MOST = 64, FIELDS_MOST = 32 };

/* A field that the operator adds to responses that have none of its name. */
typedef struct {
  const char *line; /* "name: value\r\n" */
  size_t name_length, length;
} OwnField;

typedef struct {
  int fd;
  PyObject *server; /* what scopes say, or NULL when it differs by connection */
  bool tcp, secure;
} Listener;

struct Core {
  PyObject_HEAD
  int epoll; /* -1 once closed */
  bool polling, stepping, stopping, poll_scheduled, resting;
  /* Python's side */
  PyObject *app, *loop, *create_future;
  PyObject *hook_websocket, *hook_failed, *hook_refused, *hook_forwarded, *hook_accepted;
  PyObject *state, *http_template, *websocket_template, *asgi_versions, *access, *error;
  PyObject *root_path_raw, *root_path;
  bool send_date, send_server, log_headers;
  PyObject *field_lines; /* keeps the own fields alive */
  OwnField fields[FIELDS_MOST];
  int field_count;
  uint8_t task_mode;
  /* limits */
  HeadLimits limits;
  int64_t body_most;
  size_t high_water, connections_most;
  int64_t wait_ms[WAIT_KINDS];
  uint64_t least_bytes; /* that must pass within a body or write wait */
  /* what lives */
  Listener listeners[LISTENERS_MOST];
  int listener_count;
  Conn *conns, *ready, *doomed;
  Request *live;
  size_t conn_count, live_count;
  DeadlineList waits[WAIT_KINDS];
  int64_t now;
  Head head; /* shared by all heads that arrive in one piece */
  Counters counters;
  unsigned char *rx;
};

/* --- a connection ---------------------------------------------------------------------------- */

typedef enum { IN_HEAD, IN_SIZED, IN_CHUNKED, IN_DONE, IN_PIPE, IN_DISCARD, IN_CLOSED } InState;

struct Conn {
  PyObject_HEAD
  Core *core;
  int fd; /* -1 without a socket or after closing */
  Conn *prev, *next, *next_ready, *next_doomed;
  PyObject *client, *server, *filter, *sink;
  Request *request;
  Head *head; /* own progress of a head that came in pieces */
  Buffer in;
  Outq out, sealed; /* `sealed` only with a filter (TLS) */
  Chunked chunked;
  int64_t body_left, discarded;
  uint64_t bytes_in, bytes_out;
  Deadline reading, writing;
  uint32_t watching;
  uint32_t burst; /* bytes written since the application last gave way */
  uint8_t state;  /* an InState */
  bool running, is_ready, paused, held, eof, half_closed, secure, close_when_flushed, linger, corked;
  bool pipe_full, said_farewell;
  bool stalled; /* further requests wait until the client has read its responses */
};

static inline size_t pending_output(const Conn *c) {
  return c->out.bytes + c->sealed.bytes;
}

/* --- a request --------------------------------------------------------------------------------- */

/* OUT_TRAILERS: the body has ended, and trailers were promised. */
typedef enum { OUT_NOTHING, OUT_STARTED, OUT_STREAMING, OUT_TRAILERS, OUT_ENDED } OutState;
enum { HEAD_INLINE = 448 };

struct Request {
  PyObject_HEAD
  Core *core;
  Conn *conn; /* borrowed; NULL once the request has left its connection */
  Request *prev, *next;
  PyObject *scope, *body, *task, *receivers, *senders, *log_line;
  int64_t declared, sent; /* the response's content-length (or -1) and body bytes so far */
  int64_t started_at; /* microseconds; 0 where no one logs */
  char *head;
  size_t head_length, head_capacity;
  uint16_t status;
  uint8_t out; /* an OutState */
  bool started, live, body_complete, body_delivered, disconnected, gone;
  bool keep_alive, head_only, expects_continue, http10, chunked, bodiless, content_length_given;
  bool connection_named, trailers;
  char head_inline[HEAD_INLINE];
};

/* conn.c, endings.c, connobject.c: the machine, how it ends, and the object around it */
extern PyTypeObject ConnType;
Conn *conn_new(Core *core, PyObject *client, PyObject *server);
void conn_feed(Conn *c, const unsigned char *bytes, size_t length);
void conn_run_buffered(Conn *c);
void conn_eof(Conn *c);
void conn_lost(Conn *c);
void conn_refuse(Conn *c, int status);
void conn_tell_refused(Conn *c, int status);
void conn_response_ended(Conn *c, bool keep_alive);
void conn_close_gently(Conn *c, bool linger);
void conn_make_ready(Conn *c);
bool conn_is_full(const Conn *c);
void conn_body_taken(Conn *c);
void conn_drained(Conn *c);
bool conn_is_between(const Conn *c);
void conn_drop_head(Conn *c);
void conn_set_wait(Conn *c); /* chooses the time-out of what is awaited now */

/* scope.c */
bool scope_setup(Core *core, PyObject *root_path);
PyObject *scope_http(Conn *c, const Head *head, const unsigned char *bytes);
PyObject *scope_websocket(Conn *c, const Head *head, const unsigned char *bytes);

/* request.c */
extern PyTypeObject RequestType;
Request *request_new(Conn *c, const Head *head, const unsigned char *bytes);
void request_start(Request *r);
bool request_add_body(Request *r, const unsigned char *bytes, size_t length);
void request_body_complete(Request *r);
void request_disconnect(Request *r, bool gone);
void request_wake_senders(Request *r);
PyObject *request_message(Request *r); /* NULL without an error: nothing to say yet */
void request_log(Request *r);
void request_log_refused(Conn *c, int status);
void wake(PyObject **waiters);

/* extensions.c: what ASGI has beside the response's start and body */
PyObject *extensions_of(const Conn *c, const Head *head);
bool extensions_setup(void);
PyObject *request_send_extension(Request *r, PyObject *message, PyObject *type);

/* response.c */
typedef struct {
  PyObject *bytes; /* or NULL, and part of a file */
  int file;        /* closed when it was not sent */
  off_t offset;
  size_t length;
} Piece;
bool bad_message(const char *why);
bool response_put_trailers(Request *r, PyObject *headers);
bool response_put_hints(Request *r, PyObject *links);
PyObject *response_send_piece(Request *r, Piece *piece, bool more);
PyObject *response_end_trailers(Request *r);
PyObject *response_after_chunk(Request *r); /* awaits until more may be written */
PyObject *request_send(Request *r, PyObject *message);
bool response_write_error(Conn *c, int status);
PyObject *response_own_fields(Core *core);

/* awaitable.c */
extern PyTypeObject AwaitableType;
bool awaitable_setup(void);
PyObject *await_nothing(void);
PyObject *await_value(PyObject *stolen);
PyObject *await_turn(void);
PyObject *await_receive(Request *r);
PyObject *await_send(Request *r);

/* tasks.c */
bool tasks_setup(PyObject *module);
bool tasks_choose(Core *core);
PyObject *task_start(Core *core, PyObject *awaitable);
bool tasks_was_cancelled(void); /* whether that is what the present error says */
PyObject *tasks_adopt_loop(PyObject *module, PyObject *loop_type);

/* net.c */
extern PyTypeObject CoreType;
void net_flush(Conn *c);
void net_watch(Conn *c);
void net_shut(Conn *c);  /* no more output */
void net_close(Conn *c); /* the socket is gone when the present round ends */
void net_schedule_poll(Core *core);
PyObject *core_poll(Core *core, PyObject *unused);
PyObject *core_sweep(Core *core, PyObject *unused);

/* deadlines.c */
void deadline_set(Conn *c, Wait kind);
void deadline_watch_output(Conn *c);
void deadline_clear(Core *core, Deadline *deadline);
void deadlines_expire(Core *core);
int64_t clock_ms(void);
int64_t clock_us(void);

/* module.c */
extern PyObject *ClientDisconnected;
void core_trouble(Core *core); /* keeps the present error for the end of the round */

#define STRINGS(X)                                                                               \
  X(type) X(asgi) X(http_version) X(method) X(path) X(raw_path) X(query_string) X(root_path)     \
  X(scheme) X(server) X(client) X(headers) X(status) X(body) X(more_body) X(state)               \
  X(extensions) X(subprotocols) X(http) X(https) X(ws) X(wss) X(websocket) X(done) X(exception)  \
  X(set_result) X(add_done_callback) X(call_soon) X(loop) X(name) X(eager_start)                 \
  X(create_future) X(data) X(lost) X(drained) X(received) X(seal) X(farewell) X(tls) X(scope) X(file) X(offset) X(count)     \
  X(trailers) X(more_trailers) X(links)
#define DECLARE_STRING(name) extern PyObject *str_##name;
STRINGS(DECLARE_STRING)
extern PyObject *str_http_request, *str_http_disconnect, *str_response_start, *str_response_body;
extern PyObject *str_eof, *str_1_1, *str_1_0, *bytes_empty;

#endif
