"""The command ``qed``: from a table to a model, a page and a proof, without a line of Python.

One rule: **every answer is one of three: the result, a sentence that says what to do, or nothing written at all.** Exit codes: 0
done, 1 the data or the model are at fault (or a check refused), 2 the words of the command are, 130 Ctrl-C. With ``--json`` an
error is one JSON object too: ``{"error": sentence, "code": number}``.

::

    _parser            which commands there are: one module and one line each
    _screen            terminal, pipe, JSON, silence
    _files             whole files or none
    _table_words       what commands that begin with a table share
    _fit, _predict     qed fit, qed predict
    _cluster, _embed, _detect    tables without a target
    _explain           qed explain
    _verify, _compare  qed verify, qed compare
    _info, _demo       qed info, qed demo
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``qed``; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    try:
        from qed.cli._parser import module_of, parser  # noqa: PLC0415
        from qed.cli._screen import Screen, told, tolerate  # noqa: PLC0415

        tolerate()
        words = list(sys.argv[1:] if arguments is None else arguments)
        made = parser(words)
        options = made.parse_args(words)
        if options.command is None:
            made.print_help()
            return 0
        screen = Screen(quiet=getattr(options, "quiet", False), json=getattr(options, "json", False))
    except KeyboardInterrupt:  # while modules are imported
        sys.stderr.write("qed: Interrupted. Nothing was written.\n")
        return 130
    try:
        with screen:
            return int(module_of(options.command).run(options, screen))
    except KeyboardInterrupt:
        screen.error("Interrupted. Nothing was written.", 130)
        return 130
    except BrokenPipeError:
        screen.give_up()
        return 0
    except Exception as error:  # the last door: a person gets a sentence, never a traceback
        if getattr(options, "debug", False):
            raise
        code, sentence = told(error)
        screen.error(sentence, code)
        return code
