// Sums of columns of values over the cells of many two-way tables: of each pair of coded columns, of each value. Rows are
// added in their order, as SciPy's sparse product adds them, whatever the blocks; so many columns of values at a time
// that a table stays in cache, and so many rows that their values do while all pairs are counted.

#pragma once

#include "base.hpp"

namespace {

template <class T>
struct PairTables {
    const std::uint8_t* codes;  // columns x rows
    Index rows;
    const T* values;  // rows x width
    Index width;
    T* out;
};

// The columns of values from one to another, in vectors as far as they go.
template <Index COUNT, class T>
INLINED void add_rows(const PairTables<T>& given, const std::uint8_t* a, const std::uint8_t* b, Index size, Index from,
                      Index to, Index first, Index count, T* table) {
    using Lane = typename Lanes<T>::Vector;
    constexpr Index LANE = Lanes<T>::COUNT;
    const Index taken = COUNT ? COUNT : count, whole = taken - taken % LANE;
    for (Index row = from; row < to; ++row) {
        const T* value = given.values + row * given.width + first;
        T* cell = table + (Index(a[row]) * size + b[row]) * given.width + first;
        for (Index k = 0; k < whole; k += LANE) {
            const Lane sum = loaded<Lane>(cell + k) + loaded<Lane>(value + k);
            std::memcpy(cell + k, &sum, sizeof sum);
        }
        for (Index k = whole; k < taken; ++k) cell[k] += value[k];
    }
}

template <class T>
INLINED void all_pairs(const PairTables<T>& given, const Index* pairs, Index count) {
    constexpr Index WIDE = 128 / sizeof(T), ROWS = 1024;
    for (Index first = 0; first < given.width; first += WIDE) {
        const Index taken = std::min(WIDE, given.width - first);
        for (Index from = 0; from < given.rows; from += ROWS) {
            const Index to = std::min(from + ROWS, given.rows);
            for (const Index* pair = pairs; pair < pairs + 4 * count; pair += 4) {  // two columns, a size, a place
                const auto *a = given.codes + pair[0] * given.rows, *b = given.codes + pair[1] * given.rows;
                if (taken == WIDE) {
                    add_rows<WIDE>(given, a, b, pair[2], from, to, first, taken, given.out + pair[3]);
                } else {
                    add_rows<0>(given, a, b, pair[2], from, to, first, taken, given.out + pair[3]);
                }
            }
        }
    }
}

DISPATCHED void run_pairs(const PairTables<float>& given, const Index* pairs, Index count) {
    all_pairs(given, pairs, count);
}

DISPATCHED void run_pairs(const PairTables<double>& given, const Index* pairs, Index count) {
    all_pairs(given, pairs, count);
}

// Adds the values of rows (rows x width) to the tables in out. Of a pair: its columns (of codes, columns x rows), how many
// values the second one has, and where in out its table begins. The caller has seen to it that the codes fit the tables.
template <class T>
void pair_tables(nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> codes,
                 nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu> values,
                 nb::ndarray<const Index, nb::ndim<2>, nb::c_contig, nb::device::cpu> pairs, Vector<T> out) {
    if (codes.shape(1) != values.shape(0) || pairs.shape(1) != 4) {
        throw nb::value_error("pair_tables: shapes do not go together");
    }
    const PairTables<T> given{codes.data(), Index(codes.shape(1)), values.data(), Index(values.shape(1)), out.data()};
    nb::gil_scoped_release released;
    run_pairs(given, pairs.data(), Index(pairs.shape(0)));
}

}  // namespace
