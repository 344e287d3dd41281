// What is computed from every probability: the primitives of each row and the counts of cells, row by row while it is
// in the fastest cache. The NumPy functions of kernels/rows.py say what each result is; these give the same to the last
// digit, which is why sums are made in NumPy's order and nothing may be contracted (-ffp-contract=off).

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include "curves.hpp"

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

constexpr Index STRANDS = 8;
constexpr Index FEW_CLASSES = 32;   // rows of fewer are summed from left to right
constexpr Index PAIRWISE = 128;     // more than so many are summed by halves
constexpr std::uintptr_t AHEAD = 4096;  // bytes from what is computed on to what is fetched for later
constexpr double SUM_TOLERANCE = 1e-3 * (1 + 1e-9);
constexpr std::uint32_t HALF = 0x3f000000;
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

template <class T>
INLINED Index equal(const T* x, Index n, T value) {
    return std::count(x, x + n, value);
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

// The cells of Grid.
struct Grid {
    int shift;
    std::uint32_t half, size;

    explicit Grid(int fraction_bits) : shift(23 - fraction_bits), half(HALF >> shift), size(2 * (half + 1) + 2) {}

    struct Place {
        std::uint32_t code, place;
    };

    template <class T>
    INLINED Place of(T p) const {
        const bool upper = p > T(0.5);
        const T distance = upper ? T(1) - p : p;
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(distance));
        const std::uint32_t place = bits & ((1U << shift) - 1);
        if (p == T(0)) return {0, place};
        if (p == T(1)) return {size - 1, place};
        const std::uint32_t code = std::min(bits >> shift, half) + 1;  // of no probability, one that is there
        return {upper ? size - 1 - code : code, place};
    }
};

// Nothing else is to be done.
struct Nothing {
    template <class T>
    INLINED void eight(const T*) {}
    template <class T>
    INLINED void one(T) {}
    INLINED void room(Index) {}
};

struct Free {
    void operator()(void* at) const { std::free(at); }
};

// Counts of values from 0 to 1 by their leading bits, whatever these are, in 32 bits so that they stay in fast cache.
// They go into the totals as if all were of cells below 1/2; where they are not, `corrected` puts it right. There is
// room for any bits, should another thread write values that are no probabilities after they were checked; of what is
// never touched the system makes no memory.
class Raw {
  public:
    Raw(const Grid& grid, double* total)
        : grid_(grid),
          total_(total),
          used_((0x3f800000U >> grid.shift) + 1),
          raw_(static_cast<std::uint32_t*>(std::calloc(std::size_t{1} << (32 - grid.shift), sizeof(std::uint32_t)))) {
        if (!raw_) throw std::bad_alloc();
    }

    INLINED void eight(const float* x) {
        std::uint32_t* raw = raw_.get();
        const int shift = grid_.shift;
        for (int k = 0; k < 8; k += 2) {
            const auto two = loaded<std::uint64_t>(x + k);
            ++raw[static_cast<std::uint32_t>(two) >> shift];
            ++raw[static_cast<std::uint32_t>(two >> 32) >> shift];
        }
    }

    INLINED void eight(const double* x) {
        typedef float Floats __attribute__((vector_size(16)));
        std::array<float, 8> single;
        for (int k = 0; k < 8; k += 4) {
            const Floats four = __builtin_convertvector(loaded<Wide>(x + k), Floats);
            std::memcpy(single.data() + k, &four, sizeof four);
        }
        eight(single.data());
    }

    template <class T>
    INLINED void one(T x) {
        ++raw_.get()[bits_of(x)];
    }

    // Before so many more are counted.
    INLINED void room(Index n) {
        if (counted_ + n > MOST) into();
        counted_ += n;
    }

    // Count as zeros, and above 1/2, what is; of a row that is none after all, nothing.
    template <class T>
    INLINED void corrected(const T* x, Index n, T high, const Pass& pass, bool usual) {
        if (!usual) {
            for (Index i = 0; i < n; ++i) total_[key(x[i]) + 1] -= 1;
            return;
        }
        const double zeros = static_cast<double>(pass.zeros);
        total_[0] += zeros;
        total_[1] -= zeros;
        if (!large(high)) return;
        if (pass.total - high < SECOND) {  // what is left is not enough for another
            moved(high);
            return;
        }
        for (Index i = 0; i < n; ++i) {
            if (large(x[i])) moved(x[i]);
        }
    }

    void into() {
        std::uint32_t* raw = raw_.get();
        for (std::size_t k = 0; k < used_; ++k) {
            if (raw[k]) total_[k + 1] += raw[k];
            raw[k] = 0;
        }
        counted_ = 0;
    }

  private:
    static constexpr Index MOST = 0xffffffff;
    static constexpr double SECOND = 0.49;  // less than rounds to 1/2, by far

    template <class T>
    static INLINED bool large(T x) {
        return static_cast<float>(x) >= 0.5F;
    }

    template <class T>
    INLINED void moved(T x) {
        total_[key(x) + 1] -= 1;
        total_[grid_.of(x).code] += 1;
    }

    template <class T>
    INLINED std::uint32_t bits_of(T x) const {
        return std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> grid_.shift;
    }

    template <class T>
    INLINED std::size_t key(T x) const {
        return std::min<std::size_t>(bits_of(x), used_ - 1);
    }

    Grid grid_;
    double* total_;
    std::size_t used_;
    std::unique_ptr<std::uint32_t, Free> raw_;
    Index counted_ = 0;
};

// Where the primitives of a row go: vectors of one length, one after the other, in the order of the fields of Rows.
struct Primitives {
    double* at;
    Index n;
    INLINED void put(Index row, double correct, double lowest, double highest, double hit, const Pass& pass) const {
        double* to = at + row;
        const double ties = static_cast<double>(pass.ties);
        for (const double value : {correct, lowest, highest, ties, hit, pass.total, pass.squares}) {
            *to = value;
            to += n;
        }
    }
};

template <class T>
struct Source {
    const T* data;
    Index rows, classes, row_stride, class_stride;
};

template <class T>
struct Job {
    Source<T> from;
    const Index* truth;
    const double* weights;  // or null
    Primitives to;
    Raw* raw;  // or null: nothing is counted
    Grid grid;
    double* total;
    const std::vector<Part>& parts;
};

// Values of a row, each with the row's weight.
template <class T, class From>
void weighed(const Job<From>& job, Index row, const T* x, Index n) {
    const double w = job.weights ? job.weights[row] : 1.0;
    for (Index k = 0; k < n; ++k) job.total[job.grid.of(x[k]).code] += w;
}

// A row in which something is negative, be it -0.0, or above 1 or NaN.
template <class T, class From>
void odd(const Job<From>& job, Index row, const T* x, Index n, T correct, bool known) {
    T lowest = 0, high = x[0];
    for (Index k = 0; k < n; ++k) {
        lowest = std::min(lowest, x[k]);
        high = x[k] > high ? x[k] : high;
    }
    Nothing nothing;
    Pass pass = over(x, n, high, job.parts, nothing);
    if (std::isnan(pass.total) && std::any_of(x, x + n, [](T v) { return std::isnan(v); })) {
        lowest = high = std::numeric_limits<T>::quiet_NaN();  // as in NumPy
        pass.ties = 0;
    }
    const double hit = known && correct == high ? 1.0 / static_cast<double>(pass.ties) : 0.0;
    job.to.put(row, correct, lowest, high, hit, pass);
    const bool distribution = lowest >= 0 && high <= 1 && std::abs(pass.total - 1) <= SUM_TOLERANCE;
    if (job.total && known && distribution) weighed(job, row, x, n);
}

template <class T, class From>
INLINED void each_row(const Job<From>& job, T* buffer) {
    const Index n = job.from.classes;
    for (Index row = 0; row < job.from.rows; ++row) {
        const From* at = job.from.data + row * job.from.row_stride;
        const T* x;
        if constexpr (std::is_same_v<T, From>) {
            x = at;
            if (job.from.class_stride != 1) {
                for (Index k = 0; k < n; ++k) buffer[k] = at[k * job.from.class_stride];
                x = buffer;
            }
        } else {
            for (Index k = 0; k < n; ++k) buffer[k] = single(at[k * job.from.class_stride]);
            x = buffer;
        }
        const Index class_of = job.truth[row];
        const bool known = class_of >= 0 && class_of < n;
        const auto [usual, high] = highest(x, n);
        const T correct = known ? x[class_of] : T(0);  // only now that the row is in cache
        if (!usual) {
            odd(job, row, x, n, correct, known);
            continue;
        }
        Nothing nothing;
        const bool counting = job.raw && known;
        if (counting && n < FEW_CLASSES) job.raw->room(n);
        const Pass pass = counting ? over(x, n, high, job.parts, *job.raw) : over(x, n, high, job.parts, nothing);
        const double hit = known && correct == high ? 1.0 / static_cast<double>(pass.ties) : 0.0;
        job.to.put(row, correct, 0, high, hit, pass);
        const bool distribution = std::abs(pass.total - 1) <= SUM_TOLERANCE;
        if (counting) {
            job.raw->corrected(x, n, high, pass, distribution);
        } else if (job.weights && job.total && known && distribution) {
            weighed(job, row, x, n);
        }
    }
}

DISPATCHED void run(const Job<float>& job, float* buffer) { each_row(job, buffer); }
DISPATCHED void run(const Job<double>& job, double* buffer) { each_row(job, buffer); }
DISPATCHED void run(const Job<Half>& job, float* buffer) { each_row(job, buffer); }

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

// Probabilities of rows of logits.
DISPATCHED void softmax_in(const Source<float>& from, const std::vector<Part>& parts, float* x, double* to) {
    const Index n = from.classes;
    Nothing nothing;
    for (Index row = 0; row < from.rows; ++row, to += n) {
        const float* at = from.data + row * from.row_stride;
        for (Index k = 0; k < n; ++k) x[k] = at[k * from.class_stride];
        const float high = largest(x, n);
        if (high == std::numeric_limits<float>::infinity() && std::none_of(x, x + n, [](float v) { return v != v; })) {
            std::fill(to, to + n, std::numeric_limits<double>::infinity());  // refused as what it is
            continue;
        }
        for (Index k = 0; k < n; ++k) x[k] -= high;
        exponentials(x, n);
        const double total = over(x, n, 1.0F, parts, nothing).total;
        for (Index k = 0; k < n; ++k) to[k] = x[k] / total;
    }
}

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class From>
using Computed = std::conditional_t<std::is_same_v<From, double>, double, float>;

template <class From>
void rows_of(const void* data, Matrix<nb::ro> p, const Index* truth, const double* weights, Output out,
             int fraction_bits, double* total) {
    const Grid grid(fraction_bits);
    std::vector<Computed<From>> buffer(p.shape(1));
    std::optional<Raw> raw;  // of weighted rows each probability goes into the totals by itself
    if (total && !weights) raw.emplace(grid, total);
    std::vector<Part> parts;
    part(p.shape(1), parts);
    Job<From> job{{static_cast<const From*>(data), static_cast<Index>(p.shape(0)), static_cast<Index>(p.shape(1)),
                   p.stride(0), p.stride(1)},
                  truth,
                  weights,
                  {out.data(), static_cast<Index>(out.shape(1))},
                  raw ? &*raw : nullptr,
                  grid,
                  total,
                  parts};
    nb::gil_scoped_release released;
    run(job, buffer.data());
    if (raw) raw->into();
}

// Primitives of rows into `out`; and, where totals are given, the counts of the cells of all rows that are
// distributions and have a truth added to them, each with its row's weight.
void rows(Matrix<nb::ro> p, Vector<const Index> truth, std::optional<Vector<const double>> weights, Output out,
          int fraction_bits, std::optional<Vector<double>> total) {
    const double* w = weights ? weights->data() : nullptr;
    double* counts = total ? total->data() : nullptr;
    const auto n = p.shape(0);
    if (truth.shape(0) != n || out.shape(0) != 7 || out.shape(1) != n || (weights && weights->shape(0) != n) ||
        p.shape(1) < 1 || (total && total->shape(0) != Grid(fraction_bits).size)) {
        throw nb::value_error("rows: shapes do not go together");
    }
    if (p.dtype() == nb::dtype<float>()) {
        rows_of<float>(p.data(), p, truth.data(), w, out, fraction_bits, counts);
    } else if (p.dtype() == nb::dtype<double>()) {
        rows_of<double>(p.data(), p, truth.data(), w, out, fraction_bits, counts);
    } else if (p.dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && p.dtype().bits == 16) {
        rows_of<Half>(p.data(), p, truth.data(), w, out, fraction_bits, counts);
    } else {
        throw nb::type_error("rows: floats of 16, 32 or 64 bits only");
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

constexpr int HALF_BITS = 14;

// Columns of DenseCells after the total, in their order.
enum Column { HAPPENED, SQUARED, FIRST, SECOND_HIGH, SECOND_LOW, LOW, HIGH, COLUMNS };

// Values that happened, each with its weight or 1, added to the columns of their cells.
void happened(Vector<const double> values, std::optional<Vector<const double>> weights, int fraction_bits,
              Output columns) {
    const Grid grid(fraction_bits);
    const Index n = values.shape(0), size = grid.size;
    if (columns.shape(0) != COLUMNS || columns.shape(1) != grid.size ||
        (weights && weights->shape(0) != values.shape(0))) {
        throw nb::value_error("happened: shapes do not go together");
    }
    const double* x = values.data();
    const double* w = weights ? weights->data() : nullptr;
    double* to = columns.data();
    nb::gil_scoped_release released;
    for (Index row = 0; row < n; ++row) {
        const auto [code, place] = grid.of(x[row]);
        const double each = w ? w[row] : 1.0;
        const std::uint64_t square = static_cast<std::uint64_t>(place) * place;
        double* cell = to + code;
        if (cell[HAPPENED * size] == 0) cell[LOW * size] = cell[HIGH * size] = x[row];
        cell[HAPPENED * size] += each;
        cell[SQUARED * size] += each * each;
        cell[FIRST * size] += each * static_cast<double>(place);
        cell[SECOND_HIGH * size] += each * static_cast<double>(square >> HALF_BITS);
        cell[SECOND_LOW * size] += each * static_cast<double>(square & ((1U << HALF_BITS) - 1));
        cell[LOW * size] = std::min(cell[LOW * size], x[row]);
        cell[HIGH * size] = std::max(cell[HIGH * size], x[row]);
    }
}

template <class From>
void count_of(const Matrix<nb::ro>& p, const double* w, const Grid& grid, double* to) {
    const From* data = static_cast<const From*>(p.data());
    const Index rows = p.shape(0), classes = p.shape(1), row_stride = p.stride(0), class_stride = p.stride(1);
    nb::gil_scoped_release released;
    for (Index row = 0; row < rows; ++row) {
        const double weight = w ? w[row] : 1.0;
        for (Index k = 0; k < classes; ++k) {
            to[grid.of(data[row * row_stride + k * class_stride]).code] += weight;
        }
    }
}

// Probabilities, each with its row's weight or 1, added to the total of their cells.
void count(Matrix<nb::ro> p, std::optional<Vector<const double>> weights, int fraction_bits, Vector<double> total) {
    const Grid grid(fraction_bits);
    if (total.shape(0) != grid.size || (weights && weights->shape(0) != p.shape(0))) {
        throw nb::value_error("count: shapes do not go together");
    }
    const double* w = weights ? weights->data() : nullptr;
    if (p.dtype() == nb::dtype<float>()) {
        count_of<float>(p, w, grid, total.data());
    } else if (p.dtype() == nb::dtype<double>()) {
        count_of<double>(p, w, grid, total.data());
    } else {
        throw nb::type_error("count: floats of 32 or 64 bits only");
    }
}

// The cells of CoarseGrid and the places in them.
constexpr int LOWEST_EIGHTH = 0x37200000 >> 20;  // of 2**-17 * 5/4

template <class T>
INLINED void coarse_of(const T* x, Index n, Index* code, double* place) {
    for (Index k = 0; k < n; ++k) {
        const bool upper = x[k] > T(0.5);
        const T distance = upper ? T(1) - x[k] : x[k];
        const float u = static_cast<float>(distance);
        const int eighth = static_cast<int>(std::bit_cast<std::uint32_t>(u) >> 20) - (LOWEST_EIGHTH - 1);
        const int cell = distance == T(0) ? 0 : std::clamp(eighth, 1, 127);
        const std::uint64_t exponent = 1023 + 20 + 126 - ((cell + LOWEST_EIGHTH - 1) >> 3);
        place[k] = static_cast<double>(u) * std::bit_cast<double>(exponent << 52) + ROUNDER - ROUNDER;
        code[k] = upper ? 255 - cell : cell;
    }
}

DISPATCHED void coarse_in(const float* x, Index n, Index* code, double* place) { coarse_of(x, n, code, place); }
DISPATCHED void coarse_in(const double* x, Index n, Index* code, double* place) { coarse_of(x, n, code, place); }

void coarse(nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> values, Vector<Index> code,
            Vector<double> place) {
    const Index n = values.shape(0);
    if (static_cast<Index>(code.shape(0)) != n || static_cast<Index>(place.shape(0)) != n) {
        throw nb::value_error("coarse: shapes do not go together");
    }
    const bool wide = values.dtype() == nb::dtype<double>();
    if (!wide && values.dtype() != nb::dtype<float>()) throw nb::type_error("coarse: floats of 32 or 64 bits only");
    nb::gil_scoped_release released;
    if (wide) {
        coarse_in(static_cast<const double*>(values.data()), n, code.data(), place.data());
    } else {
        coarse_in(static_cast<const float*>(values.data()), n, code.data(), place.data());
    }
}

// Counts the probabilities of rows in coarse cells, each under the group of its row or else of its column.
template <class T>
void count_coarse_of(const T* p, Index n, Index columns, const Index* group, bool of_rows, Index groups,
                     const double* weights, double* total, double* places) {
    constexpr Index AT_ONCE = 256;
    std::array<Index, AT_ONCE> code;
    std::array<double, AT_ONCE> place;
    Index row = 0, column = 0;
    for (Index start = 0; start < n * columns; start += AT_ONCE) {
        const Index m = std::min(AT_ONCE, n * columns - start);
        coarse_in(p + start, m, code.data(), place.data());
        for (Index k = 0; k < m; ++k) {
            const Index at = code[k] * groups + group[of_rows ? row : column];
            const double weight = weights ? weights[row] : 1;
            total[at] += weight;
            places[at] += weight * place[k];
            if (++column == columns) {
                column = 0;
                ++row;
            }
        }
    }
}

void count_coarse(nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu> p, Vector<const Index> group,
                  bool of_rows, Index groups, std::optional<Vector<const double>> weights, Vector<double> total,
                  Vector<double> places) {
    const Index n = p.shape(0), columns = p.shape(1), size = group.shape(0), room = 256 * groups;
    if (size != (of_rows ? n : columns) || (weights && static_cast<Index>(weights->shape(0)) != n) ||
        static_cast<Index>(total.shape(0)) != room || static_cast<Index>(places.shape(0)) != room) {
        throw nb::value_error("count_coarse: shapes do not go together");
    }
    if (!std::all_of(group.data(), group.data() + size, [&](Index g) { return 0 <= g && g < groups; })) {
        throw nb::value_error("count_coarse: there is no such group");
    }
    const bool wide = p.dtype() == nb::dtype<double>();
    if (!wide && p.dtype() != nb::dtype<float>()) throw nb::type_error("count_coarse: floats of 32 or 64 bits only");
    const double* w = weights ? weights->data() : nullptr;
    nb::gil_scoped_release released;
    if (wide) {
        count_coarse_of(static_cast<const double*>(p.data()), n, columns, group.data(), of_rows, groups, w,
                        total.data(), places.data());
    } else {
        count_coarse_of(static_cast<const float*>(p.data()), n, columns, group.data(), of_rows, groups, w,
                        total.data(), places.data());
    }
}

constexpr double LIMB = 0x1p36;

// Sums of the limbs of values below 2^bits, from the highest on: whole numbers, so exact in any order.
std::vector<Index> limb_sums(Vector<const double> values, int bits, int limbs) {
    constexpr Index AT_ONCE = 8;
    const Index n = values.shape(0);
    const double* x = values.data();
    const double scale = std::ldexp(1.0, 36 - bits);
    std::vector<Index> sums(limbs, 0);
    nb::gil_scoped_release released;
    for (Index start = 0; start < n; start += AT_ONCE) {
        const Index m = std::min(AT_ONCE, n - start);
        std::array<double, AT_ONCE> left{};
        for (Index k = 0; k < m; ++k) left[k] = x[start + k] * scale;
        for (int limb = 0; limb < limbs; ++limb) {
            double sum = 0;
            for (Index k = 0; k < AT_ONCE; ++k) {
                const double whole = (left[k] + ROUNDER) - ROUNDER;
                sum += whole;
                left[k] = (left[k] - whole) * LIMB;
            }
            sums[limb] += static_cast<Index>(sum);
        }
    }
    return sums;
}

// The leading bits of a hash, so many.
INLINED std::size_t mixed(std::uint64_t bits, int count) {
    return static_cast<std::size_t>((bits ^ bits >> 32) * 0x9E3779B97F4A7C15U >> (64 - count));
}

// Whether there are more distinct values than so many: if the bits that their hashes set say so, surely; else perhaps not.
template <class From, class Counts>
bool crowded_in(const From* data, Index rows, Index classes, Index row_stride, Index class_stride, Index most,
                Counts counts) {
    if (rows * classes <= most) return false;
    int log = 10;
    while (Index(1) << log < 8 * most) ++log;
    std::vector<bool> seen(std::size_t(1) << log);
    Index found = 0;
    for (Index row = 0; row < rows; ++row) {
        if (!counts(row)) continue;
        for (Index k = 0; k < classes; ++k) {
            const From value = data[row * row_stride + k * class_stride];
            std::uint64_t bits = 0;
            std::memcpy(&bits, &value, sizeof value);
            const std::size_t at = mixed(bits, log);
            found += !seen[at];
            seen[at] = true;
        }
        if (found > most + 1) return true;  // 0 and -0.0 are one
    }
    return false;
}

bool crowded(Matrix<nb::ro> p, Index most) {
    const Index rows = p.shape(0), classes = p.shape(1);
    const auto all = [](Index) { return true; };
    const Index row = p.stride(0), column = p.stride(1);
    nb::gil_scoped_release released;
    if (p.dtype().bits == 32) {
        return crowded_in(static_cast<const std::uint32_t*>(p.data()), rows, classes, row, column, most, all);
    }
    if (p.dtype().bits == 64) {
        return crowded_in(static_cast<const std::uint64_t*>(p.data()), rows, classes, row, column, most, all);
    }
    return false;
}

nb::ndarray<nb::numpy, double, nb::ndim<1>> given(std::vector<double> values) {
    auto* kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<std::vector<double>*>(at); });
    return {kept->data(), {kept->size()}, owner};
}

// Entries by their key, with room for as many again. An entry has a `key`, and says whether it is `used`.
template <class Entry>
class Hashed {
  public:
    Index size() const { return n_; }
    auto begin() const { return entries_.begin(); }
    auto end() const { return entries_.end(); }

    // The entry of a key, or a free one for it.
    Entry& of(double key) {
        std::size_t at = mixed(std::bit_cast<std::uint64_t>(key), log_);
        while (entries_[at].used() && entries_[at].key != key) at = (at + 1) & (entries_.size() - 1);
        return entries_[at];
    }

    // After a free one is used.
    void taken() {
        if (2 * ++n_ <= static_cast<Index>(entries_.size())) return;
        std::vector<Entry> before(2 * entries_.size());
        before.swap(entries_);
        ++log_;
        for (const Entry& entry : before) {
            if (entry.used()) of(entry.key) = entry;
        }
    }

  private:
    Index n_ = 0;
    int log_ = 6;
    std::vector<Entry> entries_ = std::vector<Entry>(1 << 6);
};

// Distinct values with how much there is of each, until there are too many.
class Distinct {
  public:
    explicit Distinct(Index most) : most_(most) {}

    // How many elements were counted, row by row: all, or those up to one for which there is no room.
    Index add(Matrix<nb::ro> p, std::optional<Vector<const double>> weights) {
        if (weights && weights->shape(0) != p.shape(0)) throw nb::value_error("add: shapes do not go together");
        const double* w = weights ? weights->data() : nullptr;
        if (p.dtype() == nb::dtype<float>()) return add_all<float>(p, w);
        if (p.dtype() == nb::dtype<double>()) return add_all<double>(p, w);
        return add_all<Half>(p, w);
    }

    // Values, the weight of each, and its square; in no order.
    nb::tuple columns() const {
        std::vector<double> values, weight, squared;
        for (const Entry& entry : entries_) {
            if (!entry.used()) continue;
            values.push_back(entry.key);
            weight.push_back(entry.weight);
            squared.push_back(entry.squared);
        }
        return nb::make_tuple(given(std::move(values)), given(std::move(weight)), given(std::move(squared)));
    }

  private:
    struct Entry {
        double key = 0, weight = 0, squared = 0;
        bool is_used = false;
        bool used() const { return is_used; }
    };

    template <class From>
    Index add_all(const Matrix<nb::ro>& p, const double* w) {
        const From* data = static_cast<const From*>(p.data());
        const Index rows = p.shape(0), classes = p.shape(1);
        nb::gil_scoped_release released;
        for (Index row = 0; row < rows; ++row) {
            const double weight = w ? w[row] : 1.0;
            for (Index k = 0; k < classes; ++k) {
                const From value = data[row * p.stride(0) + k * p.stride(1)];
                if constexpr (std::is_same_v<From, Half>) {
                    if (!add_one(single(value) + 0.0, weight)) return row * classes + k;
                } else {
                    if (!add_one(value + 0.0, weight)) return row * classes + k;
                }
            }
        }
        return rows * classes;
    }

    bool add_one(double key, double weight) {
        Entry& entry = entries_.of(key);
        const bool is_new = !entry.used();
        if (is_new && entries_.size() == most_) return false;
        entry = {key, entry.weight + weight, entry.squared + weight * weight, true};
        if (is_new) entries_.taken();
        return true;
    }

    Index most_;
    Hashed<Entry> entries_;
};

// Rows of one column, and where in the cells the probabilities of both classes are: of the negative one, and of the
// positive. In steps that compilers make vectors of.
template <class T>
struct Batch {
    static constexpr Index ROWS = 256;
    std::array<std::array<T, ROWS>, 2> p;
    std::array<std::array<std::uint32_t, ROWS>, 2> code, place;
};

// What is no probability, or so near 1/2 or 0 that its cell does not tell which class is on top, or how small it is, is
// odd. The bits of floats from 0 up are in the order of their values.
template <class T>
INLINED std::int64_t is_odd(T p) {
    using Word = typename Lanes<T>::Word;
    const Word bits = std::bit_cast<Word>(p), half = std::bit_cast<Word>(T(0.5)), one = std::bit_cast<Word>(T(1));
    const Word least = std::bit_cast<Word>(T(0x1p-126));
    const Word below = std::bit_cast<Word>(T(0.5 - 0x1p-24)), above = std::bit_cast<Word>(T(0.5 + 0x1p-24));
    return (bits < 0) | (bits > one) | ((bits > 0) & (bits < least)) |
           ((bits >= below) & (bits <= above) & (bits != half));
}

template <class T>
INLINED bool any_odd(const T* p, const std::int8_t* truth, Index n) {
    typename Lanes<T>::Word odd = 0;
    int missing = 0;
    for (Index k = 0; k < n; ++k) odd |= is_odd(p[k]);
    for (Index k = 0; k < n; ++k) missing |= truth[k];
    return odd || missing < 0;
}

template <class T>
INLINED void batch_of(const Grid& grid, Index n, Batch<T>& batch) {
    const std::uint32_t mask = (1U << grid.shift) - 1, last = grid.size - 1;
    std::array<std::uint32_t, Batch<T>::ROWS> bits, upper;
    for (int side = 0; side < 2; ++side) {
        const T* p = batch.p[side].data();
        for (Index k = 0; k < n; ++k) bits[k] = std::bit_cast<std::uint32_t>(single(std::min(p[k], T(1) - p[k])));
        for (Index k = 0; k < n; ++k) upper[k] = std::bit_cast<std::uint32_t>(single(T(0.5) - p[k])) >> 31;
        for (Index k = 0; k < n; ++k) {
            const std::uint32_t lower = (bits[k] >> grid.shift) + (bits[k] != 0);
            batch.code[side][k] = upper[k] ? last - lower : lower;
            batch.place[side][k] = bits[k] & mask;
        }
    }
}

// Whether any row is odd; where none is, its place in the cells.
template <class T>
INLINED bool odd_batch_of(const Grid& grid, const T* x, Index stride, const std::int8_t* truth, Index n,
                          Batch<T>& batch) {
    for (Index k = 0; k < n; ++k) batch.p[1][k] = x[k * stride];
    for (Index k = 0; k < n; ++k) batch.p[0][k] = T(1) - batch.p[1][k];
    const bool odd = any_odd(batch.p[1].data(), truth, n);
    batch_of(grid, n, batch);
    return odd;
}

DISPATCHED bool batch_in(const Grid& grid, const float* x, Index stride, const std::int8_t* truth, Index n,
                         Batch<float>& batch) {
    return odd_batch_of(grid, x, stride, truth, n, batch);
}
DISPATCHED bool batch_in(const Grid& grid, const double* x, Index stride, const std::int8_t* truth, Index n,
                         Batch<double>& batch) {
    return odd_batch_of(grid, x, stride, truth, n, batch);
}

// Rows of two classes of which one column is given: by value, with how often either class happened, until there are
// too many values; in cells beyond.
template <class T>
class OneColumn {
  public:
    OneColumn(Index most, int fraction_bits) : most_(most), grid_(fraction_bits) {}

    // Count rows but for odd ones, which are marked: those whose outcome is neither 0 nor 1 among them.
    template <class Code>
    void add(nb::ndarray<const T, nb::ndim<1>, nb::device::cpu> p, Vector<const Code> truth, Vector<bool> odd) {
        const Index n = p.shape(0), stride = p.stride(0);
        if (static_cast<Index>(truth.shape(0)) != n || static_cast<Index>(odd.shape(0)) != n) {
            throw nb::value_error("add: shapes do not go together");
        }
        const T* x = p.data();
        nb::gil_scoped_release released;
        std::vector<std::int8_t> outcomes(n);
        for (Index k = 0; k < n; ++k) outcomes[k] = truth.data()[k] >> 1 ? -1 : static_cast<std::int8_t>(truth.data()[k]);
        add_outcomes(x, stride, outcomes.data(), odd.data(), n);
    }

    bool exact() const { return !cells_[0]; }

    // Values, and how often the negative and the positive class happened; in no order.
    nb::tuple values() const {
        std::array<std::vector<double>, 3> found;
        for (const Entry& entry : entries_) {
            if (!entry.used()) continue;
            found[0].push_back(entry.key);
            found[1].push_back(static_cast<double>(entry.count[0]));
            found[2].push_back(static_cast<double>(entry.count[1]));
        }
        return nb::make_tuple(given(std::move(found[0])), given(std::move(found[1])), given(std::move(found[2])));
    }

    // Of the cells that are occupied the code, the total, and the columns of what happened there, cell by cell: of the
    // pairs of both classes, or of the rows with one outcome, whose cells are those of the positive class.
    nb::ndarray<nb::numpy, double, nb::ndim<1>> cells() const {
        std::vector<double> found;
        for (std::size_t code = 0; code < grid_.size; ++code) {
            Cell both = cells_[NEGATIVE][code];
            both.add(cells_[POSITIVE][code]);
            give(found, code, both, others_[code]);
        }
        return given(std::move(found));
    }
    nb::ndarray<nb::numpy, double, nb::ndim<1>> cells_of_outcome(bool positive) const {
        std::vector<double> found;
        for (std::size_t code = 0; code < grid_.size; ++code) {
            give(found, code, cells_[positive ? POSITIVE : NEGATIVE_BY_P][code], 0);
        }
        return given(std::move(found));
    }

  private:
    struct Entry {
        T key = 0;
        std::array<Index, 2> count{};
        bool used() const { return count[0] || count[1]; }
    };

    struct alignas(64) Cell {
        std::array<Index, 4> sums;  // in the order of the columns, but for the squared weights: these are 1
        double low, high;           // unless nothing happened

        void add(const Cell& other) {
            if (!other.sums[0]) return;
            low = sums[0] ? std::min(low, other.low) : other.low;
            high = sums[0] ? std::max(high, other.high) : other.high;
            for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += other.sums[k];
        }
    };

    // Rows with a negative outcome by the probability of the negative class, rows with a positive one by that of the
    // positive class, and the former once more by that of the positive class.
    enum Table { NEGATIVE, POSITIVE, NEGATIVE_BY_P, TABLES };

    static void give(std::vector<double>& found, std::size_t code, const Cell& cell, Index others) {
        const auto [count, first, second_high, second_low] = cell.sums;
        if (!count && !others) return;
        const double low = count ? cell.low : std::numeric_limits<double>::infinity();
        const double high = count ? cell.high : -std::numeric_limits<double>::infinity();
        for (const Index x : {Index(code), count + others, count, count, first, second_high, second_low}) {
            found.push_back(static_cast<double>(x));
        }
        found.insert(found.end(), {low, high});
    }

    void add_outcomes(const T* x, Index stride, const std::int8_t* truth, bool* odd, Index n) {
        const auto counts = [&](Index k) { return !is_odd(x[k * stride]) && truth[k] >= 0; };
        if (entries_.size() == 0 && exact() && crowded_in(x, n, 1, stride, 0, most_, counts)) to_cells();
        const Index done = exact() ? by_value(x, stride, truth, odd, n) : 0;
        if (done == n) return;
        if (exact()) to_cells();
        by_cell(x + done * stride, stride, truth + done, odd + done, n - done);
    }

    Index by_value(const T* x, Index stride, const std::int8_t* truth, bool* odd, Index n) {
        for (Index k = 0; k < n; ++k) {
            const T p = x[k * stride];
            odd[k] = is_odd(p) || truth[k] < 0;
            if (odd[k]) continue;
            Entry& entry = entries_.of(p);
            const bool is_new = !entry.used();
            if (is_new && entries_.size() == most_) return k;
            entry.key = p;
            ++entry.count[truth[k] > 0];
            if (is_new) entries_.taken();
        }
        return n;
    }

    void to_cells() {
        // Zeros as the system gives them: most cells are never touched, and take no memory then.
        const std::size_t bytes = (TABLES * grid_.size + 1) * sizeof(Cell);
        room_.reset(static_cast<std::byte*>(std::calloc(bytes + grid_.size * sizeof(Index), 1)));
        if (!room_) throw std::bad_alloc();
        const auto at = reinterpret_cast<std::uintptr_t>(room_.get());
        const auto aligned = (at + alignof(Cell) - 1) / alignof(Cell) * alignof(Cell);
        for (int table = 0; table < TABLES; ++table) cells_[table] = reinterpret_cast<Cell*>(aligned) + table * grid_.size;
        others_ = reinterpret_cast<Index*>(cells_[TABLES - 1] + grid_.size);
        for (const Entry& entry : entries_) {
            for (const bool positive : {false, true}) {
                if (!entry.count[positive]) continue;
                const T p = entry.key, q = T(1) - p;
                const auto [code, place] = grid_.of(p);
                const auto [other, other_place] = grid_.of(q);
                if (positive) {
                    count(POSITIVE, code, place, p, entry.count[1]);
                    others_[other] += entry.count[1];
                } else {
                    count(NEGATIVE, other, other_place, q, entry.count[0]);
                    count(NEGATIVE_BY_P, code, place, p, entry.count[0]);
                    others_[code] += entry.count[0];
                }
            }
        }
        entries_ = {};
    }

    void by_cell(const T* x, Index stride, const std::int8_t* truth, bool* odd, Index n) {
        Batch<T> batch;
        for (Index start = 0; start < n; start += Batch<T>::ROWS) {
            const Index m = std::min(Batch<T>::ROWS, n - start);
            const std::int8_t* outcome = truth + start;
            const bool some_odd = batch_in(grid_, x + start * stride, stride, outcome, m, batch);
            for (Index k = 0; k < m; ++k) {
                odd[start + k] = some_odd && (is_odd(batch.p[1][k]) || outcome[k] < 0);
                if (odd[start + k]) continue;
                const int side = outcome[k] > 0;
                if (k + SOON < m) {
                    const int soon = outcome[k + SOON] > 0;
                    prefetched(reinterpret_cast<std::uintptr_t>(cells_[soon] + batch.code[soon][k + SOON]));
                    if (!soon) {
                        const std::uint32_t code = batch.code[1][k + SOON];
                        prefetched(reinterpret_cast<std::uintptr_t>(cells_[NEGATIVE_BY_P] + code));
                    }
                }
                count(side, batch.code[side][k], batch.place[side][k], batch.p[side][k], 1);
                if (!side) count(NEGATIVE_BY_P, batch.code[1][k], batch.place[1][k], batch.p[1][k], 1);
                others_[batch.code[1 - side][k]] += 1;
            }
        }
    }

    void count(int table, std::uint32_t code, std::uint32_t place, T value, Index times) {
        Cell& cell = cells_[table][code];
        const Index square = static_cast<Index>(place) * place;
        cell.sums[0] += times;
        cell.sums[1] += times * place;
        cell.sums[2] += times * (square >> HALF_BITS);
        cell.sums[3] += times * (square & ((1 << HALF_BITS) - 1));
        if (cell.sums[0] == times) cell.low = cell.high = value;
        cell.low = std::min<double>(cell.low, value);
        cell.high = std::max<double>(cell.high, value);
    }

    static constexpr Index SOON = 16;

    Index most_;
    Grid grid_;
    Hashed<Entry> entries_;
    std::unique_ptr<std::byte, Free> room_;
    std::array<Cell*, TABLES> cells_{};
    Index* others_ = nullptr;
};

// ---- sums for the diagnosis of several classes: tally/class_sums.py says what they are

constexpr double FINE = 0x1p40, COARSE_UNITS = 0x1p20, SCORE = 0x1p30, MOMENT = 0x1p24, THIRD = 0x1p20;
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
    double *wrong_residual, *wrong_score;
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
                              const double* __restrict log_table, const double* __restrict tail_table,
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
                const std::vector<Doubles>& sums, Doubles coarse) {
    constexpr std::size_t SUMS = 13;
    const std::size_t c_ = p.shape(1);
    const std::size_t sizes[SUMS] = {c_,     c_,     c_, 2, 3, 2 * c_, 4, c_ * CLASS_CELLS, c_ * CLASS_CELLS,
                                     LEVELS, LEVELS, LEVELS * c_, LEVELS * 2};
    bool fits = sums.size() == SUMS && truth.shape(0) == p.shape(0) && coarse.size() == p.size();
    for (std::size_t k = 0; fits && k < SUMS; ++k) fits = sums[k].size() == sizes[k];
    for (std::size_t row = 0; fits && row < truth.shape(0); ++row) {
        fits = truth(row) >= 0 && truth(row) < static_cast<Index>(c_);
    }
    if (!fits) throw nb::value_error("class_sums: shapes do not go together");
    double* at[SUMS];
    for (std::size_t k = 0; k < SUMS; ++k) at[k] = sums[k].data();
    const ClassSums to{at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], at[9], at[10], at[11], at[12]};
    const Index n = static_cast<Index>(p.shape(0)), c = static_cast<Index>(p.shape(1));
    ClassRoom room(c);
    const auto of = [&](auto kind) {
        class_sums_of(static_cast<const decltype(kind)*>(p.data()), Index(p.stride(0)), Index(p.stride(1)), truth.data(),
                      n, c, logs.data(), tails.data(), to, coarse.data(), room);
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

// ---- measured probability of samples: curves.hpp

// Which block of the isotonic regression of values each is in.
void isotonic_blocks(Vector<const double> values, Vector<const double> weights, Vector<Index> out) {
    nb::gil_scoped_release released;
    const std::size_t n = values.shape(0);
    std::vector<double> sums(n);
    for (std::size_t i = 0; i < n; ++i) sums[i] = values(i) * weights(i);
    std::vector<curves::Block> blocks;
    curves::pooled(sums.data(), weights.data(), n, blocks);
    std::size_t i = 0;
    for (std::size_t block = 0; block < blocks.size(); ++block)
        for (; i < blocks[block].end; ++i) out(i) = static_cast<Index>(block);
}

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Shrunk isotonic regressions of samples, one a row.
void shrunk_isotonic(Vector<const double> reported, Table happened, Table total,
                     nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
    nb::gil_scoped_release released;
    curves::Samples(reported.data(), reported.shape(0))
        .shrunk_isotonic(happened.data(), total.data(), total.shape(0), out.data());
}

template <class T>
void bind_column(nb::module_& m, const char* name) {
    nb::class_<OneColumn<T>>(m, name)
        .def(nb::init<Index, int>(), nb::arg("most"), nb::arg("fraction_bits"))
        .def("add", &OneColumn<T>::template add<std::int8_t>, nb::arg("p"), nb::arg("truth"), nb::arg("odd"))
        .def("add", &OneColumn<T>::template add<std::int64_t>, nb::arg("p"), nb::arg("truth"), nb::arg("odd"))
        .def("values", &OneColumn<T>::values)
        .def("cells", &OneColumn<T>::cells)
        .def("cells_of_outcome", &OneColumn<T>::cells_of_outcome, nb::arg("positive"))
        .def_prop_ro("exact", &OneColumn<T>::exact);
}

}  // namespace

NB_MODULE(_kernel, m) {
    m.def("rows", &rows, nb::arg("p"), nb::arg("truth"), nb::arg("weights").none(), nb::arg("out"),
          nb::arg("fraction_bits"), nb::arg("total").none());
    m.def("softmax", &softmax, nb::arg("x"), nb::arg("out"));
    m.def("count", &count, nb::arg("p"), nb::arg("weights").none(), nb::arg("fraction_bits"), nb::arg("total"));
    m.def("coarse", &coarse, nb::arg("values"), nb::arg("code"), nb::arg("place"));
    m.def("count_coarse", &count_coarse, nb::arg("p"), nb::arg("group"), nb::arg("of_rows"), nb::arg("groups"),
          nb::arg("weights").none(), nb::arg("total"), nb::arg("places"));
    m.def("happened", &happened, nb::arg("values"), nb::arg("weights").none(), nb::arg("fraction_bits"),
          nb::arg("columns"));
    m.def("limb_sums", &limb_sums, nb::arg("values"), nb::arg("bits"), nb::arg("limbs"));
    m.def("class_sums", &class_sums, nb::arg("p"), nb::arg("truth"), nb::arg("logs"), nb::arg("tails"), nb::arg("sums"),
          nb::arg("coarse"));
    m.def("isotonic_blocks", &isotonic_blocks, nb::arg("values"), nb::arg("weights"), nb::arg("out"));
    m.def("shrunk_isotonic", &shrunk_isotonic, nb::arg("reported"), nb::arg("happened"), nb::arg("total"),
          nb::arg("out"));
    m.def("crowded", &crowded, nb::arg("p"), nb::arg("most"));
    nb::class_<Distinct>(m, "Distinct")
        .def(nb::init<Index>(), nb::arg("most"))
        .def("add", &Distinct::add, nb::arg("p"), nb::arg("weights").none())
        .def("columns", &Distinct::columns);
    bind_column<float>(m, "Column32");
    bind_column<double>(m, "Column64");
}
