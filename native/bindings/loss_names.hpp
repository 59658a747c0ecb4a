/// Losses by the names that Python has for them.
#pragma once

#include <string>

#include "qed/convex/loss.hpp"

namespace qed::bindings {

LossKind loss_kind(const std::string& name);

}  // namespace qed::bindings
