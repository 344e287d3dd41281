// Quantile losses of rows of predicted quantiles. Each row is summed from the first level to the last, as in NumPy; some
// rows at once, since additions of one row wait for one another.

#pragma once

#include <array>

#include "base.hpp"

namespace {

template <class T, Index ROWS>
INLINED void losses_of(const double* y, const T* values, Index stride, const Index n, const double* levels,
                       double* out) {
    std::array<double, ROWS> total{};
    for (Index k = 0; k < n; ++k) {
        const double under = levels[k], over = levels[k] - 1;
        for (Index r = 0; r < ROWS; ++r) {
            const double distance = y[r] - static_cast<double>(values[r * stride + k]);
            const double low = under * distance, high = over * distance;
            total[r] += low > high ? low : high;
        }
    }
    for (Index r = 0; r < ROWS; ++r) out[r] = total[r];
}

template <class T>
INLINED void all_losses(const double* y, const T* values, Index stride, Index rows, Index n, const double* levels,
                        double* out) {
    constexpr Index AT_ONCE = 8;
    Index row = 0;
    for (; row + AT_ONCE <= rows; row += AT_ONCE) {
        losses_of<T, AT_ONCE>(y + row, values + row * stride, stride, n, levels, out + row);
    }
    for (; row < rows; ++row) losses_of<T, 1>(y + row, values + row * stride, stride, n, levels, out + row);
}

DISPATCHED void run_losses(const double* y, const float* values, Index stride, Index rows, Index n,
                           const double* levels, double* out) {
    all_losses(y, values, stride, rows, n, levels, out);
}

DISPATCHED void run_losses(const double* y, const double* values, Index stride, Index rows, Index n,
                           const double* levels, double* out) {
    all_losses(y, values, stride, rows, n, levels, out);
}

// Sums over levels of the losses of each row of quantiles, which lie side by side.
template <class T>
void quantile_losses(Vector<const double> y, nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> values,
                     Vector<const double> levels, Vector<double> out) {
    const auto rows = static_cast<Index>(values.shape(0)), n = static_cast<Index>(values.shape(1));
    if (y.shape(0) != values.shape(0) || out.shape(0) != values.shape(0) || levels.shape(0) != values.shape(1) ||
        (n > 1 && values.stride(1) != 1)) {
        throw nb::value_error("quantile_losses: shapes do not go together");
    }
    nb::gil_scoped_release released;
    run_losses(y.data(), values.data(), values.stride(0), rows, n, levels.data(), out.data());
}

}  // namespace
