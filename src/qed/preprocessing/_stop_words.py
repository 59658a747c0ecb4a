"""English words that carry grammar rather than content, by their class."""

from __future__ import annotations

_CLASSES = {
    "articles and determiners": (
        "a an the this that these those each every either neither both all any some such no none another "
        "other others same own several many much few fewer less least more most enough"
    ),
    "personal pronouns": (
        "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his "
        "himself she her hers herself it its itself they them their theirs themselves one ones oneself"
    ),
    "other pronouns": (
        "who whom whose which what whoever whomever whatever whichever someone somebody something anyone "
        "anybody anything everyone everybody everything nobody nothing nor"
    ),
    "forms of to be, to have, to do": ("be am is are was were been being have has had having do does did doing done"),
    "modal verbs": ("can could may might must shall should will would ought cannot"),
    "prepositions": (
        "about above across after against along alongside amid among amongst around as at before behind "
        "below beneath beside besides between beyond by despite down during except for from in inside "
        "into like near of off on onto out outside over past per since through throughout till to toward "
        "towards under underneath until up upon via with within without"
    ),
    "conjunctions": ("and but or so yet if unless because although though while whereas whether than once lest"),
    "adverbs of place and time": (
        "here there where when why how hence thence whence now then always never often sometimes ever "
        "again already still just soon later afterwards beforehand meanwhile seldom wherever whenever "
        "everywhere somewhere nowhere anywhere thereafter thereby therefore therein thereupon whereby "
        "wherein whereupon hereafter hereby herein elsewhere together"
    ),
    "adverbs of degree and link": (
        "not only also too very quite rather almost even perhaps however moreover nevertheless otherwise "
        "thus indeed instead furthermore else hardly somehow anyhow anyway mostly further away back well"
    ),
    "small numbers": ("two three four five six seven eight nine ten first second third last"),
    "abbreviations": ("eg etc ie vs"),
}
#: English words that say little about a text, left out by ``stop_words="english"``.
ENGLISH_STOP_WORDS = frozenset(word for words in _CLASSES.values() for word in words.split())
