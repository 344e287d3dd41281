// Sums for the diagnosis of several classes: tally/class_sums.py says what they are.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base.hpp"

namespace {

constexpr double FINE = 0x1p40, COARSE_UNITS = 0x1p20, SCORE = 0x1p30, MOMENT = 0x1p24, THIRD = 0x1p20, LOGS = 0x1p12;
constexpr Index CODE_BITS = 10, LOWEST_CODE = Index(1023 - 60) << CODE_BITS;
constexpr Index CLASS_CELLS = 88, HALF_CELLS = 44, LEVELS = 64, FIRST_LEVEL = 6;
constexpr Index TOP_CELL = (Index(1022) << 1) - (LOWEST_CODE >> (CODE_BITS - 1));

INLINED double rounded(double x) { return (x + ROUNDER) - ROUNDER; }

INLINED Index class_code(double p) {
    return std::max(Index(std::bit_cast<std::int64_t>(p) >> (52 - CODE_BITS)) - LOWEST_CODE, Index(0));
}

INLINED Index class_cell(Index code) {
    return std::clamp(TOP_CELL - (code >> (CODE_BITS - 1)), Index(0), HALF_CELLS - 1);
}

INLINED Index class_level(double mass) {
    return std::clamp(((Index(1023) << CODE_BITS) - LOWEST_CODE - class_code(mass)) >> CODE_BITS, Index(0), LEVELS - 1);
}

// Where sums over rows go.
struct ClassSums {
    double *observed, *predicted, *information, *score, *moments, *classes, *third, *cells, *cell_sums, *right, *wrong;
    double *wrong_residual, *wrong_score, *logs, *squares, *raised;
};

// Rows are taken so many at a time, each class of all of them after the other: sums over the classes of a row are made in
// their order, and yet in vectors. Sums over rows are of whole numbers, whose order does not matter.
constexpr Index LANES = 8;

// Room for a batch: values by class and row, and sums over the batches by class and lane.
struct ClassRoom {
    explicit ClassRoom(Index c) : room(static_cast<std::size_t>(7 * c * LANES)), code(static_cast<std::size_t>(c * LANES)) {
        double* at = room.data();
        for (double** values : {&p, &f, &g, &predicted, &information, &a, &b}) {
            *values = at;
            at += c * LANES;
        }
    }
    std::vector<double> room;
    std::vector<Index> code;
    double *p, *f, *g, *predicted, *information, *a, *b;
};

template <class T>
DISPATCHED void class_sums_of(const T* given, Index row_stride, Index stride, const Index* truth, Index n, Index c,
                              const double* __restrict log_table, const double* __restrict tail_table, double least_log,
                              const ClassSums& to, double* __restrict coarse,
                              ClassRoom& room) {
    double* __restrict p = room.p;
    double* __restrict f = room.f;
    double* __restrict g = room.g;
    double* __restrict predicted = room.predicted;
    double* __restrict information = room.information;
    double* __restrict sum_a = room.a;
    double* __restrict sum_b = room.b;
    double* __restrict cells = to.cells;
    double* __restrict cell_sums = to.cell_sums;
    Index* __restrict codes = room.code.data();
    double second[3][LANES] = {}, third[4][LANES] = {};
    for (Index start = 0; start < n; start += LANES) {
        const Index m = std::min(LANES, n - start);
        double total[LANES] = {}, others[LANES] = {}, highest[LANES] = {}, valid[LANES];
        double log_mean[LANES] = {}, tail_mean[LANES] = {};
        Index top[LANES] = {};
        for (Index r = 0; r < LANES; ++r) {
            valid[r] = r < m ? 1 : 0;
            const T* x = given + (start + (r < m ? r : 0)) * row_stride;
            for (Index k = 0; k < c; ++k) p[k * LANES + r] = static_cast<double>(x[k * stride]);
        }
        for (Index k = 0; k < c; ++k) {
            for (Index r = 0; r < LANES; ++r) total[r] += p[k * LANES + r];
        }
        for (Index k = 0; k < c; ++k) {
            double* q = p + k * LANES;
            for (Index r = 0; r < LANES; ++r) {
                q[r] /= total[r];
                const bool more = q[r] > highest[r];
                highest[r] = more ? q[r] : highest[r];
                top[r] = more ? k : top[r];
            }
        }
        for (Index k = 0; k < c; ++k) {
            const double* q = p + k * LANES;
            for (Index r = 0; r < LANES; ++r) {
                others[r] += k == top[r] ? 0.0 : q[r];
                const Index code = (std::bit_cast<std::int64_t>(q[r]) >> (52 - CODE_BITS)) - LOWEST_CODE;
                codes[k * LANES + r] = code < 0 ? 0 : code;
            }
        }
        for (Index at = 0; at < c * LANES; ++at) {
            f[at] = log_table[codes[at]];
            g[at] = tail_table[codes[at]];
        }
        Index cell_of_top[LANES];
        for (Index r = 0; r < LANES; ++r) {
            const Index at = top[r] * LANES + r, code = class_code(others[r]);
            const bool sharp = highest[r] > 0.5;
            if (sharp) g[at] = -tail_table[code];
            cell_of_top[r] = sharp ? HALF_CELLS + class_cell(code) : class_cell(codes[at]);
        }
        for (Index k = 0; k < c; ++k) {
            const Index from = k * LANES;
            double fine[LANES];
            for (Index r = 0; r < LANES; ++r) {
                const double q = p[from + r];
                log_mean[r] += q * f[from + r];
                tail_mean[r] += q * g[from + r];
                fine[r] = rounded(q * FINE) * valid[r];
                predicted[from + r] += fine[r];
                information[from + r] += rounded(q * (1 - q) * FINE) * valid[r];
            }
            for (Index r = 0; r < m; ++r) {
                const Index cell = k * CLASS_CELLS + (k == top[r] ? cell_of_top[r] : class_cell(codes[from + r]));
                cells[cell] += 1;
                cell_sums[cell] += fine[r];
                coarse[(start + r) * c + k] = rounded(p[from + r] * COARSE_UNITS);
            }
        }
        double moment[7][LANES] = {};
        for (Index k = 0; k < c; ++k) {
            const Index from = k * LANES;
            for (Index r = 0; r < LANES; ++r) {
                const double a = f[from + r] - log_mean[r], b = g[from + r] - tail_mean[r];
                const double pa = p[from + r] * a, pb = p[from + r] * b, paa = pa * a, pbb = pb * b;
                f[from + r] = a;
                g[from + r] = b;
                sum_a[from + r] += rounded(pa * SCORE) * valid[r];
                sum_b[from + r] += rounded(pb * SCORE) * valid[r];
                moment[0][r] += paa;
                moment[1][r] += pa * b;
                moment[2][r] += pbb;
                moment[3][r] += paa * a;
                moment[4][r] += paa * b;
                moment[5][r] += pbb * a;
                moment[6][r] += pbb * b;
            }
        }
        for (Index r = 0; r < LANES; ++r) {
            for (Index k = 0; k < 3; ++k) second[k][r] += rounded(moment[k][r] * MOMENT) * valid[r];
            for (Index k = 0; k < 4; ++k) third[k][r] += rounded(moment[3 + k][r] * THIRD) * valid[r];
        }
        for (Index r = 0; r < m; ++r) {
            const Index mine = truth[start + r];
            const double own = p[mine * LANES + r];
            const double score[] = {rounded(f[mine * LANES + r] * SCORE), rounded(g[mine * LANES + r] * SCORE)};
            to.observed[mine] += 1;
            to.score[0] += score[0];
            to.score[1] += score[1];
            const double log_own = log_table[codes[mine * LANES + r]], mine_log = std::max(log_own, least_log);
            to.raised[0] += log_own < least_log;
            for (Index k = 0; k < c; ++k) {
                const double x = std::max(log_table[codes[k * LANES + r]], least_log);
                to.logs[mine * c + k] += x * LOGS;
                to.squares[mine * c + k] += (x - mine_log) * (x - mine_log) * MOMENT;
            }
            if (!(own < highest[r])) {
                to.right[class_level(others[r])] += 1;
                continue;
            }
            if (!(own < 1.0 / (1 << FIRST_LEVEL))) {
                to.wrong[0] += 1;
                continue;
            }
            double mass = 0;
            for (Index k = 0; k < c; ++k) mass += p[k * LANES + r] <= own ? p[k * LANES + r] : 0.0;
            const Index level = class_level(mass);
            to.wrong[level] += 1;
            if (level < FIRST_LEVEL) continue;
            for (Index k = 0; k < c; ++k) {
                const double q = p[k * LANES + r];
                to.wrong_residual[level * c + k] += rounded((k == mine ? 1 - q : -q) * FINE);
            }
            to.wrong_score[level * 2] += score[0];
            to.wrong_score[level * 2 + 1] += score[1];
        }
    }
    for (Index r = 0; r < LANES; ++r) {
        for (Index k = 0; k < 3; ++k) to.moments[k] += second[k][r];
        for (Index k = 0; k < 4; ++k) to.third[k] += third[k][r];
        for (Index k = 0; k < c; ++k) {
            to.predicted[k] += room.predicted[k * LANES + r];
            to.information[k] += room.information[k * LANES + r];
            to.classes[k] += room.a[k * LANES + r];
            to.classes[c + k] += room.b[k * LANES + r];
        }
    }
}

using Doubles = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

// Adds the rows' sums to arrays, one after the other as ClassSums has them; coarse probabilities go to a matrix.
void class_sums(nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu> p,
                nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu> truth, Doubles logs, Doubles tails,
                double least_log, const std::vector<Doubles>& sums, Doubles coarse) {
    constexpr std::size_t SUMS = 16;
    const std::size_t c_ = p.shape(1);
    const std::size_t sizes[SUMS] = {c_,     c_,     c_, 2, 3, 2 * c_, 4, c_ * CLASS_CELLS, c_ * CLASS_CELLS,
                                     LEVELS, LEVELS, LEVELS * c_, LEVELS * 2, c_ * c_, c_ * c_, 1};
    bool fits = sums.size() == SUMS && truth.shape(0) == p.shape(0) && coarse.size() == p.size();
    for (std::size_t k = 0; fits && k < SUMS; ++k) fits = sums[k].size() == sizes[k];
    for (std::size_t row = 0; fits && row < truth.shape(0); ++row) {
        fits = truth(row) >= 0 && truth(row) < static_cast<Index>(c_);
    }
    if (!fits) throw nb::value_error("class_sums: shapes do not go together");
    double* at[SUMS];
    for (std::size_t k = 0; k < SUMS; ++k) at[k] = sums[k].data();
    const ClassSums to{at[0], at[1], at[2],  at[3],  at[4],  at[5],  at[6],  at[7],
                       at[8], at[9], at[10], at[11], at[12], at[13], at[14], at[15]};
    const Index n = static_cast<Index>(p.shape(0)), c = static_cast<Index>(p.shape(1));
    ClassRoom room(c);
    const auto of = [&](auto kind) {
        class_sums_of(static_cast<const decltype(kind)*>(p.data()), Index(p.stride(0)), Index(p.stride(1)), truth.data(),
                      n, c, logs.data(), tails.data(), least_log, to, coarse.data(), room);
    };
    const bool single = p.dtype() == nb::dtype<float>();
    if (!single && p.dtype() != nb::dtype<double>()) throw nb::type_error("class_sums: expected floats");
    const nb::gil_scoped_release released;
    if (single) {
        of(float{});
    } else {
        of(double{});
    }
}

}  // namespace
