// Sums that are the same in any order: values are cut into limbs of 36 bits, whose sums are whole numbers in float64.
// Eight values at a time, so that the three roundings of each do not wait for one another.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base.hpp"

namespace {

constexpr double LIMB = 0x1p36;

// Sums of the limbs of values below 2^bits, from the highest on: whole numbers, so exact in any order.
std::vector<Index> limb_sums(Vector<const double> values, int bits, int limbs) {
    constexpr Index AT_ONCE = 8;
    const Index n = values.shape(0);
    const double* x = values.data();
    const double scale = std::ldexp(1.0, 36 - bits);
    std::vector<Index> sums(limbs, 0);
    nb::gil_scoped_release released;
    for (Index start = 0; start < n; start += AT_ONCE) {
        const Index m = std::min(AT_ONCE, n - start);
        std::array<double, AT_ONCE> left{};
        for (Index k = 0; k < m; ++k) left[k] = x[start + k] * scale;
        for (int limb = 0; limb < limbs; ++limb) {
            double sum = 0;
            for (Index k = 0; k < AT_ONCE; ++k) {
                const double whole = (left[k] + ROUNDER) - ROUNDER;
                sum += whole;
                left[k] = (left[k] - whole) * LIMB;
            }
            sums[limb] += static_cast<Index>(sum);
        }
    }
    return sums;
}

}  // namespace
