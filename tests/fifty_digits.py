"""The coupled distributions in 50-digit arithmetic, from textbook formulas: for tests and benchmarks/accuracy.py."""

import mpmath as mp

mp.mp.dps = 50


def normalization(k, d=1):
    """Integral of (1 + k |z|^2)^(-(1/k + d)/2) over d dimensions (SPEC section 4)."""
    k, s = mp.mpf(k), mp.mpf(d) / 2
    if k == 0:
        return (2 * mp.pi) ** s
    if k > 0:
        return (mp.pi / k) ** s * mp.gammaprod([1 / (2 * k)], [1 / (2 * k) + s])
    a = (-1 / k - d) / 2 + 1
    return (mp.pi / -k) ** s * mp.gammaprod([a], [a + s])


def kernel(squared, k, d=1):
    k, squared = mp.mpf(k), mp.mpf(squared)
    if k == 0:
        return mp.exp(-squared / 2)
    base = 1 + k * squared
    return base ** (-(1 / k + d) / 2) if base > 0 else mp.mpf(0)


def gaussian_pdf(x, k, loc=0, scale=1):
    z = (mp.mpf(x) - mp.mpf(loc)) / mp.mpf(scale)
    return kernel(z * z, k) / normalization(k) / mp.mpf(scale)


def gaussian_sf(x, k, loc=0, scale=1):
    z, k = (mp.mpf(x) - mp.mpf(loc)) / mp.mpf(scale), mp.mpf(k)
    if z < 0:
        return 1 - gaussian_sf(-z, k)
    if k == 0:
        return mp.erfc(z / mp.sqrt(2)) / 2
    base = 1 + k * z * z
    if base <= 0:
        return mp.mpf(0)
    if abs(k) < mp.mpf("0.002"):  # the incomplete beta function converges too slowly: integrate the density
        ends = [z + mp.mpf(j) / (1 + z) for j in (0, 2, 4, 8, 16, 32, 64, 128)]
        top = gaussian_pdf(z, k)  # taken out, since the tolerance of the quadrature is absolute
        return top * mp.quad(lambda t: gaussian_pdf(t, k) / top, ends)
    a, w = (1 / (2 * k), 1 / base) if k > 0 else ((1 - 1 / k) / 2, base)
    return mp.betainc(a, mp.mpf(1) / 2, 0, w, regularized=True) / 2


def exponential_sf(x, k, loc=0, scale=1):
    z, k = (mp.mpf(x) - mp.mpf(loc)) / mp.mpf(scale), mp.mpf(k)
    if k == 0:
        return mp.exp(-z)
    base = 1 + k * z
    return base ** (-1 / k) if base > 0 else mp.mpf(0)


def exponential_pdf(x, k, loc=0, scale=1):
    z, k = (mp.mpf(x) - mp.mpf(loc)) / mp.mpf(scale), mp.mpf(k)
    base = 1 + k * z
    return exponential_sf(x, k, loc, scale) / base / mp.mpf(scale) if base > 0 else mp.mpf(0)


def multivariate_pdf(x, loc, shape, k):
    d, shape = len(x), mp.matrix(shape)
    r = mp.matrix([mp.mpf(a) - mp.mpf(b) for a, b in zip(x, loc, strict=True)])
    squared = (r.T * mp.lu_solve(shape, r))[0]
    return kernel(squared, k, d) / normalization(k, d) / mp.sqrt(mp.det(shape))


def relative(got, expected):
    """Relative error of a float; 0 where both vanish."""
    got = mp.mpf(float(got))
    return float(abs(got - expected) / abs(expected)) if expected else float(abs(got))
