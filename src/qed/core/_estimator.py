"""The base of every model: what follows from a declaration, and nothing about any method of learning.

A model declares its parameters as fields and its abilities as class keywords; ``Estimator`` gives it the
constructor, parameters by name, copies, printing, documentation, and the two entries for data.
"""

from __future__ import annotations

import copy
import warnings
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

from qed.core import _display, _method_docs, _on_sources, _sklearn, _tables, _validation
from qed.core._docstring import Docstring
from qed.core._errors import InvalidParameter, NotFitted
from qed.core._params import Fitted, constructor, declared, fitted, unknown_parameter, validate
from qed.core._records import register_estimator
from qed.core._traits import Traits, merged
from qed.core._version import __version__

if TYPE_CHECKING:
    from os import PathLike

    from qed.core._params import Array, Field


# Set by the doors, these say what was offered, not that anything was learnt.
_OFFERED = frozenset({"n_features_in_", "feature_names_in_"})


class _Constraints:
    """``_parameter_constraints`` in scikit-learn's words, written when scikit-learn asks."""

    def __get__(self, model: object, owner: type[Estimator]) -> dict[str, Any]:
        return _sklearn.constraints(owner._fields)


# ``param`` is left out on purpose: to a type checker it is then the default itself, which it returns in the end.
@dataclass_transform(eq_default=False, field_specifiers=(fitted,))
class Estimator:
    """A model with declared parameters that learns from data by ``fit``."""

    _fields: ClassVar[dict[str, Field]] = {}
    _results: ClassVar[dict[str, Fitted]] = {}
    _declared_traits: ClassVar[Traits] = Traits()
    _not_saved: ClassVar[frozenset[str]] = (
        frozenset()
    )  # attributes of a running program, which files and copies do without
    _metadata: ClassVar[dict[str, tuple[str, ...]]] = {}
    _parts_follow: ClassVar[bool] = False  # whether the models among the parameters follow each other, in diagrams
    _parameter_constraints: ClassVar[Any] = _Constraints()

    if TYPE_CHECKING:  # made for each class that has the method, and there while scikit-learn is loaded

        def set_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_partial_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_predict_request(self, **requests: bool | str | None) -> Self: ...
        def set_score_request(self, **requests: bool | str | None) -> Self: ...
        def set_transform_request(self, **requests: bool | str | None) -> Self: ...

    def __init_subclass__(cls, **traits: Any) -> None:
        """Read the declaration of a class, and let its answers be asked of sources."""
        super().__init_subclass__()
        cls._own_traits = traits  # type: ignore[attr-defined]
        cls._declared_traits = merged(cls)
        for name in _method_docs.METHODS:
            if isinstance(method := cls.__dict__.get(name), FunctionType):
                method.__doc__ = _method_docs.completed(method, cls._declared_traits)
        for name in _on_sources.ANSWERS:
            if isinstance(cls.__dict__.get(name), FunctionType):
                setattr(cls, name, _on_sources.by_chunks(cls.__dict__[name]))
        if isinstance(cls.__dict__.get("score"), FunctionType):
            cls.score = _on_sources.with_own_targets(cls.__dict__["score"])  # type: ignore[attr-defined]
        cls._fields, cls._results = declared(cls)
        if "__init__" not in cls.__dict__:
            cls.__init__ = constructor(cls._fields)  # type: ignore[method-assign]
            cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
        register_estimator(cls)
        cls.__doc__ = Docstring(cls.__dict__.get("__doc__"))  # type: ignore[assignment]
        cls._metadata = {}
        for name in _sklearn.ROUTED:
            function = getattr(cls, name, None)
            names = () if function is None else _sklearn.metadata_of(function)
            if names:
                cls._metadata[name] = names
                setattr(cls, f"set_{name}_request", _sklearn.RequestSetter(name, names))

    # -- parameters ------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to include the parameters of models that are parameters, as ``outer__inner``.

        Returns
        -------
        dict
            Names and values.
        """
        params: dict[str, Any] = {}
        for name in sorted(self._fields):
            value = getattr(self, name)
            inner = getattr(value, "get_params", None) if deep and not isinstance(value, type) else None
            if inner is not None:
                params.update((f"{name}__{key}", one) for key, one in inner().items())
            params[name] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ``outer__inner`` reaches into a model that is a parameter.

        Parameters
        ----------
        **params : dict
            Names and their new values.

        Returns
        -------
        self
            The model.
        """
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, reaches_in, inner = name.partition("__")
            if outer not in self._fields:
                raise unknown_parameter(self, outer, sorted(self._fields))
            if reaches_in:
                nested.setdefault(outer, {})[inner] = value
            else:
                setattr(self, outer, value)
        for outer, values in nested.items():
            model = getattr(self, outer)
            inside = getattr(model, "set_params", None)
            if inside is None:
                raise InvalidParameter(
                    f"{type(self).__name__}.{outer} is {model!r:.80}, which has no parameters: {sorted(values)} cannot"
                    " be set. Give it a model first."
                )
            inside(**values)
        return self

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, sorted, as scikit-learn's displays ask for them."""
        return sorted(cls._fields)

    def _validate_params(self) -> None:
        """Hold the parameters against their declarations; the door of ``fit`` does it too."""
        validate(type(self).__name__, self._fields, self.__dict__)

    # -- data ------------------------------------------------------------------------------------------

    def _fit_data(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, finite: bool = True, reset: bool = True
    ) -> _validation.FitData:
        """Let the data of a fit in; see ``qed.core._validation.fit_data``."""
        return _validation.fit_data(self, X, y, sample_weight, finite=finite, reset=reset)

    def _new_data(self, X: Any, *, finite: bool = True) -> Any:
        """Let in what the fitted model is asked about; see ``qed.core._validation.new_data``."""
        return _validation.new_data(self, X, finite=finite)

    def _read_table(self, X: Any, *, learns: bool) -> tuple[Any, Array | None, list[Array] | None]:  # noqa: ARG002
        """Read X as numbers, with the names of its columns; a model that ``learns`` to number categories returns them too."""
        return *_tables.read(X, "X", self._traits(), type(self).__name__), None

    def _takes_words(self) -> bool:
        """Tell whether sources may have columns of words."""
        return self._traits().categorical

    def _check_is_fitted(self) -> None:
        """Refuse to go on before ``fit``."""
        _validation.require_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether ``fit`` has learnt something."""
        return any(name[-1] == "_" and name[0] != "_" and name not in _OFFERED for name in self.__dict__)

    if not TYPE_CHECKING:  # to a type checker a name that no class declares stays an error

        def __getattr__(self, name: str) -> Any:
            """Say which declared attribute of a fit is not there; Python asks only for what it has not found."""
            if name in self._results:
                raise NotFitted(
                    f"This {type(self).__name__} has no {name}: it is not fitted yet, or its fit does not compute it with"
                    " these parameters."
                )
            return object.__getattribute__(self, name)  # the error of a property, or Python's own

    def _traits(self) -> Traits:
        """Return the abilities of this instance; a model whose parameters change them overrides this."""
        return self._declared_traits

    # -- copies and files ------------------------------------------------------------------------------

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted model with copies of the parameters and of its user's choices."""
        params = {name: clone(getattr(self, name)) for name in self._fields}
        new = type(self)(**params)
        for choice in ("_metadata_requests", "_output"):
            if choice in self.__dict__:
                setattr(new, choice, copy.deepcopy(self.__dict__[choice]))
        if "_skl_callbacks" in self.__dict__:  # scikit-learn shares one callback among all clones
            new.__dict__["_skl_callbacks"] = self.__dict__["_skl_callbacks"]
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_qed_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        version = state.pop("_qed_version", "an unknown version")
        if version != __version__:
            warnings.warn(
                f"This {type(self).__name__} was pickled by qed {version} and is read by {__version__}. Pickles are"
                " for one version; model.save(path) writes a file that every later version reads.",
                stacklevel=2,
            )
        self.__dict__.update(state)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file of data, which ``qed.load`` reads without running any code.

        Parameters
        ----------
        path : str or path-like
            The file to write. It is replaced only when the new one is complete.
        """
        from qed.core import _persistence  # noqa: PLC0415  (json and friends, for those who save)

        _persistence.save(self, path)

    # -- display ---------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return _display.text(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return _display.html(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what a notebook may choose from; scikit-learn's setting ``display="text"`` is obeyed."""
        bundle = {"text/plain": repr(self)}
        if _sklearn.setting("display", "diagram") == "diagram":
            bundle["text/html"] = self._repr_html_()
        return bundle

    # -- scikit-learn ----------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        """Return the traits as scikit-learn's tags."""
        return _sklearn.tags(self._traits())

    def get_metadata_routing(self) -> Any:
        """Return which metadata scikit-learn's routers pass to which method."""
        return _sklearn.routing(self, self._metadata, self.__dict__.get("_metadata_requests", {}))


def clone(value: Any) -> Any:
    """Copy a parameter: a model becomes an unfitted model with the same parameters, anything else a deep copy."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        return kind([clone(one) for one in value])
    if kind is dict:
        return {key: clone(one) for key, one in value.items()}
    if isinstance(value, type):
        return value
    own, params = getattr(value, "__sklearn_clone__", None), getattr(value, "get_params", None)
    if own is not None:
        return own()
    # A model of another library, which speaks the protocol without its newest word.
    return copy.deepcopy(value) if params is None else kind(**clone(params(deep=False)))
