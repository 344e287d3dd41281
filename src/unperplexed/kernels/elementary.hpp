// Exponentials, sigmoids and logarithms of many numbers, by polynomials that compilers make vectors of: the standard
// library takes one number at a time. To two units of the last place; what is out of their range is left to the library.

#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base.hpp"

namespace {

constexpr double LN2_HIGH = 0x1.62e42fefa38p-1, LN2_LOW = 0x1.ef35793c7673p-45;  // the former times an exponent is exact
constexpr double FARTHEST_EXPONENT = 700, SMALLEST_NORMAL = 0x1p-1022;

INLINED double exponential(double x) {  // of what is not beyond the farthest
    const double shifted = x * 0x1.71547652b82fep+0 + ROUNDER, whole = shifted - ROUNDER;
    const double r = (x - whole * LN2_HIGH) - whole * LN2_LOW;
    double y = 1.0 / 6227020800;
    y = y * r + 1.0 / 479001600;
    y = y * r + 1.0 / 39916800;
    y = y * r + 1.0 / 3628800;
    y = y * r + 1.0 / 362880;
    y = y * r + 1.0 / 40320;
    y = y * r + 1.0 / 5040;
    y = y * r + 1.0 / 720;
    y = y * r + 1.0 / 120;
    y = y * r + 1.0 / 24;
    y = y * r + 1.0 / 6;
    y = y * r + 0.5;
    y = 1 + (r + r * r * y);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) + (std::bit_cast<std::uint64_t>(shifted) << 52));
}

INLINED double logarithm(double x) {  // of normal numbers above 0
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t exponent = (bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)) >> 52;
    const double power = std::bit_cast<double>(exponent | 0x4330000000000000) - (0x1p52 + 1023);
    const double f = std::bit_cast<double>(bits - ((exponent - 1023) << 52)) - 1;  // from 1/sqrt(2) - 1 to sqrt(2) - 1
    const double s = f / (2 + f), z = s * s;
    double y = 2.0 / 23;
    y = y * z + 2.0 / 21;
    y = y * z + 2.0 / 19;
    y = y * z + 2.0 / 17;
    y = y * z + 2.0 / 15;
    y = y * z + 2.0 / 13;
    y = y * z + 2.0 / 11;
    y = y * z + 2.0 / 9;
    y = y * z + 2.0 / 7;
    y = y * z + 2.0 / 5;
    y = y * z + 2.0 / 3;
    const double half = 0.5 * f * f;
    return power * LN2_HIGH - ((half - (s * (half + z * y) + power * LN2_LOW)) - f);
}

// Probabilities of log-odds, in their place.
DISPATCHED void to_probabilities(double* x, std::size_t n) {
    std::int64_t far = 0;
    for (std::size_t i = 0; i < n; ++i) far |= !(std::abs(x[i]) < FARTHEST_EXPONENT);
    if (!far) {
        for (std::size_t i = 0; i < n; ++i) x[i] = 1 / (1 + exponential(-x[i]));
    } else {
        for (std::size_t i = 0; i < n; ++i) x[i] = 1 / (1 + std::exp(-x[i]));
    }
}

// Logarithms of probabilities and of what they leave to 1.
DISPATCHED void logarithms(const double* p, std::size_t n, double* log, double* log_of_rest) {
    std::int64_t odd = 0;
    for (std::size_t i = 0; i < n; ++i) odd |= !(p[i] >= SMALLEST_NORMAL) | !(p[i] < 1);
    if (!odd) {
        for (std::size_t i = 0; i < n; ++i) log[i] = logarithm(p[i]);
        for (std::size_t i = 0; i < n; ++i) {
            const double rest = 1 - p[i];
            log_of_rest[i] = logarithm(rest) - ((rest - 1) + p[i]) / rest;
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) log[i] = std::log(p[i]);
        for (std::size_t i = 0; i < n; ++i) log_of_rest[i] = std::log1p(-p[i]);
    }
}

}  // namespace
