"""The operating system under a worker: what the machine has, and what differs between systems."""

from rookery.worker.system.here import ThisSystem
from rookery.worker.system.port import Cpu, System

__all__ = ["Cpu", "System", "ThisSystem"]
