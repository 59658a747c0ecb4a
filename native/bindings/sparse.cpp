#include "arrays.hpp"
namespace qed::bindings { void bind_sparse(nb::module_&) {} }
