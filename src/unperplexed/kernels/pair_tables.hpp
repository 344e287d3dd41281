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

// Adds some columns of values of each row, which are packed, to the row's cell, in vectors as far as they go.
template <Index COUNT, class T>
INLINED void add_rows(const T* value, const std::uint8_t* a, const std::uint8_t* b, Index rows, Index count, Index size,
                      Index width, T* table) {
    using Lane = typename Lanes<T>::Vector;
    constexpr Index LANE = Lanes<T>::COUNT;
    const Index taken = COUNT ? COUNT : count, whole = taken - taken % LANE;
    for (Index row = 0; row < rows; ++row, value += taken) {
        T* cell = table + (Index(a[row]) * size + b[row]) * width;
        for (Index k = 0; k < whole; k += LANE) {
            const Lane sum = loaded<Lane>(cell + k) + loaded<Lane>(value + k);
            std::memcpy(cell + k, &sum, sizeof sum);
        }
        for (Index k = whole; k < taken; ++k) cell[k] += value[k];
    }
}

// Columns of values from the first on, of all rows and pairs.
template <Index COUNT, class T>
INLINED void add_columns(const PairTables<T>& given, const Index* pairs, Index count, Index first, Index taken) {
    constexpr Index ROWS = 4096;
    std::vector<T> packed(ROWS * taken);
    for (Index from = 0; from < given.rows; from += ROWS) {
        const Index rows = std::min(ROWS, given.rows - from);
        for (Index row = 0; row < rows; ++row) {
            const T* value = given.values + (from + row) * given.width + first;
            std::copy(value, value + taken, packed.data() + row * taken);
        }
        for (const Index* pair = pairs; pair < pairs + 4 * count; pair += 4) {  // two columns, a size, a place
            const auto *a = given.codes + pair[0] * given.rows + from, *b = given.codes + pair[1] * given.rows + from;
            add_rows<COUNT>(packed.data(), a, b, rows, taken, pair[2], given.width, given.out + pair[3] + first);
        }
    }
}

template <class T>
INLINED void all_pairs(const PairTables<T>& given, const Index* pairs, Index count) {
    constexpr Index WIDE = 128 / sizeof(T);
    for (Index first = 0; first < given.width; first += WIDE) {
        const Index taken = std::min(WIDE, given.width - first);
        switch (taken) {
            case WIDE: add_columns<WIDE>(given, pairs, count, first, taken); break;
            case 2: add_columns<2>(given, pairs, count, first, taken); break;
            case 4: add_columns<4>(given, pairs, count, first, taken); break;
            case 8: add_columns<8>(given, pairs, count, first, taken); break;
            default: add_columns<0>(given, pairs, count, first, taken);
        }
    }
}

DISPATCHED void run_pairs(const PairTables<float>& given, const Index* pairs, Index count) {
    all_pairs(given, pairs, count);
}

DISPATCHED void run_pairs(const PairTables<double>& given, const Index* pairs, Index count) {
    all_pairs(given, pairs, count);
}

struct RuleSums {
    const float* sums;  // rules x 2 samples: of residuals, and of these times the log-odds
    Index rules, samples;
    const float *tilt, *factor;  // rules; 2 x rules
    const std::uint8_t* two;
    const float* limit;  // 2 x 2 x samples
};

// Places (bias or slope, rule, sample) of scores that times their factor exceed the limit of their kind of rules.
DISPATCHED void find_beyond(const RuleSums& given, std::vector<Index>& found) {
    using Lane = Lanes<float>::Vector;
    constexpr Index LANE = Lanes<float>::COUNT;
    const Index whole = given.samples - given.samples % LANE;
    for (Index at = 0; at < 2 * given.rules; ++at) {
        const Index slope = at >= given.rules, rule = at - slope * given.rules;
        const float *bias = given.sums + 2 * rule * given.samples, *raw = bias + given.samples;
        const float* limit = given.limit + (2 * given.two[rule] + slope) * given.samples;
        const float tilt = given.tilt[rule], factor = given.factor[at];
        if (factor == 0) continue;
        Lanes<float>::Bits hits{};
        for (Index k = 0; k < whole; k += LANE) {
            const Lane first = loaded<Lane>(bias + k), most = loaded<Lane>(limit + k);
            const Lane scaled = (slope ? loaded<Lane>(raw + k) - tilt * first : first) * factor;
            hits |= (scaled > most) | (scaled < -most);
        }
        bool any = false;
        for (Index k = 0; k < LANE; ++k) any |= hits[k] != 0;
        for (Index k = any ? 0 : whole; k < given.samples; ++k) {
            const float scaled = (slope ? raw[k] - tilt * bias[k] : bias[k]) * factor;
            if (scaled > limit[k] || scaled < -limit[k]) found.push_back(at * given.samples + k);
        }
    }
}

nb::ndarray<nb::numpy, Index, nb::ndim<1>> beyond(
    nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> sums, Vector<const float> tilt,
    nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> factor, Vector<const std::uint8_t> two,
    nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu> limit) {
    const Index rules = Index(sums.shape(0)), samples = Index(limit.shape(2));
    if (Index(sums.shape(1)) != 2 * samples || Index(tilt.shape(0)) != rules || Index(two.shape(0)) != rules ||
        factor.shape(0) != 2 || Index(factor.shape(1)) != rules || limit.shape(0) != 2 || limit.shape(1) != 2) {
        throw nb::value_error("beyond: shapes do not go together");
    }
    auto* found = new std::vector<Index>();
    nb::capsule owner(found, [](void* at) noexcept { delete static_cast<std::vector<Index>*>(at); });
    find_beyond({sums.data(), rules, samples, tilt.data(), factor.data(), two.data(), limit.data()}, *found);
    return {found->data(), {found->size()}, owner};
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
