// Hashes of rows: tally/row_sample.py says of what.

#pragma once

#include <bit>
#include <cstdint>

#include "base.hpp"

namespace {

INLINED std::int64_t hash_of(double highest, double squares) {
    std::uint64_t x = std::bit_cast<std::uint64_t>(highest) * 0xBF58476D1CE4E5B9U;
    x ^= x >> 29;
    x ^= std::bit_cast<std::uint64_t>(squares);
    x *= 0x94D049BB133111EBU;
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15U;
    x ^= x >> 31;
    return static_cast<std::int64_t>(x >> 1);
}

// Hashes of rows, and how many of them are at most so high.
Index row_hashes(Vector<const double> highest, Vector<const double> squares, std::int64_t most, Vector<std::int64_t> out) {
    const Index n = out.shape(0);
    if (static_cast<Index>(highest.shape(0)) != n || static_cast<Index>(squares.shape(0)) != n) {
        throw nb::value_error("row_hashes: shapes do not go together");
    }
    const double *high = highest.data(), *sums = squares.data();
    std::int64_t* to = out.data();
    Index some = 0;
    nb::gil_scoped_release released;
    for (Index row = 0; row < n; ++row) {
        to[row] = hash_of(high[row], sums[row]);
        some += to[row] <= most;
    }
    return some;
}

}  // namespace
