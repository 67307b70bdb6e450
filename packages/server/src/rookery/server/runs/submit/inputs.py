"""The inputs of the form of a new test, by the names of a submission's fields."""

from rookery.core.model.kinds import CHOSEN
from rookery.server.http.form import (
    ADDRESS,
    AREA,
    CHOICE,
    DIGITS,
    NUMBER,
    PAIRS,
    TICK,
    WHOLE,
    WORDS,
    DeclaredForm,
    Input,
    declare,
)
from rookery.server.show.kinds import FORM_PAGES

WIDE = "field-wide"
MOST_TESTS = declare(
    Input("new_tag", "New: branch, tag or commit", more={"placeholder": "my-idea"}),
    Input("base_tag", "Base: what it plays against"),
    Input(
        "tests_repo",
        "Repository",
        ADDRESS,
        "Set your default for each engine in your profile.",
        style=WIDE,
    ),
    Input("new_signature", "Bench of the new side", DIGITS, "Default: from the commit message."),
    Input("base_signature", "Bench of the base", DIGITS, "Default: from the commit message."),
    Input("new_options", "Options of the new side"),
    Input("base_options", "Options of the base"),
    Input("info", "Description", AREA, "Default: the commit message.", style=WIDE),
    Input("num_games", "Games at most", WHOLE, "Optional for SPRT."),
    Input("tc", "Time control", hint="10+0.1, N=25000, D=12 or MT=0.5"),
    Input("threads", "Threads", WHOLE),
    Input("book", "Opening book", more={"list": "books"}),
    Input("priority", "Priority", WHOLE, "Default: 0. Higher goes first.", more={"placeholder": 0}),
    Input("throughput", "Throughput, %", WHOLE, "Default: 100.", more={"placeholder": 100}),
    Input("auto_purge", "Purge automatically at the end", TICK),
)
"""The inputs that a test usually has, in the order of the page."""
FOLDED = declare(
    Input("resolved_new", "Commit of the new side", hint="40 hex digits. Default: looked up."),
    Input("resolved_base", "Commit of the base"),
    Input(
        "base_repo",
        "Repository of the base",
        ADDRESS,
        "Default: the same. Official workers need one for both.",
        style=WIDE,
    ),
    Input("new_binary", "Program of the new side"),
    Input("base_binary", "Program of the base"),
    Input("new_nets", "Nets of the new side", WORDS),
    Input("base_nets", "Nets of the base", WORDS),
    Input(
        "new_uci",
        "Options of the new side with spaces, one per line: Name = value",
        PAIRS,
        style=WIDE,
        more={"rows": 2},
    ),
    Input("base_uci", "Options of the base with spaces", PAIRS, style=WIDE, more={"rows": 2}),
    Input("base_engine", "Engine of the base"),
    Input("master_repo", "Target repository of the patch", ADDRESS),
    Input("new_tc", "Time control of the new side", hint="Default: the same."),
    Input("new_threads", "Threads of the new side", WHOLE),
    Input("base_threads", "Threads of the base", WHOLE),
    Input(
        "book_depth",
        "Moves from a book of games",
        WHOLE,
        "For .pgn books only.",
        more={"placeholder": 8},
    ),
    Input("book_sri", "Hash of the book"),
    Input(
        "variant",
        "Variant",
        CHOICE,
        options=(("", "as the book says"), ("standard", "standard"), ("chess960", "Chess960")),
    ),
    Input(
        "scaling",
        "Scale time to machine speed",
        CHOICE,
        options=(("nps", "scaled"), ("off", "not scaled")),
    ),
    Input(
        "reference_nps",
        "Reference speed",
        NUMBER,
        "In nodes per second, if the engine has none.",
    ),
    Input("time_margin_ms", "Time margin in ms", WHOLE),
    Input(
        "pgn_detail",
        "Keep games",
        CHOICE,
        options=(
            ("", "default"),
            ("full", "with comments"),
            ("moves", "moves only"),
            ("none", "no"),
        ),
    ),
    Input("syzygy_men", "Tablebases: most pieces", WHOLE, more={"placeholder": 0}),
    Input(
        "adjudication",
        "End decided games early, as official workers do where no rule is given here",
        TICK,
    ),
    Input("resign.score", "Resign at (centipawns)", WHOLE),
    Input("resign.moves", "for (moves)", WHOLE),
    Input("draw.score", "Draw within (centipawns)", WHOLE),
    Input("draw.moves", "for (moves)", WHOLE),
    Input("draw.from_move", "from move", WHOLE),
    Input("resign.two_sided", "Both sides must agree on a resignation", TICK),
    Input("strict_pv", "Check the engines' PVs", TICK),
    Input("arch_filter", "Only architectures like", hint="A pattern, such as avx512."),
    Input(
        "compiler",
        "Only with compiler",
        CHOICE,
        options=(("", "any"), ("g++", "g++"), ("clang++", "clang++")),
    ),
    Input("mirrored", "Workers get the sources from this server", TICK),
)
"""Inputs that most tests do not change."""
UNSEEN = declare(Input("rescheduled_from"), Input("msg_new"), Input("msg_base"))
"""Inputs that the page does not show; only scripts send them."""
OF_KINDS = {name: each for page in FORM_PAGES.values() for name, each in page.form.inputs.items()}
"""Inputs of a single kind of test."""
RARE = FOLDED.keys() | {name for page in FORM_PAGES.values() for name in page.form.folded}
PLACES = {
    **{name: page.form.error_input for name, page in FORM_PAGES.items() if name in CHOSEN},
    "new_repo": "tests_repo",
}
"""The input beside which an error of a whole group is shown."""
ENGINE = declare(Input("new_engine", "Engine"))
FORM = DeclaredForm({**ENGINE, **MOST_TESTS, **OF_KINDS, **FOLDED, **UNSEEN}, PLACES)
INPUTS = FORM.inputs
SWITCHES = tuple(name for name, each in INPUTS.items() if each.kind is TICK)
