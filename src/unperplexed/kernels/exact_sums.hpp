// Sums that are the same in any order: values are cut into limbs of 36 bits, whose sums are whole numbers in float64.
// They are added up in lanes, which only the end brings together: whole numbers below 2^53 take any order.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base.hpp"

namespace {

constexpr double LIMB = 0x1p36;
constexpr Index SPILL = 1 << 16;  // so many limbs of 36 bits, either way of 0, sum to less than 2^53
constexpr Index FEWEST_LIMBS = 3, MOST_LIMBS = 5;

// Values in four vectors, so that the three roundings of each do not wait for one another.
template <Index LIMBS>
INLINED void limbs_of(const double* x, Index n, double scale, double* sums) {
    constexpr Index VECTORS = 4, AT_ONCE = 4 * VECTORS;
    const Wide rounder = {ROUNDER, ROUNDER, ROUNDER, ROUNDER};
    std::array<Wide, LIMBS> lanes{};
    for (Index start = 0; start < n; start += AT_ONCE) {
        std::array<Wide, VECTORS> left{};
        if (start + AT_ONCE <= n) {
            for (Index v = 0; v < VECTORS; ++v) left[v] = loaded<Wide>(x + start + 4 * v) * scale;
        } else {
            for (Index k = start; k < n; ++k) left[(k - start) / 4][(k - start) % 4] = x[k] * scale;
        }
        for (Index limb = 0; limb < LIMBS; ++limb) {
            for (Index v = 0; v < VECTORS; ++v) {
                const Wide whole = (left[v] + rounder) - rounder;
                lanes[limb] += whole;
                left[v] = (left[v] - whole) * LIMB;
            }
        }
    }
    for (Index limb = 0; limb < LIMBS; ++limb) {
        sums[limb] = (lanes[limb][0] + lanes[limb][1]) + (lanes[limb][2] + lanes[limb][3]);
    }
}

DISPATCHED void limbs_in(const double* x, Index n, double scale, Index limbs, double* sums) {
    switch (limbs) {
        case FEWEST_LIMBS: return limbs_of<FEWEST_LIMBS>(x, n, scale, sums);
        case 4: return limbs_of<4>(x, n, scale, sums);
        default: return limbs_of<MOST_LIMBS>(x, n, scale, sums);
    }
}

// Squares, and whether all values are below 2^10, which NaN is not.
DISPATCHED bool squares_in(const double* x, Index n, double* to) {
    Index beyond = 0;
    for (Index k = 0; k < n; ++k) {
        to[k] = x[k] * x[k];
        beyond |= !(to[k] < 0x1p20);
    }
    return !beyond;
}

// Sums of the limbs of values below 2^bits, from the highest on: whole numbers, so exact in any order.
std::vector<Index> limb_sums(Vector<const double> values, int bits, Index limbs) {
    if (limbs < FEWEST_LIMBS || limbs > MOST_LIMBS) throw nb::value_error("limb_sums: from 3 to 5 limbs only");
    const Index n = values.shape(0);
    const double* x = values.data();
    const double scale = std::ldexp(1.0, 36 - bits);
    std::vector<Index> sums(limbs, 0);
    nb::gil_scoped_release released;
    for (Index start = 0; start < n; start += SPILL) {
        std::array<double, MOST_LIMBS> found{};
        limbs_in(x + start, std::min(SPILL, n - start), scale, limbs, found.data());
        for (Index limb = 0; limb < limbs; ++limb) sums[limb] += static_cast<Index>(found[limb]);
    }
    return sums;
}

// Of values the limbs of their sum, below 2^10, and of that of their squares, below 2^20; none where a value is not.
std::vector<std::vector<Index>> limb_sums_of_powers(Vector<const double> values) {
    constexpr Index AT_ONCE = 1024, OF_SQUARES = 4;
    const Index n = values.shape(0);
    const double* x = values.data();
    std::vector<Index> sums(FEWEST_LIMBS, 0), of_squares(OF_SQUARES, 0);
    std::array<double, AT_ONCE> square;
    bool usual = true;
    {
        nb::gil_scoped_release released;
        for (Index start = 0; usual && start < n; start += AT_ONCE) {
            const Index m = std::min(AT_ONCE, n - start);
            usual = squares_in(x + start, m, square.data());
            std::array<double, MOST_LIMBS> found{}, found_of_squares{};
            limbs_in(x + start, m, 0x1p26, FEWEST_LIMBS, found.data());
            limbs_in(square.data(), m, 0x1p16, OF_SQUARES, found_of_squares.data());
            for (Index limb = 0; usual && limb < FEWEST_LIMBS; ++limb) sums[limb] += static_cast<Index>(found[limb]);
            for (Index limb = 0; usual && limb < OF_SQUARES; ++limb) {
                of_squares[limb] += static_cast<Index>(found_of_squares[limb]);
            }
        }
    }
    if (!usual) return {};
    return {sums, of_squares};
}

}  // namespace
