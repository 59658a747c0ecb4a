/// What Python passes for an index of rows and for a metric, read and checked.
#pragma once

#include <tuple>

#include "arrays.hpp"
#include "qed/neighbors/neighbors.hpp"

namespace qed::bindings {

using Ids = nb::ndarray<nb::ro, std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<nb::ro, double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
/// Octets, ids, boxes, children, rows: what `arrange_rows` gave.
using Parts = std::tuple<Table, Ids, Table, Ids, Index>;
/// The number of a metric, its power, and factors of the columns.
using Named = std::tuple<int, double, MaybeArray>;

inline NeighborIndex index_of(const Parts& parts, Index columns) {
    const auto& [octets, ids, boxes, children, rows] = parts;
    const auto count = static_cast<Index>(octets.shape(0));
    const auto nodes = static_cast<Index>(children.shape(0));
    const bool fits = static_cast<Index>(octets.shape(1)) == columns * kOctet && ids.shape(1) == kOctet &&
                      static_cast<Index>(ids.shape(0)) == count && blocks_of(rows, kOctet) == count &&
                      static_cast<Index>(boxes.shape(0)) == nodes && (nodes == 0 || children.shape(1) == kOctet) &&
                      (nodes == 0 || static_cast<Index>(boxes.shape(1)) == 2 * columns * kOctet);
    require(fits && rows >= 1, "the parts of the index do not fit together");
    return {octets.data(), ids.data(), rows, columns, count, boxes.data(), children.data(), nodes};
}

inline Measure measure_of(const Named& named, Index columns) {
    const auto& [number, power, factors] = named;
    require(number >= 0 && number <= static_cast<int>(Metric::differing), "there is no such metric");
    const auto metric = static_cast<Metric>(number);
    require(!factors || metric == Metric::power, "only sums of powers have factors");
    return {metric, {power, vector(factors, "factors", columns)}};
}

}  // namespace qed::bindings
