"""How templates name runs and tasks, as filters beside those of http/pages/formatting.py.

| filter | shows |
|---|---|
| `run|test_name` | the test in one or two words |
| `run|run_status` | its state, for the macro `status` |
| `run_id|task_page(task)` | the address of a task in the list of its run's tasks |
| `task|task_state` | playing, ended, struck out, kept apart |
"""

from collections.abc import Callable, Mapping

from rookery.server.farm.show.run_description import name_test
from rookery.server.farm.show.run_row import label_status
from rookery.server.farm.show.run_tables import address_task, describe_task_state

RUN_FILTERS: Mapping[str, Callable[..., object]] = {
    "run_status": label_status,
    "task_page": address_task,
    "task_state": describe_task_state,
    "test_name": name_test,
}
"""The names of these functions in templates."""
