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
#include <unordered_map>
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

// Sums of a cell's values are packed in two words, so that a cell takes half a line of memory and a value is added to it
// in a few instructions: above the places how many there are, and the higher parts of the squares above the lower ones.
// A cell is emptied before it overflows, which the sign of its first word announces a batch ahead.
using Words = std::array<std::uint64_t, 2>;

struct Packed {
    int count_at, high_at;

    explicit Packed(int shift) : count_at(32 + shift), high_at(46 - shift) {}

    INLINED Words of(std::uint32_t place) const {
        const std::uint64_t square = static_cast<std::uint64_t>(place) * place;
        return {std::uint64_t(1) << count_at | place,
                square >> HALF_BITS << high_at | (square & ((1U << HALF_BITS) - 1))};
    }

    // How many there are, their places, and both parts of the squares.
    std::array<Index, 4> sums(const Words& words) const {
        const auto above = [](std::uint64_t word, int at) { return static_cast<Index>(word >> at); };
        const auto below = [](std::uint64_t word, int at) { return static_cast<Index>(word & ((std::uint64_t(1) << at) - 1)); };
        return {above(words[0], count_at), below(words[0], count_at), above(words[1], high_at), below(words[1], high_at)};
    }
};

template <class T>
using Ends = std::array<T, 2>;  // the highest of values and the lowness of the lowest; 0 if there is none

template <class T>
struct alignas(32) Cell {
    Words words;
    Ends<T> ends;

    // Add a value, of which each is the end of a range, and give what the words are now.
    INLINED auto add(const Words& more, const Ends<T>& its_ends) {
        typedef std::uint64_t Two __attribute__((vector_size(16)));
        typedef T Pair __attribute__((vector_size(2 * sizeof(T))));
        const Two all = loaded<Two>(words.data()) + loaded<Two>(more.data());
        const Pair a = loaded<Pair>(ends.data()), b = loaded<Pair>(its_ends.data());
        const Pair most = a > b ? a : b;
        std::memcpy(words.data(), &all, sizeof all);
        std::memcpy(ends.data(), &most, sizeof most);
        return all;
    }
};

// A batch of rows: probabilities of both classes, which cell of all tables that of the positive one is in and what it
// adds there, and the same of those of the negative class that are no mirror images.
template <class T>
struct Batch {
    static constexpr Index ROWS = 128;
    template <class X>
    using Each = std::array<X, ROWS>;

    Each<T> p, q;
    Each<std::uint32_t> bits, other_bits;  // of the floats of their distance from 0 or 1
    Each<std::uint32_t> truth, odd, apart, at, mirrored_at;
    Each<Words> words, mirrored_words;
    Each<Ends<T>> ends, mirrored_ends;
    bool any_odd, any_apart;
    Index n;
    std::uint32_t nearest;  // the lowest code of a value above 0 or below 1, less 1, counted from the nearer of them
};

constexpr Index LEAST_ROWS = 1 << 14;

// Rows by outcome, whose probability of the negative class is the mirror image of that of the positive one; by outcome
// those whose is not, so that they are counted twice, by either; and what is odd.
enum TableOf { MATCHED, APART = 2, MIRRORED = 4, ODD = 6, TABLES };

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
    std::array<std::uint32_t, ROWS> upper;
    std::uint32_t* odd = batch.odd.data();
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
    std::uint32_t any_odd = 0, any_apart = 0, nearest = grid.half;
    std::int32_t least = HALF;
    for (Index k = 0; k < n; ++k) {
        const std::uint32_t kept = odd[k] - 1, above = 0 - upper[k], wrong = 0 - (upper[k] ^ happened[k]);
        const std::uint32_t nonzero = bits[k] != 0, lower = (bits[k] >> shift) + nonzero;
        const std::uint32_t apart = ((bits[k] ^ others[k]) >> (shift & (0 - happened[k]))) != 0 ? kept & 1 : 0;
        const std::uint32_t table = (size & (0 - happened[k])) + (APART * size & (0 - apart));
        batch.apart[k] = apart;
        batch.at[k] = ((((lower ^ above) + (size & above)) + table) & kept) | (ODD * size & ~kept);
        any_odd |= odd[k];
        any_apart |= apart;
        nearest = std::min(nearest, (lower - 1) | ~kept);
        const std::uint32_t given = (bits[k] & wrong & kept) | (HALF & ~(wrong & kept));
        least = std::min(least, static_cast<std::int32_t>(given));
    }
    batch.any_odd = any_odd;
    batch.any_apart = any_apart;
    batch.nearest = nearest;
    return least;
}

template <class T, class Code>
DISPATCHED std::int32_t batch_in(const Grid& grid, const T* x, Index stride, const Code* truth, Batch<T>& batch) {
    return batch_of(grid, x, stride, truth, batch);
}

template <class T>
INLINED void added_of(int shift, const std::uint32_t* bits, const T* p, Words* words, Ends<T>* ends, Index n) {
    const Packed packed(shift);
    const std::uint32_t mask = (1U << shift) - 1;
    for (Index k = 0; k < n; ++k) words[k] = packed.of(bits[k] & mask);
    for (Index k = 0; k < n; ++k) ends[k] = {p[k], lowness(p[k])};
}

// What its probabilities add to their cells.
template <class T>
INLINED void added_by(const Grid& grid, Batch<T>& batch) {
    const Index n = batch.n;
    added_of(grid.shift, batch.bits.data(), batch.p.data(), batch.words.data(), batch.ends.data(), n);
    if (!batch.any_apart) return;
    const std::uint32_t* bits = batch.other_bits.data();
    const std::uint32_t size = grid.size, shift = static_cast<std::uint32_t>(grid.shift), last = (MIRRORED + 1) * size - 1;
    std::uint32_t nearest = batch.nearest;
    for (Index k = 0; k < n; ++k) {
        const std::uint32_t lower = (bits[k] >> shift) + (bits[k] != 0);
        batch.mirrored_at[k] = last + (size & (0 - batch.truth[k])) - lower;
        nearest = std::min(nearest, (lower - 1) | (batch.apart[k] - 1));
    }
    batch.nearest = nearest;
    added_of(grid.shift, bits, batch.q.data(), batch.mirrored_words.data(), batch.mirrored_ends.data(), n);
}

template <class T>
DISPATCHED void added_in(const Grid& grid, Batch<T>& batch) {
    added_by(grid, batch);
}

// Add a batch to the cells; whether one is to be emptied.
template <class T>
DISPATCHED bool batch_into(Cell<T>* cells, const Grid& grid, Batch<T>& batch) {
    added_by(grid, batch);
    const Index n = batch.n;
    auto any = decltype(cells->add(batch.words[0], batch.ends[0])){};
    for (Index k = 0; k < n; ++k) any |= cells[batch.at[k]].add(batch.words[k], batch.ends[k]);
    if (batch.any_apart) {
        std::array<std::uint32_t, Batch<T>::ROWS + 1> rows;
        Index some = 0;
        for (Index k = 0; k < n; ++k) {
            rows[some] = static_cast<std::uint32_t>(k);
            some += batch.apart[k];
        }
        for (Index k = 0; k < some; ++k) {
            const auto row = rows[k];
            any |= cells[batch.mirrored_at[row]].add(batch.mirrored_words[row], batch.mirrored_ends[row]);
        }
    }
    return static_cast<std::int64_t>(any[0]) < 0;
}

// Rows of two classes of which one column is given: by value, with how often either class happened, until there are
// too many values; in cells beyond.
template <class T>
class OneColumn {
  public:
    OneColumn(Index most, int fraction_bits) : most_(most), grid_(fraction_bits), nearest_(grid_.half) {}

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

    bool exact() const { return !cells_; }

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
        return each([&](std::uint32_t code, std::vector<double>& found) {
            const std::uint32_t mirror = mirrored(code);
            Happened both = of_outcome(1, code);
            both.add(at(MATCHED, mirror), true);
            both.add(at(MIRRORED, code), false);
            const Index others =
                of_outcome(0, code).sums[0] + at(MATCHED + 1, mirror).sums[0] + at(MIRRORED + 1, code).sums[0];
            give(found, code, both, others);
        });
    }
    nb::ndarray<nb::numpy, double, nb::ndim<1>> cells_of_outcome(bool positive) const {
        return each([&](std::uint32_t code, std::vector<double>& found) { give(found, code, of_outcome(positive, code), 0); });
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

    // What is in a cell of a table.
    struct Found {
        std::array<Index, 4> sums;
        T highest, lowest;
    };

    Found at(int table, std::uint32_t code) const {
        const std::size_t place = std::size_t(table) * grid_.size + code;
        const Cell<T>& cell = cells_[place];
        Found found{Packed(grid_.shift).sums(cell.words), cell.ends[0], lowness(cell.ends[1])};
        if (emptied_.empty()) return found;
        const auto emptied = emptied_.find(place);
        for (std::size_t k = 0; emptied != emptied_.end() && k < 4; ++k) found.sums[k] += emptied->second[k];
        return found;
    }

    // What happened in a cell, in the order of the columns, but for the squared weights: these are 1.
    struct Happened {
        std::array<Index, 4> sums{};
        double low = std::numeric_limits<double>::infinity(), high = -low;

        void add(const Found& cell, bool mirrored) {
            if (!cell.sums[0]) return;
            for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += cell.sums[k];
            low = std::min<double>(low, mirrored ? T(1) - cell.highest : cell.lowest);
            high = std::max<double>(high, mirrored ? T(1) - cell.lowest : cell.highest);
        }
    };

    Happened of_outcome(int outcome, std::uint32_t code) const {
        Happened found;
        for (const int table : {MATCHED, APART}) found.add(at(table + outcome, code), false);
        return found;
    }

    // Cells of 0, those between that may be occupied, and of 1: memory that was never written is not read either.
    template <class Give>
    nb::ndarray<nb::numpy, double, nb::ndim<1>> each(Give give) const {
        std::vector<double> found;
        {
            const nb::gil_scoped_release released;
            give(0, found);
            for (std::uint32_t code = nearest_ + 1; code + nearest_ + 1 < grid_.size; ++code) give(code, found);
            give(grid_.size - 1, found);
        }
        return given(std::move(found));
    }

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
                if (batch.any_odd && batch.odd[k]) {
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
            count(batch);
            for (Index k = 0; batch.any_odd && k < n; ++k) {
                run.odd[at + k] = batch.odd[k];
                odd += batch.odd[k];
            }
            at += n;
        }
    }

    void count(Batch<T>& batch) {
        if (batch_into(cells_, grid_, batch)) {
            for (Index k = 0; k < batch.n; ++k) {
                empty(batch.at[k]);
                if (batch.apart[k]) empty(batch.mirrored_at[k]);
            }
        }
        nearest_ = std::min(nearest_, batch.nearest);
    }

    // Count a value so many times, as often at once as there is room for.
    void count(std::uint32_t place, const Words& words, const Ends<T>& ends, Index times) {
        const Index most = Index(1) << (31 - grid_.shift);
        for (; times > 0; times -= most) {
            Words several = words;
            for (std::uint64_t& word : several) word *= static_cast<std::uint64_t>(std::min(times, most));
            cells_[place].add(several, ends);
            empty(place);
        }
    }

    // Take out what is in a cell if it is nearly full.
    void empty(std::uint32_t place) {
        Cell<T>& cell = cells_[place];
        if (static_cast<std::int64_t>(cell.words[0]) >= 0) return;
        std::array<Index, 4>& to = emptied_[place];
        const auto sums = Packed(grid_.shift).sums(cell.words);
        for (std::size_t k = 0; k < sums.size(); ++k) to[k] += sums[k];
        cell.words = {};
    }

    void to_cells() {
        // Zeros as the system gives them: most cells are never touched, and take no memory then. Where it has too few,
        // the values stay as they are.
        const std::size_t bytes = (std::size_t(ODD) * grid_.size + 2) * sizeof(Cell<T>);
        room_.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));
        if (!room_) throw std::bad_alloc();
        const auto begun = reinterpret_cast<std::uintptr_t>(room_.get());
        cells_ = reinterpret_cast<Cell<T>*>((begun + alignof(Cell<T>) - 1) / alignof(Cell<T>) * alignof(Cell<T>));
        for (const Entry& entry : entries_) {
            for (const std::int8_t truth : {0, 1}) {
                Batch<T> batch;
                batch.n = 1;
                batch_in(grid_, &entry.key, 1, &truth, batch);
                if (!entry.count[truth]) continue;
                added_in(grid_, batch);
                nearest_ = std::min(nearest_, batch.nearest);
                count(batch.at[0], batch.words[0], batch.ends[0], entry.count[truth]);
                if (!batch.any_apart) continue;
                count(batch.mirrored_at[0], batch.mirrored_words[0], batch.mirrored_ends[0], entry.count[truth]);
            }
        }
        entries_ = {};
    }

    Index most_;
    Grid grid_;
    Hashed<Entry> entries_;
    std::unique_ptr<std::byte, Free> room_;
    Cell<T>* cells_ = nullptr;
    std::uint32_t nearest_;  // the lowest code, less 1, of what is counted in cells but 0 and 1, or of its mirror image
    std::unordered_map<std::size_t, std::array<Index, 4>> emptied_;  // what was in cells that were full
};

}  // namespace
