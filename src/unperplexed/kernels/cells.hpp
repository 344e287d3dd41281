// Cells of probabilities: Grid and CoarseGrid of kernels/rows.py. A cell is the leading bits of a float, so that
// finding it takes a shift and no search, and its edges need no table. Sums over a cell are of whole numbers, exact
// in any order.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base.hpp"

namespace {

constexpr std::uint32_t HALF = 0x3f000000;

// The cells of Grid.
struct Grid {
    int shift;
    std::uint32_t half, size;

    explicit Grid(int fraction_bits) : shift(23 - fraction_bits), half(HALF >> shift), size(2 * (half + 1) + 2) {}

    struct Place {
        std::uint32_t code, place;
    };

    template <class T>
    INLINED Place of(T p) const {
        const bool upper = p > T(0.5);
        const T distance = upper ? T(1) - p : p;
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(distance));
        const std::uint32_t place = bits & ((1U << shift) - 1);
        if (p == T(0)) return {0, place};
        if (p == T(1)) return {size - 1, place};
        const std::uint32_t code = std::min(bits >> shift, half) + 1;  // of no probability, one that is there
        return {upper ? size - 1 - code : code, place};
    }
};

// Cell of each probability, and its place there.
template <class T>
INLINED void places_of(const T* x, Index n, const Grid& grid, Index* code, Index* place) {
    for (Index k = 0; k < n; ++k) {
        const auto found = grid.of(x[k]);
        code[k] = found.code;
        place[k] = found.place;
    }
}

DISPATCHED void places_in(const float* x, Index n, Grid grid, Index* code, Index* place) {
    places_of(x, n, grid, code, place);
}
DISPATCHED void places_in(const double* x, Index n, Grid grid, Index* code, Index* place) {
    places_of(x, n, grid, code, place);
}

template <class T>
void places(Vector<const T> values, int fraction_bits, Vector<Index> code, Vector<Index> place) {
    const Index n = values.shape(0);
    if (static_cast<Index>(code.shape(0)) != n || static_cast<Index>(place.shape(0)) != n) {
        throw nb::value_error("places: shapes do not go together");
    }
    nb::gil_scoped_release released;
    places_in(values.data(), n, Grid(fraction_bits), code.data(), place.data());
}

constexpr int HALF_BITS = 14;

// Columns of DenseCells after the total, in their order.
enum Column { HAPPENED, SQUARED, FIRST, SECOND_HIGH, SECOND_LOW, LOW, HIGH, COLUMNS };

// A probability added to the columns of its cell, each so far from the next.
INLINED void add_happened(double* cell, Index size, double x, std::uint32_t place, double each) {
    const std::uint64_t square = static_cast<std::uint64_t>(place) * place;
    if (cell[HAPPENED * size] == 0) cell[LOW * size] = cell[HIGH * size] = x;
    cell[HAPPENED * size] += each;
    cell[SQUARED * size] += each * each;
    cell[FIRST * size] += each * static_cast<double>(place);
    cell[SECOND_HIGH * size] += each * static_cast<double>(square >> HALF_BITS);
    cell[SECOND_LOW * size] += each * static_cast<double>(square & ((1U << HALF_BITS) - 1));
    cell[LOW * size] = std::min(cell[LOW * size], x);
    cell[HIGH * size] = std::max(cell[HIGH * size], x);
}

// Values that happened, each with its weight or 1, added to the columns of their cells. Where those of a cell lie side
// by side, a value touches one line of memory, not seven.
void happened(Vector<const double> values, std::optional<Vector<const double>> weights, int fraction_bits,
              Matrix<double> columns) {
    const Grid grid(fraction_bits);
    const Index n = values.shape(0), size = columns.stride(0), step = columns.stride(1);
    if (columns.shape(0) != COLUMNS || columns.shape(1) != grid.size ||
        (weights && weights->shape(0) != values.shape(0))) {
        throw nb::value_error("happened: shapes do not go together");
    }
    const double* x = values.data();
    const double* w = weights ? weights->data() : nullptr;
    double* to = columns.data();
    nb::gil_scoped_release released;
    for (Index row = 0; row < n; ++row) {
        const auto [code, place] = grid.of(x[row]);
        const double each = w ? w[row] : 1.0;
        add_happened(to + step * code, size, x[row], place, each);
    }
}

// Primitives of rows that weigh 1: what happened in each, and of those with one top class the pair of that, added to
// their cells. How many rows have several top classes.
Index count_rows(Vector<const double> correct, Vector<const double> highest, Vector<const Index> ties, int fraction_bits,
                 Matrix<double> happened, Vector<double> top_total, Matrix<double> top_happened) {
    const Grid grid(fraction_bits);
    const Index n = correct.shape(0);
    for (const auto& columns : {happened, top_happened}) {
        if (columns.shape(0) != COLUMNS || columns.shape(1) != grid.size) {
            throw nb::value_error("count_rows: shapes do not go together");
        }
    }
    if (static_cast<Index>(highest.shape(0)) != n || static_cast<Index>(ties.shape(0)) != n ||
        top_total.shape(0) != grid.size) {
        throw nb::value_error("count_rows: shapes do not go together");
    }
    const Index size = happened.stride(0), step = happened.stride(1);
    const Index top_size = top_happened.stride(0), top_step = top_happened.stride(1);
    Index several = 0;
    nb::gil_scoped_release released;
    for (Index row = 0; row < n; ++row) {
        const double p = correct.data()[row] + 0.0, high = highest.data()[row];  // -0.0 is 0
        const auto [code, place] = grid.of(p);
        add_happened(happened.data() + step * code, size, p, place, 1);
        if (ties.data()[row] != 1) {
            ++several;
            continue;
        }
        if (p == high) add_happened(top_happened.data() + top_step * code, top_size, p, place, 1);
        top_total.data()[p == high ? code : grid.of(high).code] += 1;
    }
    return several;
}

template <class From>
void count_of(const Matrix<nb::ro>& p, const double* w, const Grid& grid, double* to) {
    const From* data = static_cast<const From*>(p.data());
    const Index rows = p.shape(0), classes = p.shape(1), row_stride = p.stride(0), class_stride = p.stride(1);
    nb::gil_scoped_release released;
    for (Index row = 0; row < rows; ++row) {
        const double weight = w ? w[row] : 1.0;
        for (Index k = 0; k < classes; ++k) {
            to[grid.of(data[row * row_stride + k * class_stride]).code] += weight;
        }
    }
}

// Probabilities, each with its row's weight or 1, added to the total of their cells.
void count(Matrix<nb::ro> p, std::optional<Vector<const double>> weights, int fraction_bits, Vector<double> total) {
    const Grid grid(fraction_bits);
    if (total.shape(0) != grid.size || (weights && weights->shape(0) != p.shape(0))) {
        throw nb::value_error("count: shapes do not go together");
    }
    const double* w = weights ? weights->data() : nullptr;
    if (p.dtype() == nb::dtype<float>()) {
        count_of<float>(p, w, grid, total.data());
    } else if (p.dtype() == nb::dtype<double>()) {
        count_of<double>(p, w, grid, total.data());
    } else {
        throw nb::type_error("count: floats of 32 or 64 bits only");
    }
}

}  // namespace
