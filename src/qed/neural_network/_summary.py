"""What a network is made of, counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerSummary:
    """One layer of a network.

    Attributes
    ----------
    inputs, units : int
        Numbers that come in from below, and units that take them.
    activation : str
        What each unit does to its sum.
    """

    inputs: int
    units: int
    activation: str

    @property
    def n_parameters(self) -> int:
        """Weights and intercepts: ``(inputs + 1) * units``."""
        return (self.inputs + 1) * self.units


@dataclass(frozen=True)
class NetworkSummary:
    """The architecture of a network and the number of its parameters.

    Attributes
    ----------
    layers : tuple of LayerSummary
        From the first hidden layer to the outputs.
    """

    layers: tuple[LayerSummary, ...]

    @property
    def n_parameters(self) -> int:
        """How many numbers are learnt."""
        return sum(layer.n_parameters for layer in self.layers)

    def __str__(self) -> str:
        """Write a table, one line a layer."""
        lines = [f"{'inputs':>8}{'units':>8}  {'activation':<10}{'parameters':>12}"]
        lines += [f"{one.inputs:>8}{one.units:>8}  {one.activation:<10}{one.n_parameters:>12,}" for one in self.layers]
        return "\n".join([*lines, f"{self.n_parameters} parameters in {len(self.layers)} layers"])
