// What is computed from every probability. The NumPy functions of kernels/rows.py say what each result is; these give
// the same to the last digit, which is why sums are made in NumPy's order and nothing may be contracted (-ffp-
// contract=off). This file is what Python sees; each subject has a header, which says why it is written as it is.

#include "base.hpp"
#include "cells.hpp"
#include "class_sums.hpp"
#include "coarse.hpp"
#include "column.hpp"
#include "distinct.hpp"
#include "exact_sums.hpp"
#include "hashes.hpp"
#include "isotonic.hpp"
#include "lines.hpp"
#include "pair_tables.hpp"
#include "quantile_loss.hpp"
#include "rows.hpp"
#include "softmax.hpp"
#include "tables.hpp"

namespace {

template <class T>
void bind_column(nb::module_& m, const char* name) {
    nb::class_<OneColumn<T>>(m, name)
        .def(nb::init<Index, int>(), nb::arg("most"), nb::arg("fraction_bits"))
        .def("add", &OneColumn<T>::template add<std::int8_t>, nb::arg("p"), nb::arg("truth"), nb::arg("odd"),
             nb::arg("least"))
        .def("add", &OneColumn<T>::template add<std::int64_t>, nb::arg("p"), nb::arg("truth"), nb::arg("odd"),
             nb::arg("least"))
        .def("values", &OneColumn<T>::values)
        .def("cells", &OneColumn<T>::cells)
        .def("cells_of_outcome", &OneColumn<T>::cells_of_outcome, nb::arg("positive"))
        .def_prop_ro("exact", &OneColumn<T>::exact);
}

template <class T>
void bind_places(nb::module_& m) {
    m.def("places", &places<T>, nb::arg("values").noconvert(), nb::arg("fraction_bits"), nb::arg("code"),
          nb::arg("place"));
}

template <class T>
void bind_pair_tables(nb::module_& m) {
    m.def("pair_tables", &pair_tables<T>, nb::arg("codes"), nb::arg("values").noconvert(), nb::arg("plan"),
          nb::arg("out"));
}

template <class Key>
void bind_tables(nb::module_& m) {
    m.def("added_tables", &added_tables<Key>, nb::arg("keys").noconvert(), nb::arg("columns"), nb::arg("kept"));
}

}  // namespace

NB_MODULE(_kernel, m) {
    m.def("rows", &rows, nb::arg("p"), nb::arg("truth"), nb::arg("weights").none(), nb::arg("out"),
          nb::arg("fraction_bits"), nb::arg("total").none(), nb::arg("logits") = false);
    m.def("softmax", &softmax, nb::arg("x"), nb::arg("out"));
    m.def("count", &count, nb::arg("p"), nb::arg("weights").none(), nb::arg("fraction_bits"), nb::arg("total"));
    m.def("coarse", &coarse, nb::arg("values"), nb::arg("code"), nb::arg("place"));
    m.def("count_coarse", &count_coarse, nb::arg("p"), nb::arg("group"), nb::arg("of_rows"), nb::arg("groups"),
          nb::arg("weights").none(), nb::arg("total"), nb::arg("places"));
    m.def("happened", &happened, nb::arg("values"), nb::arg("weights").none(), nb::arg("fraction_bits"),
          nb::arg("columns"));
    m.def("count_rows", &count_rows, nb::arg("correct"), nb::arg("highest"), nb::arg("ties"), nb::arg("fraction_bits"),
          nb::arg("happened"), nb::arg("top_total"), nb::arg("top_happened"));
    m.def("row_hashes", &row_hashes, nb::arg("highest"), nb::arg("squares"), nb::arg("most"), nb::arg("out"));
    m.def("limb_sums_of_powers", &limb_sums_of_powers, nb::arg("values"));
    m.def("line_of_other_width", &line_of_other_width, nb::arg("text"), nb::arg("separator"), nb::arg("width"));
    m.def("limb_sums", &limb_sums, nb::arg("values"), nb::arg("bits"), nb::arg("limbs"));
    m.def("class_sums", &class_sums, nb::arg("p"), nb::arg("truth"), nb::arg("logs"), nb::arg("tails"),
          nb::arg("least_log"), nb::arg("sums"), nb::arg("coarse"));
    m.def("isotonic_blocks", &isotonic_blocks, nb::arg("values"), nb::arg("weights"), nb::arg("out"));
    m.def("shrunk_isotonic", &shrunk_isotonic, nb::arg("reported"), nb::arg("happened"), nb::arg("total"),
          nb::arg("out"));
    m.def("quantile_losses", &quantile_losses<float>, nb::arg("y"), nb::arg("values").noconvert(), nb::arg("levels"),
          nb::arg("out"));
    m.def("quantile_losses", &quantile_losses<double>, nb::arg("y"), nb::arg("values").noconvert(), nb::arg("levels"),
          nb::arg("out"));
    m.def("crowded", &crowded, nb::arg("p"), nb::arg("most"));
    nb::class_<Distinct>(m, "Distinct")
        .def(nb::init<Index>(), nb::arg("most"))
        .def("add", &Distinct::add, nb::arg("p"), nb::arg("weights").none())
        .def("columns", &Distinct::columns);
    bind_places<float>(m);
    bind_places<double>(m);
    bind_pair_tables<float>(m);
    bind_pair_tables<double>(m);
    m.def("beyond", &beyond, nb::arg("table").noconvert(), nb::arg("a").noconvert(), nb::arg("b").noconvert(),
          nb::arg("tilt").noconvert(), nb::arg("most").noconvert(), nb::arg("least").noconvert(),
          nb::arg("limit").noconvert(), nb::arg("farthest"));
    m.def("strongest", &strongest, nb::arg("table").noconvert(), nb::arg("a").noconvert(), nb::arg("b").noconvert(),
          nb::arg("known").noconvert(), nb::arg("share"), nb::arg("least_new"), nb::arg("out").noconvert());
    bind_tables<Index>(m);
    bind_tables<double>(m);
    bind_tables<std::complex<double>>(m);
    bind_column<float>(m, "Column32");
    bind_column<double>(m, "Column64");
}
