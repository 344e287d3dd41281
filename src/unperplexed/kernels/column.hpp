// Rows of two classes of which one column is given. Places in cells are found for a batch of rows in vectors, and
// then counted one by one, with the cells of later rows fetched ahead: the tables do not fit into the fastest cache.
// Whatever is odd is marked and left to the path that takes whole rows.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "base.hpp"
#include "cells.hpp"
#include "distinct.hpp"

namespace {

// Rows of one column, and where in the cells the probabilities of both classes are: of the negative one, and of the
// positive. In steps that compilers make vectors of.
template <class T>
struct Batch {
    static constexpr Index ROWS = 256;
    std::array<std::array<T, ROWS>, 2> p;
    std::array<std::array<std::uint32_t, ROWS>, 2> code, place;
};

// What is no probability, or so near 1/2 or 0 that its cell does not tell which class is on top, or how small it is, is
// odd. The bits of floats from 0 up are in the order of their values.
template <class T>
INLINED std::int64_t is_odd(T p) {
    using Word = typename Lanes<T>::Word;
    const Word bits = std::bit_cast<Word>(p), half = std::bit_cast<Word>(T(0.5)), one = std::bit_cast<Word>(T(1));
    const Word least = std::bit_cast<Word>(T(0x1p-126));
    const Word below = std::bit_cast<Word>(T(0.5 - 0x1p-24)), above = std::bit_cast<Word>(T(0.5 + 0x1p-24));
    return (bits < 0) | (bits > one) | ((bits > 0) & (bits < least)) |
           ((bits >= below) & (bits <= above) & (bits != half));
}

template <class T>
INLINED bool any_odd(const T* p, const std::int8_t* truth, Index n) {
    typename Lanes<T>::Word odd = 0;
    int missing = 0;
    for (Index k = 0; k < n; ++k) odd |= is_odd(p[k]);
    for (Index k = 0; k < n; ++k) missing |= truth[k];
    return odd || missing < 0;
}

template <class T>
INLINED void batch_of(const Grid& grid, Index n, Batch<T>& batch) {
    const std::uint32_t mask = (1U << grid.shift) - 1, last = grid.size - 1;
    std::array<std::uint32_t, Batch<T>::ROWS> bits, upper;
    for (int side = 0; side < 2; ++side) {
        const T* p = batch.p[side].data();
        for (Index k = 0; k < n; ++k) bits[k] = std::bit_cast<std::uint32_t>(single(std::min(p[k], T(1) - p[k])));
        for (Index k = 0; k < n; ++k) upper[k] = std::bit_cast<std::uint32_t>(single(T(0.5) - p[k])) >> 31;
        for (Index k = 0; k < n; ++k) {
            const std::uint32_t lower = (bits[k] >> grid.shift) + (bits[k] != 0);
            batch.code[side][k] = upper[k] ? last - lower : lower;
            batch.place[side][k] = bits[k] & mask;
        }
    }
}

// Whether any row is odd; where none is, its place in the cells.
template <class T>
INLINED bool odd_batch_of(const Grid& grid, const T* x, Index stride, const std::int8_t* truth, Index n,
                          Batch<T>& batch) {
    for (Index k = 0; k < n; ++k) batch.p[1][k] = x[k * stride];
    for (Index k = 0; k < n; ++k) batch.p[0][k] = T(1) - batch.p[1][k];
    const bool odd = any_odd(batch.p[1].data(), truth, n);
    batch_of(grid, n, batch);
    return odd;
}

DISPATCHED bool batch_in(const Grid& grid, const float* x, Index stride, const std::int8_t* truth, Index n,
                         Batch<float>& batch) {
    return odd_batch_of(grid, x, stride, truth, n, batch);
}
DISPATCHED bool batch_in(const Grid& grid, const double* x, Index stride, const std::int8_t* truth, Index n,
                         Batch<double>& batch) {
    return odd_batch_of(grid, x, stride, truth, n, batch);
}

// Rows of two classes of which one column is given: by value, with how often either class happened, until there are
// too many values; in cells beyond.
template <class T>
class OneColumn {
  public:
    OneColumn(Index most, int fraction_bits) : most_(most), grid_(fraction_bits) {}

    // Count rows but for odd ones, which are marked: those whose outcome is neither 0 nor 1 among them.
    template <class Code>
    void add(nb::ndarray<const T, nb::ndim<1>, nb::device::cpu> p, Vector<const Code> truth, Vector<bool> odd) {
        const Index n = p.shape(0), stride = p.stride(0);
        if (static_cast<Index>(truth.shape(0)) != n || static_cast<Index>(odd.shape(0)) != n) {
            throw nb::value_error("add: shapes do not go together");
        }
        const T* x = p.data();
        nb::gil_scoped_release released;
        std::vector<std::int8_t> outcomes(n);
        for (Index k = 0; k < n; ++k) outcomes[k] = truth.data()[k] >> 1 ? -1 : static_cast<std::int8_t>(truth.data()[k]);
        add_outcomes(x, stride, outcomes.data(), odd.data(), n);
    }

    bool exact() const { return !cells_[0]; }

    // Values, and how often the negative and the positive class happened; in no order.
    nb::tuple values() const {
        std::array<std::vector<double>, 3> found;
        for (const Entry& entry : entries_) {
            if (!entry.used()) continue;
            found[0].push_back(entry.key);
            found[1].push_back(static_cast<double>(entry.count[0]));
            found[2].push_back(static_cast<double>(entry.count[1]));
        }
        return nb::make_tuple(given(std::move(found[0])), given(std::move(found[1])), given(std::move(found[2])));
    }

    // Of the cells that are occupied the code, the total, and the columns of what happened there, cell by cell: of the
    // pairs of both classes, or of the rows with one outcome, whose cells are those of the positive class.
    nb::ndarray<nb::numpy, double, nb::ndim<1>> cells() const {
        std::vector<double> found;
        for (std::size_t code = 0; code < grid_.size; ++code) {
            Cell both = cells_[NEGATIVE][code];
            both.add(cells_[POSITIVE][code]);
            give(found, code, both, others_[code]);
        }
        return given(std::move(found));
    }
    nb::ndarray<nb::numpy, double, nb::ndim<1>> cells_of_outcome(bool positive) const {
        std::vector<double> found;
        for (std::size_t code = 0; code < grid_.size; ++code) {
            give(found, code, cells_[positive ? POSITIVE : NEGATIVE_BY_P][code], 0);
        }
        return given(std::move(found));
    }

  private:
    struct Entry {
        T key = 0;
        std::array<Index, 2> count{};
        bool used() const { return count[0] || count[1]; }
    };

    struct alignas(64) Cell {
        std::array<Index, 4> sums;  // in the order of the columns, but for the squared weights: these are 1
        double low, high;           // unless nothing happened

        void add(const Cell& other) {
            if (!other.sums[0]) return;
            low = sums[0] ? std::min(low, other.low) : other.low;
            high = sums[0] ? std::max(high, other.high) : other.high;
            for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += other.sums[k];
        }
    };

    // Rows with a negative outcome by the probability of the negative class, rows with a positive one by that of the
    // positive class, and the former once more by that of the positive class.
    enum Table { NEGATIVE, POSITIVE, NEGATIVE_BY_P, TABLES };

    static void give(std::vector<double>& found, std::size_t code, const Cell& cell, Index others) {
        const auto [count, first, second_high, second_low] = cell.sums;
        if (!count && !others) return;
        const double low = count ? cell.low : std::numeric_limits<double>::infinity();
        const double high = count ? cell.high : -std::numeric_limits<double>::infinity();
        for (const Index x : {Index(code), count + others, count, count, first, second_high, second_low}) {
            found.push_back(static_cast<double>(x));
        }
        found.insert(found.end(), {low, high});
    }

    void add_outcomes(const T* x, Index stride, const std::int8_t* truth, bool* odd, Index n) {
        const auto counts = [&](Index k) { return !is_odd(x[k * stride]) && truth[k] >= 0; };
        if (entries_.size() == 0 && exact() && crowded_in(x, n, 1, stride, 0, most_, counts)) to_cells();
        const Index done = exact() ? by_value(x, stride, truth, odd, n) : 0;
        if (done == n) return;
        if (exact()) to_cells();
        by_cell(x + done * stride, stride, truth + done, odd + done, n - done);
    }

    Index by_value(const T* x, Index stride, const std::int8_t* truth, bool* odd, Index n) {
        for (Index k = 0; k < n; ++k) {
            const T p = x[k * stride];
            odd[k] = is_odd(p) || truth[k] < 0;
            if (odd[k]) continue;
            Entry& entry = entries_.of(p);
            const bool is_new = !entry.used();
            if (is_new && entries_.size() == most_) return k;
            entry.key = p;
            ++entry.count[truth[k] > 0];
            if (is_new) entries_.taken();
        }
        return n;
    }

    void to_cells() {
        // Zeros as the system gives them: most cells are never touched, and take no memory then.
        const std::size_t bytes = (TABLES * grid_.size + 1) * sizeof(Cell);
        room_.reset(static_cast<std::byte*>(std::calloc(bytes + grid_.size * sizeof(Index), 1)));
        if (!room_) throw std::bad_alloc();
        const auto at = reinterpret_cast<std::uintptr_t>(room_.get());
        const auto aligned = (at + alignof(Cell) - 1) / alignof(Cell) * alignof(Cell);
        for (int table = 0; table < TABLES; ++table) cells_[table] = reinterpret_cast<Cell*>(aligned) + table * grid_.size;
        others_ = reinterpret_cast<Index*>(cells_[TABLES - 1] + grid_.size);
        for (const Entry& entry : entries_) {
            for (const bool positive : {false, true}) {
                if (!entry.count[positive]) continue;
                const T p = entry.key, q = T(1) - p;
                const auto [code, place] = grid_.of(p);
                const auto [other, other_place] = grid_.of(q);
                if (positive) {
                    count(POSITIVE, code, place, p, entry.count[1]);
                    others_[other] += entry.count[1];
                } else {
                    count(NEGATIVE, other, other_place, q, entry.count[0]);
                    count(NEGATIVE_BY_P, code, place, p, entry.count[0]);
                    others_[code] += entry.count[0];
                }
            }
        }
        entries_ = {};
    }

    void by_cell(const T* x, Index stride, const std::int8_t* truth, bool* odd, Index n) {
        Batch<T> batch;
        for (Index start = 0; start < n; start += Batch<T>::ROWS) {
            const Index m = std::min(Batch<T>::ROWS, n - start);
            const std::int8_t* outcome = truth + start;
            const bool some_odd = batch_in(grid_, x + start * stride, stride, outcome, m, batch);
            for (Index k = 0; k < m; ++k) {
                odd[start + k] = some_odd && (is_odd(batch.p[1][k]) || outcome[k] < 0);
                if (odd[start + k]) continue;
                const int side = outcome[k] > 0;
                if (k + SOON < m) {
                    const int soon = outcome[k + SOON] > 0;
                    prefetched(reinterpret_cast<std::uintptr_t>(cells_[soon] + batch.code[soon][k + SOON]));
                    if (!soon) {
                        const std::uint32_t code = batch.code[1][k + SOON];
                        prefetched(reinterpret_cast<std::uintptr_t>(cells_[NEGATIVE_BY_P] + code));
                    }
                }
                count(side, batch.code[side][k], batch.place[side][k], batch.p[side][k], 1);
                if (!side) count(NEGATIVE_BY_P, batch.code[1][k], batch.place[1][k], batch.p[1][k], 1);
                others_[batch.code[1 - side][k]] += 1;
            }
        }
    }

    void count(int table, std::uint32_t code, std::uint32_t place, T value, Index times) {
        Cell& cell = cells_[table][code];
        const Index square = static_cast<Index>(place) * place;
        cell.sums[0] += times;
        cell.sums[1] += times * place;
        cell.sums[2] += times * (square >> HALF_BITS);
        cell.sums[3] += times * (square & ((1 << HALF_BITS) - 1));
        if (cell.sums[0] == times) cell.low = cell.high = value;
        cell.low = std::min<double>(cell.low, value);
        cell.high = std::max<double>(cell.high, value);
    }

    static constexpr Index SOON = 16;

    Index most_;
    Grid grid_;
    Hashed<Entry> entries_;
    std::unique_ptr<std::byte, Free> room_;
    std::array<Cell*, TABLES> cells_{};
    Index* others_ = nullptr;
};

}  // namespace
