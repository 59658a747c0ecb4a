"""The base: copies, files, display, state."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
import toys
from sklearn.utils import get_tags

from qed.core import Estimator, NotFitted, clone, param
from qed.core._version import __version__

X, Y = np.random.default_rng(2).normal(size=(20, 3)), np.arange(20) % 2


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def fitted(kind: type[Any]) -> Any:
    return kind().fit(X, Y)


@pytest.mark.parametrize("kind", toys.ALL)
def test_method_resolution_is_short(kind: type[Any]) -> None:
    assert len(kind.__mro__) <= (5 if kind is toys.Groups else 4)


@pytest.mark.parametrize("kind", toys.ALL)
@pytest.mark.parametrize("way", ["pickle", "cloudpickle", "deepcopy", "copy", "joblib"])
def test_round_trips(kind: type[Any], way: str, tmp_path: Any) -> None:
    model = fitted(kind)
    if way == "joblib":
        joblib.dump(model, tmp_path / "model")
        again = joblib.load(tmp_path / "model")
    else:
        ways = {
            "pickle": lambda model: pickle.loads(pickle.dumps(model)),
            "cloudpickle": lambda model: pickle.loads(cloudpickle.dumps(model)),
            "deepcopy": copy.deepcopy,
            "copy": copy.copy,
        }
        again = ways[way](model)
    assert vars(again).keys() == vars(model).keys()
    ask = "predict" if kind is not toys.Centre and kind is not toys.RandomColumns else "transform"
    np.testing.assert_array_equal(getattr(again, ask)(X), getattr(model, ask)(X))


def test_a_class_of_a_notebook_survives_cloudpickle() -> None:
    class Local(toys.MeanRegressor):
        """Defined in a function."""

        extra: int = param(1, "Nothing.")

    Local.__module__ = "__main__"
    again = pickle.loads(cloudpickle.dumps(Local(alpha=2.0).fit(X, Y)))
    assert again.get_params() == {"alpha": 2.0, "extra": 1, "positive": False, "solver": "auto", "warm_start": False}
    assert "extra : an integer" in type(again).__doc__


def test_a_class_of_a_script_is_validated_in_another_process() -> None:
    """A loky worker knows neither the class nor the types in its annotations."""
    code = """
from __future__ import annotations
from typing import Annotated
import cloudpickle, pickle, subprocess, sys
from qed.core import Estimator, Number, param

Small = Annotated[float, Number(0, 1)]

class Model(Estimator):
    size: Small = param(0.5, "Size.")

read = (
    "import pickle, sys; model = pickle.load(sys.stdin.buffer); model._validate_params();"
    "print(type(model._fields['size'].rule))"
)
done = subprocess.run([sys.executable, "-c", read], input=cloudpickle.dumps(Model()), capture_output=True)
assert b"Number" in done.stdout, done.stderr
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=ENVIRONMENT)  # noqa: S603


def test_a_pickle_of_another_version_warns() -> None:
    state = fitted(toys.Centre).__getstate__()
    assert state["_qed_version"] == __version__
    state["_qed_version"] = "0.0.1"
    model = toys.Centre()
    with pytest.warns(UserWarning, match=r"pickled by qed 0.0.1 .* model.save\(path\)"):
        model.__setstate__(state)
    assert state["_qed_version"] == "0.0.1", "the state is left alone"


def test_clone() -> None:
    class Holder(Estimator):
        inner: Any = param(None, "Thing inside.")

    array = np.arange(3.0)
    inner = fitted(toys.Centre).set_output(transform="pandas")
    holder = Holder(inner={"list": [inner, array], "kind": toys.Centre})
    new = clone(holder)
    made, copied = new.inner["list"]
    assert not made.__sklearn_is_fitted__()
    assert made._output == "pandas"
    assert copied is not array
    np.testing.assert_array_equal(copied, array)
    assert new.inner["kind"] is toys.Centre


def test_clone_of_a_model_of_another_library_without_the_newest_hook() -> None:
    class Stranger:
        def __init__(self, a: int = 1) -> None:
            self.a = a

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {"a": self.a}

    stranger = Stranger(3)
    stranger.learnt_ = 1  # type: ignore[attr-defined]
    new = clone(stranger)
    assert new.a == 3
    assert not hasattr(new, "learnt_")


def test_unknown_attributes_raise_plainly() -> None:
    with pytest.raises(AttributeError, match="object has no attribute 'coef_'") as caught:
        _ = toys.MeanRegressor().coef_
    assert type(caught.value) is AttributeError


def test_a_failed_first_fit_is_no_fit() -> None:
    class Fails(toys.MeanRegressor):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            self._fit_data(X, y, sample_weight)
            raise RuntimeError("the solver gave up")

    model = Fails()
    with pytest.raises(RuntimeError):
        model.fit(X, Y)
    with pytest.raises(NotFitted, match=r"This Fails instance is not fitted yet\. Call 'fit'"):
        model.predict(X)


def test_a_failed_fit_to_other_columns_leaves_no_mixture() -> None:
    class Fragile(toys.Centre):
        fails = False

        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
            data = self._fit_data(X, y, sample_weight)
            if self.fails:
                raise RuntimeError("the solver gave up")
            self.mean_ = data.X.mean(axis=0)
            return self

    model = Fragile().fit(X)
    model.fails = True
    with pytest.raises(RuntimeError):
        model.fit(X)
    model.transform(X)  # the same columns: the earlier fit still stands
    with pytest.raises(RuntimeError):
        model.fit(X[:, :2])
    with pytest.raises(NotFitted):
        model.transform(X[:, :2])


def test_html() -> None:
    model = toys.MeanRegressor(alpha=2.0, solver="<b>")
    html = model._repr_html_()
    assert "(not fitted)" in html
    assert "<b>alpha</b>" in html
    assert "&lt;b&gt;" in html
    model.set_params(solver="auto").fit(X, Y)
    assert "(fitted)" in model._repr_html_()

    class Proof:
        def _repr_html_(self) -> str:
            return "<p>gap 1e-9</p>"

    model.certificate_ = Proof()  # type: ignore[attr-defined]
    assert "<p>gap 1e-9</p>" in model._repr_html_()
    model.certificate_ = "gap < 1"  # type: ignore[attr-defined]
    assert "<pre>gap &lt; 1</pre>" in model._repr_html_()
    assert set(model._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_tables_of_methods_can_be_listed() -> None:
    for kind in toys.ALL:
        model = kind()
        assert all(isinstance(name, str) for name in dir(model))
        [getattr(model, name, None) for name in dir(model)]


def test_traits_may_depend_on_parameters() -> None:
    class Metric(toys.Centre):
        metric: str = param("euclidean", "Name of the distance.")

        def _traits(self) -> Any:
            return self._declared_traits._replace(pairwise=self.metric == "precomputed")

    Metric().fit(X)
    with pytest.raises(ValueError, match="must be square"):
        Metric(metric="precomputed").fit(X)
    assert get_tags(Metric(metric="precomputed")).input_tags.pairwise
    assert not get_tags(Metric()).input_tags.pairwise
