"""The options that can't be honoured over cymongoose's public API, each with the reason."""

import dataclasses

from rookery_asgi.errors import BadOption
from rookery_asgi.options import Options, flag_of

TLS = "Mongoose's own TLS refuses TLS 1.2 and some keys; let a proxy in front speak TLS"
TCP = "Mongoose listens on TCP addresses that it opens itself"
ONE = "Mongoose can't listen on a socket that several processes share"
REASONS = {
    "uds": TCP,
    "fd": TCP,
    "binds": TCP,
    "backlog": "Mongoose's backlog is 128",
    "workers": ONE,
    "supervise": ONE,
    "shared_socket": ONE,
    "limit_max_requests": ONE,
    "limit_max_requests_jitter": ONE,
    "limit_worker_age": ONE,
    "limit_worker_memory": ONE,
    "reload": ONE,
    "reload_dirs": ONE,
    "reload_poll": ONE,
    "ssl_certfile": TLS,
    "ssl_keyfile": TLS,
    "ssl_keyfile_password": TLS,
    "ssl_ca_certs": TLS,
    "ssl_cert_reqs": TLS,
    "ssl_crl": TLS,
    "ssl_ciphers": TLS,
    "headers": "the adapter writes the fields that the application gives",
    "metrics_path": "the counters are the C core's",
    "limit_connections": "Mongoose accepts whoever comes",
    "least_bytes": "Mongoose does not say how many bytes it has written",
    "timeout_lifespan": "the adapter waits 5 seconds for the application's shutdown",
}


def refuse_options(options: Options) -> None:
    """Raise BadOption for the first one that was set and would have no effect."""
    for field in dataclasses.fields(Options):
        reason = REASONS.get(field.name)
        if reason is not None and getattr(options, field.name) != field.default:
            raise BadOption(f"{flag_of(field)} with --core mongoose", reason)
