"""Texts as counts of words."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Estimator, InvalidData, InvalidParameter, fitted, param
from qed.core._params import AnyFunction, DType  # noqa: TC001  (what parameters may hold)
from qed.core._tables import csr, only_column
from qed.preprocessing._patterns import why_not_simple
from qed.preprocessing._stop_words import ENGLISH_STOP_WORDS

Array = np.ndarray[Any, Any]


LONGEST_NGRAM = 100  # their number, and their length, grow with it

_SPACES = re.compile(r"\s\s+")
USUAL_WORDS = r"(?u)\b\w\w+\b"
_FIND_WORDS = re.compile(USUAL_WORDS).findall
_PLAIN = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def _plain_words(text: str) -> list[str]:
    """Return what the usual pattern finds: runs of two letters and more. Plain letters are split several times as fast."""
    if not text.isascii():
        return _FIND_WORDS(text)
    return [word for word in text.translate(_PLAIN).split() if len(word) > 1]


class TextDecodeError(InvalidData, UnicodeDecodeError):
    """The bytes of a text are not in the encoding that was named."""


def _decoded(text: bytes, encoding: str, errors: str) -> str:
    try:
        return text.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise TextDecodeError(*error.args) from error
    except (LookupError, UnicodeError) as error:
        raise InvalidParameter(
            f"encoding={encoding!r:.60} does not turn bytes into text ({error}). Name an encoding of texts, such as 'utf-8'."
        ) from error


class Vocabulary(dict[str, int]):
    """Words and their numbers; what is new gets the next one."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def _why_not_plain(value: Any) -> str:
    return (
        "" if value is None or isinstance(value, str) else "should be a word or None: files hold no functions of texts"
    )


def _why_no_files(value: Any) -> str:
    reason = "a model file does not choose that texts are names of files; set it after loading"
    return "" if value == "content" else f"should be 'content': {reason}"


class TextReader(Estimator, role="transformer", transforms=True, table=False, strings=True):
    """What turns a text into words: shared by everything that counts them."""

    _: KW_ONLY
    input: Literal["content", "file", "filename"] = param(
        "content", "Whether texts, open files or names of files are given.", in_files=_why_no_files
    )
    encoding: str = param("utf-8", "Encoding of texts that come as bytes.")
    decode_error: Literal["strict", "ignore", "replace"] = param(
        "strict", "What becomes of bytes that the encoding cannot read."
    )
    strip_accents: Any = param(
        None,
        "Whether accents are taken away: 'ascii', 'unicode', a function of a text, or None.",
        in_files=_why_not_plain,
    )
    lowercase: bool = param(True, "Whether capitals become small letters.")
    preprocessor: AnyFunction | None = param(
        None, "Function of a text in place of accents and capitals.", in_files=_why_not_plain
    )
    tokenizer: AnyFunction | None = param(None, "Function of a text in place of the pattern.", in_files=_why_not_plain)
    stop_words: Any = param(None, "Words to leave out, as a list; 'english' for English function words.")
    token_pattern: Any = param(USUAL_WORDS, "Regular expression of a word.", in_files=why_not_simple)
    ngram_range: Any = param((1, 1), "Fewest and most neighbouring words (or letters) that count as one.")
    analyzer: Any = param(
        "word",
        "'word', 'char', 'char_wb' (letters within words), or a function of a raw text.",
        in_files=_why_not_plain,
    )

    def build_preprocessor(self) -> Any:
        """Return the function that prepares a text: accents and capitals."""
        if self.preprocessor is not None:
            return self.preprocessor
        strip = self.strip_accents
        if strip == "ascii":
            strip = _strip_to_ascii
        elif strip == "unicode":
            strip = _strip_marks
        elif strip is not None and not callable(strip):
            raise InvalidParameter(f"strip_accents must be 'ascii', 'unicode', a function or None, got {strip!r}.")
        lower = self.lowercase

        def prepared(text: str) -> str:
            text = text.lower() if lower else text
            return text if strip is None else strip(text)

        return prepared

    def build_tokenizer(self) -> Any:
        """Return the function that splits a text into words."""
        if self.tokenizer is not None:
            return self.tokenizer
        if not isinstance(self.token_pattern, str | re.Pattern):
            raise InvalidParameter(f"token_pattern must be a regular expression, got {self.token_pattern!r:.80}.")
        pattern = re.compile(self.token_pattern)
        if pattern.groups > 1:
            raise InvalidParameter(
                "More than 1 capturing group in token pattern. Only a single group should be captured."
            )
        return _plain_words if self.token_pattern == USUAL_WORDS else pattern.findall

    def get_stop_words(self) -> frozenset[str] | None:
        """Return the words to leave out; None when there are none."""
        if isinstance(self.stop_words, str):
            if self.stop_words == "english":
                return ENGLISH_STOP_WORDS
            raise InvalidParameter(
                f"stop_words must be 'english', a list of words or None, got {self.stop_words!r}. Pass the words themselves; max_df"
                " leaves out words that are in most texts."
            )
        if self.stop_words is None:
            return None
        listed: list[Any] = (
            np.atleast_1d(self.stop_words).tolist()
            if isinstance(self.stop_words, np.ndarray)
            else list(self.stop_words)
            if isinstance(self.stop_words, list | tuple | set | frozenset)
            else [None]
        )
        if not all(isinstance(one, str) for one in listed):
            raise InvalidParameter(f"stop_words must be a list of words or None, got {self.stop_words!r:.80}.")
        return frozenset(listed)

    def decode(self, doc: Any) -> str:
        """Return a text as a str, reading it from its file where that was asked for.

        Parameters
        ----------
        doc : object
            A text, bytes, an open file, or the name of one.
        """
        if self.input == "filename":
            doc = Path(doc).read_bytes()
        elif self.input == "file":
            doc = doc.read()
        if isinstance(doc, bytes):
            doc = _decoded(doc, self.encoding, self.decode_error)
        if not isinstance(doc, str):
            raise InvalidData(
                f"np.nan is an invalid document, expected byte or unicode string; got {doc!r:.60} of type {type(doc).__name__}."
            )
        return doc

    def build_analyzer(self) -> Any:
        """Return the function that turns a raw text into the list of what is counted."""
        low, high = self._ngrams()
        if callable(self.analyzer):
            function = self.analyzer
            return lambda doc: function(self.decode(doc) if self.input != "content" else doc)
        prepared = self.build_preprocessor()
        if self.analyzer in ("char", "char_wb"):
            letters = _letters_in_words if self.analyzer == "char_wb" else _letters
            return lambda doc: letters(prepared(self.decode(doc)), low, high)
        if self.analyzer != "word":
            raise InvalidParameter(
                f"{self.analyzer} is not a valid tokenization scheme/analyzer: 'word', 'char' or 'char_wb'."
            )
        words, stop = self.build_tokenizer(), self.get_stop_words()

        def analysed(doc: Any) -> list[str]:
            found = words(prepared(self.decode(doc)))
            if stop is not None:
                found = [word for word in found if word not in stop]
            return found if high == 1 else _neighbours(found, low, high)

        return analysed

    def _ngrams(self) -> tuple[int, int]:
        pair = self.ngram_range
        whole = isinstance(pair, tuple | list) and all(isinstance(end, int | np.integer) for end in pair)
        if not whole or len(pair) != 2 or pair[0] > pair[1] or pair[0] < 1:
            raise InvalidParameter(
                f"Invalid value for ngram_range={pair} lower boundary larger than the upper boundary, or below one."
            )
        if pair[1] > LONGEST_NGRAM:
            raise InvalidParameter(f"ngram_range={pair} asks for more than {LONGEST_NGRAM} words or letters in a row.")
        return int(pair[0]), int(pair[1])

    def _documents(self, raw_documents: Any) -> Any:
        if isinstance(raw_documents, str):
            raise InvalidData("Iterable over raw text documents expected, string object received.")
        shape = getattr(raw_documents, "shape", None)
        if isinstance(shape, tuple) and len(shape) == 2:  # a table: its only column holds the texts
            if shape[1] != 1:
                raise InvalidData(
                    f"{type(self).__name__} reads one column of texts, and this table has {shape[1]} columns. Pass the column"
                    " itself, such as frame['text'], or name it in a ColumnTransformer."
                )
            raw_documents = only_column(raw_documents)
        for name in ("to_list", "to_pylist"):  # pandas and polars; Arrow
            if hasattr(raw_documents, name):
                return getattr(raw_documents, name)()
        return raw_documents


def _strip_to_ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ASCII", "ignore").decode("ASCII")


def _strip_marks(text: str) -> str:
    if text.isascii():
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def _neighbours(words: list[str], low: int, high: int) -> list[str]:
    if low == 1:
        found, low = list(words), 2
    else:
        found = []
    for n in range(low, min(high, len(words)) + 1):
        found.extend([" ".join(words[i : i + n]) for i in range(len(words) - n + 1)])
    return found


def _letters(text: str, low: int, high: int) -> list[str]:
    text = _SPACES.sub(" ", text)
    return [text[i : i + n] for n in range(low, min(high, len(text)) + 1) for i in range(len(text) - n + 1)]


def _letters_in_words(text: str, low: int, high: int) -> list[str]:
    found: list[str] = []
    for plain in _SPACES.sub(" ", text).split():
        word = f" {plain} "
        for n in range(low, high + 1):
            found.append(word[:n])
            if n >= len(word):  # a short word counts once
                break
            found.extend(word[i : i + n] for i in range(1, len(word) - n + 1))
    return found


class CountVectorizer(TextReader, keeps_dtype=False):
    r"""Bag of words: how often each word occurs in each text.

    Objective
    ---------
    .. math:: z_{iw} = \#\{\text{places of text } i \text{ with word } w\}

    Certificate
    -----------
    ExactCertificate: the vocabulary is exactly the words that occur as often as asked.

    Cost
    ----
    One pass over the texts; a sparse result.

    Examples
    --------
    >>> from qed.preprocessing import CountVectorizer
    >>> counter = CountVectorizer().fit(["the cat", "the cat and the dog"])
    >>> counter.get_feature_names_out().tolist()
    ['and', 'cat', 'dog', 'the']
    >>> counter.transform(["the dog, the dog"]).toarray()
    array([[0, 0, 2, 2]])
    """

    max_df: Any = param(1.0, "Words in more texts than this share (or number) are left out.")
    min_df: Any = param(1, "Words in fewer texts than this share (or number) are left out.")
    max_features: Any = param(None, "Most words to keep: the most frequent ones.")
    vocabulary: Any = param(None, "The words, or a dict of words and columns, given in advance.")
    binary: bool = param(False, "Whether only ones and zeros are counted.")
    dtype: DType = param(np.int64, "Type of the result.")

    vocabulary_: dict[str, int] = fitted("Words and their columns.", permutation=True, length="at least 1")
    fixed_vocabulary_: bool = fitted("Whether the words were given in advance.")
    certificate_: ExactCertificate = fitted("What is proven about the fit.", optional=True)

    def fit(self, raw_documents: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the vocabulary.

        Parameters
        ----------
        raw_documents : iterable
            Texts.
        y : None
            Not looked at.
        """
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Learn the vocabulary and count, in one pass.

        Parameters
        ----------
        raw_documents : iterable
            Texts.
        y : None
            Not looked at.

        Returns
        -------
        CSR container of shape (n, words)
            Counts.
        """
        self._validate_params()
        given = self._given()
        self.fixed_vocabulary_ = given is not None
        if given is not None:
            self.vocabulary_ = given
            counts = self._counts(raw_documents, given)
        else:
            found = Vocabulary()
            counts = self._counts(raw_documents, found)
            if not found:
                raise InvalidData("empty vocabulary; perhaps the documents only contain stop words")
            counts = self._limited(counts, dict(found))
        self.certificate_ = ExactCertificate(f"vocabulary of {len(self.vocabulary_)} words", counts.shape[0], 0.0)
        return counts

    def _given(self) -> dict[str, int] | None:
        given = self.vocabulary
        if given is None:
            return None
        if isinstance(given, dict):
            if sorted(given.values()) != list(range(len(given))):
                raise InvalidParameter(
                    f"Vocabulary of size {len(given)} repeats or leaves out an index: columns count from 0 on."
                )
            numbered = {str(word): int(place) for word, place in given.items()}
        else:
            words = sorted(given) if isinstance(given, set | frozenset) else list(given)
            numbered = {word: place for place, word in enumerate(words)}
            if len(numbered) != len(words):
                raise InvalidParameter("Duplicate term in vocabulary. Every word has one column.")
        if not numbered:
            raise InvalidParameter("empty vocabulary passed to fit")
        return numbered

    def _counts(self, raw_documents: Any, vocabulary: dict[str, int]) -> Any:
        analysed, ends = self.build_analyzer(), [0]
        places: list[int] = []
        fixed = not isinstance(vocabulary, Vocabulary)
        for doc in self._documents(raw_documents):
            words = analysed(doc)
            if fixed:
                words = [word for word in words if word in vocabulary]
            places.extend(map(vocabulary.__getitem__, words))
            ends.append(len(places))
        indices = np.array(places, dtype=np.int32)
        made = csr(np.ones(len(places), self.dtype), indices, np.array(ends), (len(ends) - 1, len(vocabulary)))
        made.sum_duplicates()
        if self.binary:  # before words are chosen: the most frequent ones are then those in most texts
            made.data.fill(1)
        return made

    def _limited(self, counts: Any, found: dict[str, int]) -> Any:
        """Order the words, and leave out those that are too rare or too common."""
        n = counts.shape[0]
        words = sorted(found)
        order = np.array([found[word] for word in words], dtype=np.int64)
        in_texts = np.bincount(counts.indices, minlength=len(words))[order]
        most, least = self._number(self.max_df, n, "max_df"), self._number(self.min_df, n, "min_df")
        if most < least:
            raise InvalidParameter("max_df corresponds to < documents than min_df")
        keep = (in_texts <= most) & (in_texts >= least)
        if self.max_features is not None:
            totals = np.asarray(counts.sum(axis=0)).ravel()[order]
            best = np.argsort(-totals[keep], kind="stable")[: self.max_features]
            chosen = np.zeros(len(words), bool)
            chosen[np.flatnonzero(keep)[best]] = True
            keep = chosen
        if not keep.any():
            raise InvalidData("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        rank = np.full(len(words), -1, np.int64)
        rank[order[keep]] = np.arange(keep.sum())
        self.vocabulary_ = {word: place for place, word in enumerate(np.array(words, dtype=object)[keep].tolist())}
        return _renamed(counts, rank, int(keep.sum()))

    @staticmethod
    def _number(limit: Any, n: int, name: str) -> float:
        if isinstance(limit, bool) or not isinstance(limit, int | float | np.number) or limit < 0:
            raise InvalidParameter(
                f"CountVectorizer.{name} must be a share in [0, 1] or a whole number, got {limit!r}."
            )
        return float(limit if isinstance(limit, int | np.integer) else limit * n)

    def transform(self, raw_documents: Any) -> Any:
        """Count the words of the vocabulary.

        Parameters
        ----------
        raw_documents : iterable
            Texts.

        Returns
        -------
        CSR container of shape (n, words)
            Counts.
        """
        if "vocabulary_" not in self.__dict__:
            given = self._given()
            if given is not None:
                self.vocabulary_, self.fixed_vocabulary_ = given, True
        self._check_is_fitted()
        return self._counts(raw_documents, self.vocabulary_)

    def inverse_transform(self, X: Any) -> list[Array]:
        """Return the words of each row of counts.

        Parameters
        ----------
        X : array-like or sparse container of shape (n, words)
            Counts.

        Returns
        -------
        list of ndarray of str
            Words with a count, for each row.
        """
        self._check_is_fitted()
        from scipy import sparse  # noqa: PLC0415

        rows, names = sparse.csr_matrix(X), self.get_feature_names_out()
        return [names[rows.indices[a:b]] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """Name the columns: the words.

        Parameters
        ----------
        input_features : None
            Not looked at; texts have no columns.

        Returns
        -------
        ndarray of str
            The words.
        """
        self._check_is_fitted()
        names = np.empty(len(self.vocabulary_), object)
        names[list(self.vocabulary_.values())] = list(self.vocabulary_)
        return names


def _renamed(counts: Any, rank: Array, width: int) -> Any:
    """Give columns other numbers; those of negative rank go."""
    places = rank[counts.indices]
    kept = places >= 0
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))[kept]
    ends = np.concatenate([[0], np.cumsum(np.bincount(row_of, minlength=counts.shape[0]))])
    made = csr(counts.data[kept], places[kept].astype(np.int32), ends, (counts.shape[0], width))
    made.sort_indices()
    return made
