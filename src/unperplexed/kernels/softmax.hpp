// Probabilities of rows of logits in single precision. The exponential is a polynomial, which compilers make vectors
// of and NumPy can repeat step by step; a library's would differ between machines in the last digit.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base.hpp"
#include "row_pass.hpp"

namespace {

// In place, exponentials of numbers up to 0, to one or two last digits, by the coefficients of Moshier's Cephes library
// (1989). NumPy takes the same steps.
INLINED void exponentials(float* x, Index n) {
    constexpr float TO_WHOLE = 0x1.8p23F, LOG2_E = 1.44269504088896341F, HIGH = 0.693359375F, LOW = -2.12194440e-4F;
    for (Index k = 0; k < n; ++k) {
        const float at = std::max(x[k], -110.0F);  // exp(-104) is 0
        const float shifted = at * LOG2_E + TO_WHOLE, powers = shifted - TO_WHOLE;
        const float r = (at - powers * HIGH) - powers * LOW;
        float y = 1.9875691500e-4F;
        y = y * r + 1.3981999507e-3F;
        y = y * r + 8.3334519073e-3F;
        y = y * r + 4.1665795894e-2F;
        y = y * r + 1.6666665459e-1F;
        y = y * r + 5.0000001201e-1F;
        y = (y * (r * r) + r) + 1.0F;
        // In two steps, of which the second alone rounds, where what comes out is subnormal.
        const std::int32_t power = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(TO_WHOLE);
        const std::int32_t half = power >> 1;
        x[k] = y * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((power - half + 127) << 23);
    }
}

// The largest, or any if there are NaNs.
INLINED float largest(const float* x, Index n) {
    typedef Lanes<float>::Vector Floats;
    constexpr Index COUNT = Lanes<float>::COUNT;
    float high = x[0];
    Index k = 0;
    if (n >= COUNT) {
        Floats most = loaded<Floats>(x);
        for (k = COUNT; k + COUNT <= n; k += COUNT) {
            const Floats some = loaded<Floats>(x + k);
            most = some > most ? some : most;
        }
        for (Index lane = 0; lane < COUNT; ++lane) high = std::max(high, most[lane]);
    }
    for (; k < n; ++k) high = std::max(high, x[k]);
    return high;
}

// Probabilities of a row of logits, which lie so far apart; x is room for as many.
INLINED void softmax_of(const float* at, Index step, Index n, const std::vector<Part>& parts, float* x, double* to) {
    for (Index k = 0; k < n; ++k) x[k] = at[k * step];
    const float high = largest(x, n);
    if (high == std::numeric_limits<float>::infinity() && std::none_of(x, x + n, [](float v) { return v != v; })) {
        std::fill(to, to + n, std::numeric_limits<double>::infinity());  // refused as what it is
        return;
    }
    for (Index k = 0; k < n; ++k) x[k] -= high;
    exponentials(x, n);
    Nothing nothing;
    const double total = over(x, n, 1.0F, parts, nothing).total;
    for (Index k = 0; k < n; ++k) to[k] = x[k] / total;
}

DISPATCHED void softmax_in(const Source<float>& from, const std::vector<Part>& parts, float* x, double* to) {
    for (Index row = 0; row < from.rows; ++row, to += from.classes) {
        softmax_of(from.data + row * from.row_stride, from.class_stride, from.classes, parts, x, to);
    }
}

void softmax(nb::ndarray<const float, nb::ndim<2>, nb::device::cpu> x, Output out) {
    if (out.shape(0) != x.shape(0) || out.shape(1) != x.shape(1) || x.shape(1) < 1) {
        throw nb::value_error("softmax: shapes do not go together");
    }
    const Source<float> from{x.data(), static_cast<Index>(x.shape(0)), static_cast<Index>(x.shape(1)), x.stride(0),
                             x.stride(1)};
    std::vector<Part> parts;
    part(from.classes, parts);
    std::vector<float> buffer(from.classes);
    double* to = out.data();
    nb::gil_scoped_release released;
    softmax_in(from, parts, buffer.data(), to);
}

}  // namespace
