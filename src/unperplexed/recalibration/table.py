"""A fitted recalibration as text."""

from __future__ import annotations

from .gain import FEWEST_CLUSTERS, FEWEST_ROWS
from .state import State


def state_text(state: State) -> str:
    """Give a conclusion, the maps with their weights, heaviest first, and the gain."""
    rows = sorted(state.candidates, key=lambda each: -each.weight)
    width = max(len("map"), *(len(each.name) for each in rows))
    lines = [_conclusion(state), "", f"{'map':{width}}  weight  held-out log loss  parameters"]
    lines += [f"{each.name:{width}}  {each.weight:6.3f}  {each.log_loss:17.4f}  {each.complexity:10g}" for each in rows]
    sample = f"fitted to a random sample of {state.facts.sampled:,} of {state.facts.n_rows:,} rows"
    return "\n".join([*lines, "", _gain_line(state), *([sample] if state.facts.sampled else [])])


def _conclusion(state: State) -> str:
    heaviest = state.heaviest
    if state.identity > 0.5:
        return "Leave the forecasts as they are: no recalibration map improves the held-out log loss reliably."
    parameters = ", ".join(
        f"{name} {value:.3g}"
        for name, value in state.maps[heaviest].parameters().items()
        if isinstance(value, int | float)
    )
    return f"Recalibrate, mainly with {heaviest}" + (f" ({parameters})." if parameters else ".")


def _gain_line(state: State) -> str:
    if state.gain is None and state.facts.n_rows >= FEWEST_ROWS:
        return f"No gain is estimated from fewer than {FEWEST_CLUSTERS} clusters of dependent rows."
    if state.gain is None:
        return f"No gain is estimated from fewer than 100 rows (n = {state.facts.n_rows})."
    return str(state.gain)
