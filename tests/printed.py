"""Whether printed text is the text that a page shows, but for the last digits of numbers.

Processors round differently in the last place. A tie that breaks the other way changes which rows a bootstrap replicate
draws, and so moves the end of an interval within the noise of its replicates.
"""

import re

_NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+\.\d+(?:e[-+]?\d+)?")


def differs(printed: str, shown: str) -> bool:
    """Compare words and whole numbers exactly; decimals to 1%, or two units in the last place shown."""
    if printed == shown:
        return False
    if _words(printed) != _words(shown):
        return True
    return not all(map(_close, _NUMBER.findall(printed), _NUMBER.findall(shown)))


def _words(text: str) -> list[str]:
    return _NUMBER.sub("#", text).split()


def _close(printed: str, shown: str) -> bool:
    a, b = (float(number.replace("−", "-")) for number in (printed, shown))
    last_place = 10.0 ** -len(shown.partition("e")[0].partition(".")[2])
    return abs(a - b) <= max(2.01 * last_place, 0.01 * abs(b))


def without_code(text: str) -> str:
    """Leave out the lines that recalibrate: commands from the shell, Python from Python."""
    return "".join(
        line
        for line in unfolded(text).splitlines(keepends=True)
        if not re.match(r" +(unperplexed recalibrate |recalibrated = |recalibrator = |Recalibrator\(\)\.fit)", line)
    )


def unfolded(text: str) -> str:
    """Give commands that go on over several lines in one line each."""
    return re.sub(r" \\\n +", " ", text)
