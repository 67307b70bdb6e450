/* Finds Mongoose in the cymongoose wheel, tries its layout, and opens and closes its connections. */
#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mongoose_abi.h"

MongooseCalls mongoose;

static bool resolve(void *library, const char *name, void **call) {
  *call = dlsym(library, name);
  return *call != NULL;
}

static const char *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return "the shared object of cymongoose could not be loaded";
  /* the library stays loaded for the life of the process, as any Python extension does */
  if (!resolve(library, "mg_mgr_init", (void **) &mongoose.mgr_init) ||
      !resolve(library, "mg_mgr_free", (void **) &mongoose.mgr_free) ||
      !resolve(library, "mg_wrapfd", (void **) &mongoose.wrapfd) ||
      !resolve(library, "mg_close_conn", (void **) &mongoose.close_conn)) {
    return "the shared object of cymongoose does not export Mongoose's functions";
  }
  int *log_level = dlsym(library, "mg_log_level");
  if (log_level != NULL) *log_level = 0; /* Mongoose would write to standard output */
  return NULL;
}

/* --- the trial --------------------------------------------------------------------------- */

typedef struct {
  int opened, closed;
} Trial;

static void note_event(mongoose_conn *connection, int event, void *data) {
  Trial *trial = connection->fn_data;
  (void) data;
  if (event == MONGOOSE_EV_OPEN) trial->opened++;
  if (event == MONGOOSE_EV_CLOSE) trial->closed++;
}

static bool connection_looks_right(mongoose_conn *c, mongoose_mgr *mgr, int fd, Trial *trial) {
  static const char nothing[sizeof(c->data)];
  return mgr->conns == c && c->next == NULL && c->mgr == mgr && (int) (size_t) c->fd == fd &&
         c->id == mgr->next_id && c->id == 1 && c->fn == note_event && c->fn_data == trial &&
         c->recv.buf == NULL && c->recv.len == 0 && c->recv.align == c->send.align &&
         c->send.align == c->rtls.align && c->send.align >= 512 && c->send.buf == NULL &&
         memcmp(c->data, nothing, sizeof(nothing)) == 0;
}

static bool manager_looks_right(const mongoose_mgr *mgr) {
  return mgr->conns == NULL && mgr->epoll_fd > 2 && mgr->dns_timeout == 3000 &&
         mgr->timers == NULL && mgr->dns4.url != NULL && mgr->dns6.url != NULL;
}

static bool try_connection(mongoose_mgr *mgr, int fd) {
  Trial trial = {0, 0};
  mongoose_conn *c = mongoose.wrapfd(mgr, fd, note_event, &trial);
  if (c == NULL || trial.opened != 1) return false;
  if (!connection_looks_right(c, mgr, fd, &trial)) return false;
  mongoose.close_conn(c);
  return trial.closed == 1 && mgr->conns == NULL;
}

static const char *try_layout(void) {
  static const char moved[] = "Mongoose in this cymongoose has another layout than expected";
  mongoose_mgr mgr;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return "no socket pair";
  memset(&mgr, 0, sizeof(mgr));
  mongoose.mgr_init(&mgr);
  bool right = manager_looks_right(&mgr) && try_connection(&mgr, pair[0]);
  close(pair[0]);
  close(pair[1]);
  if (!right) return moved; /* the manager is leaked on purpose: its layout is unknown */
  mongoose.mgr_free(&mgr);
  return NULL;
}

const char *mongoose_bind(const char *path) {
  static bool bound;
  const char *wrong = NULL;
  if (!bound) wrong = load(path);
  if (!bound && wrong == NULL) wrong = try_layout();
  bound = wrong == NULL;
  return wrong;
}

/* --- connections -------------------------------------------------------------------------- */

/* Mongoose links each new connection in as the head of a singly linked list and walks that list
 * to unlink it. Taken out while it is the head and put back just before the end, a connection
 * costs the same among ten as among ten thousand. */
mongoose_conn *mongoose_open(mongoose_mgr *mgr, int fd, mongoose_event fn, void *fn_data) {
  mongoose_conn *connection = mongoose.wrapfd(mgr, fd, fn, fn_data);
  if (connection != NULL) mgr->conns = connection->next;
  return connection;
}

void mongoose_close(mongoose_conn *connection) {
  connection->next = connection->mgr->conns;
  connection->mgr->conns = connection;
  mongoose.close_conn(connection);
}
