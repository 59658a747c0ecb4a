"""Different columns, different transformations, side by side."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.certificates._composite import composite_certificate
from qed.compose._choose_columns import chosen_columns, column_names, some_columns
from qed.compose._pipeline import names_for
from qed.compose._steps import NamedParts, announced, named_transformers, require_instances, require_names
from qed.core import KW_ONLY, InvalidData, InvalidParameter, Probability, Traits, Transformer, clone, fitted, param
from qed.core._jobs import mapped
from qed.core._parts import traits_of
from qed.core._roles import _input_names
from qed.core._tables import is_sparse, only_column, require_indices
from qed.core._validation import learn_columns


def _why_no_weights(weights: Any) -> str:
    numbers = weights is None or all(isinstance(one, int | float | np.number) for one in weights.values())
    return "" if numbers else "should be a number for each name"


def _are_parts_of_its_columns(model: Any, parts: list[tuple[str, Any, Any]]) -> str:
    names, p = model.__dict__.get("feature_names_in_"), model.n_features_in_
    known = set(() if names is None else names.tolist())
    for name, _, columns in parts:
        listed = isinstance(columns, list) and all(
            one in known if isinstance(one, str) else type(one) is int and 0 <= one < p for one in columns
        )
        if not listed or len({type(one) for one in columns}) > 1:
            return f"should list columns of the table, and {name!r} does not"
    return named_transformers(model, parts)


class ColumnTransformer(Transformer, NamedParts):
    """Transformers for different columns, with their outputs side by side.

    Objective
    ---------
    That of each part, on its columns.

    Certificate
    -----------
    CompositeCertificate: every part keeps its own, about its columns; ``qed.verify`` checks them one by one.

    Cost
    ----
    The sum of the parts; columns are picked without a copy where the table allows it.

    Notes
    -----
    Columns are named, numbered, sliced, masked, or picked by a function of the table (`make_column_selector`). Frames stay
    frames on the way in, so that a part sees the types of its columns. A part that reads texts (`CountVectorizer` and its like)
    is given one column, as a sequence of texts.

    Examples
    --------
    >>> from qed.compose import ColumnTransformer
    >>> from qed.preprocessing import StandardScaler
    >>> t = ColumnTransformer([("scale", StandardScaler(), [0])], remainder="passthrough")
    >>> t.fit_transform([[0.0, 5.0], [2.0, 6.0]])
    array([[-1.,  5.],
           [ 1.,  6.]])
    """

    _list = "transformers"
    transformers: Any = param((), "Triples of name, transformer ('drop', 'passthrough') and columns.")
    _: KW_ONLY
    remainder: Any = param("drop", "What becomes of other columns: 'drop', 'passthrough' or a transformer.")
    sparse_threshold: Probability = param(
        0.3, "The result is sparse if some part is and less than this share of it is nonzero."
    )
    n_jobs: Any = param(None, "Parts at the same time, in threads; -1 for as many as there are processors.")
    transformer_weights: dict[str, float] | None = param(
        None, "A factor for each part, by name.", in_files=_why_no_weights
    )
    verbose: bool = param(False, "Whether to show how long each part takes.")
    verbose_feature_names_out: Any = param(
        True,
        "Whether names of columns are preceded by the name of the part; or a format, '{transformer_name}__{feature_name}'.",
    )

    transformers_: list[tuple[str, Any, Any]] = fitted(
        "The fitted parts with their columns.", check=_are_parts_of_its_columns
    )
    output_indices_: dict[str, slice] = fitted("Which columns of the result each part gave.")
    sparse_output_: bool = fitted("Whether the result is sparse.")
    certificate_: CompositeCertificate = fitted("The certificates of the parts.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit every part on its columns.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n,), optional
            Targets.
        sample_weight : array-like of shape (n,), optional
            For parts whose ``fit`` takes one; with metadata routing, for those that ask for it.
        **fit_params : object
            Metadata for parts that ask for them, with metadata routing (`qed.set_config`).
        """
        self.fit_transform(X, y, sample_weight, **fit_params)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the transformed rows.

        Parameters
        ----------
        X, y, sample_weight, **fit_params : object
            As for `fit`.
        """
        self._validate_params()
        self._require_parts()
        X = _table(X)
        names, n_columns = column_names(X), _width(X)
        if n_columns == 0:
            raise InvalidData(
                f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required by ColumnTransformer."
            )
        self.n_features_in_ = n_columns
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        parts = self._assigned(X, names, n_columns)
        metadata, weighted = self._metadata_of_fit(sample_weight, fit_params), set[str]()

        def learnt(part: tuple[str, Any, Any]) -> tuple[Any, Any]:
            name, model, columns = part
            if isinstance(model, str):
                return model, (None if model == "drop" else some_columns(X, columns))
            model = clone(model)
            extra = self._fit_options(model, sample_weight, metadata)
            weighted.update([name] * (extra.get("sample_weight") is not None))
            inside = _input_of(self, model, X, columns)
            with announced(self, name, verbose=self.verbose):
                if hasattr(model, "fit_transform"):
                    return model, model.fit_transform(inside, y, **extra)
                return model, model.fit(inside, y, **extra).transform(inside)

        done = list(mapped(learnt, parts, self.n_jobs))
        self.transformers_ = [
            (name, model, columns) for (name, _, columns), (model, _) in zip(parts, done, strict=True)
        ]
        self.weighted_ = sorted(weighted)
        self.certificate_ = composite_certificate([(name, model) for name, model, _ in self.transformers_])
        blocks = [block for _, block in done]
        done.clear()  # a block is let go as soon as it is copied
        self._remember(blocks)
        return self._joined(blocks)

    def transform(self, X: Any) -> Any:
        """Return the transformed rows.

        Parameters
        ----------
        X : table of n rows
            Rows with the columns of the fit; in frames by name, whatever their order, further ones left aside.
        """
        self._check_is_fitted()
        X = _table(X)
        self._require_columns(X)

        def changed(part: tuple[str, Any, Any]) -> Any:
            _, model, columns = part
            if isinstance(model, str):
                return None if model == "drop" else some_columns(X, columns)
            return model.transform(_input_of(self, model, X, columns))

        return self._joined(list(mapped(changed, self.transformers_, self.n_jobs)))

    @property
    def named_transformers_(self) -> dict[str, Any]:
        """The fitted parts by name."""
        self._check_is_fitted()
        return {name: model for name, model, _ in self.transformers_}

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out."""
        self._check_is_fitted()
        given = list(_input_names(self, input_features))
        named = []
        for name, model, columns in self.transformers_:
            if isinstance(model, str) and model == "drop":
                continue
            inside = [column if isinstance(column, str) else given[column] for column in columns]
            if not isinstance(model, str) and not hasattr(model, "get_feature_names_out"):
                raise AttributeError(
                    f"{type(model).__name__} (part {name!r}) has no get_feature_names_out: it names no columns."
                )
            outside = inside if isinstance(model, str) else list(model.get_feature_names_out(inside))
            named.append((name, outside))
        return self._labelled(named)

    def _labelled(self, named: list[tuple[str, list[str]]]) -> Any:
        style = self.verbose_feature_names_out
        if style is True:
            style = "{transformer_name}__{feature_name}"
        if isinstance(style, str):
            return np.asarray(
                [style.format(transformer_name=part, feature_name=one) for part, names in named for one in names],
                dtype=object,
            )
        if callable(style):
            if isinstance(style, np.ufunc | type):  # as a model file may name
                raise InvalidParameter(
                    f"verbose_feature_names_out must be a function of the names of a part and of a column, got {style!r}."
                )
            return np.asarray([style(part, one) for part, names in named for one in names], dtype=object)
        plain = [one for _, names in named for one in names]
        twice = sorted({one for one in plain if plain.count(one) > 1})
        if twice:
            raise InvalidData(
                f"Output feature names: {twice[:5]} are not unique. Please set verbose_feature_names_out=True to add prefixes to"
                " feature names."
            )
        return np.asarray(plain, dtype=object)

    # -- inside ------------------------------------------------------------------------------------------

    def _require_parts(self) -> None:
        parts = self.transformers
        if not isinstance(parts, list | tuple) or not parts or any(len(part) != 3 for part in parts):
            raise InvalidParameter(
                "ColumnTransformer.transformers must be a list of triples, [('scale', StandardScaler(), ['age'])] for example; got"
                f" {parts!r}."
            )
        require_names(self, [part[0] for part in parts])
        require_instances(self, [part[:2] for part in parts])
        for name, model, _ in [*parts, ("remainder", self.remainder, None)]:
            if isinstance(model, str) and model in ("drop", "passthrough"):
                continue
            if isinstance(model, str) or not (hasattr(model, "fit") and hasattr(model, "transform")):
                raise InvalidParameter(
                    f"ColumnTransformer: {name!r} must be 'drop', 'passthrough' or a transformer with fit and"
                    f" transform, got {model!r}."
                )

    def _routed_parts(self, method: str) -> list[tuple[Any, str]]:
        rest = [] if isinstance(self.remainder, str) else [(self.remainder, method)]
        return [*super()._routed_parts(method), *rest]

    def _assigned(self, X: Any, names: Any, n_columns: int) -> list[tuple[str, Any, Any]]:
        """Return the parts with their columns settled, and the part for all others; empty parts are left out."""
        parts, used = [], set()
        for name, model, wanted in self.transformers:
            columns = chosen_columns(wanted, X, names, n_columns)
            positions = [list(names).index(column) if isinstance(column, str) else column for column in columns]
            used.update(positions)
            if columns:
                parts.append((name, model, columns))
        rest = [j for j in range(n_columns) if j not in used]
        if rest:
            by_name = names is not None and all(isinstance(one, str) for _, _, columns in parts for one in columns)
            parts.append(("remainder", self.remainder, [names[j] for j in rest] if by_name else rest))
        return parts

    def _require_columns(self, X: Any) -> None:
        known, names = self.__dict__.get("feature_names_in_"), column_names(X)
        by_name = any(isinstance(one, str) for _, _, columns in self.transformers_ for one in columns)
        if known is not None and names is not None and by_name:
            needed = {column for _, model, columns in self.transformers_ if model != "drop" for column in columns}
            lacking = sorted(str(one) for one in needed - set(names) if isinstance(one, str))
            if lacking:
                raise InvalidData(f"columns are missing: {set(lacking)}. The table must have them to be transformed.")
            return
        if _width(X) != self.n_features_in_:
            raise InvalidData(
                f"X has {_width(X)} features, but ColumnTransformer is expecting {self.n_features_in_} features as input."
            )

    def _remember(self, blocks: list[Any]) -> None:
        widths = [0 if block is None else _width(block) for block in blocks]
        ends = np.cumsum(widths)
        self.output_indices_ = {
            name: slice(int(end - width), int(end))
            for (name, _, _), width, end in zip(self.transformers_, widths, ends, strict=True)
        }
        given = [block for block in blocks if block is not None]
        self.sparse_output_ = False
        if any(is_sparse(block) for block in given):
            stored = sum(block.nnz if is_sparse(block) else block.shape[0] * block.shape[1] for block in given)
            total = sum(block.shape[0] * block.shape[1] for block in given)
            self.sparse_output_ = total > 0 and stored / total < self.sparse_threshold

    def _joined(self, blocks: list[Any]) -> Any:
        weights = self.transformer_weights or {}
        scaled = [
            block if name not in weights else block * weights[name]
            for (name, _, _), block in zip(self.transformers_, blocks, strict=True)
            if block is not None
        ]
        blocks.clear()
        return side_by_side(scaled, sparse=self.sparse_output_)

    def _traits(self) -> Traits:
        try:
            inner = [traits_of(model) for _, model, _ in self.transformers if not isinstance(model, str)]
        except (TypeError, ValueError):
            inner = []
        return (
            super()
            ._traits()
            ._replace(
                sparse=all(one.sparse for one in inner), allow_nan=all(one.allow_nan for one in inner), keeps_dtype=True
            )
        )


class FeatureUnion(Transformer, NamedParts):
    """Transformers of the same columns, with their outputs side by side.

    Objective
    ---------
    That of each part, on all columns.

    Certificate
    -----------
    CompositeCertificate: every part keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    The sum of the parts.

    Notes
    -----
    Where every part reads texts (`CountVectorizer` and its like), ``X`` is a sequence of texts instead of a table.

    Examples
    --------
    >>> from qed.compose import FeatureUnion
    >>> from qed.preprocessing import MinMaxScaler, StandardScaler
    >>> union = FeatureUnion([("standard", StandardScaler()), ("range", MinMaxScaler())])
    >>> union.fit_transform([[0.0], [4.0]])
    array([[-1.,  0.],
           [ 1.,  1.]])
    >>> union.get_feature_names_out().tolist()
    ['standard__x0', 'range__x0']
    """

    _list = "transformer_list"
    transformer_list: Any = param((), "Pairs of name and transformer ('drop', 'passthrough').")
    _: KW_ONLY
    n_jobs: Any = param(None, "Parts at the same time, in threads; -1 for as many as there are processors.")
    transformer_weights: dict[str, float] | None = param(
        None, "A factor for each part, by name.", in_files=_why_no_weights
    )
    verbose: bool = param(False, "Whether to show how long each part takes.")
    verbose_feature_names_out: bool = param(True, "Whether names of columns are preceded by the name of the part.")

    transformers_: list[tuple[str, Any]] = fitted(
        "The fitted parts, as pairs of name and model.", check=named_transformers
    )
    certificate_: CompositeCertificate = fitted("The certificates of the parts.")

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Fit every part.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n,), optional
            Targets.
        **fit_params : object
            Metadata for parts that ask for them, with metadata routing (`qed.set_config`).
        """
        self.fit_transform(X, y, **fit_params)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the transformed rows.

        Parameters
        ----------
        X, y, **fit_params : object
            As for `fit`.
        """
        self._validate_params()
        parts = self.transformer_list
        if not isinstance(parts, list | tuple) or not parts:
            raise InvalidParameter(f"FeatureUnion.transformer_list must be a list of pairs, got {parts!r}.")
        require_names(self, [name for name, _ in parts])
        require_instances(self, parts)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if not _reads_texts(parts):
            X = _table(X)
            self.n_features_in_ = _width(X)
            names = column_names(X)
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)

        metadata, weighted = self._metadata_of_fit(None, fit_params), set[str]()

        def learnt(part: tuple[str, Any]) -> tuple[Any, Any]:
            name, model = part
            if isinstance(model, str):
                return model, (None if model == "drop" else X)
            model = clone(model)
            extra = self._fit_options(model, None, metadata)
            weighted.update([name] * (extra.get("sample_weight") is not None))
            with announced(self, name, verbose=self.verbose):
                if hasattr(model, "fit_transform"):
                    return model, model.fit_transform(X, y, **extra)
                return model, model.fit(X, y, **extra).transform(X)

        done = list(mapped(learnt, parts, self.n_jobs))
        self.transformers_ = [(name, model) for (name, _), (model, _) in zip(parts, done, strict=True)]
        self.weighted_ = sorted(weighted)
        self.certificate_ = composite_certificate(self.transformers_)
        return self._joined([block for _, block in done])

    def transform(self, X: Any) -> Any:
        """Return the transformed rows.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        if not _reads_texts(self.transformers_):
            X = _table(X)
            learn_columns(self, _width(X), column_names(X), reset=False)

        def changed(part: tuple[str, Any]) -> Any:
            model = part[1]
            return (None if model == "drop" else X) if isinstance(model, str) else model.transform(X)

        return self._joined(list(mapped(changed, self.transformers_, self.n_jobs)))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out."""
        self._check_is_fitted()
        names: list[str] = []
        for part, model in self.transformers_:
            if isinstance(model, str):
                inside: Any = super().get_feature_names_out(input_features) if model == "passthrough" else []
            else:
                if not hasattr(model, "get_feature_names_out"):
                    raise AttributeError(f"Part {part!r} ({type(model).__name__}) does not name its columns.")
                inside = model.get_feature_names_out(input_features)
            names += [f"{part}__{one}" if self.verbose_feature_names_out else str(one) for one in inside]
        return np.asarray(names, dtype=object)

    def _joined(self, blocks: list[Any]) -> Any:
        weights = self.transformer_weights or {}
        scaled = [
            block if name not in weights else block * weights[name]
            for (name, _), block in zip(self.transformers_, blocks, strict=True)
            if block is not None
        ]
        return side_by_side(scaled, sparse=any(is_sparse(block) for block in scaled))

    def _traits(self) -> Traits:
        try:
            inner = [traits_of(model) for _, model in self.transformer_list if not isinstance(model, str)]
        except (TypeError, ValueError):
            inner = []
        return (
            super()
            ._traits()
            ._replace(
                sparse=all(one.sparse for one in inner),
                allow_nan=all(one.allow_nan for one in inner),
                table=not _all_read_texts(inner),
                strings=any(one.strings for one in inner),
            )
        )


def _all_read_texts(traits: list[Traits]) -> bool:
    """Tell whether someone reads texts and nobody needs a table."""
    return any(not one.table for one in traits) and all(not one.table or not one.validates for one in traits)


def _reads_texts(parts: Any) -> bool:
    """Tell whether parts, pairs of name and transformer, take a sequence of texts as it is."""
    models = [model for _, model in parts]
    if any(isinstance(model, str) and model != "drop" for model in models):
        return False
    return _all_read_texts([traits_of(model) for model in models if not isinstance(model, str)])


def _input_of(whole: ColumnTransformer, model: Any, X: Any, columns: list[Any]) -> Any:
    """Pick what a part is given: its columns as a table, or, where it reads texts, its only column as a sequence."""
    inside = some_columns(X, columns)
    if traits_of(model).table:
        return inside
    if len(columns) != 1:
        raise InvalidParameter(
            f"{type(whole).__name__}: {type(model).__name__} reads one column of texts, got the columns {columns!r}. Give each"
            " column a part of its own."
        )
    return only_column(inside)


def side_by_side(blocks: list[Any], *, sparse: bool) -> Any:
    """Put blocks of columns next to each other: sparse, or as one array. The list is emptied, so that memory is given back."""
    if not blocks:
        return np.zeros((0, 0))
    shapes = [np.shape(block) if not hasattr(block, "shape") else block.shape for block in blocks]
    if any(len(shape) != 2 for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
        listed = ", ".join(map(str, shapes))
        raise InvalidData(f"The parts must give tables of as many rows as they get, and give shapes {listed}.")
    for block in blocks:
        if is_sparse(block) and block.format in ("csr", "csc"):  # of a part that may be of another library
            require_indices(block, "The result of a part")
    if sparse:
        from scipy import sparse as containers  # noqa: PLC0415

        return containers.hstack(
            [block if is_sparse(block) else containers.csr_matrix(_plain(block)) for block in blocks]
        ).tocsr()
    dense = [block.toarray() if is_sparse(block) else _plain(block) for block in blocks]
    if len(dense) == 1:
        return dense[0]
    out = np.empty((dense[0].shape[0], sum(block.shape[1] for block in dense)), dtype=np.result_type(*dense))
    blocks.clear()
    at = out.shape[1]
    while dense:  # from the last to the first, so that each can be let go once it is copied
        block = dense.pop()
        at -= block.shape[1]
        out[:, at : at + block.shape[1]] = block
    return out


def _plain(block: Any) -> Any:
    """See a frame or a list as an array; what holds words stays an array of objects."""
    array = block.to_numpy() if hasattr(block, "to_numpy") else np.asarray(block)
    return array[:, np.newaxis] if array.ndim == 1 else array


def _table(X: Any) -> Any:
    """Leave frames, arrays and sparse containers as they are; make anything else an array."""
    if is_sparse(X) or isinstance(X, np.ndarray) or hasattr(X, "__dataframe__") or hasattr(X, "columns"):
        if getattr(X, "ndim", 2) != 2:
            raise InvalidData(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data to rows and columns.")
        return X if not is_sparse(X) or X.format in ("csr", "csc") else X.tocsr()
    array = np.asarray(X)
    if array.dtype.kind in "US":
        array = np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise InvalidData(f"Expected 2D array, got {array.ndim}D array instead. Reshape your data to rows and columns.")
    return array


def _width(X: Any) -> int:
    return int(X.shape[1]) if len(X.shape) == 2 else 1


def make_column_transformer(*transformers: Any, **options: Any) -> ColumnTransformer:
    """Build a ColumnTransformer from pairs of transformer and columns, named after their classes.

    Parameters
    ----------
    *transformers : tuple
        Pairs of transformer and columns.
    **options : object
        Parameters of `ColumnTransformer`.
    """
    models, columns = [pair[0] for pair in transformers], [pair[1] for pair in transformers]
    return ColumnTransformer(list(zip(names_for(models), models, columns, strict=True)), **options)


def make_union(*transformers: Any, **options: Any) -> FeatureUnion:
    """Build a FeatureUnion whose parts are named after their classes.

    Parameters
    ----------
    *transformers : estimator
        The parts.
    **options : object
        Parameters of `FeatureUnion`.
    """
    return FeatureUnion(list(zip(names_for(transformers), transformers, strict=True)), **options)
