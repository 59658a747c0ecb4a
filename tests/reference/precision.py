"""The Newton direction of a sparse precision matrix, entry by entry as its definition says."""

from __future__ import annotations

import numpy as np


def precision_descent(S, T, W, alpha, sweeps):
    p = len(S)
    D = np.zeros((p, p))
    free = [(i, j) for i in range(p) for j in range(i, p) if i == j or T[i, j] != 0 or abs(S[i, j] - W[i, j]) > alpha]
    for _ in range(sweeps):
        moved = size = 0.0
        for i, j in free:
            slope = S[i, j] - W[i, j] + W[i] @ D @ W[j]
            if i == j:
                step = -slope / W[i, i] ** 2
            else:
                curvature = W[i, j] ** 2 + W[i, i] * W[j, j]
                there = T[i, j] + D[i, j] - slope / curvature
                step = np.sign(there) * max(abs(there) - alpha / curvature, 0) - T[i, j] - D[i, j]
            D[i, j] += step
            D[j, i] = D[i, j]
            moved, size = moved + abs(step), size + abs(D[i, j])
        if moved <= 0.01 * size:
            break
    return D
