#include "arrays.hpp"
namespace qed::bindings { void bind_factor(nb::module_&) {} }
