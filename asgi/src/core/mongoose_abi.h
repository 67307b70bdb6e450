/* The part of Mongoose 7.23's binary interface that the core uses, as the pinned cymongoose wheel
 * exports it. Declared here so that a build needs no download; mongoose.c tries every field at
 * run time before the first client, and a proof compares this file with the real header. */
#ifndef ROOKERY_MONGOOSE_ABI_H
#define ROOKERY_MONGOOSE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MONGOOSE_WHEEL "0.2.5"

enum { MONGOOSE_EV_OPEN = 1, MONGOOSE_EV_CLOSE = 9 };

typedef struct {
  unsigned char *buf;
  size_t size, len, align;
} mongoose_iobuf;

typedef struct {
  uint8_t ip[16];
  uint16_t port;
  uint8_t scope_id;
  bool is_ip6;
} mongoose_addr_fields;

/* Mongoose's address holds a 64-bit member, which decides its alignment. */
typedef union {
  mongoose_addr_fields fields;
  uint64_t aligned;
} mongoose_addr;

struct mongoose_mgr;
struct mongoose_conn;
typedef void (*mongoose_event)(struct mongoose_conn *, int event, void *data);

/* The beginning of struct mg_connection; what follows is Mongoose's own business. */
typedef struct mongoose_conn {
  struct mongoose_conn *next;
  struct mongoose_mgr *mgr;
  mongoose_addr local, remote;
  void *fd;
  unsigned long id;
  mongoose_iobuf recv, send, prof, rtls;
  mongoose_event fn;
  void *fn_data;
  mongoose_event pfn;
  void *pfn_data;
  char data[32]; /* free for the user of the library */
} mongoose_conn;

typedef struct {
  const char *url;
  void *connection;
} mongoose_dns;

/* struct mg_mgr, followed by room so that a larger one would not write outside of ours. */
typedef struct mongoose_mgr {
  mongoose_conn *conns;
  mongoose_dns dns4, dns6;
  void *mdns;
  int dns_timeout;
  bool use_dns6;
  unsigned long next_id;
  void *userdata, *tls_ctx;
  uint16_t mqtt_id;
  void *dns_requests, *mdns_requests, *timers;
  int epoll_fd;
  char room[1024];
} mongoose_mgr;

typedef struct {
  void (*mgr_init)(mongoose_mgr *);
  void (*mgr_free)(mongoose_mgr *);
  mongoose_conn *(*wrapfd)(mongoose_mgr *, int fd, mongoose_event, void *fn_data);
  void (*close_conn)(mongoose_conn *);
} MongooseCalls;

extern MongooseCalls mongoose;

/* Resolves the calls from the shared object at `path` and tries the layout. Returns NULL, or a
 * sentence that says what is wrong. */
const char *mongoose_bind(const char *path);

/* Opens and closes connections at a cost that does not grow with their number. */
mongoose_conn *mongoose_open(mongoose_mgr *mgr, int fd, mongoose_event fn, void *fn_data);
void mongoose_close(mongoose_conn *connection);

#endif
