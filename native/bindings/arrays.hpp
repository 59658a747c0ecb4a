/// Between NumPy arrays and views. Types and shapes are checked here; what they mean is not known here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "qed/machine/matrix.hpp"
#include "qed/machine/parallel.hpp"

namespace qed::bindings {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using MaybeArray = std::optional<Array>;
using Doubles = nb::ndarray<nb::numpy, double>;
using Numbers = nb::ndarray<nb::numpy>;

/// A float32 or float64 array of one (read as a single column) or two dimensions.
Matrix matrix(const Array& array, const char* name);

/// A contiguous float64 vector of the given length.
const double* vector(const Array& array, const char* name, Index length);
const double* vector(const MaybeArray& array, const char* name, Index length);

void require(bool holds, const std::string& message);

/// A fresh array that Python will own; row-major, or column-major on request. Contents undefined.
template <class T>
class Fresh {
  public:
    explicit Fresh(std::initializer_list<Index> shape, bool column_major = false) : column_major_(column_major) {
        Index count = 1;
        for (const Index size : shape) {
            shape_[dimensions_++] = static_cast<std::size_t>(size);
            if (size < 0 || __builtin_mul_overflow(count, size, &count)) {
                throw std::bad_array_new_length();
            }
        }
        data_.reset(new T[static_cast<std::size_t>(count > 0 ? count : 1)]);
    }
    [[nodiscard]] T* get() const noexcept { return data_.get(); }

    /// Hands the memory over to NumPy. Needs the GIL.
    template <class Out = nb::ndarray<nb::numpy, T>>
    Out give() {
        T* raw = data_.get();
        nb::capsule owner(raw, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
        static_cast<void>(data_.release());
        if (column_major_ && dimensions_ == 2) {
            const std::int64_t strides[2] = {1, static_cast<std::int64_t>(shape_[0])};
            return Out(raw, 2, shape_, owner, strides, nb::dtype<T>());
        }
        return Out(raw, dimensions_, shape_, owner, nullptr, nb::dtype<T>());
    }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t shape_[2] = {};
    std::size_t dimensions_ = 0;
    bool column_major_;
};

/// Runs a kernel without the GIL. An interrupt comes back as the Python error that the poll hook left behind.
template <class Kernel>
void run(Kernel&& kernel) {
    try {
        const nb::gil_scoped_release released;
        wind_poll_clock();
        kernel();
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
}

void bind_boost_parts(nb::module_& module);
void bind_by_class(nb::module_& module);
void bind_clusters(nb::module_& module);
void bind_coordinate(nb::module_& module);
void bind_dense(nb::module_& module);
void bind_ensemble(nb::module_& module);
void bind_entries(nb::module_& module);
void bind_factor(nb::module_& module);
void bind_factors(nb::module_& module);
void bind_folds(nb::module_& module);
void bind_glm(nb::module_& module);
void bind_groups(nb::module_& module);
void bind_isotonic(nb::module_& module);
void bind_neighbors(nb::module_& module);
void bind_online(nb::module_& module);
void bind_coded(nb::module_& module);
void bind_levels(nb::module_& module);
void bind_manifold(nb::module_& module);
void bind_mixture(nb::module_& module);
void bind_nearest(nb::module_& module);
void bind_planes(nb::module_& module);
void bind_precision(nb::module_& module);
void bind_rank(nb::module_& module);
void bind_robust(nb::module_& module);
void bind_shapley(nb::module_& module);
void bind_sparse(nb::module_& module);
void bind_tree(nb::module_& module);

}  // namespace qed::bindings
