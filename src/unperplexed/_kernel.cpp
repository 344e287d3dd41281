// What is computed from every probability: the primitives of each row and the counts of cells, row by row while it is
// in the fastest cache. The NumPy functions of _kernels.py say what each result is; these give the same to the last
// digit, which is why sums are made in NumPy's order and nothing may be contracted (-ffp-contract=off).

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
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

constexpr Index STRANDS = 8;
constexpr Index FEW_CLASSES = 32;   // rows of fewer are summed from left to right
constexpr Index PAIRWISE = 128;     // more than so many are summed by halves
constexpr std::uintptr_t AHEAD = 4096;  // bytes from what is computed on to what is fetched for later
constexpr double SUM_TOLERANCE = 1e-3 * (1 + 1e-9);
constexpr std::uint32_t HALF = 0x3f000000, SIGN = 0x80000000;
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
        const std::uint32_t code = (bits >> shift) + 1;
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

// Counts of values from 0 to 1 by their leading bits, whatever these are, in 32 bits so that they stay in fast cache.
// They go into the totals as if all were of cells below 1/2; where they are not, `corrected` puts it right.
class Raw {
  public:
    Raw(const Grid& grid, double* total)
        : grid_(grid), total_(total), raw_((0x3f800000U >> grid.shift) + 1, 0) {}

    INLINED void eight(const float* x) {
        std::uint32_t* raw = raw_.data();
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
        ++raw_[key(x)];
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
        for (std::size_t k = 0; k < raw_.size(); ++k) {
            if (raw_[k]) total_[k + 1] += raw_[k];
            raw_[k] = 0;
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
    INLINED std::uint32_t key(T x) const {
        return std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> grid_.shift;
    }

    Grid grid_;
    double* total_;
    std::vector<std::uint32_t> raw_;
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

constexpr int HALF_BITS = 14;

// Columns of DenseCells after the total, in their order.
enum Column { HAPPENED, SQUARED, FIRST, SECOND_HIGH, SECOND_LOW, LOW, HIGH, COLUMNS };

// Values that happened, each with its weight or 1, added to the columns of their cells; and, where it is given, to the
// total, whether they happened or not.
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

// Whether there are more distinct values than so many: if the bits that their hashes set say so, surely; else perhaps not.
template <class From>
bool crowded_in(const From* data, Index rows, Index classes, Index row_stride, Index class_stride, Index most) {
    int log = 10;
    while (Index(1) << log < 8 * most) ++log;
    std::vector<bool> seen(std::size_t(1) << log);
    Index found = 0;
    for (Index row = 0; row < rows; ++row) {
        for (Index k = 0; k < classes; ++k) {
            const From value = data[row * row_stride + k * class_stride];
            std::uint64_t bits = 0;
            std::memcpy(&bits, &value, sizeof value);
            const std::size_t at = static_cast<std::size_t>((bits ^ bits >> 32) * 0x9E3779B97F4A7C15U >> (64 - log));
            found += !seen[at];
            seen[at] = true;
        }
        if (found > most + 1) return true;  // 0 and -0.0 are one
    }
    return false;
}

bool crowded(Matrix<nb::ro> p, Index most) {
    const Index rows = p.shape(0), classes = p.shape(1);
    if (most < 0 || most > Index(1) << 40 || rows * classes <= most) return false;
    nb::gil_scoped_release released;
    if (p.dtype().bits == 32) {
        return crowded_in(static_cast<const std::uint32_t*>(p.data()), rows, classes, p.stride(0), p.stride(1), most);
    }
    if (p.dtype().bits == 64) {
        return crowded_in(static_cast<const std::uint64_t*>(p.data()), rows, classes, p.stride(0), p.stride(1), most);
    }
    return false;
}

// Distinct values with how much there is of each, until there are too many.
class Distinct {
  public:
    explicit Distinct(Index most) : most_(most), entries_(64) {}

    // How many elements were counted, row by row: all, or those up to one for which there is no room.
    Index add(Matrix<nb::ro> p, std::optional<Vector<const double>> weights) {
        if (weights && weights->shape(0) != p.shape(0)) throw nb::value_error("add: shapes do not go together");
        const double* w = weights ? weights->data() : nullptr;
        if (p.dtype() == nb::dtype<float>()) return add_all<float>(p, w);
        if (p.dtype() == nb::dtype<double>()) return add_all<double>(p, w);
        return add_all<Half>(p, w);
    }

    nb::tuple columns() const {
        std::array<std::vector<double>*, 3> columns;
        for (auto& column : columns) column = new std::vector<double>;
        for (const Entry& entry : entries_) {
            if (!entry.used) continue;
            columns[0]->push_back(entry.key);
            columns[1]->push_back(entry.weight);
            columns[2]->push_back(entry.squared);
        }
        return nb::make_tuple(owned(columns[0]), owned(columns[1]), owned(columns[2]));
    }

  private:
    struct Entry {
        double key = 0, weight = 0, squared = 0;
        bool used = false;
    };

    static nb::ndarray<nb::numpy, double, nb::ndim<1>> owned(std::vector<double>* values) {
        nb::capsule owner(values, [](void* at) noexcept { delete static_cast<std::vector<double>*>(at); });
        return {values->data(), {values->size()}, owner};
    }

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
        Entry& entry = entry_of(key);
        const bool is_new = !entry.used;
        if (is_new && n_ == most_) return false;
        entry = {key, entry.weight + weight, entry.squared + weight * weight, true};
        if (is_new && 2 * ++n_ > static_cast<Index>(entries_.size())) grow();
        return true;
    }

    Entry& entry_of(double key) {
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(key);
        std::size_t at = static_cast<std::size_t>((bits ^ bits >> 32) * 0x9E3779B97F4A7C15U >> shift_);
        while (entries_[at].used && entries_[at].key != key) at = (at + 1) & (entries_.size() - 1);
        return entries_[at];
    }

    void grow() {
        std::vector<Entry> before(2 * entries_.size());
        before.swap(entries_);
        --shift_;
        for (const Entry& entry : before) {
            if (entry.used) entry_of(entry.key) = entry;
        }
    }

    Index most_, n_ = 0;
    int shift_ = 58;
    std::vector<Entry> entries_;
};

}  // namespace

NB_MODULE(_kernel, m) {
    m.def("rows", &rows, nb::arg("p"), nb::arg("truth"), nb::arg("weights").none(), nb::arg("out"),
          nb::arg("fraction_bits"), nb::arg("total").none());
    m.def("count", &count, nb::arg("p"), nb::arg("weights").none(), nb::arg("fraction_bits"), nb::arg("total"));
    m.def("coarse", &coarse, nb::arg("values"), nb::arg("code"), nb::arg("place"));
    m.def("happened", &happened, nb::arg("values"), nb::arg("weights").none(), nb::arg("fraction_bits"),
          nb::arg("columns"));
    m.def("limb_sums", &limb_sums, nb::arg("values"), nb::arg("bits"), nb::arg("limbs"));
    m.def("crowded", &crowded, nb::arg("p"), nb::arg("most"));
    nb::class_<Distinct>(m, "Distinct")
        .def(nb::init<Index>(), nb::arg("most"))
        .def("add", &Distinct::add, nb::arg("p"), nb::arg("weights").none())
        .def("columns", &Distinct::columns);
}
