// Distinct values by hashing: sorting, as np.unique does, takes many times as long. Whether there will be too many is
// asked first of a table of bits, since a table of values that is given up later is filled in vain.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base.hpp"

namespace {

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
        while (entries_[at].key != key && entries_[at].used()) at = (at + 1) & (entries_.size() - 1);
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
            const double more = short_count(entry.key);
            values.push_back(entry.key);
            weight.push_back(entry.weight + more);
            squared.push_back(entry.squared + more);
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
        const bool by_bits = std::is_same_v<From, float> && !w && rows * classes >= FEW;
        if (by_bits && short_.empty()) short_.resize((ONE >> SHORT) + 1);
        for (Index row = 0; row < rows; ++row) {
            const double weight = w ? w[row] : 1.0;
            for (Index k = 0; k < classes; ++k) {
                const From value = data[row * p.stride(0) + k * p.stride(1)];
                if constexpr (std::is_same_v<From, float>) {
                    const auto bits = std::bit_cast<std::uint32_t>(value);
                    if (by_bits && bits << (32 - SHORT) == 0 && bits <= ONE) {
                        Index& count = short_[bits >> SHORT];
                        if (!count && !add_one(value, 0)) return row * classes + k;
                        ++count;
                        continue;
                    }
                }
                if constexpr (std::is_same_v<From, Half>) {
                    if (!add_one(single(value) + 0.0, weight)) return row * classes + k;
                } else {
                    if (!add_one(value + 0.0, weight)) return row * classes + k;
                }
            }
        }
        return rows * classes;
    }

    double short_count(double key) const {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(key));
        if (short_.empty() || std::bit_cast<float>(bits) != key || bits << (32 - SHORT) || bits > ONE) return 0;
        return static_cast<double>(short_[bits >> SHORT]);
    }

    bool add_one(double key, double weight) {
        Entry& entry = entries_.of(key);
        const bool is_new = !entry.used();
        if (is_new && entries_.size() == most_) return false;
        entry = {key, entry.weight + weight, entry.squared + weight * weight, true};
        if (is_new) entries_.taken();
        return true;
    }

    // Probabilities that came in half precision, or in that of 16 bits with a float's range, end in so many zeros as
    // floats: few enough to be counted by their other bits, without a search. There is an entry for each as well.
    static constexpr int SHORT = 13;
    static constexpr std::uint32_t ONE = 0x3f800000;
    static constexpr Index FEW = 1 << 14;

    Index most_;
    Hashed<Entry> entries_;
    std::vector<Index> short_;
};

}  // namespace
