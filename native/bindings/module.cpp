#include <string>

#include "arrays.hpp"
#include "qed/dense/product.hpp"
#include "qed/machine/finite.hpp"
#include "qed/machine/simd.hpp"

namespace qed::bindings {

void require(bool holds, const std::string& message) {
    if (!holds) {
        throw nb::value_error(message.c_str());
    }
}

Matrix matrix(const Array& array, const char* name) {
    const bool is_float32 = array.dtype() == nb::dtype<float>();
    if (!is_float32 && array.dtype() != nb::dtype<double>()) {
        throw nb::type_error((std::string(name) + " must be float32 or float64").c_str());
    }
    if (array.ndim() != 1 && array.ndim() != 2) {
        require(false, std::string(name) + " must have one or two dimensions");
    }
    Matrix view{.data = array.data(), .kind = is_float32 ? Kind::float32 : Kind::float64};
    view.rows = static_cast<Index>(array.shape(0));
    view.columns = array.ndim() == 2 ? static_cast<Index>(array.shape(1)) : 1;
    view.row_stride = array.stride(0);
    view.column_stride = array.ndim() == 2 ? array.stride(1) : 1;
    return view;
}

const double* vector(const Array& array, const char* name, Index length) {
    // words are put together only where something is wrong: a small kernel costs less than they do
    if (array.ndim() != 1 || static_cast<Index>(array.shape(0)) != length) {
        require(false, std::string(name) + " must be a vector of length " + std::to_string(length));
    }
    if (array.dtype() != nb::dtype<double>()) {
        throw nb::type_error((std::string(name) + " must be float64").c_str());
    }
    if (length > 1 && array.stride(0) != 1) {
        require(false, std::string(name) + " must be contiguous");
    }
    return static_cast<const double*>(array.data());
}

const double* vector(const MaybeArray& array, const char* name, Index length) {
    return array ? vector(*array, name, length) : nullptr;
}

namespace {

/// True if a signal handler raised; the error stays with this thread until the kernel has unwound.
bool poll_signals() {
    const nb::gil_scoped_acquire acquired;
    return PyErr_CheckSignals() != 0;
}

}  // namespace
}  // namespace qed::bindings

// threadpoolctl looks these two up by name.
extern "C" {
[[gnu::visibility("default")]] int qed_get_num_threads() {
    return qed::thread_count();
}
[[gnu::visibility("default")]] void qed_set_num_threads(int count) {
    qed::set_thread_count(count);
}
}

NB_MODULE(QED_MODULE, module) {
    using namespace qed::bindings;
    nanobind::set_leak_warnings(false);  // models that live as long as the interpreter are nobody's mistake
    qed::set_poll_hook(poll_signals);
    module.attr("product_terms") = static_cast<int>(qed::kProductTerms);
    module.attr("vector_bytes") = qed::kVectorBytes;
    module.def("get_num_threads", &qed_get_num_threads, nb::sig("def get_num_threads() -> int"),
               R"doc(Threads that a kernel may use, the calling one included.)doc");
    module.def(
        "set_num_threads",
        [](int n) {
            require(n >= 1, "set_num_threads: n must be at least 1, got " + std::to_string(n));
            qed_set_num_threads(n);
        },
        nb::arg("n"), nb::sig("def set_num_threads(n: int) -> None"),
        R"doc(Let kernels use ``n >= 1`` threads. Results do not depend on it.)doc");
    module.def("started_threads", &qed::started_threads, nb::sig("def started_threads() -> int"),
               R"doc(Threads that this process has started so far; none before a kernel first wanted two.)doc");
    bind_boost_parts(module);
    bind_by_class(module);
    bind_clusters(module);
    bind_coordinate(module);
    bind_dense(module);
    bind_entries(module);
    bind_factor(module);
    bind_factors(module);
    bind_folds(module);
    bind_glm(module);
    bind_groups(module);
    bind_isotonic(module);
    bind_neighbors(module);
    bind_online(module);
    bind_coded(module);
    bind_levels(module);
    bind_manifold(module);
    bind_mixture(module);
    bind_nearest(module);
    bind_planes(module);
    bind_precision(module);
    bind_rank(module);
    bind_robust(module);
    bind_shapley(module);
    bind_sparse(module);
    bind_ensemble(module);
    bind_tree(module);
}
