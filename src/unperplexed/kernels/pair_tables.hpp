// Sums of columns of values over the cells of many tables: of each pair, or three, of coded columns, of each value. Rows
// are added in their order, as SciPy's sparse product adds them, whatever the blocks; so many columns of values at a time
// that a table stays in cache, and so many rows that their values do while all tables are counted.

#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <nanobind/stl/tuple.h>

#include "base.hpp"

namespace {

template <class T>
struct PairTables {
    std::vector<const std::uint8_t*> codes;  // of each column those of the rows
    Index rows;
    const T* values;  // rows x width
    Index width;
    T* out;
};

// Adds vectors of values of each row, which are packed, to the row's cell. Few values take half a vector.
template <Index COUNT, class T>
INLINED void add_rows(const T* value, Index rows, const std::int32_t* cells, T* table) {
    using Short = typename Lanes<T>::Short;
    using Lane = std::conditional_t<COUNT * sizeof(T) == sizeof(Short), Short, typename Lanes<T>::Vector>;
    constexpr Index LANE = sizeof(Lane) / sizeof(T);
    for (Index row = 0; row < rows; ++row, value += COUNT) {
        T* cell = table + cells[row] * COUNT;
        for (Index k = 0; k < COUNT; k += LANE) {
            const Lane sum = loaded<Lane>(cell + k) + loaded<Lane>(value + k);
            std::memcpy(cell + k, &sum, sizeof sum);
        }
    }
}

// The cells of rows in a table of so many columns, two or three.
template <class T>
INLINED void find_cells(const PairTables<T>& given, const Index* each, Index from, Index rows, std::int32_t* cells) {
    const auto code = [&](Index at) { return given.codes[each[at]] + from; };
    const auto *a = code(0), *b = code(1);
    const auto of_b = std::int32_t(each[3]), of_c = std::int32_t(each[4]);
    for (Index row = 0; row < rows; ++row) cells[row] = a[row] * of_b + b[row];
    if (each[2] < 0) return;
    const auto* c = code(2);
    for (Index row = 0; row < rows; ++row) cells[row] = cells[row] * of_c + c[row];
}

// So many zeros, from a line of the cache on.
template <class T>
class Zeros {
    std::vector<T> held;

public:
    explicit Zeros(Index count) : held(count + 64 / sizeof(T), 0) {}
    T* data() {
        return reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(held.data()) + 63) & ~std::uintptr_t(63));
    }
};

// Columns of values from the first on, of all rows and tables, filled up to whole vectors.
template <Index COUNT, class T>
INLINED void add_columns(const PairTables<T>& given, const Index* plan, Index count, Index first, Index taken) {
    constexpr Index ROWS = 131072 / sizeof(T) / COUNT, EACH = 7;  // columns (the third or -1), two sizes, a place, cells
    const Index* const end = plan + EACH * count;
    Index cells = 0;
    for (const Index* each = plan; each < end; each += EACH) cells += each[6];
    Zeros<T> held(cells * COUNT), kept(ROWS * COUNT);
    T *const tables = held.data(), *const packed = kept.data();
    std::vector<std::int32_t> places(ROWS);
    for (Index from = 0; from < given.rows; from += ROWS) {
        const Index rows = std::min(ROWS, given.rows - from);
        for (Index row = 0; row < rows; ++row) {
            const T* value = given.values + (from + row) * given.width + first;
            std::copy(value, value + taken, packed + row * COUNT);
        }
        T* table = tables;
        for (const Index* each = plan; each < end; each += EACH) {
            find_cells(given, each, from, rows, places.data());
            add_rows<COUNT>(packed, rows, places.data(), table);
            table += each[6] * COUNT;
        }
    }
    const T* table = tables;
    for (const Index* each = plan; each < end; each += EACH) {
        for (Index cell = 0; cell < each[6]; ++cell, table += COUNT) {
            std::copy(table, table + taken, given.out + each[5] + cell * given.width + first);
        }
    }
}

template <class T>
INLINED void all_tables(const PairTables<T>& given, const Index* plan, Index count) {
    constexpr Index LANE = Lanes<T>::COUNT, WIDE = 4 * LANE;
    const Index most = count && plan[2] >= 0 ? LANE : WIDE;  // tables of three columns are large
    for (Index first = 0; first < given.width; first += most) {
        const Index taken = std::min(most, given.width - first);
        switch (2 * taken <= LANE ? 0 : (taken + LANE - 1) / LANE) {
            case 0: add_columns<LANE / 2>(given, plan, count, first, taken); break;
            case 1: add_columns<LANE>(given, plan, count, first, taken); break;
            case 2: add_columns<2 * LANE>(given, plan, count, first, taken); break;
            case 3: add_columns<3 * LANE>(given, plan, count, first, taken); break;
            default: add_columns<WIDE>(given, plan, count, first, taken);
        }
    }
}

DISPATCHED void run_tables(const PairTables<float>& given, const Index* plan, Index count) {
    all_tables(given, plan, count);
}

DISPATCHED void run_tables(const PairTables<double>& given, const Index* plan, Index count) {
    all_tables(given, plan, count);
}

template <class T>
using Plane = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// How the sum of one condition comes of that of an earlier one, or of none (-1), and of one bin, or of none (-1).
struct Change {
    Index to, from, bin;
    bool less;
};

// The conditions of a column as changes, of as few bins as may be: ranges grow by one.
INLINED std::vector<Change> changes_of(const Plane<float>& sets) {
    const Index conditions = Index(sets.shape(0)), bins = Index(sets.shape(1));
    if (bins > 64) throw nb::value_error("rules: more than 64 bins");
    std::vector<std::uint64_t> bits(conditions, 0);
    std::vector<Change> changes;
    for (Index at = 0; at < conditions; ++at) {
        for (Index bin = 0; bin < bins; ++bin) bits[at] |= std::uint64_t(sets(at, bin) != 0) << bin;
        Index from = -1;
        std::uint64_t other = bits[at];
        for (Index earlier = at - 1; earlier >= 0; --earlier) {
            const std::uint64_t difference = bits[at] ^ bits[earlier];
            if (std::popcount(difference) < std::popcount(other)) from = earlier, other = difference;
        }
        if (!other) changes.push_back({at, from, -1, false});
        for (; other; other &= other - 1) {
            const int bin = std::countr_zero(other);
            changes.push_back({at, from, bin, !(bits[at] >> bin & 1)});
            from = at;
        }
    }
    return changes;
}

template <Index COUNT, class T>
INLINED void change(const std::vector<Change>& changes, const T* bins, Index count, T* out) {
    using Lane = typename Lanes<T>::Vector;
    constexpr Index LANE = Lanes<T>::COUNT;
    const Index taken = COUNT ? COUNT : count, whole = taken - taken % LANE;
    for (const Change& each : changes) {
        T* to = out + each.to * taken;
        const T *from = out + each.from * taken, *bin = bins + each.bin * taken;
        for (Index k = 0; k < whole; k += LANE) {
            Lane sum{};
            if (each.from >= 0) sum = loaded<Lane>(from + k);
            if (each.bin >= 0) sum = each.less ? sum - loaded<Lane>(bin + k) : sum + loaded<Lane>(bin + k);
            std::memcpy(to + k, &sum, sizeof sum);
        }
        for (Index k = whole; k < taken; ++k) {
            T sum = each.from >= 0 ? from[k] : 0;
            if (each.bin >= 0) sum = each.less ? sum - bin[k] : sum + bin[k];
            to[k] = sum;
        }
    }
}

struct Hits {
    std::vector<Index> place;
    std::vector<float> bias, raw;
};

struct Rules {
    const std::vector<Change>&a, &b;
    Index of_a, of_b, bins_a, bins_b;
};

struct Sampled {
    const float* table;  // bins of a x bins of b x 2 samples: of residuals, and of these times the log-odds
    Index samples;
    const float *tilt, *most, *least;  // rules; 2 x rules, factors between which the root of a score is
    const float* limit;  // 2 x 2 x samples
};

// Scores (bias or slope, rule, sample) that may be the largest of their kind of rules: that times their largest factor
// exceed the limit, and those before them times their least. A few vectors of samples are looked at together.
DISPATCHED void find_beyond(const Rules& of, const Sampled& given, float farthest, Hits& hits) {
    using Lane = Lanes<float>::Vector;
    using Bits = Lanes<float>::Bits;
    constexpr Index LANE = Lanes<float>::COUNT, VECTORS = 4, TAKEN = VECTORS * LANE, PACKED = 2 * TAKEN;
    const Index rules = of.of_a * of.of_b, cells = of.bins_a * of.bins_b;
    std::vector<float> packed(cells * PACKED), one(of.of_a * of.bins_b * PACKED), sums(of.of_b * PACKED);
    for (Index first = 0; first < given.samples; first += TAKEN) {
        const Index count = std::min(TAKEN, given.samples - first);
        for (Index cell = 0; cell < cells; ++cell) {
            const float* from = given.table + cell * 2 * given.samples + first;
            std::copy(from, from + count, packed.data() + cell * PACKED);
            std::copy(from + given.samples, from + given.samples + count, packed.data() + cell * PACKED + TAKEN);
        }
        float limits[2][2][TAKEN];
        for (Index kind = 0; kind < 4; ++kind) {
            const float* from = given.limit + kind * given.samples + first;
            float* limit = limits[kind / 2][kind % 2];
            std::fill(std::copy(from, from + count, limit), limit + TAKEN, 1e30F);
        }
        change<0>(of.a, packed.data(), of.bins_b * PACKED, one.data());
        for (Index i = 0; i < of.of_a; ++i) {
            change<PACKED>(of.b, one.data() + i * of.bins_b * PACKED, PACKED, sums.data());
            for (Index j = 0; j < of.of_b; ++j) {
                const Index rule = i * of.of_b + j;
                const float *bias = sums.data() + j * PACKED, *raw = bias + TAKEN;
                for (Index slope = 0; slope < 2; ++slope) {
                    const float most = given.most[slope * rules + rule], least = given.least[slope * rules + rule];
                    if (most == 0) continue;
                    float *limit = limits[i && j][slope], heights[TAKEN];
                    Bits above{};
                    for (Index k = 0; k < TAKEN; k += LANE) {
                        Lane score = loaded<Lane>(bias + k);
                        if (slope) score = loaded<Lane>(raw + k) - given.tilt[rule] * score;
                        const Lane height = score < 0 ? -score : score;
                        above |= height * most > loaded<Lane>(limit + k);
                        std::memcpy(heights + k, &height, sizeof height);
                    }
                    std::uint64_t any[4];
                    std::memcpy(any, &above, sizeof any);
                    if (!(any[0] | any[1] | any[2] | any[3])) continue;
                    for (Index k = 0; k < count; ++k) {
                        if (!(heights[k] * most > limit[k])) continue;
                        hits.place.push_back((slope * rules + rule) * given.samples + first + k);
                        hits.bias.push_back(bias[k]);
                        hits.raw.push_back(raw[k]);
                        limit[k] = std::max(limit[k], std::min(heights[k] * least, farthest));
                    }
                }
            }
        }
    }
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> owned(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
    return {kept->data(), {kept->size()}, owner};
}

auto beyond(const Cube<float>& table, const Plane<float>& a, const Plane<float>& b, Vector<const float> tilt,
            const Plane<float>& most, const Plane<float>& least, const Cube<float>& limit, float farthest) {
    const Index samples = Index(limit.shape(2)), rules = Index(a.shape(0) * b.shape(0));
    if (table.shape(0) != a.shape(1) || table.shape(1) != b.shape(1) || Index(table.shape(2)) != 2 * samples ||
        Index(tilt.shape(0)) != rules || most.shape(0) != 2 || Index(most.shape(1)) != rules || least.shape(0) != 2 ||
        Index(least.shape(1)) != rules || limit.shape(0) != 2 || limit.shape(1) != 2) {
        throw nb::value_error("beyond: shapes do not go together");
    }
    const auto of_a = changes_of(a), of_b = changes_of(b);
    Hits hits;
    {
        nb::gil_scoped_release released;
        find_beyond({of_a, of_b, Index(a.shape(0)), Index(b.shape(0)), Index(a.shape(1)), Index(b.shape(1))},
                    {table.data(), samples, tilt.data(), most.data(), least.data(), limit.data()}, farthest, hits);
    }
    return std::make_tuple(owned(std::move(hits.place)), owned(std::move(hits.bias)), owned(std::move(hits.raw)));
}

// The largest |root| of rules, as RuleMoments.beside and root() have it, by bias and slope, of one and of two conditions.
DISPATCHED void find_strongest(const Rules& of, const double* table, Index functions, const float* known, double share,
                               double least_new, double* out) {
    const Index rules = of.of_a * of.of_b, width = 2 + 2 * functions;
    std::vector<double> one(of.of_a * of.bins_b * width), sums(of.of_b * width);
    change<0>(of.a, table, of.bins_b * width, one.data());
    for (Index i = 0; i < of.of_a; ++i) {
        const double* bins = one.data() + i * of.bins_b * width;
        switch (width) {
            case 2: change<2>(of.b, bins, width, sums.data()); break;
            case 4: change<4>(of.b, bins, width, sums.data()); break;
            default: change<0>(of.b, bins, width, sums.data());
        }
        for (Index j = 0; j < of.of_b; ++j) {
            const double *x = sums.data() + j * width, *f = x + 2, *g = f + functions;
            const auto kept = [&](Index at) { return double(known[at * rules + i * of.of_b + j]); };  // RuleMoments.packed
            if (kept(2) == 0) continue;
            double ff = 0, fg = 0, gg = 0;
            for (Index k = 0; k < functions; ++k) ff += f[k] * f[k], fg += f[k] * g[k], gg += g[k] * g[k];
            const double v11 = share * kept(0), v22 = share * kept(3), left = v11 - ff;
            if (!(left > least_new * v11)) continue;
            const double v12 = kept(6) * v11 - fg, tilt = v12 / left;
            const double left2 = v22 + kept(6) * kept(6) * v11 - gg - v12 * tilt;
            for (Index slope = 0; slope < 2; ++slope) {
                if (slope && (kept(5) == 0 || !(left2 > least_new * v22))) continue;
                const double wide = kept(7 + slope), variance = (slope ? left2 : left) * wide;
                const double third = share * wide * kept(slope ? 4 : 1), score = slope ? x[1] - tilt * x[0] : x[0];
                double& best = out[2 * slope + (i && j)];
                // Below 0 a root is up to sqrt(2) times the score in standard errors, else at most as large.
                if (score * score * (third * score < 0 ? 2.001 : 1.001) <= best * best * variance) continue;
                const double a = std::abs(third) < 1e-9 * variance ? 1e-9 : third / variance;
                const double u = std::max(a * score / variance, -1 + 1e-12);
                const double h = std::abs(u) < 1e-4 ? u * u / 2 : (1 + u) * std::log1p(u) - u;
                best = std::max(best, std::sqrt(2 * variance / (a * a) * h));
            }
        }
    }
}

void strongest(const Cube<double>& table, const Plane<float>& a, const Plane<float>& b, const Plane<float>& known,
               double share, double least_new, Vector<double> out) {
    if (table.shape(0) != a.shape(1) || table.shape(1) != b.shape(1) || table.shape(2) % 2 || table.shape(2) < 2 ||
        known.shape(0) != 9 || known.shape(1) != a.shape(0) * b.shape(0) || out.shape(0) != 4) {
        throw nb::value_error("strongest: shapes do not go together");
    }
    const auto of_a = changes_of(a), of_b = changes_of(b);
    nb::gil_scoped_release released;
    find_strongest({of_a, of_b, Index(a.shape(0)), Index(b.shape(0)), Index(a.shape(1)), Index(b.shape(1))}, table.data(),
                   Index(table.shape(2)) / 2 - 1, known.data(), share, least_new, out.data());
}

// Adds the values of rows (rows x width) to the tables in out. Of each: its columns (of those with codes), the third
// -1 where there are two, how many values the second and the third have, where in out it begins, and its cells. The caller
// has seen to it that codes fit.
template <class T>
void pair_tables(const std::vector<Vector<const std::uint8_t>>& codes,
                 nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu> values,
                 nb::ndarray<const Index, nb::ndim<2>, nb::c_contig, nb::device::cpu> plan, Vector<T> out) {
    PairTables<T> given{{}, Index(values.shape(0)), values.data(), Index(values.shape(1)), out.data()};
    for (const auto& column : codes) {
        given.codes.push_back(column.data());
        if (column.shape(0) != values.shape(0)) throw nb::value_error("pair_tables: shapes do not go together");
    }
    if (plan.shape(1) != 7) throw nb::value_error("pair_tables: shapes do not go together");
    nb::gil_scoped_release released;
    run_tables(given, plan.data(), Index(plan.shape(0)));
}

}  // namespace
