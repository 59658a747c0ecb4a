/// Are all entries finite? Reads each once, stops early, allocates nothing.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

bool all_finite(const Matrix& x);

}  // namespace qed
