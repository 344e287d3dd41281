// Rows of two classes of which one column is given. What a row adds is found for a batch of rows in vectors, and then
// added row by row to one line of memory, without a branch: outcomes can not be guessed, and a branch that is guessed
// wrongly takes longer than all the rest. The lines are fetched ahead, since the tables exceed the fastest cache.
// Whatever is odd is marked and left to the path that takes whole rows.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base.hpp"
#include "cells.hpp"
#include "distinct.hpp"

namespace {

// What is no probability, or so near 1/2 or 0 that its cell does not tell which class is on top, or how small it is, is
// odd, and so is -0.0.
template <class T>
INLINED typename Lanes<T>::Word is_odd(T p) {
    const T off = std::abs(p - T(0.5));
    return !(off <= T(0.5)) | (std::bit_cast<typename Lanes<T>::Word>(p) < 0) | ((p < T(0x1p-126)) & (p != T(0))) |
           ((off <= T(0x1p-24)) & (p != T(0.5)));
}

// How low a probability is: its bits, taken from those of 2, are a float as well, and the higher the lower it is. So
// the lowest of several is found as the highest is, from 0 on, which memory that was never written holds.
template <class T>
INLINED T lowness(T p) {
    using Word = typename Lanes<T>::Word;
    return std::bit_cast<T>(std::bit_cast<Word>(T(2)) - std::bit_cast<Word>(p));
}

// What the values of a cell add up to: how many there are, their places, and the two parts of the squares of these;
// and the ends of their range.
template <class T>
struct alignas(64) Cell {
    std::array<std::uint64_t, 4> sums;
    std::array<T, 2> ends;  // the highest value and the lowness of the lowest; 0 if there is none

    INLINED void add(const std::uint32_t* more, const T* its_ends) {
        typedef std::uint32_t Four __attribute__((vector_size(16)));
        typedef std::uint64_t Sums __attribute__((vector_size(32)));
        typedef T Ends __attribute__((vector_size(2 * sizeof(T))));
        const Sums all = loaded<Sums>(sums.data()) + __builtin_convertvector(loaded<Four>(more), Sums);
        const Ends a = loaded<Ends>(ends.data()), b = loaded<Ends>(its_ends);
        const Ends most = a > b ? a : b;
        std::memcpy(sums.data(), &all, sizeof all);
        std::memcpy(ends.data(), &most, sizeof most);
    }

    void add(const std::uint32_t* more, const T* its_ends, std::uint64_t times) {
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += times * more[k];
        for (std::size_t k = 0; k < ends.size(); ++k) ends[k] = std::max(ends[k], its_ends[k]);
    }
};

// A batch of rows: probabilities of both classes, in which table and cell that of the positive one is and what it adds
// there, and the same of those of the negative class that are no mirror images.
template <class T>
struct Batch {
    static constexpr Index ROWS = 128;
    template <class X>
    using Each = std::array<X, ROWS>;

    Each<T> p, q;
    Each<std::uint32_t> bits, other_bits;  // of the floats of their distance from 0 or 1
    Each<std::uint32_t> truth, table, code, mirrored_code, apart;
    Each<std::array<std::uint32_t, 4>> sums, mirrored_sums;
    Each<std::array<T, 2>> ends, mirrored_ends;
    bool any_odd, any_apart;
    Index n;
};

constexpr Index LEAST_ROWS = 1 << 14;

// Rows by outcome, whose probability of the negative class is the mirror image of that of the positive one; by outcome
// those whose is not, so that they are counted twice, by either; and what is odd.
enum TableOf { MATCHED, APART = 2, MIRRORED = 4, ODD = 6, TABLES };

// What values add to sums, by the float of their distance from 0 or 1.
INLINED void sums_of(int shift, const std::uint32_t* bits, std::array<std::uint32_t, 4>* sums, Index n) {
    const std::uint32_t mask = (1U << shift) - 1;
    if (shift <= 16) {
        for (Index k = 0; k < n; ++k) {
            const std::uint32_t place = bits[k] & mask, square = place * place;
            sums[k] = {1, place, square >> HALF_BITS, square & ((1U << HALF_BITS) - 1)};
        }
    } else {
        for (Index k = 0; k < n; ++k) {
            const std::uint64_t place = bits[k] & mask, square = place * place;
            sums[k] = {1, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(square >> HALF_BITS),
                       static_cast<std::uint32_t>(square & ((1U << HALF_BITS) - 1))};
        }
    }
}

// All of a batch, and the least that an outcome was given, as the bits of a float: those of 1/2 if it is not less. Loops
// are over numbers of one size each, and choose by masks, which compilers make vectors of.
template <class T, class Code>
INLINED std::int32_t batch_of(const Grid& grid, const T* x, Index stride, const Code* truth, Batch<T>& batch) {
    constexpr Index ROWS = Batch<T>::ROWS;
    const Index n = batch.n;
    T *p = batch.p.data(), *q = batch.q.data();
    std::uint32_t *bits = batch.bits.data(), *others = batch.other_bits.data(), *happened = batch.truth.data();
    std::array<T, ROWS> low, other, off;
    std::array<typename Lanes<T>::Word, ROWS> its_odd;
    std::array<std::uint32_t, ROWS> odd, upper;
    if (stride == 1) {
        for (Index k = 0; k < n; ++k) p[k] = x[k];
    } else {
        for (Index k = 0; k < n; ++k) p[k] = x[k * stride];
    }
    for (Index k = 0; k < n; k += 64 / sizeof(T)) prefetched(reinterpret_cast<std::uintptr_t>(x + (k + 2 * ROWS) * stride));
    for (Index k = 0; k < n; k += 64 / sizeof(Code)) prefetched(reinterpret_cast<std::uintptr_t>(truth + k + 2 * ROWS));
    for (Index k = 0; k < n; ++k) {
        happened[k] = static_cast<std::uint32_t>(truth[k] & 1);
        odd[k] = static_cast<std::uint32_t>((truth[k] & ~Code(1)) != 0);
    }
    for (Index k = 0; k < n; ++k) {
        q[k] = T(1) - p[k];
        its_odd[k] = is_odd(p[k]);
        low[k] = p[k] < q[k] ? p[k] : q[k];
        other[k] = p[k] < q[k] ? T(1) - q[k] : q[k];
        off[k] = T(0.5) - p[k];
    }
    for (Index k = 0; k < n; ++k) bits[k] = std::bit_cast<std::uint32_t>(single(low[k]));
    for (Index k = 0; k < n; ++k) others[k] = std::bit_cast<std::uint32_t>(single(other[k]));
    for (Index k = 0; k < n; ++k) upper[k] = std::bit_cast<std::uint32_t>(single(off[k])) >> 31;
    for (Index k = 0; k < n; ++k) odd[k] |= static_cast<std::uint32_t>(its_odd[k]);
    const std::uint32_t size = grid.size, shift = static_cast<std::uint32_t>(grid.shift);
    std::uint32_t any_odd = 0, any_apart = 0;
    std::int32_t least = HALF;
    for (Index k = 0; k < n; ++k) {
        const std::uint32_t kept = odd[k] - 1, above = 0 - upper[k], wrong = 0 - (upper[k] ^ happened[k]);
        const std::uint32_t lower = (bits[k] >> shift) + (bits[k] != 0);
        const std::uint32_t apart = ((bits[k] ^ others[k]) >> (shift & (0 - happened[k]))) != 0 ? kept & 1 : 0;
        batch.code[k] = ((lower ^ above) + (size & above)) & kept;
        batch.apart[k] = apart;
        batch.table[k] = (happened[k] & kept) + APART * apart + ODD * odd[k];
        any_odd |= odd[k];
        any_apart |= apart;
        const std::uint32_t given = (bits[k] & wrong & kept) | (HALF & ~(wrong & kept));
        least = std::min(least, static_cast<std::int32_t>(given));
    }
    batch.any_odd = any_odd;
    batch.any_apart = any_apart;
    return least;
}

template <class T, class Code>
DISPATCHED std::int32_t batch_in(const Grid& grid, const T* x, Index stride, const Code* truth, Batch<T>& batch) {
    return batch_of(grid, x, stride, truth, batch);
}

// What its probabilities add to their cells.
template <class T>
INLINED void added_by(const Grid& grid, Batch<T>& batch) {
    const Index n = batch.n;
    sums_of(grid.shift, batch.bits.data(), batch.sums.data(), n);
    for (Index k = 0; k < n; ++k) batch.ends[k] = {batch.p[k], lowness(batch.p[k])};
    if (!batch.any_apart) return;
    const std::uint32_t* bits = batch.other_bits.data();
    for (Index k = 0; k < n; ++k) batch.mirrored_code[k] = grid.size - 1 - ((bits[k] >> grid.shift) + (bits[k] != 0));
    sums_of(grid.shift, bits, batch.mirrored_sums.data(), n);
    for (Index k = 0; k < n; ++k) batch.mirrored_ends[k] = {batch.q[k], lowness(batch.q[k])};
}

template <class T>
DISPATCHED void added_in(const Grid& grid, Batch<T>& batch) {
    added_by(grid, batch);
}

// Add a batch to tables.
template <class T>
DISPATCHED void batch_into(const std::array<Cell<T>*, TABLES>& tables, const Grid& grid, Batch<T>& batch) {
    added_by(grid, batch);
    const Index n = batch.n;
    typename Batch<T>::template Each<Cell<T>*> cells;
    for (Index k = 0; k < n; ++k) {
        cells[k] = tables[batch.table[k]] + batch.code[k];
        prefetched(reinterpret_cast<std::uintptr_t>(cells[k]));
    }
    for (Index k = 0; k < n; ++k) cells[k]->add(batch.sums[k].data(), batch.ends[k].data());
    if (!batch.any_apart) return;
    std::array<std::uint32_t, Batch<T>::ROWS + 1> rows;
    Index some = 0;
    for (Index k = 0; k < n; ++k) {
        rows[some] = static_cast<std::uint32_t>(k);
        some += batch.apart[k];
    }
    for (Index k = 0; k < some; ++k) {
        cells[k] = tables[MIRRORED + batch.truth[rows[k]]] + batch.mirrored_code[rows[k]];
        prefetched(reinterpret_cast<std::uintptr_t>(cells[k]));
    }
    for (Index k = 0; k < some; ++k) {
        cells[k]->add(batch.mirrored_sums[rows[k]].data(), batch.mirrored_ends[rows[k]].data());
    }
}

// Rows of two classes of which one column is given: by value, with how often either class happened, until there are
// too many values; in cells beyond.
template <class T>
class OneColumn {
  public:
    OneColumn(Index most, int fraction_bits) : most_(most), grid_(fraction_bits) {}

    // Count rows but for odd ones, which are marked: those whose outcome is neither 0 nor 1 among them. How many are
    // odd; and of each `LEAST_ROWS` rows what the least probable outcome was given, 1/2 if that is not less.
    template <class Code>
    Index add(nb::ndarray<const T, nb::ndim<1>, nb::device::cpu> p, Vector<const Code> truth, Vector<bool> odd,
              Vector<float> least) {
        const Index n = p.shape(0), stride = p.stride(0);
        if (static_cast<Index>(truth.shape(0)) != n || static_cast<Index>(odd.shape(0)) != n ||
            static_cast<Index>(least.shape(0)) != (n + LEAST_ROWS - 1) / LEAST_ROWS) {
            throw nb::value_error("add: shapes do not go together");
        }
        const Run<Code> run{p.data(), stride, truth.data(), odd.data(), least.data(), n};
        nb::gil_scoped_release released;
        std::fill(run.least, run.least + least.shape(0), 0.5F);
        std::fill(run.odd, run.odd + n, false);
        const auto counts = [&](Index k) { return !run.is_odd(k); };
        if (entries_.size() == 0 && exact() && crowded_in(run.p, n, 1, stride, 0, most_, counts)) to_cells();
        Index found = 0;
        const Index done = exact() ? by_value(run, found) : 0;
        if (done < n) {
            if (exact()) to_cells();
            by_cell(run, done, found);
        }
        return found;
    }

    bool exact() const { return !tables_[0]; }

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
        for (std::uint32_t code = 0; code < grid_.size; ++code) {
            const std::uint32_t mirror = mirrored(code);
            Happened both = of_outcome(1, code);
            both.add(tables_[MATCHED][mirror], true);
            both.add(tables_[MIRRORED][code], false);
            const Index others = of_outcome(0, code).sums[0] + count_of(MATCHED + 1, mirror) + count_of(MIRRORED + 1, code);
            give(found, code, both, others);
        }
        return given(std::move(found));
    }
    nb::ndarray<nb::numpy, double, nb::ndim<1>> cells_of_outcome(bool positive) const {
        std::vector<double> found;
        for (std::uint32_t code = 0; code < grid_.size; ++code) give(found, code, of_outcome(positive, code), 0);
        return given(std::move(found));
    }

  private:
    struct Entry {
        T key = 0;
        std::array<Index, 2> count{};
        bool used() const { return count[0] || count[1]; }
    };

    // Rows that are to be counted.
    template <class Code>
    struct Run {
        const T* p;
        Index stride;
        const Code* truth;
        bool* odd;
        float* least;
        Index n;

        INLINED bool is_odd(Index k) const { return ::is_odd(p[k * stride]) || (truth[k] & ~Code(1)); }
    };

    // What happened in a cell, in the order of the columns, but for the squared weights: these are 1.
    struct Happened {
        std::array<Index, 4> sums{};
        double low = std::numeric_limits<double>::infinity(), high = -low;

        void add(const Cell<T>& cell, bool mirrored) {
            if (!cell.sums[0]) return;
            for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<Index>(cell.sums[k]);
            const T highest = cell.ends[0], lowest = lowness(cell.ends[1]);
            low = std::min<double>(low, mirrored ? T(1) - highest : lowest);
            high = std::max<double>(high, mirrored ? T(1) - lowest : highest);
        }
    };

    Happened of_outcome(int outcome, std::uint32_t code) const {
        Happened found;
        for (const int table : {MATCHED, APART}) found.add(tables_[table + outcome][code], false);
        return found;
    }

    Index count_of(int table, std::uint32_t code) const { return static_cast<Index>(tables_[table][code].sums[0]); }

    // The cell of 1 - p: at 1/2 the same. Next to it, where that is the mirror image, are odd rows only.
    std::uint32_t mirrored(std::uint32_t code) const {
        return code == grid_.half + 1 || code == grid_.half + 2 ? code : grid_.size - 1 - code;
    }

    static void give(std::vector<double>& found, std::uint32_t code, const Happened& cell, Index others) {
        const auto [count, first, second_high, second_low] = cell.sums;
        if (!count && !others) return;
        for (const Index x : {Index(code), count + others, count, count, first, second_high, second_low}) {
            found.push_back(static_cast<double>(x));
        }
        found.insert(found.end(), {cell.low, cell.high});
    }

    // Find what the next rows are, and how many.
    template <class Code>
    Index next(const Run<Code>& run, Index at, Batch<T>& batch) const {
        batch.n = std::min({Batch<T>::ROWS, run.n - at, LEAST_ROWS - at % LEAST_ROWS});
        const auto found = batch_in(grid_, run.p + at * run.stride, run.stride, run.truth + at, batch);
        float& least = run.least[at / LEAST_ROWS];
        least = std::min(least, std::bit_cast<float>(found));
        return batch.n;
    }

    // How many of the rows there was room for.
    template <class Code>
    Index by_value(const Run<Code>& run, Index& odd) {
        Batch<T> batch;
        for (Index at = 0; at < run.n;) {
            const Index n = next(run, at, batch);
            for (Index k = 0; k < n; ++k, ++at) {
                if (batch.any_odd && batch.table[k] == ODD) {
                    run.odd[at] = true;
                    ++odd;
                    continue;
                }
                Entry& entry = entries_.of(batch.p[k]);
                const bool is_new = !entry.used();
                if (is_new && entries_.size() == most_) return at;
                ++entry.count[batch.truth[k]];
                if (!is_new) continue;
                entry.key = batch.p[k];
                entries_.taken();
            }
        }
        return run.n;
    }

    template <class Code>
    void by_cell(const Run<Code>& run, Index at, Index& odd) {
        Batch<T> batch;
        while (at < run.n) {
            const Index n = next(run, at, batch);
            batch_into(tables_, grid_, batch);
            for (Index k = 0; batch.any_odd && k < n; ++k) {
                run.odd[at + k] = batch.table[k] == ODD;
                odd += batch.table[k] == ODD;
            }
            at += n;
        }
    }

    void to_cells() {
        // Zeros as the system gives them: most cells are never touched, and take no memory then. Where it has too few,
        // the values stay as they are.
        decltype(room_) room;
        decltype(tables_) tables{};
        for (int table = 0; table < TABLES; ++table) {
            const std::size_t bytes = ((table == ODD ? 1 : grid_.size) + 1) * sizeof(Cell<T>);
            room[table].reset(static_cast<std::byte*>(std::calloc(bytes, 1)));
            if (!room[table]) throw std::bad_alloc();
            const auto at = reinterpret_cast<std::uintptr_t>(room[table].get());
            tables[table] = reinterpret_cast<Cell<T>*>((at + alignof(Cell<T>) - 1) / alignof(Cell<T>) * alignof(Cell<T>));
        }
        for (const Entry& entry : entries_) {
            for (const std::int8_t truth : {0, 1}) {
                Batch<T> batch;
                batch.n = 1;
                batch_in(grid_, &entry.key, 1, &truth, batch);
                const auto times = static_cast<std::uint64_t>(entry.count[truth]);
                if (!times) continue;
                added_in(grid_, batch);
                tables[batch.table[0]][batch.code[0]].add(batch.sums[0].data(), batch.ends[0].data(), times);
                if (!batch.any_apart) continue;
                tables[MIRRORED + truth][batch.mirrored_code[0]].add(batch.mirrored_sums[0].data(),
                                                                     batch.mirrored_ends[0].data(), times);
            }
        }
        entries_ = {};
        room_ = std::move(room);
        tables_ = tables;
    }

    Index most_;
    Grid grid_;
    Hashed<Entry> entries_;
    std::array<std::unique_ptr<std::byte, Free>, TABLES> room_;
    std::array<Cell<T>*, TABLES> tables_{};
};

}  // namespace
