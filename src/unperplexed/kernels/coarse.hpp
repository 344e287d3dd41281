// Cells of the parts that are counted coarsely: CoarseGrid of kernels/rows.py. Each value is counted with its place, under
// a group: both go into one word, since of thousands of groups each such addition waits for memory.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base.hpp"

namespace {

// The cells of CoarseGrid and the places in them.
constexpr int LOWEST_EIGHTH = 0x37200000 >> 20;  // of 2**-17 * 5/4

struct Coarse {
    std::uint32_t code, place;
};

// The cell of a probability, and its place there, a whole number of at most 2^20.
template <class T>
INLINED Coarse coarse_cell(T p) {
    constexpr float WHOLE = 0x1.8p23F;  // as ROUNDER, of single precision
    const bool upper = p > T(0.5);
    const T distance = upper ? T(1) - p : p;
    const float u = static_cast<float>(distance);
    const int eighth = static_cast<int>(std::bit_cast<std::uint32_t>(u) >> 20) - (LOWEST_EIGHTH - 1);
    const std::uint32_t cell = distance == T(0) ? 0 : static_cast<std::uint32_t>(std::min(std::max(eighth, 1), 127));
    const std::uint32_t exponent = 127 + 20 + 126 - ((cell + LOWEST_EIGHTH - 1) >> 3);
    const float whole = u * std::bit_cast<float>(exponent << 23) + WHOLE;
    return {upper ? 255 - cell : cell, std::bit_cast<std::uint32_t>(whole) - std::bit_cast<std::uint32_t>(WHOLE)};
}

template <class T>
INLINED void coarse_of(const T* x, Index n, Index* code, double* place) {
    for (Index k = 0; k < n; ++k) {
        const Coarse found = coarse_cell(x[k]);
        code[k] = found.code;
        place[k] = static_cast<std::int32_t>(found.place);
    }
}

DISPATCHED void coarse_in(const float* x, Index n, Index* code, double* place) { coarse_of(x, n, code, place); }
DISPATCHED void coarse_in(const double* x, Index n, Index* code, double* place) { coarse_of(x, n, code, place); }

void coarse(nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> values, Vector<Index> code,
            Vector<double> place) {
    const Index n = values.shape(0);
    if (static_cast<Index>(code.shape(0)) != n || static_cast<Index>(place.shape(0)) != n) {
        throw nb::value_error("coarse: shapes do not go together");
    }
    const bool wide = values.dtype() == nb::dtype<double>();
    if (!wide && values.dtype() != nb::dtype<float>()) throw nb::type_error("coarse: floats of 32 or 64 bits only");
    nb::gil_scoped_release released;
    if (wide) {
        coarse_in(static_cast<const double*>(values.data()), n, code.data(), place.data());
    } else {
        coarse_in(static_cast<const float*>(values.data()), n, code.data(), place.data());
    }
}

constexpr Index MOST_PACKED = 1 << 21;  // so many places sum to less than 2^42

// The same, each code times the number of groups.
template <class T>
INLINED void coarse_at(const T* x, Index n, std::uint32_t groups, std::uint32_t* at, std::uint32_t* place) {
    for (Index k = 0; k < n; ++k) {
        const Coarse found = coarse_cell(x[k]);
        at[k] = found.code * groups;
        place[k] = found.place;
    }
}

// Counts the probabilities of rows that weigh 1, each under the group of its row or else of its column: in one word a
// cell, how many there are above the sum of their places, which is added to the totals before it overflows.
template <class T>
DISPATCHED void count_packed(const T* p, Index n, Index columns, const Index* group, bool of_rows, Index groups,
                             double* total, double* places) {
    constexpr int COUNT_AT = 42;  // places are up to 2^20
    constexpr std::uint64_t ONE = std::uint64_t(1) << COUNT_AT;
    constexpr Index AT_ONCE = 1024;
    std::array<std::uint32_t, AT_ONCE> at, place;
    std::vector<std::uint64_t> words(static_cast<std::size_t>(256 * groups));
    const Index rows_at_once = MOST_PACKED / columns;
    for (Index start = 0; start < n; start += rows_at_once) {
        for (Index row = start; row < std::min(n, start + rows_at_once); ++row) {
            for (Index column = 0; column < columns; column += AT_ONCE) {
                const Index m = std::min(AT_ONCE, columns - column);
                coarse_at(p + row * columns + column, m, static_cast<std::uint32_t>(groups), at.data(), place.data());
                if (of_rows) {
                    std::uint64_t* to = words.data() + group[row];
                    for (Index k = 0; k < m; ++k) to[at[k]] += ONE | place[k];
                } else {
                    for (Index k = 0; k < m; ++k) words[at[k] + group[column + k]] += ONE | place[k];
                }
            }
        }
        for (std::size_t k = 0; k < words.size(); ++k) {
            if (!words[k]) continue;
            total[k] += static_cast<double>(words[k] >> COUNT_AT);
            places[k] += static_cast<double>(words[k] & (ONE - 1));
            words[k] = 0;
        }
    }
}

// Counts the probabilities of rows in coarse cells, each under the group of its row or else of its column.
template <class T>
void count_coarse_of(const T* p, Index n, Index columns, const Index* group, bool of_rows, Index groups,
                     const double* weights, double* total, double* places) {
    // Words are zeroed and read for all cells, which only many values are worth.
    if (!weights && 4 * 256 * groups <= n * columns && columns <= MOST_PACKED) {
        return count_packed(p, n, columns, group, of_rows, groups, total, places);
    }
    constexpr Index AT_ONCE = 256;
    std::array<Index, AT_ONCE> code;
    std::array<double, AT_ONCE> place;
    Index row = 0, column = 0;
    for (Index start = 0; start < n * columns; start += AT_ONCE) {
        const Index m = std::min(AT_ONCE, n * columns - start);
        coarse_in(p + start, m, code.data(), place.data());
        for (Index k = 0; k < m; ++k) {
            const Index at = code[k] * groups + group[of_rows ? row : column];
            const double weight = weights ? weights[row] : 1;
            total[at] += weight;
            places[at] += weight * place[k];
            if (++column == columns) {
                column = 0;
                ++row;
            }
        }
    }
}

void count_coarse(nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu> p, Vector<const Index> group,
                  bool of_rows, Index groups, std::optional<Vector<const double>> weights, Vector<double> total,
                  Vector<double> places) {
    const Index n = p.shape(0), columns = p.shape(1), size = group.shape(0), room = 256 * groups;
    if (size != (of_rows ? n : columns) || (weights && static_cast<Index>(weights->shape(0)) != n) ||
        static_cast<Index>(total.shape(0)) != room || static_cast<Index>(places.shape(0)) != room) {
        throw nb::value_error("count_coarse: shapes do not go together");
    }
    if (!std::all_of(group.data(), group.data() + size, [&](Index g) { return 0 <= g && g < groups; })) {
        throw nb::value_error("count_coarse: there is no such group");
    }
    const bool wide = p.dtype() == nb::dtype<double>();
    if (!wide && p.dtype() != nb::dtype<float>()) throw nb::type_error("count_coarse: floats of 32 or 64 bits only");
    const double* w = weights ? weights->data() : nullptr;
    nb::gil_scoped_release released;
    if (wide) {
        count_coarse_of(static_cast<const double*>(p.data()), n, columns, group.data(), of_rows, groups, w,
                        total.data(), places.data());
    } else {
        count_coarse_of(static_cast<const float*>(p.data()), n, columns, group.data(), of_rows, groups, w,
                        total.data(), places.data());
    }
}

}  // namespace
