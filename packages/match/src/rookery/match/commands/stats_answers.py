"""The answers of `rookery stats`: the results they are based on, and each answer as rows for people
and as data for programs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from cyclopts import Parameter, Token

from rookery.core.command import BadArgument, option
from rookery.core.stats.elo import FixedTest, estimate_elo, live_elo
from rookery.core.stats.likelihood import normalised_elo, pairing_gain
from rookery.core.stats.numbers import games_in, moments
from rookery.core.stats.outlook import Belief, Forecast, sprt_outlook
from rookery.core.stats.sprt import EloModel, HypotheticalOutcome, Sprt, Verdict, replay_with_bounds
from rookery.core.stats.walk import TYPICAL_SIGMA, GamesRange, LlrPace, TestLength, length_at

Row = tuple[str, str]
Data = dict[str, object]

POWERS = (0.5, 0.8, 0.9, 0.95)
STATES = {Verdict.RUNNING: "running", Verdict.ACCEPTED: "accepted", Verdict.REJECTED: "rejected"}
SCALES = {
    EloModel.NORMALISED: "normalised Elo",
    EloModel.LOGISTIC: "logistic Elo",
    EloModel.BAYES: "BayesElo",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as rows for people and as data for programs."""

    rows: Sequence[Row]
    data: Data


MOST_RESULTS = 2**40


def read_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MOST_RESULTS):
        raise ValueError(f"{text!r} is not a number of results.")
    return int(text)


def read_counts(_type: object, tokens: Sequence[Token]) -> tuple[int, ...]:
    return tuple(read_count(token.value) for token in tokens)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFlags:
    """The results of a question. Pairs are preferred, because they carry more information."""

    pentanomial: Annotated[
        tuple[int, int, int, int, int] | None,
        option("results: pairs by outcome", "LL LD EVEN WD WW", converter=read_counts),
    ] = None
    wdl: Annotated[
        tuple[int, int, int] | None,
        option("results: single games", "W D L", converter=read_counts),
    ] = None

    @property
    def given(self) -> bool:
        return self.pentanomial is not None or self.wdl is not None

    @property
    def trinomial(self) -> Sequence[int] | None:
        """Losses, draws, wins: the reverse of the order on the command line."""
        return self.wdl and self.wdl[::-1]

    @property
    def bins(self) -> Sequence[int]:
        """The counts, of pairs if they are given. Raises BadArgument without results."""
        if not self.given:
            raise BadArgument("Give the results by --pentanomial or --wdl.")
        return self.pentanomial or self.trinomial or ()

    @property
    def sigma(self) -> float:
        """The standard deviation of a single game; a usual value if no results are given."""
        return moments(self.bins).sigma_per_game if self.given else TYPICAL_SIGMA

    @property
    def row(self) -> Row:
        names = ("LL", "LD", "even", "WD", "WW") if self.pentanomial else ("L", "D", "W")
        counts = ", ".join(f"{name} {n}" for name, n in zip(names, self.bins, strict=True))
        return "Games", f"{games_in(self.bins)} ({counts})"


def answer_elo(results: ResultFlags) -> Answer:
    estimate, nelo = estimate_elo(results.bins), normalised_elo(results.bins)
    rows = [
        results.row,
        ("Elo", f"{estimate.elo:+.2f} ± {estimate.half_width:.2f} (95 %)"),
        ("nElo", f"{nelo.nelo:+.2f} ± {nelo.half_width:.2f} (95 %)"),
        ("LOS", f"{estimate.los:.2%}"),
    ]
    data: Data = {
        "games": games_in(results.bins),
        "elo": estimate.elo,
        "ci": [estimate.low, estimate.high],
        "los": estimate.los,
        "nelo": nelo.nelo,
        "nelo_ci": [nelo.nelo - nelo.half_width, nelo.nelo + nelo.half_width],
    }
    if results.pentanomial and results.trinomial:
        saved = pairing_gain(results.trinomial, results.pentanomial).games_saved
        rows.append(("Pairing", f"unpaired it would have taken {saved:+.1%} games"))
        data["pairing_gain"] = saved
    return Answer(rows, data)


def answer_sprt(results: ResultFlags, spec: Sprt, others: Sequence[Sprt]) -> Answer:
    seen = replay_with_bounds(spec, [results.bins], results.trinomial)
    rows = [
        _spec_row(spec),
        results.row,
        _llr_row(spec, seen.llr),
        ("State", STATES[seen.ending]),
    ]
    data = _spec_data(spec) | {"games": games_in(results.bins)} | _ending_data(seen)
    also = [replay_with_bounds(other, [results.bins], results.trinomial) for other in others]
    for other in also:
        bounds = f"[{other.spec.elo0:g}, {other.spec.elo1:g}]"
        rows.append(("Would have", f"{bounds} LLR {other.llr:.4f}, {STATES[other.ending]}"))
    data["would_have"] = [_spec_data(other.spec) | _ending_data(other) for other in also]
    return Answer(rows, data)


def answer_live(results: ResultFlags, spec: Sprt) -> Answer:
    live = live_elo(spec, results.bins, results.trinomial)
    rows = [
        _spec_row(spec),
        results.row,
        ("Elo", f"{live.elo:+.2f} [{live.low:+.2f}, {live.high:+.2f}] (logistic, 95 %)"),
        ("LOS", f"{live.los:.2%}"),
        _llr_row(spec, live.llr),
    ]
    return Answer(
        rows,
        _spec_data(spec)
        | {"games": games_in(results.bins), "llr": live.llr}
        | {"elo": live.elo, "ci": [live.low, live.high], "los": live.los},
    )


def answer_power(
    test: FixedTest, *, games: float | None, elo: float | None, power: float | None
) -> Answer:
    """Return the third of these values from the other two. Games alone give a small table."""
    found: list[tuple[float, float, float]]
    if games is not None and elo is not None:
        found = [(games, elo, test.power(games, elo))]
    elif games is not None:
        powers = POWERS if power is None else (power,)
        found = [(games, test.smallest_elo(games, each), each) for each in powers]
    else:
        assert elo is not None
        assert power is not None
        found = [(test.games_needed(elo, power), elo, power)]
    half_width = test.half_width(found[0][0])
    rows = [("Games", f"{n:,.0f} show {e:+.2f} Elo with power {p:.1%}") for n, e, p in found]
    rows.append(("Interval", f"± {half_width:.2f} Elo (95 %)"))
    origin = "assumed" if test.sigma_per_game == TYPICAL_SIGMA else "from the sample"
    rows.append(("Spread", f"{test.sigma_per_game:.4f} per game ({origin})"))
    rows.append(("Alarms", f"{test.alpha:.1%} false"))
    data: Data = {
        "sigma_per_game": test.sigma_per_game,
        "alpha": test.alpha,
        "half_width": half_width,
        "shows": [{"games": n, "elo": e, "power": p} for n, e, p in found],
    }
    return Answer(rows, data)


def answer_lengths(pace: LlrPace, elos: Sequence[float], max_games: float | None) -> Answer:
    """Return the expected length of a test, by true Elo."""
    spec = pace.spec
    width = spec.elo1 - spec.elo0
    usual = [spec.elo0 + width * step for step in (-1.0, 0.0, 0.5, 1.0, 2.0)]
    lengths = [length_at(pace, elo, max_games=max_games) for elo in elos or usual]
    rows = [_spec_row(spec), ("True Elo", "  pass    fail   mean games   8 of 10 tests take")]
    rows += [(f"{length.elo:+g}", _length_text(length)) for length in lengths]
    return Answer(rows, _spec_data(spec) | {"lengths": [_length_data(each) for each in lengths]})


def answer_chances(
    results: ResultFlags,
    pace: LlrPace,
    prior: Belief,
    *,
    max_games: float | None,
    games_per_minute: float | None,
) -> Answer:
    """Return the chances of a running test and the remaining games, if there are enough results."""
    spec, games = pace.spec, games_in(results.bins)
    llr = spec.log_ratio(results.bins, results.trinomial)
    left = None if max_games is None else max_games - games
    seen = sprt_outlook(pace, llr, games, prior=prior, games_allowed=left)
    rows = [
        _spec_row(spec),
        results.row,
        _llr_row(spec, llr),
        ("Prior", f"{prior.mean:+.2f} ± {prior.sigma:.2f} (mean and sigma of the true Elo)"),
        ("Posterior", f"{seen.posterior.mean:+.2f} ± {seen.posterior.sigma:.2f}"),
    ]
    data = _spec_data(spec) | {
        "games": games,
        "llr": llr,
        "prior": asdict(prior),
        "posterior": asdict(seen.posterior),
        "too_early": seen.forecast is None,
    }
    chances, ahead = _chances(seen.forecast), _games_left(seen.games_left, games_per_minute)
    return Answer([*rows, *chances.rows, *ahead.rows], data | chances.data | ahead.data)


def _chances(forecast: Forecast | None) -> Answer:
    if forecast is None:
        return Answer([("Pass", "too early to say")], {})
    rows = [("Pass", f"{forecast.pass_chance:.0%}"), ("Fail", f"{forecast.fail_chance:.0%}")]
    data: Data = {"pass_chance": forecast.pass_chance, "fail_chance": forecast.fail_chance}
    return Answer(rows, data)


def _games_left(games: GamesRange, games_per_minute: float | None) -> Answer:
    rows = [("Games left", _range_text(games))]
    data: Data = {"games_left": asdict(games)}
    if games_per_minute:
        minutes = games.scaled(1.0 / games_per_minute)
        rows.append(("Minutes left", _range_text(minutes)))
        data["minutes_left"] = asdict(minutes)
    return Answer(rows, data)


def _spec_row(spec: Sprt) -> Row:
    rates = f"alpha {spec.alpha:g}, beta {spec.beta:g}"
    return "SPRT", f"[{spec.elo0:g}, {spec.elo1:g}] {SCALES[spec.model]}, {rates}"


def _llr_row(spec: Sprt, llr: float) -> Row:
    return "LLR", f"{llr:.4f} in ({spec.lower:.4f}, {spec.upper:.4f})"


def _length_text(length: TestLength) -> str:
    games = f"{length.games.early:,.0f} to {length.games.late:,.0f}"
    chances = f"{length.pass_chance:6.1%}  {length.fail_chance:6.1%}"
    return f"{chances}  {length.mean_games:11,.0f}   {games}"


def _range_text(games: GamesRange) -> str:
    return f"{games.middle:,.0f} (8 of 10: {games.early:,.0f} to {games.late:,.0f})"


def _spec_data(spec: Sprt) -> Data:
    return {
        "elo0": spec.elo0,
        "elo1": spec.elo1,
        "elo_model": spec.model.value,
        "alpha": spec.alpha,
        "beta": spec.beta,
        "lower_bound": spec.lower,
        "upper_bound": spec.upper,
    }


def _ending_data(seen: HypotheticalOutcome) -> Data:
    return {"llr": seen.llr, "state": STATES[seen.ending]}


def _length_data(length: TestLength) -> Data:
    return {
        "true_elo": length.elo,
        "pass_chance": length.pass_chance,
        "fail_chance": length.fail_chance,
        "undecided_chance": length.undecided_chance,
        "mean_games": length.mean_games,
        "games": asdict(length.games),
    }
