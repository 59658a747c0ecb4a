"""From a table to a certified model: column types are inferred and candidates compared within a time budget.

One rule: **whatever the machine decides, it says why, and the user can say otherwise.**

::

    study = qed.study.fit("penguins.csv", target="body_mass_g", budget="30s")
    study.model.predict(new_frame)          # columns are found by name, types as at the fit
    study.model.save("model.qed")           # data only; qed.study.load reads it back
    study.model.verify("penguins.csv")      # the independent checker

    _source            what a table can be: files, queries, frames
      _csv, _duckdb, _sqlite, _arrow, _packed    each by its own reader
    _raw               columns as they were read: gaps, numbers, dates, words, the same for every source
    _understand        the table before anything is fitted
      _column_types, _task    what columns and target are, and why
    _schema            what a model remembers of its table
    _encode            a table as the numbers in front of a pipeline
    _recipes           preparation of columns, and the candidates
    _compare, _clock   candidates compared on more and more rows, while there is time
      _stage, _blend   on the same folds; their weighted average
      _leaderboard     how each did, and which is chosen
      _losses          what a model says, and what that costs
    _judge, _effects   the winner on rows it has not seen; how its answer moves with a column
    _weights           its coefficients under names that people know
    _fit, _model       the whole way; the model at its end
      _remarks         what the user should know of a judgement
    _describe_table, _table_pipeline    what models with and without a target share
    _cluster, _embed, _detect           tables without a target: clusters, coordinates, anomalies
    _unsupervised, _unsupervised_model  what these three share; the model at their end
    _group_traits                       what sets a cluster apart
    _compare_models    two models on the same rows
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
