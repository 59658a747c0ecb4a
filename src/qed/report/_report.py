"""The frozen record a page is drawn from."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qed.report._page import page

if TYPE_CHECKING:
    from qed.report._parts import Section


@dataclass(frozen=True)
class Report:
    """What there is to show of a fit.

    Parameters
    ----------
    title : str
        What was learnt, in a few words.
    lead : str
        One paragraph that a reader in a hurry reads.
    sections : tuple of Section
        The parts, in order.
    footer : str
        Versions, date, origin of the data.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    footer: str = ""

    def html(self) -> str:
        """Return the page: one self-contained HTML document."""
        return page(self.title, self.lead, self.sections, self.footer)

    def _repr_html_(self) -> str:
        return self.html()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; an existing file is replaced only when the new one is complete.

        Parameters
        ----------
        path : path-like
            Where to write. Missing folders are made.

        Returns
        -------
        Path
            The absolute path written.
        """
        target = Path(path).absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        fresh = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self.html())
            fresh.chmod(0o644)  # mkstemp makes files that only their owner reads
            fresh.replace(target)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        return target
