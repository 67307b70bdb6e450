"""`rookery serve`: the server alone."""

import argparse

from rookery.cli.arguments import add_settings, settings_of
from rookery.cli.process import run_site

SETTINGS = (
    "host",
    "port",
    "http",
    "data",
    "database_url",
    "base_url",
    "allowed_hosts",
    "trusted_proxies",
    "threadpool_tokens",
    "task_semaphore_size",
    "cross_approval",
    "stop_run_cpu_hours",
    "complaint_cpu_hours",
    "complaint_days",
    "limit_per_address",
    "cores_per_user",
    "mind_github_quota",
    "nets_url",
    "log_format",
    "log_level",
    "access_log",
    "detect_blocking",
)


EXAMPLES = """\
examples:

  rookery serve
  rookery serve --host 0.0.0.0 --base-url https://farm.example.org
  rookery serve --database-url postgresql://rookery@db.example.org/rookery"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.description = (
        "Starts the server, and an embedded PostgreSQL unless another one is named."
        " Ctrl-C or SIGTERM stops both; SIGUSR1 writes every thread's stack to stderr."
    )
    add_settings(parser, SETTINGS)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    return run_site(settings_of(parsed))
