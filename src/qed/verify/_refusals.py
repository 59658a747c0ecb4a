"""How a model is rejected: what is wrong with it, what may have happened, and what to do."""

from __future__ import annotations

from typing import Any, NoReturn

from qed.core import CertificateError


def refuse(model: Any, what: str) -> NoReturn:
    """Raise for a model that the data contradict; ``what`` is a clause: what they give, or what differs."""
    raise CertificateError(
        f"{type(model).__name__} is not what these data give: {what}. The model or its certificate was changed after the fit, or"
        " the data are others or in another order. Fit again, or load the model from its file."
    )


def refuse_changed(model: Any, what: str, subject: str = "This") -> NoReturn:
    """Raise for a model that no fit leaves so; ``what`` is what it is or does: "has a part …"."""
    raise CertificateError(
        f"{subject} {type(model).__name__} {what}. It was changed after the fit, or the data are others. Fit again, or load the"
        " model from its file."
    )


def refuse_answer(model: Any, method: str) -> NoReturn:
    """Raise for a method that answers otherwise than the numbers of the model mean."""
    raise CertificateError(
        f"{type(model).__name__}.{method} answers otherwise than what the model learnt means. It was changed after the fit. Fit"
        " again, or load the model from its file."
    )
