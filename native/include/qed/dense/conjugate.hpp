/// Conjugate gradients for equations whose matrix is symmetric, nonnegative, and known by its products alone.
#pragma once

#include <algorithm>

#include "qed/dense/numbers.hpp"

namespace qed {

/// Adds to `step` until `left`, the right side at first and then what is left of it, is small enough.
///
/// `scaled(left, out)` writes what is left times about the inverse of the matrix; `product(along, out)` writes the matrix
/// times a direction; `is_enough(share)` is asked before each step, with the share of the square of the right side (in those
/// scales) that is left. Returns the number of steps.
template <class Scaled, class Product, class Enough>
Index conjugate_gradients(Numbers& left, Numbers& step, Scaled&& scaled, Product&& product, Enough&& is_enough) {
    const Index count = Index(left.size());
    Numbers along(left.size()), image(left.size());
    scaled(left, along);
    double size = dot(left.data(), along.data(), count);
    const double start = size;
    Index steps = 0;
    for (; size > 0.0 && !is_enough(size / start); ++steps) {
        product(along, image);
        const double curve = dot(along.data(), image.data(), count);
        if (!(curve > 0.0)) {
            break;
        }
        const double far = size / curve;
        add_scaled(along.data(), far, step.data(), count);
        add_scaled(image.data(), -far, left.data(), count);
        scaled(left, image);
        const double fresh = dot(left.data(), image.data(), count);
        const double keep = fresh / size;
        for (Index a = 0; a < count; ++a) {
            along[at(a)] = image[at(a)] + keep * along[at(a)];
        }
        size = fresh;
    }
    return steps;
}

}  // namespace qed
