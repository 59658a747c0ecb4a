/// From a minimum to one nearby, many changes of the face at a time.
///
/// On a face the minimum is linear in the kinks, so one solve with its factor goes all the way. Coordinates that would
/// change their sign leave then, those whose pull has outgrown their kink join, all at once, and the face is solved
/// again: Newton's method on the conditions of optimality, which ends after a few such strides where a walk from one
/// change to the next takes hundreds. It may also lose its way, which is noticed; then nothing has happened to w.
#pragma once

#include "qed/convex/coordinate.hpp"
#include "qed/convex/face_factor.hpp"

namespace qed {

/// Minimises quadratic plus penalty from w on; `sweeps` counts strides. The gap is infinite, and w as it was, where
/// strides did not end at a minimum.
DescentResult stride_faces(GramTask& task);

}  // namespace qed
