// What all parts of the kernel share. They are headers of one translation unit, _kernel.cpp, so that the compiler
// sees all of a loop at once, and builds it for each processor (DISPATCHED).

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

// Of a function the build for AVX2 is taken where there is such a processor; the results are the same.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && !defined(NO_DISPATCH)
#define DISPATCHED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define DISPATCHED
#endif

// So that what such a function calls is built for the same processor.
#if defined(__GNUC__)
#define INLINED inline __attribute__((always_inline))
#else
#define INLINED inline
#endif

namespace nb = nanobind;

namespace {

using Index = std::int64_t;

constexpr double ROUNDER = 0x1.8p52;  // added and taken away again it leaves the nearest whole number, ties to even

// IEEE half precision, as its bits.
struct Half {
    std::uint16_t bits;
};

INLINED float single(float x) { return x; }
INLINED float single(double x) { return static_cast<float>(x); }

INLINED float single(Half x) {
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
    const std::uint32_t exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
    if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = static_cast<float>(fraction) * 0x1p-24F;
    return sign ? -small : small;
}

// Vectors as the compiler has them, of 32 bytes, which AVX2 takes at once and others in parts.
template <class T>
struct Lanes {
    static constexpr Index COUNT = 32 / sizeof(T);
    typedef T Vector __attribute__((vector_size(32)));
    typedef T Short __attribute__((vector_size(16)));
    typedef std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> Bits __attribute__((vector_size(32)));
    typedef std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> Word;
};
typedef double Wide __attribute__((vector_size(32)));

template <class V, class T>
INLINED V loaded(const T* x) {
    V v;
    std::memcpy(&v, x, sizeof v);
    return v;
}

template <class T>
INLINED Wide four(const T* x) {
    return Wide{double(x[0]), double(x[1]), double(x[2]), double(x[3])};
}

INLINED double folded(Wide a, Wide b) { return ((a[0] + a[1]) + (a[2] + a[3])) + ((b[0] + b[1]) + (b[2] + b[3])); }

// A hint: where there is nothing at an address, nothing comes of it.
INLINED void prefetched([[maybe_unused]] std::uintptr_t address) {
#if defined(__GNUC__)
    __builtin_prefetch(reinterpret_cast<const void*>(address));
#endif
}

struct Free {
    void operator()(void* at) const { std::free(at); }
};

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::ndarray<nb::numpy, double, nb::ndim<1>> given(std::vector<double> values) {
    auto* kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<std::vector<double>*>(at); });
    return {kept->data(), {kept->size()}, owner};
}

}  // namespace
