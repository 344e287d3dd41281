// Tables of counts whose keys are in order, added up: Keyed of tally/tables.py. Tables of like data have nearly the same
// keys, so that what is added goes in long runs.

#pragma once

#include <algorithm>
#include <complex>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include "base.hpp"

namespace {

// So many entries of a table from one place on, and where in the sum they go.
struct Run {
    Index from, to, size;
};

template <class Key>
INLINED bool before(Key a, Key b) {
    return a < b;
}
template <>
INLINED bool before(std::complex<double> a, std::complex<double> b) {
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

template <class Key>
std::vector<Run> runs_of(const Key* keys, Index n, const std::vector<Key>& all) {
    std::vector<Run> runs;
    const Index size = static_cast<Index>(all.size());
    Index i = 0, j = 0;
    while (j < n) {
        while (i < size && before(all[i], keys[j])) ++i;
        const Run run{j, i, 0};
        while (i < size && j < n && !before(keys[j], all[i]) && !before(all[i], keys[j])) ++i, ++j;
        if (j == run.from) throw nb::value_error("added_tables: keys are out of order");
        runs.push_back({run.from, run.to, j - run.from});
    }
    return runs;
}

template <class Joined>
void join(const std::vector<Run>& runs, const double* column, double* sum, Joined joined) {
    for (const Run& run : runs) {
        const double* x = column + run.from;
        double* to = sum + run.to;
        for (Index k = 0; k < run.size; ++k) to[k] = joined(to[k], x[k]);
    }
}

template <class T>
nb::object array(std::unique_ptr<T[]> values, std::size_t size) {
    T* data = values.release();
    nb::capsule owner(data, [](void* at) noexcept { delete[] static_cast<T*>(at); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

// What comes of the values of a column with the same key: their sum, or the least or greatest one.
enum Kept { SUM, LEAST, GREATEST };

// Keys and columns of the sum of tables.
template <class Key>
nb::list added_tables(std::vector<Vector<const Key>> keys, std::vector<std::vector<Vector<const double>>> columns,
                      std::vector<int> kept) {
    if (columns.size() != keys.size()) throw nb::value_error("added_tables: there are other tables");
    for (std::size_t t = 0; t < keys.size(); ++t) {
        const bool alike = std::all_of(columns[t].begin(), columns[t].end(),
                                       [&](const auto& column) { return column.shape(0) == keys[t].shape(0); });
        if (columns[t].size() != kept.size() || !alike) throw nb::value_error("added_tables: columns differ");
    }
    std::vector<Key> all;
    std::vector<std::unique_ptr<double[]>> sums;
    {
        nb::gil_scoped_release released;
        for (const auto& each : keys) {
            std::vector<Key> both;
            both.reserve(std::max(all.size(), each.shape(0)));
            const Key* first = each.data();
            std::set_union(all.begin(), all.end(), first, first + each.shape(0), std::back_inserter(both), before<Key>);
            all = std::move(both);
        }
        constexpr double NONE[] = {0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
        for (const int how : kept) {
            sums.emplace_back(new double[all.size()]);
            std::fill_n(sums.back().get(), all.size(), NONE[how == LEAST ? 1 : how == GREATEST ? 2 : 0]);
        }
        for (std::size_t t = 0; t < keys.size(); ++t) {
            const std::vector<Run> runs = runs_of(keys[t].data(), keys[t].shape(0), all);
            for (std::size_t k = 0; k < kept.size(); ++k) {
                const double* column = columns[t][k].data();
                double* sum = sums[k].get();
                if (kept[k] == LEAST) {
                    join(runs, column, sum, [](double a, double b) { return std::min(a, b); });
                } else if (kept[k] == GREATEST) {
                    join(runs, column, sum, [](double a, double b) { return std::max(a, b); });
                } else {
                    join(runs, column, sum, [](double a, double b) { return a + b; });
                }
            }
        }
    }
    std::unique_ptr<Key[]> found(new Key[all.size()]);
    std::copy(all.begin(), all.end(), found.get());
    nb::list table;
    table.append(array(std::move(found), all.size()));
    for (auto& sum : sums) table.append(array(std::move(sum), all.size()));
    return table;
}

}  // namespace
