"""All settings of a server as one frozen value."""

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line can say; names follow uvicorn's where it has the same thing."""

    core: str = "c"
    host: str = "127.0.0.1"
    port: int = 8000
    uds: str | None = None
    fd: int | None = None
    binds: tuple[str, ...] = ()
    backlog: int = 2048
    workers: int = 1
    supervise: bool = False
    shared_socket: bool = False
    reload: bool = False
    reload_poll: bool = False
    reload_dirs: tuple[str, ...] = ()
    loop: str = "auto"
    lifespan: str = "auto"
    app_dir: str = ""
    factory: bool = False
    root_path: str = ""
    proxy_headers: bool = True
    forwarded_allow_ips: str = "127.0.0.1"
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_keyfile_password: str | None = None
    ssl_ca_certs: str | None = None
    ssl_cert_reqs: str | None = None
    ssl_crl: str | None = None
    ssl_ciphers: str | None = None
    access_log: bool = True
    access_log_format: str = "json"
    log_level: str = "info"
    log_config: str | None = None
    headers: tuple[str, ...] = ()
    date_header: bool = True
    server_header: bool = True
    metrics_path: str | None = None
    limit_request_line: int = 16 * 1024
    limit_head: int = 64 * 1024
    limit_body: int = 0
    limit_connections: int = 0
    high_water: int = 64 * 1024
    least_bytes: int = 1024
    timeout_head: float = 20.0
    timeout_keep_alive: float = 5.0
    timeout_body: float = 30.0
    timeout_write: float = 60.0
    timeout_graceful_shutdown: float = 10.0
    timeout_disconnect: float = 1.0
    timeout_lifespan: float = 30.0
    limit_max_requests: int = 0
    limit_max_requests_jitter: int = 0
    limit_worker_age: float = 0.0
    limit_worker_memory: int = 0
    ws: bool = True
    ws_max_size: int = 16 * 1024 * 1024
    ws_ping_interval: float = 20.0
    ws_ping_timeout: float = 20.0
    ws_per_message_deflate: bool = True


def flag_of(field: "dataclasses.Field[object]") -> str:
    """The option on the command line; one that may be repeated is in the singular there."""
    many = isinstance(field.default, tuple)
    return "--" + (field.name.removesuffix("s") if many else field.name).replace("_", "-")
