// Tables of counts whose keys are in order, added up: Keyed of tally/tables.py. Tables of like data have nearly the same
// keys, so that the entries of both go together in long runs.

#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <vector>

#include "base.hpp"

namespace {

// So many entries from one place on in the first table, or in the second, or of both with the same keys.
struct Run {
    enum Of { FIRST, SECOND, BOTH } of;
    Index first, second, size;
};

INLINED bool before(double a, double b) { return a < b; }
INLINED bool before(Index a, Index b) { return a < b; }
INLINED bool before(std::complex<double> a, std::complex<double> b) {
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

template <class Key>
std::vector<Run> runs_of(const Key* a, Index of_a, const Key* b, Index of_b) {
    std::vector<Run> runs;
    Index i = 0, j = 0;
    while (i < of_a && j < of_b) {
        const Index first = i, second = j;
        if (before(a[i], b[j])) {
            while (i < of_a && before(a[i], b[j])) ++i;
            runs.push_back({Run::FIRST, first, second, i - first});
        } else if (before(b[j], a[i])) {
            while (j < of_b && before(b[j], a[i])) ++j;
            runs.push_back({Run::SECOND, first, second, j - second});
        } else {
            while (i < of_a && j < of_b && !before(a[i], b[j]) && !before(b[j], a[i])) ++i, ++j;
            runs.push_back({Run::BOTH, first, second, i - first});
        }
    }
    if (i < of_a) runs.push_back({Run::FIRST, i, j, of_a - i});
    if (j < of_b) runs.push_back({Run::SECOND, i, j, of_b - j});
    return runs;
}

template <class T, class Joined>
std::unique_ptr<T[]> united(const std::vector<Run>& runs, Index size, const T* a, const T* b, Joined joined) {
    std::unique_ptr<T[]> found(new T[size]);
    T* to = found.get();
    for (const Run& run : runs) {
        const T *x = a + run.first, *y = b + run.second;
        if (run.of == Run::BOTH) {
            for (Index k = 0; k < run.size; ++k) to[k] = joined(x[k], y[k]);
        } else {
            std::copy_n(run.of == Run::FIRST ? x : y, run.size, to);
        }
        to += run.size;
    }
    return found;
}

template <class T>
nb::object array(std::unique_ptr<T[]> values, Index size) {
    T* data = values.release();
    nb::capsule owner(data, [](void* at) noexcept { delete[] static_cast<T*>(at); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {static_cast<std::size_t>(size)}, owner));
}

// Keys and columns of the sum. What comes of two values of a column with the same key: their sum, or the lesser or
// greater one.
enum Kept { SUM, LEAST, GREATEST };

template <class Key>
nb::list added_tables(Vector<const Key> first, Vector<const Key> second, std::vector<Vector<const double>> of_first,
                      std::vector<Vector<const double>> of_second, std::vector<int> kept) {
    const Index n = first.shape(0), m = second.shape(0);
    if (of_first.size() != kept.size() || of_second.size() != kept.size()) {
        throw nb::value_error("added_tables: there are other columns");
    }
    for (std::size_t k = 0; k < kept.size(); ++k) {
        if (static_cast<Index>(of_first[k].shape(0)) != n || static_cast<Index>(of_second[k].shape(0)) != m) {
            throw nb::value_error("added_tables: columns differ in length");
        }
    }
    Index size = 0;
    std::unique_ptr<Key[]> keys;
    std::vector<std::unique_ptr<double[]>> columns;
    {
        nb::gil_scoped_release released;
        const std::vector<Run> runs = runs_of(first.data(), n, second.data(), m);
        for (const Run& run : runs) size += run.size;
        keys = united(runs, size, first.data(), second.data(), [](Key a, Key) { return a; });
        for (std::size_t k = 0; k < kept.size(); ++k) {
            const double *a = of_first[k].data(), *b = of_second[k].data();
            columns.push_back(
                kept[k] == SUM     ? united(runs, size, a, b, [](double x, double y) { return x + y; })
                : kept[k] == LEAST ? united(runs, size, a, b, [](double x, double y) { return std::min(x, y); })
                                   : united(runs, size, a, b, [](double x, double y) { return std::max(x, y); }));
        }
    }
    nb::list found;
    found.append(array(std::move(keys), size));
    for (auto& column : columns) found.append(array(std::move(column), size));
    return found;
}

}  // namespace
