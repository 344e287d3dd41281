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

}  // namespace
