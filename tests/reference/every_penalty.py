"""One recipe for every penalty there is, so that laws run over all of them."""

from __future__ import annotations

import numpy as np

from qed.convex import penalties

P = 6


def strengths(random):
    return random.choice([0.25, 1.0, 3.0], P)


def nonnegative(inner):
    return lambda random: penalties.Nonnegative(RECIPES[inner](random))


RECIPES = {
    "Box": lambda random: penalties.Box(-random.random(), 2 * random.random()),
    "Box by coordinate": lambda random: penalties.Box(-random.choice([0.0, 0.5, 2.0], P), random.choice([0.5, 2.0], P)),
    "Box, half open": lambda random: penalties.Box(random.choice([-1.0, -np.inf], P), random.choice([1.0, np.inf], P)),
    "ElasticNet": lambda random: penalties.ElasticNet(strengths(random), 0.25 + random.random()),
    "ElasticNet, nonnegative": lambda random: penalties.ElasticNet(strengths(random), 0.5, nonnegative=True),
    "ElasticNet without ridge": lambda random: penalties.ElasticNet(0.5 + random.random()),
    "Group": lambda random: penalties.Group(0.5 + random.random()),
    "Group with ridge": lambda random: penalties.Group(strengths(random), None, 0.5),
    "Group of coordinates": lambda random: penalties.Group(strengths(random)[:3], np.array([0, 1, 1, 2, 0, 2])),
    "L1": lambda random: penalties.L1(0.25 + random.random()),
    "L1 by coordinate": lambda random: penalties.L1(strengths(random)),
    "L2": lambda random: penalties.L2(0.25 + random.random()),
    "L2 around a prior": lambda random: penalties.L2(strengths(random), random.normal(size=P)),
    "Nonnegative": nonnegative("Zero"),
    "Nonnegative lasso": nonnegative("L1"),
    "Nonnegative lasso by coordinate": nonnegative("L1 by coordinate"),
    "Nonnegative ridge": nonnegative("L2"),
    "Zero": lambda random: penalties.Zero(),
}
RECIPES = {name: recipe for name, recipe in RECIPES.items() if name.split()[0].strip(",") in penalties.__all__}
