"""Families of distributions by their parameters: distribution function, complement, quantiles and log density."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ..._lib.errors import InputError, check_choice, listed, meant
from ..._lib.typing import Floats
from .arrays import refuse_rows


class Family(NamedTuple):
    """A family whose parameters are of one kind; the functions take x or q, and the parameters in order."""

    cdf: Callable[..., Floats]
    sf: Callable[..., Floats]
    ppf: Callable[..., Floats]
    logpdf: Callable[..., Floats]
    from_parameters: Mapping[tuple[str, ...], Callable[..., tuple[Floats, ...]]]
    """By the names that parameters may be given by: what makes them those of the functions."""
    discrete: bool = False


class Parametric:
    """Distributions of a family, one a row."""

    has_atom = False

    def __init__(self, family: Family, parameters: tuple[Floats, ...]) -> None:
        """Take the parameters of the functions, each of shape (n,)."""
        self._family, self.parameters, self.discrete = family, parameters, family.discrete
        self.cdf, self.sf, self.ppf, self.logpdf = (partial(_values, function, parameters) for function in family[:4])

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.parameters[0])

    def subset(self, rows: Any) -> Parametric:
        """Return some of the rows."""
        return self.having(*(each[rows] for each in self.parameters))

    def having(self, *parameters: Floats) -> Parametric:
        """Return distributions of the family with other parameters."""
        return Parametric(self._family, parameters)


def _values(function: Callable[..., Floats], parameters: tuple[Floats, ...], at: Floats) -> Floats:
    """Return values of a function; of what no double holds they are infinite, or 0."""
    with np.errstate(over="ignore"):
        return np.asarray(function(at, *parameters))


def _located(cdf: Any, ppf: Any, logpdf: Any) -> dict[str, Any]:
    """Make the functions of a family of location and scale, symmetric about 0, from its standard ones."""
    return {
        "cdf": lambda x, at, scale, *shape: cdf((x - at) / scale, *shape),
        "sf": lambda x, at, scale, *shape: cdf((at - x) / scale, *shape),
        "ppf": lambda q, at, scale, *shape: at + scale * ppf(q, *shape),
        "logpdf": lambda x, at, scale, *shape: logpdf((x - at) / scale, *shape) - np.log(scale),
    }


def _t_logpdf(z: Floats, df: Floats) -> Floats:
    constant = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - np.log(df * np.pi) / 2
    return np.asarray(constant - (df + 1) / 2 * np.log1p(z * z / df))


def _normal_logpdf(z: Floats) -> Floats:
    return np.asarray(-z * z / 2 - np.log(2 * np.pi) / 2)


def by_coupling(normal: Any, heavy: Any, compact: Any) -> Any:
    """Choose by the coupling: 0 is normal, above Student's t of 1/coupling degrees, below a beta on (-1, 1)."""

    def choose(x: Floats, coupling: Floats) -> Floats:
        size = np.maximum(np.abs(coupling), np.finfo(float).tiny)
        with np.errstate(all="ignore"):
            below = compact(x, (1 + size) / (2 * size), np.sqrt(size))
            return np.asarray(np.where(coupling > 0, heavy(x, 1 / size), np.where(coupling < 0, below, normal(x))))

    return choose


_COUPLED = _located(
    by_coupling(
        special.ndtr,
        lambda z, df: special.stdtr(df, z),
        lambda z, a, width: special.betainc(a, a, np.clip((1 + z * width) / 2, 0, 1)),
    ),
    by_coupling(
        special.ndtri,
        lambda q, df: special.stdtrit(df, q),
        lambda q, a, width: (2 * special.betaincinv(a, a, q) - 1) / width,
    ),
    by_coupling(
        _normal_logpdf,
        _t_logpdf,
        lambda z, a, width: (
            special.xlog1py(a - 1, -np.minimum((z * width) ** 2, 1))
            + np.log(width)
            - special.betaln(a, a)
            - (2 * a - 1) * np.log(2)
        ),
    ),
)


def _log(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(x, 0)))


def _lognormal_logpdf(x: Floats, at: Floats, scale: Floats) -> Floats:
    log = _log(x)
    with np.errstate(invalid="ignore"):
        return np.where(x > 0, _normal_logpdf((log - at) / scale) - np.log(scale) - log, -np.inf)


def _gamma_logpdf(x: Floats, shape: Floats, scale: Floats) -> Floats:
    z = np.maximum(x, 0) / scale
    return np.where(x >= 0, special.xlogy(shape - 1, z) - z - special.gammaln(shape) - np.log(scale), -np.inf)


def _whole(x: Floats, log_probability: Floats) -> Floats:
    return np.where((x >= 0) & (x == np.floor(x)), log_probability, -np.inf)


def _poisson_logpmf(x: Floats, mean: Floats) -> Floats:
    k = np.maximum(x, 0)
    return _whole(x, special.xlogy(k, mean) - mean - special.gammaln(k + 1))


def _negative_binomial_logpmf(x: Floats, size: Floats, p: Floats) -> Floats:
    k = np.maximum(x, 0)
    ways = special.gammaln(k + size) - special.gammaln(k + 1) - special.gammaln(size)
    return _whole(x, ways + size * np.log(p) + special.xlog1py(k, -p))


def _counted(cdf: Any, sf: Any, inverse: Any) -> dict[str, Any]:
    """Make functions of counts from those of whole numbers from 0, and of a number at which the cdf is about q."""

    def up_to(x: Floats, *parameters: Floats) -> Floats:
        return np.where(x >= 0, cdf(np.floor(np.maximum(x, 0)), *parameters), 0.0)

    def ppf(q: Floats, *parameters: Floats) -> Floats:
        found = np.ceil(inverse(q, *parameters))
        before = np.maximum(found - 1, 0)
        found = np.where(cdf(before, *parameters) >= q, before, found)
        return np.where(np.asarray(q) <= cdf(np.zeros(1), *parameters), 0.0, found)

    return {
        "cdf": up_to,
        "sf": lambda x, *parameters: np.where(x >= 0, sf(np.floor(np.maximum(x, 0)), *parameters), 1.0),
        "ppf": ppf,
    }


def _given(*parameters: Floats) -> tuple[Floats, ...]:
    """Take parameters as they are given."""
    return parameters


FAMILIES: Mapping[str, Family] = {
    "normal": Family(**_located(special.ndtr, special.ndtri, _normal_logpdf), from_parameters={("mean", "sd"): _given}),
    "t": Family(
        **_located(lambda z, df: special.stdtr(df, z), lambda q, df: special.stdtrit(df, q), _t_logpdf),
        from_parameters={("df", "location", "scale"): lambda df, at, scale: (at, scale, df)},
    ),
    "lognormal": Family(
        lambda x, at, scale: special.ndtr((_log(x) - at) / scale),
        lambda x, at, scale: special.ndtr((at - _log(x)) / scale),
        lambda q, at, scale: np.exp(at + scale * special.ndtri(q)),
        _lognormal_logpdf,
        {("log_mean", "log_sd"): _given},
    ),
    "gamma": Family(
        lambda x, shape, scale: special.gammainc(shape, np.maximum(x, 0) / scale),
        lambda x, shape, scale: special.gammaincc(shape, np.maximum(x, 0) / scale),
        lambda q, shape, scale: special.gammaincinv(shape, q) * scale,
        _gamma_logpdf,
        {
            ("shape", "scale"): _given,
            ("shape", "rate"): lambda shape, rate: (shape, 1 / rate),
            ("mean", "sd"): lambda mean, sd: ((mean / sd) ** 2, sd * sd / mean),
        },
    ),
    "poisson": Family(
        **_counted(special.pdtr, special.pdtrc, special.pdtrik),
        logpdf=_poisson_logpmf,
        from_parameters={("mean",): _given},
        discrete=True,
    ),
    "negative-binomial": Family(
        **_counted(
            lambda k, size, p: special.betainc(size, k + 1, p),
            lambda k, size, p: special.betaincc(size, k + 1, p),
            special.nbdtrik,
        ),
        logpdf=_negative_binomial_logpmf,
        from_parameters={
            ("mean", "size"): lambda mean, size: (size, size / (size + mean)),
            ("size", "probability"): _given,
        },
        discrete=True,
    ),
    "coupled-gaussian": Family(**_COUPLED, from_parameters={("mean", "scale", "coupling"): _given}),
}


class WithAtom:
    """Distributions that are 0 with some probability, and those of a law else."""

    has_atom = True

    def __init__(self, law: Any, zero: Floats) -> None:
        """Take the law and the probability of the atom, in [0, 1)."""
        self._law, self._zero, self.discrete = law, zero, law.discrete
        self.parameters = (*law.parameters, zero)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._zero)

    def cdf(self, x: Floats) -> Floats:
        """Return the probability up to x."""
        return np.asarray(self._zero * (np.asarray(x) >= 0) + (1 - self._zero) * self._law.cdf(x))

    def sf(self, x: Floats) -> Floats:
        """Return the probability of more than x."""
        return np.asarray(self._zero * (np.asarray(x) < 0) + (1 - self._zero) * self._law.sf(x))

    def below_zero(self) -> tuple[Floats, Floats]:
        """Return the probability of less than 0, and its complement."""
        if self.discrete:
            return np.zeros_like(self._zero), np.ones_like(self._zero)
        at = np.zeros(1)
        return (1 - self._zero) * self._law.cdf(at), self._zero + (1 - self._zero) * self._law.sf(at)

    def ppf(self, q: Floats) -> Floats:
        """Return quantiles."""
        start = self.below_zero()[0]
        inner = np.where(q <= start, q, np.maximum(q - self._zero, start)) / (1 - self._zero)
        return np.where((q > start) & (q <= self.cdf(np.zeros(1))), 0.0, self._law.ppf(np.clip(inner, 0, 1)))

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density; of 0, and of counts, the log probability."""
        zero, rest = _log(self._zero), np.log1p(-self._zero) + self._law.logpdf(x)
        at_zero = np.logaddexp(zero, rest) if self.discrete else np.where(self._zero > 0, zero, rest)
        return np.where(np.asarray(x) == 0, at_zero, rest)

    def subset(self, rows: Any) -> WithAtom:
        """Return some of the rows."""
        return WithAtom(self._law.subset(rows), self._zero[rows])

    def having(self, *parameters: Floats) -> WithAtom:
        """Return the same with other parameters."""
        return WithAtom(self._law.having(*parameters[:-1]), parameters[-1])


_POSITIVE = ("sd", "df", "scale", "log_sd", "shape", "rate", "size")
"""Parameters that are above 0."""

_MOST_COUNTED = 1e10
"""Largest mean of counts: quantiles of larger ones are not known, and each count is as good as none."""


def law_of(family: str, given: Mapping[str, Floats]) -> Parametric | WithAtom:
    """Make distributions of a family from parameters by name, after checking both."""
    check_choice("family", family, tuple(FAMILIES))
    found = FAMILIES[family]
    parameters = {name: each for name, each in given.items() if name != "zero"}
    ways = tuple(found.from_parameters)
    names = next((way for way in ways if {*way} == {*parameters}), None)
    if names is None:
        raise _other_names(family, [*parameters], ways)
    for name, each in given.items():
        _check(family, name, each)
    if found.discrete:
        mean = parameters["mean"] if "mean" in names else parameters["size"] / parameters["probability"]
        what = f"a mean above {_MOST_COUNTED:g}"
        refuse_rows(mean > _MOST_COUNTED, family, what, "Give normal distributions instead.")
    law = Parametric(found, found.from_parameters[names](*(parameters[name] for name in names)))
    return WithAtom(law, given["zero"]) if "zero" in given else law


def _other_names(family: str, given: list[str], ways: tuple[tuple[str, ...], ...]) -> InputError:
    known = [*dict.fromkeys(name for way in ways for name in way), "zero"]
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        return InputError(f"{family}: no parameter {unknown!r}{meant('', unknown, known)}")
    expected = " or ".join(", ".join(way) for way in ways)
    return InputError(f"{family}: expected {expected} (and zero for an atom at 0), got {listed(given) or 'none'}.")


def _check(family: str, name: str, values: Floats) -> None:
    """Refuse parameters out of range."""
    if name in _POSITIVE or (name == "mean" and family == "gamma"):
        wrong, what = values <= 0, "no number above 0"
    elif name == "mean" and FAMILIES[family].discrete:
        wrong, what = values < 0, "a number below 0"
    elif name == "probability":
        wrong, what = (values <= 0) | (values > 1), "no probability above 0 and up to 1"
    elif name == "zero":
        wrong, what = (values < 0) | (values >= 1), "no probability from 0 to below 1"
    else:
        return
    refuse_rows(wrong, name, what, f"Leave these rows out, or mend the forecasts of family {family}.")
