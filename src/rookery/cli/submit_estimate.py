"""What a run will take, in words, before it is made."""

from rookery.cli.tables import table
from rookery.protocol import v1

FEW_HOURS = 48


def estimate(preview: v1.Preview) -> str:
    args = preview.args
    new = f"{args.new_tag} ({args.resolved_new[:8]})"
    base = f"{args.base_tag} ({args.resolved_base[:8]})"
    lines = [
        f"{new} vs {base}, {args.tc}, {args.book}",
        *_lengths(preview),
        f"Cost: about {_amount(preview.core_hours)} core hours, for {preview.games:,.0f} games.",
        _fleet(preview.fleet),
    ]
    return "\n".join(lines)


def _lengths(preview: v1.Preview) -> list[str]:
    if not preview.lengths:
        return []
    rows = [
        (
            f"{length.elo:+g}",
            f"{length.pass_chance:.0%}",
            f"{length.mean_games:,.0f}",
            f"{length.early_games:,.0f} to {length.late_games:,.0f}",
        )
        for length in preview.lengths
    ]
    return [table(("if it is worth", "it passes", "mean games", "8 of 10 tests take"), rows)]


def _fleet(fleet: v1.FleetNow) -> str:
    if not isinstance(fleet.hours, float):
        return "No machine that could play it is connected right now."
    which = "With the one machine" if fleet.machines == 1 else f"With all {fleet.machines} machines"
    cores = "1 core" if fleet.cores == 1 else f"{fleet.cores} cores"
    return f"{which} connected that could play it ({cores}): {_hours(fleet.hours)}."


def _hours(hours: float) -> str:
    if hours < 1:
        return f"about {max(1, round(hours * 60))} minutes"
    if hours < FEW_HOURS:
        return f"about {hours:.1f} hours"
    return f"about {hours / 24:.0f} days"


def _amount(number: float) -> str:
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"
