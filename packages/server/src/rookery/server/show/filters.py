"""How templates name runs, tasks and engines, as filters beside those of http/pages/formatting.py.

| filter | shows |
|---|---|
| `run|test_name`, `run|sides` | the test in one or two words; the names of both sides |
| `run|question`, `run|conditions` | what it asks, and how it is played |
| `run|difference` | where the tested change can be read |
| `run|run_status` | its state, for the macro `status` |
| `run|tabs(shown)`, `run|relation(earlier)` | its pages; "again after" an earlier run |
| `run|played`, `row|time_left`, `elo|shown_elo` | the share played; 3 h left; +2.31 ± 1.45 |
| `run|commit_message`, `text|links` | what its new side says; pieces, of which some are links |
| `run_id|task_page(task)` | the address of a task in the list of its run's tasks |
| `task|task_state` | playing, ended, struck out, kept apart |
| `game|result`, `game|points`, `ending|ending` | 1-0; what that is for the new side; why |
| `side|source`, `side|options`, `spec|bounds`, `spec|scale` | what `run_settings.html` tells |
| `pairs|columns`, `tune|parameter_path(place)` | coordinates of small drawings |
"""

from collections.abc import Callable, Mapping

from rookery.core.model.timecontrol import parse
from rookery.server.http.pages.linked_text import split_links
from rookery.server.http.pages.marks import draw_columns
from rookery.server.show.game_words import describe_points, name_ending, spell_result
from rookery.server.show.heading import describe_earlier, list_run_tabs
from rookery.server.show.run_description import (
    describe_conditions,
    describe_question,
    describe_run,
    find_message,
    find_source_address,
    link_difference,
    list_needs,
    name_sides,
    name_source,
    name_test,
    spell_options,
)
from rookery.server.show.run_parts import name_scale, spell_bounds
from rookery.server.show.run_row import (
    describe_time_left,
    find_share,
    label_status,
    round_off,
    show_elo,
    shows_pairs,
)
from rookery.server.show.run_tables import (
    address_task,
    describe_task_state,
    draw_parameter,
    tell_event,
)

RUN_FILTERS: Mapping[str, Callable[..., object]] = {
    "bounds": spell_bounds,
    "columns": draw_columns,
    "commit_message": find_message,
    "conditions": describe_conditions,
    "difference": link_difference,
    "ending": name_ending,
    "event_words": tell_event,
    "links": split_links,
    "needs": list_needs,
    "options": spell_options,
    "parameter_path": draw_parameter,
    "played": find_share,
    "points": describe_points,
    "question": describe_question,
    "read_tc": parse,
    "relation": describe_earlier,
    "result": spell_result,
    "rough": round_off,
    "run_status": label_status,
    "scale": name_scale,
    "sentence": describe_run,
    "shown_elo": show_elo,
    "shows_pairs": shows_pairs,
    "sides": name_sides,
    "source": name_source,
    "source_address": find_source_address,
    "tabs": list_run_tabs,
    "task_page": address_task,
    "task_state": describe_task_state,
    "test_name": name_test,
    "time_left": describe_time_left,
}
"""The names of these functions in templates."""
