/* What the core's Python face asks of the sockets, beside what core.h declares for everyone. */
#ifndef ROOKERY_NET_H
#define ROOKERY_NET_H

#include "core.h"

bool net_listen(Core *core, int fd, PyObject *server, bool tcp, bool secure);
void net_read(Conn *c); /* what has arrived, if anything has */
void net_stop_listening(Core *core);
void net_wake_listeners(Core *core);

#endif
