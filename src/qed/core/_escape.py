"""Text for pages: nothing in it is markup, and nothing in it is invisible."""

from __future__ import annotations

# Controls, formats (which turn the direction of text, among others), lone surrogates, private and unassigned signs, and
# separators of lines: what they do to a page cannot be seen, so that they could make one text look like another.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def escaped(text: str) -> str:
    """Return text for an HTML page; signs that cannot be seen are named, as ``[U+202E]``.

    >>> escaped("a < b")
    'a &lt; b'
    >>> escaped("price" + chr(0x202E) + "evil")
    'price[U+202E]evil'
    """
    from html import escape  # noqa: PLC0415  (pages only)

    if not text.isprintable():
        import unicodedata  # noqa: PLC0415

        text = "".join(
            f"[U+{ord(sign):04X}]" if sign not in "\n\t" and unicodedata.category(sign) in _HIDDEN else sign
            for sign in text
        )
    return escape(text)
