// Isotonic regressions of one or of many samples, whose mathematics is in curves.hpp.

#pragma once

#include <vector>

#include "base.hpp"
#include "curves.hpp"

namespace {

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

}  // namespace
