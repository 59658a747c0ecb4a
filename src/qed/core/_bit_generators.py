"""NumPy's random generators as plain values: what a model file stores of a Generator or a RandomState.

NumPy takes a state as it is given: a position outside the table of a Mersenne twister reads foreign memory, and a table
of zeros draws nothing but zeros. So each state is compared with its form below before NumPy sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping


_BIT, _WORD = range(2), range(1 << 32)
_HALF_WORD = {"has_uint32": _BIT, "uinteger": _WORD}
_PCG = {"state": {"state": range(1 << 128), "inc": range(1, 1 << 128, 2)}, **_HALF_WORD}

# A range is an integer in it, a pair is an array of that length and type.
_FORMS: dict[str, Mapping[str, Any]] = {
    "PCG64": _PCG,
    "PCG64DXSM": _PCG,
    "MT19937": {"state": {"key": (624, "uint32"), "pos": range(625)}},
    "Philox": {
        "state": {"counter": (4, "uint64"), "key": (2, "uint64")},
        "buffer": (4, "uint64"),
        "buffer_pos": range(5),
        **_HALF_WORD,
    },
    "SFC64": {"state": {"state": (4, "uint64")}, **_HALF_WORD},
}
_SEED = {"pool_size": range(4, 65), "n_children_spawned": _WORD}


def pack(source: Any) -> dict[str, Any]:
    """Return the state of a NumPy Generator or RandomState as a dict of plain values and arrays."""
    if isinstance(source, np.random.RandomState):
        state = dict(source.get_state(legacy=False))
        extra: dict[str, Any] = {"has_gauss": int(state.pop("has_gauss")), "gauss": float(state.pop("gauss"))}
    else:
        state = dict(source.bit_generator.state)
        extra = {"seed": _pack_seed(source.bit_generator.seed_seq)}
    name = state.pop("bit_generator")
    packed = {"bits": name, "state": _plain(state), **extra}
    _check(packed)
    return packed


def unpack(packed: object) -> Any:
    """Return the generator that `pack` described, or raise ModelFileError."""
    checked = _check(packed)
    bits = getattr(np.random, checked["bits"])
    state = {"bit_generator": checked["bits"], **checked["state"]}
    if "seed" in checked:
        made = bits(np.random.SeedSequence(**checked["seed"]))
        made.state = state
        return np.random.Generator(made)
    legacy = np.random.RandomState(bits(0))
    legacy.set_state({**state, "has_gauss": checked["has_gauss"], "gauss": checked["gauss"]})
    return legacy


def _check(packed: Any) -> dict[str, Any]:
    name = packed.get("bits") if isinstance(packed, dict) else None
    if not isinstance(name, str) or name not in _FORMS:
        raise ModelFileError(f"model files hold random generators of the kinds {', '.join(_FORMS)}, and not {name!r}")
    is_legacy = packed.keys() == {"bits", "state", "has_gauss", "gauss"}
    if is_legacy:
        is_sound = packed["has_gauss"] in _BIT and type(packed["gauss"]) is float
    else:
        is_sound = packed.keys() == {"bits", "state", "seed"} and _is_seed(packed["seed"])
    state = packed.get("state")
    if not is_sound or not _fits(state, _FORMS[name]) or (name == "MT19937" and not state["state"]["key"].any()):
        raise ModelFileError(f"the state of a random generator ({name}) is not one that it can have")
    return packed  # type: ignore[no-any-return]


def _fits(value: Any, form: Any) -> bool:
    if isinstance(form, range):
        return type(value) is int and value in form
    if isinstance(form, tuple):
        return isinstance(value, np.ndarray) and value.shape == form[:1] and value.dtype == form[1]
    return isinstance(value, dict) and value.keys() == form.keys() and all(_fits(value[k], form[k]) for k in form)


def _is_seed(seed: Any) -> bool:
    if not isinstance(seed, dict) or seed.keys() != {"entropy", "spawn_key", *_SEED}:
        return False
    entropy, spawn_key = seed["entropy"], seed["spawn_key"]
    numbers = [
        *(entropy if isinstance(entropy, list) else [entropy]),
        *(spawn_key if isinstance(spawn_key, tuple) else [-1]),
    ]
    return all(type(n) is int and n >= 0 for n in numbers) and all(_fits(seed[key], _SEED[key]) for key in _SEED)


def _pack_seed(seed: Any) -> dict[str, Any]:
    if type(seed) is not np.random.SeedSequence:
        raise ModelFileError(
            f"model files hold generators seeded by NumPy's SeedSequence, and not {type(seed).__name__}"
        )
    entropy = list(seed.entropy) if isinstance(seed.entropy, tuple) else seed.entropy
    return _plain({**seed.state, "entropy": entropy, "spawn_key": tuple(seed.spawn_key)})  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, list | tuple):
        return type(value)(_plain(item) for item in value)
    return value
