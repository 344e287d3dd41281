// One pass over a row while it is in the fastest cache: its highest value first, which also tells whether all are
// probabilities, then its sums. These are made in NumPy's order, in which longer rows are halved, so that they are
// the same to the last digit; in eight strands, since one addition takes as long as eight that do not wait for one
// another.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base.hpp"

namespace {

constexpr Index STRANDS = 8;
constexpr Index FEW_CLASSES = 32;   // rows of fewer are summed from left to right
constexpr Index PAIRWISE = 128;     // more than so many are summed by halves
constexpr std::uintptr_t AHEAD = 4096;  // bytes from what is computed on to what is fetched for later

// The highest of values that all lie from 0 to 1, or that not all do. Their bits are compared as whole numbers: those
// of what is negative, above 1 or NaN are below 0 or above those of 1.
template <class T>
struct Highest {
    bool usual;
    T value;
};

template <class T>
INLINED Highest<T> highest(const T* x, Index n) {
    using Word = typename Lanes<T>::Word;
    using Bits = typename Lanes<T>::Bits;
    constexpr Index COUNT = Lanes<T>::COUNT;
    Word most = std::bit_cast<Word>(x[0]), signs = most;
    Index i = 0;
    if (n >= 4 * COUNT) {
        Bits m0 = loaded<Bits>(x), m1 = m0, m2 = m0, m3 = m0, any = m0;
        for (; i + 4 * COUNT <= n; i += 4 * COUNT) {
            const Bits a = loaded<Bits>(x + i), b = loaded<Bits>(x + i + COUNT);
            const Bits c = loaded<Bits>(x + i + 2 * COUNT), d = loaded<Bits>(x + i + 3 * COUNT);
            m0 = a > m0 ? a : m0;
            m1 = b > m1 ? b : m1;
            m2 = c > m2 ? c : m2;
            m3 = d > m3 ? d : m3;
            any |= (a | b) | (c | d);
        }
        m0 = m1 > m0 ? m1 : m0;
        m2 = m3 > m2 ? m3 : m2;
        m0 = m2 > m0 ? m2 : m0;
        for (Index k = 0; k < COUNT; ++k) {
            most = std::max<Word>(most, m0[k]);
            signs |= any[k];
        }
    }
    for (; i < n; ++i) {
        const Word bits = std::bit_cast<Word>(x[i]);
        most = std::max(most, bits);
        signs |= bits;
    }
    return {signs >= 0 && most <= std::bit_cast<Word>(T(1)), std::bit_cast<T>(most)};
}

// What is found in one pass over a row whose highest value is known.
struct Pass {
    double total, squares;
    Index ties = 0, zeros = 0;
};

// Sums of at most PAIRWISE values in eight strands, those beyond them one by one; and what else is to be done on the
// way.
template <class T, class Each>
INLINED void strands(const T* x, Index n, T high, Pass& pass, Each& each) {
    using Bits = typename Lanes<T>::Bits;
    using Vector = typename Lanes<T>::Vector;
    constexpr double NOTHING = -0.0;  // what 0 added to would make 0 of it too
    Wide a = {NOTHING, NOTHING, NOTHING, NOTHING}, b = a, aa{}, bb{};
    Bits ties{}, zeros{};
    Index i = 0;
    for (; i + STRANDS <= n; i += STRANDS) {
        const Wide v = four(x + i), w = four(x + i + 4);
        a += v;
        b += w;
        aa += v * v;
        bb += w * w;
        prefetched(reinterpret_cast<std::uintptr_t>(x + i) + AHEAD);
        for (Index k = 0; k < STRANDS; k += Lanes<T>::COUNT) {
            const Vector some = loaded<Vector>(x + i + k);
            ties -= (Bits)(some == high);
            zeros -= (Bits)(some == T(0));
        }
        each.eight(x + i);
    }
    pass.total = folded(a, b);
    pass.squares = folded(aa, bb);
    for (Index k = 0; k < Lanes<T>::COUNT; ++k) {
        pass.ties += ties[k];
        pass.zeros += zeros[k];
    }
    for (; i < n; ++i) {
        const double v = x[i];
        pass.total += v;
        pass.squares += v * v;
        pass.ties += x[i] == high;
        pass.zeros += x[i] == T(0);
        each.one(x[i]);
    }
}

// A part of a row that is summed at once, and how many sums of parts before it are to be added to its own.
struct Part {
    Index n;
    int halves;
};

// The parts of a row in the order of NumPy's pairwise sums, which halve what is longer than PAIRWISE.
void part(Index n, std::vector<Part>& parts) {
    if (n <= PAIRWISE) {
        parts.push_back({n, 0});
        return;
    }
    const Index half = n / 2 - n / 2 % STRANDS;
    part(half, parts);
    part(n - half, parts);
    ++parts.back().halves;
}

// All of a row.
template <class T, class Each>
INLINED Pass over(const T* x, Index n, T high, const std::vector<Part>& parts, Each& each) {
    Pass all{};
    if (n < FEW_CLASSES) {
        for (Index i = 0; i < n; ++i) {
            const double v = x[i];
            all.total = i ? all.total + v : v;
            all.squares += v * v;
            all.ties += x[i] == high;
            all.zeros += x[i] == T(0);
            each.one(x[i]);
        }
        return all;
    }
    std::array<double, 64> total, squares;  // of parts that wait for their other half
    int waiting = 0;
    for (const Part& part : parts) {
        each.room(part.n);
        strands(x, part.n, high, all, each);
        x += part.n;
        for (int k = 0; k < part.halves; ++k) {
            --waiting;
            all.total = total[waiting] + all.total;
            all.squares = squares[waiting] + all.squares;
        }
        total[waiting] = all.total;
        squares[waiting++] = all.squares;
    }
    return all;
}

// Nothing else is to be done.
struct Nothing {
    template <class T>
    INLINED void eight(const T*) {}
    template <class T>
    INLINED void one(T) {}
    INLINED void room(Index) {}
};

template <class T>
struct Source {
    const T* data;
    Index rows, classes, row_stride, class_stride;
};

}  // namespace
