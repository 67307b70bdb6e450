"""What pages show: frozen values made from runs, tasks and points. Nothing here waits."""
