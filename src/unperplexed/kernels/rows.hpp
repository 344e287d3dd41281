// Primitives of rows, and their cells counted in the same pass. Each value costs one store, the floor that was
// measured: so a value goes to the counter of its leading bits whatever it is, and the few that belong elsewhere
// (zeros, those above 1/2, of which a row has at most two) are moved afterwards.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "base.hpp"
#include "cells.hpp"
#include "row_pass.hpp"
#include "softmax.hpp"

namespace {

constexpr double SUM_TOLERANCE = 1e-3 * (1 + 1e-9);

// Counts of values from 0 to 1 by their leading bits, whatever these are, in 32 bits so that they stay in fast cache.
// They go into the totals as if all were of cells below 1/2; where they are not, `corrected` puts it right. There is
// room for any bits, should another thread write values that are no probabilities after they were checked; of what is
// never touched the system makes no memory.
class Raw {
  public:
    Raw(const Grid& grid, double* total)
        : grid_(grid),
          total_(total),
          used_((0x3f800000U >> grid.shift) + 1),
          raw_(static_cast<std::uint32_t*>(std::calloc(std::size_t{1} << (32 - grid.shift), sizeof(std::uint32_t)))) {
        if (!raw_) throw std::bad_alloc();
    }

    INLINED void eight(const float* x) {
        std::uint32_t* raw = raw_.get();
        const int shift = grid_.shift;
        for (int k = 0; k < 8; k += 2) {
            const auto two = loaded<std::uint64_t>(x + k);
            ++raw[static_cast<std::uint32_t>(two) >> shift];
            ++raw[static_cast<std::uint32_t>(two >> 32) >> shift];
        }
    }

    INLINED void eight(const double* x) {
        typedef float Floats __attribute__((vector_size(16)));
        std::array<float, 8> single;
        for (int k = 0; k < 8; k += 4) {
            const Floats four = __builtin_convertvector(loaded<Wide>(x + k), Floats);
            std::memcpy(single.data() + k, &four, sizeof four);
        }
        eight(single.data());
    }

    template <class T>
    INLINED void one(T x) {
        ++raw_.get()[bits_of(x)];
    }

    // Before so many more are counted.
    INLINED void room(Index n) {
        if (counted_ + n > MOST) into();
        counted_ += n;
    }

    // Count as zeros, and above 1/2, what is; of a row that is none after all, nothing. Its values are so far apart.
    template <class T>
    INLINED void corrected(const T* x, Index n, Index step, T high, const Pass& pass, bool usual) {
        if (!usual) {
            for (Index i = 0; i < n; ++i) total_[key(x[i * step]) + 1] -= 1;
            return;
        }
        const double zeros = static_cast<double>(pass.zeros);
        total_[0] += zeros;
        total_[1] -= zeros;
        if (!large(high)) return;
        if (pass.total - high < SECOND) {  // what is left is not enough for another
            moved(high);
            return;
        }
        for (Index i = 0; i < n; ++i) {
            if (large(x[i * step])) moved(x[i * step]);
        }
    }

    void into() {
        std::uint32_t* raw = raw_.get();
        for (std::size_t k = 0; k < used_; ++k) {
            if (raw[k]) total_[k + 1] += raw[k];
            raw[k] = 0;
        }
        counted_ = 0;
    }

  private:
    static constexpr Index MOST = 0xffffffff;
    static constexpr double SECOND = 0.49;  // less than rounds to 1/2, by far

    template <class T>
    static INLINED bool large(T x) {
        return static_cast<float>(x) >= 0.5F;
    }

    template <class T>
    INLINED void moved(T x) {
        total_[key(x) + 1] -= 1;
        total_[grid_.of(x).code] += 1;
    }

    template <class T>
    INLINED std::uint32_t bits_of(T x) const {
        return std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> grid_.shift;
    }

    template <class T>
    INLINED std::size_t key(T x) const {
        return std::min<std::size_t>(bits_of(x), used_ - 1);
    }

    Grid grid_;
    double* total_;
    std::size_t used_;
    std::unique_ptr<std::uint32_t, Free> raw_;
    Index counted_ = 0;
};

// Where the primitives of a row go: vectors of one length, one after the other, in the order of the fields of Rows.
struct Primitives {
    double* at;
    Index n;
    INLINED void put(Index row, double correct, double lowest, double highest, double hit, const Pass& pass) const {
        double* to = at + row;
        const double ties = static_cast<double>(pass.ties);
        for (const double value : {correct, lowest, highest, ties, hit, pass.total, pass.squares}) {
            *to = value;
            to += n;
        }
    }
};

// A float of which a probability is made, with the others of its row.
struct Logit {
    float value;
};

// Room for a row that is not read where it is.
template <class T>
struct Room {
    explicit Room(Index classes) : row(classes), logits(classes) {}
    std::vector<T> row;
    std::vector<float> logits;
};

template <class T>
struct Job {
    Source<T> from;
    const Index* truth;
    const double* weights;  // or null
    Primitives to;
    Raw* raw;  // or null: nothing is counted
    Grid grid;
    double* total;
    const std::vector<Part>& parts;
};

// Values of a row, each with the row's weight.
template <class T, class From>
void weighed(const Job<From>& job, Index row, const T* x, Index n) {
    const double w = job.weights ? job.weights[row] : 1.0;
    for (Index k = 0; k < n; ++k) job.total[job.grid.of(x[k]).code] += w;
}

// A row in which something is negative, be it -0.0, or above 1 or NaN.
template <class T, class From>
void odd(const Job<From>& job, Index row, const T* x, Index n, T correct, bool known) {
    T lowest = 0, high = x[0];
    for (Index k = 0; k < n; ++k) {
        lowest = std::min(lowest, x[k]);
        high = x[k] > high ? x[k] : high;
    }
    Nothing nothing;
    Pass pass = over(x, n, high, job.parts, nothing);
    if (std::isnan(pass.total) && std::any_of(x, x + n, [](T v) { return std::isnan(v); })) {
        lowest = high = std::numeric_limits<T>::quiet_NaN();  // as in NumPy
        pass.ties = 0;
    }
    const double hit = known && correct == high ? 1.0 / static_cast<double>(pass.ties) : 0.0;
    job.to.put(row, correct, lowest, high, hit, pass);
    const bool distribution = lowest >= 0 && high <= 1 && std::abs(pass.total - 1) <= SUM_TOLERANCE;
    if (job.total && known && distribution) weighed(job, row, x, n);
}

// Probabilities of a row, side by side.
template <class T, class From>
INLINED const T* values(const Job<From>& job, Room<T>& room, Index row) {
    const Index n = job.from.classes, step = job.from.class_stride;
    const From* at = job.from.data + row * job.from.row_stride;
    T* buffer = room.row.data();
    if constexpr (std::is_same_v<From, Logit>) {
        softmax_of(&at->value, step, n, job.parts, room.logits.data(), buffer);
    } else if constexpr (std::is_same_v<T, From>) {
        if (step == 1) return at;
        for (Index k = 0; k < n; ++k) buffer[k] = at[k * step];
    } else {
        for (Index k = 0; k < n; ++k) buffer[k] = single(at[k * step]);
    }
    return buffer;
}

// Some rows, one after the other.
template <class T, class From>
INLINED void each_row(const Job<From>& job, Room<T>& room, Index row, Index end) {
    const Index n = job.from.classes;
    for (; row < end; ++row) {
        const T* x = values(job, room, row);
        const Index class_of = job.truth[row];
        const bool known = class_of >= 0 && class_of < n;
        const auto [usual, high] = highest(x, n);
        const T correct = known ? x[class_of] : T(0);  // only now that the row is in cache
        if (!usual) {
            odd(job, row, x, n, correct, known);
            continue;
        }
        Nothing nothing;
        const bool counting = job.raw && known;
        if (counting && n < FEW_CLASSES) job.raw->room(n);
        const Pass pass = counting ? over(x, n, high, job.parts, *job.raw) : over(x, n, high, job.parts, nothing);
        const double hit = known && correct == high ? 1.0 / static_cast<double>(pass.ties) : 0.0;
        job.to.put(row, correct, 0, high, hit, pass);
        const bool distribution = std::abs(pass.total - 1) <= SUM_TOLERANCE;
        if (counting) {
            job.raw->corrected(x, n, 1, high, pass, distribution);
        } else if (job.weights && job.total && known && distribution) {
            weighed(job, row, x, n);
        }
    }
}

// Rows of few classes, as many as a vector has lanes, class by class: each row is summed in the order of its classes.
// Nothing is done, and false returned, where one is odd, or has no outcome.
template <class T, class From>
INLINED bool lanes_of_rows(const Job<From>& job, Room<T>& room, Index row) {
    using Bits = typename Lanes<T>::Bits;
    using Vector = typename Lanes<T>::Vector;
    constexpr Index LANES_OF = Lanes<T>::COUNT;
    const Index n = job.from.classes;
    alignas(32) std::array<T, FEW_CLASSES * LANES_OF> x;
    for (Index r = 0; r < LANES_OF; ++r) {
        if constexpr (std::is_same_v<From, Logit>) {
            const T* at = values(job, room, row + r);
            for (Index k = 0; k < n; ++k) x[k * LANES_OF + r] = at[k];
        } else {
            const From* at = job.from.data + (row + r) * job.from.row_stride;
            for (Index k = 0; k < n; ++k) {
                if constexpr (std::is_same_v<T, From>) {
                    x[k * LANES_OF + r] = at[k * job.from.class_stride];
                } else {
                    x[k * LANES_OF + r] = single(at[k * job.from.class_stride]);
                }
            }
        }
    }
    Bits most = loaded<Bits>(x.data()), signs = most;
    std::array<Wide, LANES_OF / 4> total, squares;
    for (Index h = 0; h < LANES_OF / 4; ++h) {
        total[h] = four(x.data() + 4 * h);
        squares[h] = total[h] * total[h];
    }
    for (Index k = 1; k < n; ++k) {
        const T* at = x.data() + k * LANES_OF;
        const Bits bits = loaded<Bits>(at);
        most = bits > most ? bits : most;
        signs |= bits;
        for (Index h = 0; h < LANES_OF / 4; ++h) {
            const Wide v = four(at + 4 * h);
            total[h] += v;
            squares[h] += v * v;
        }
    }
    bool usual = true;
    for (Index r = 0; r < LANES_OF; ++r) {
        usual &= signs[r] >= 0 && most[r] <= std::bit_cast<typename Lanes<T>::Word>(T(1)) && job.truth[row + r] >= 0 &&
                 job.truth[row + r] < n;
    }
    if (!usual) return false;
    const Vector high = std::bit_cast<Vector>(most);
    Bits ties{}, zeros{};
    for (Index k = 0; k < n; ++k) {
        const Vector v = loaded<Vector>(x.data() + k * LANES_OF);
        ties -= (Bits)(v == high);
        zeros -= (Bits)(v == T(0));
    }
    if (job.raw) {
        job.raw->room(n * LANES_OF);
        Index i = 0;
        for (; i + STRANDS <= n * LANES_OF; i += STRANDS) job.raw->eight(x.data() + i);
        for (; i < n * LANES_OF; ++i) job.raw->one(x[i]);
    }
    for (Index r = 0; r < LANES_OF; ++r) {
        const Pass pass{total[r / 4][r % 4], squares[r / 4][r % 4], ties[r], zeros[r]};
        const T correct = x[job.truth[row + r] * LANES_OF + r];
        job.to.put(row + r, correct, 0, high[r], correct == high[r] ? 1.0 / static_cast<double>(pass.ties) : 0.0, pass);
        if (job.raw) {
            job.raw->corrected(x.data() + r, n, LANES_OF, high[r], pass, std::abs(pass.total - 1) <= SUM_TOLERANCE);
        }
    }
    return true;
}

template <class T, class From>
INLINED void all_rows(const Job<From>& job, Room<T>& room) {
    constexpr Index AT_ONCE = Lanes<T>::COUNT;
    Index row = 0;
    if (job.from.classes < FEW_CLASSES && !job.weights) {
        for (; row + AT_ONCE <= job.from.rows; row += AT_ONCE) {
            if (!lanes_of_rows(job, room, row)) each_row(job, room, row, row + AT_ONCE);
        }
    }
    each_row(job, room, row, job.from.rows);
}

DISPATCHED void run(const Job<float>& job, Room<float>& room) { all_rows(job, room); }
DISPATCHED void run(const Job<double>& job, Room<double>& room) { all_rows(job, room); }
DISPATCHED void run(const Job<Half>& job, Room<float>& room) { all_rows(job, room); }
DISPATCHED void run(const Job<Logit>& job, Room<double>& room) { all_rows(job, room); }

template <class From>
using Computed = std::conditional_t<std::is_same_v<From, double> || std::is_same_v<From, Logit>, double, float>;

template <class From>
void rows_of(const void* data, Matrix<nb::ro> p, const Index* truth, const double* weights, Output out,
             int fraction_bits, double* total) {
    const Grid grid(fraction_bits);
    Room<Computed<From>> room(p.shape(1));
    std::optional<Raw> raw;  // of weighted rows each probability goes into the totals by itself
    if (total && !weights) raw.emplace(grid, total);
    std::vector<Part> parts;
    part(p.shape(1), parts);
    Job<From> job{{static_cast<const From*>(data), static_cast<Index>(p.shape(0)), static_cast<Index>(p.shape(1)),
                   p.stride(0), p.stride(1)},
                  truth,
                  weights,
                  {out.data(), static_cast<Index>(out.shape(1))},
                  raw ? &*raw : nullptr,
                  grid,
                  total,
                  parts};
    nb::gil_scoped_release released;
    run(job, room);
    if (raw) raw->into();
}

// Primitives of rows into `out`; and, where totals are given, the counts of the cells of all rows that are
// distributions and have a truth added to them, each with its row's weight. Of logits the probabilities are counted while
// they are in the fastest cache, and kept nowhere.
void rows(Matrix<nb::ro> p, Vector<const Index> truth, std::optional<Vector<const double>> weights, Output out,
          int fraction_bits, std::optional<Vector<double>> total, bool logits) {
    const double* w = weights ? weights->data() : nullptr;
    double* counts = total ? total->data() : nullptr;
    const auto n = p.shape(0);
    if (truth.shape(0) != n || out.shape(0) != 7 || out.shape(1) != n || (weights && weights->shape(0) != n) ||
        p.shape(1) < 1 || (total && total->shape(0) != Grid(fraction_bits).size)) {
        throw nb::value_error("rows: shapes do not go together");
    }
    const bool floats = p.dtype() == nb::dtype<float>();
    if (logits && !floats) throw nb::type_error("rows: logits of 32 bits only");
    if (logits) {
        rows_of<Logit>(p.data(), p, truth.data(), w, out, fraction_bits, counts);
    } else if (floats) {
        rows_of<float>(p.data(), p, truth.data(), w, out, fraction_bits, counts);
    } else if (p.dtype() == nb::dtype<double>()) {
        rows_of<double>(p.data(), p, truth.data(), w, out, fraction_bits, counts);
    } else if (p.dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && p.dtype().bits == 16) {
        rows_of<Half>(p.data(), p, truth.data(), w, out, fraction_bits, counts);
    } else {
        throw nb::type_error("rows: floats of 16, 32 or 64 bits only");
    }
}

}  // namespace
