"""What JDK 17 knows of Unicode (version 13), recorded from it: properties, scripts, blocks, case.

Python's `unicodedata` and the `regex` package have Unicode versions of their own, so neither is
asked. The data, `unicode13.gz`, is written by `tests/language/javaregex/RecordUnicode.java`, which
tells its form, and is read when the first pattern needs it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from osprofile.language.javaregex import charset
from osprofile.language.javaregex.charset import CharSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Maker = Callable[[], CharSet]


@cache
def _lines() -> Mapping[str, str]:
    """Give the recorded lines by key."""
    import gzip
    from importlib.resources import files

    data = files("osprofile.language.javaregex").joinpath("unicode13.gz").read_bytes()
    text = gzip.decompress(data).decode("ascii")
    return dict(line.split(" ", 1) for line in text.splitlines())


@cache
def recorded(key: str) -> CharSet:
    """Give one recorded set, such as `gc:Lu`. KeyError if there is none."""
    ranges: list[tuple[int, int]] = []
    place = 0
    for item in filter(None, _lines()[key].split(",")):
        gap, _, more = item.partition("-")
        first = place + int(gap, 36)
        last = first + (int(more, 36) if more else 0)
        ranges.append((first, last))
        place = last + 1
    return CharSet(tuple(ranges))


@cache
def _mapping(key: str) -> Mapping[int, int]:
    mapped: dict[int, int] = {}
    place = 0
    for item in _lines()[key].split(","):
        gap, _, difference = item.partition(":")
        place += int(gap, 36)
        mapped[place] = place + int(difference, 36)
        place += 1
    return mapped


def upper(point: int) -> int:
    """Give `Character.toUpperCase(point)`."""
    return _mapping("to:upper").get(point, point)


def lower(point: int) -> int:
    """Give `Character.toLowerCase(point)`."""
    return _mapping("to:lower").get(point, point)


def fold(point: int) -> int:
    """Give the form in which Java compares when `(?iu)` is on: upper, then lower case."""
    return lower(upper(point))


@cache
def cased() -> tuple[int, ...]:
    """Give the code points that have another case."""
    return tuple(sorted({*_mapping("to:upper"), *_mapping("to:lower")}))


@cache
def _folds() -> Mapping[int, tuple[int, ...]]:
    folds: dict[int, list[int]] = {}
    for point in cased():
        folds.setdefault(fold(point), []).append(point)
    return {folded: tuple(points) for folded, points in folds.items()}


def folding_to(folded: int) -> CharSet:
    """Give the code points that are `folded`, or whose fold it is."""
    return CharSet.chars([folded, *_folds().get(folded, ())])


@cache
def categories(names: str) -> CharSet:
    """Give the union of some general categories, by their two-letter names."""
    ranges = [r for name in names.split() for r in recorded(f"gc:{name}").ranges]
    return CharSet.of(*ranges)


_CASED = "Lu Ll Lt"
_LETTER = "Lu Ll Lt Lm Lo"
_PUNCTUATION = "Pd Ps Pe Pc Po Pi Pf"
_GROUPS = {
    "L": _LETTER, "M": "Mn Me Mc", "N": "Nd Nl No", "Z": "Zs Zl Zp", "C": "Cc Cf Co Cs Cn",
    "P": _PUNCTUATION, "S": "Sm Sc Sk So", "LC": _CASED, "LD": f"{_LETTER} Nd",
}  # fmt: skip
_ASCII: Mapping[str, CharSet] = {
    "L1": CharSet.of((0, 0xFF)), "all": charset.ANY, "ASCII": CharSet.of((0, 0x7F)),
    "Alnum": charset.ALNUM, "Alpha": charset.ALPHA, "Blank": CharSet.chars(" \t"),
    "Cntrl": CharSet.of((0, 0x1F), (0x7F, 0x7F)), "Digit": charset.DIGIT,
    "Graph": CharSet.of((0x21, 0x7E)), "Lower": charset.LOWER, "Upper": charset.UPPER,
    "Print": CharSet.of((0x20, 0x7E)), "Space": charset.SPACE,
    "Punct": CharSet.of((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "XDigit": charset.DIGIT | CharSet.of((0x41, 0x46), (0x61, 0x66)),
}  # fmt: skip


def _any_case() -> CharSet:
    return recorded("is:Lowercase") | recorded("is:Uppercase") | categories("Lt")


def white_space() -> CharSet:
    r"""Give `\s` under `(?U)`."""
    return categories("Zs Zl Zp") | CharSet.of((0x09, 0x0D), (0x85, 0x85))


def _blank() -> CharSet:
    return categories("Zs") | CharSet.chars("\t")


def _graph() -> CharSet:
    return ~categories("Zs Zl Zp Cc Cs Cn")


def word() -> CharSet:
    r"""Give `\w` under `(?U)`."""
    joiners = CharSet.of((0x200C, 0x200D))
    return recorded("is:Alphabetic") | categories("Mn Me Mc Nd Pc") | joiners


def letter_or_digit() -> CharSet:
    r"""Give what `Character.isLetterOrDigit` accepts: a word for `\b`, with the underscore."""
    return categories(_GROUPS["LD"])


def _hex_digit() -> CharSet:
    wide = CharSet.of((0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46))
    return categories("Nd") | _ASCII["XDigit"] | wide


def _noncharacter() -> CharSet:
    planes = [(plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(17)]
    return CharSet.of((0xFDD0, 0xFDEF), *planes)


_POSIX: Mapping[str, Maker] = {
    "ALPHA": lambda: recorded("is:Alphabetic"), "LOWER": lambda: recorded("is:Lowercase"),
    "UPPER": lambda: recorded("is:Uppercase"), "SPACE": white_space,
    "PUNCT": lambda: categories(_PUNCTUATION), "XDIGIT": _hex_digit,
    "ALNUM": lambda: recorded("is:Alphabetic") | categories("Nd"),
    "CNTRL": lambda: categories("Cc"), "DIGIT": lambda: categories("Nd"), "BLANK": _blank,
    "GRAPH": _graph, "PRINT": lambda: (_graph() | _blank()) & ~categories("Cc"),
}  # fmt: skip
_BINARY: Mapping[str, Maker] = {
    "ALPHABETIC": lambda: recorded("is:Alphabetic"), "ASSIGNED": lambda: ~categories("Cn"),
    "CONTROL": lambda: categories("Cc"), "HEXDIGIT": _hex_digit, "HEX_DIGIT": _hex_digit,
    "IDEOGRAPHIC": lambda: recorded("is:Ideographic"),
    "JOINCONTROL": lambda: CharSet.of((0x200C, 0x200D)),
    "JOIN_CONTROL": lambda: CharSet.of((0x200C, 0x200D)),
    "LETTER": lambda: categories(_LETTER), "LOWERCASE": lambda: recorded("is:Lowercase"),
    "NONCHARACTERCODEPOINT": _noncharacter, "NONCHARACTER_CODE_POINT": _noncharacter,
    "TITLECASE": lambda: categories("Lt"), "PUNCTUATION": lambda: categories(_PUNCTUATION),
    "UPPERCASE": lambda: recorded("is:Uppercase"), "WHITESPACE": white_space,
    "WHITE_SPACE": white_space, "WORD": word,
}  # fmt: skip
_JAVA: Mapping[str, Maker] = {
    "javaLowerCase": lambda: recorded("is:Lowercase"),
    "javaUpperCase": lambda: recorded("is:Uppercase"),
    "javaAlphabetic": lambda: recorded("is:Alphabetic"),
    "javaIdeographic": lambda: recorded("is:Ideographic"),
    "javaTitleCase": lambda: categories("Lt"), "javaDigit": lambda: categories("Nd"),
    "javaDefined": lambda: ~categories("Cn"), "javaLetter": lambda: categories(_LETTER),
    "javaLetterOrDigit": letter_or_digit,
    "javaJavaIdentifierStart": lambda: recorded("is:JavaIdentifierStart"),
    "javaJavaIdentifierPart": lambda: recorded("is:JavaIdentifierPart"),
    "javaUnicodeIdentifierStart": lambda: recorded("is:UnicodeIdentifierStart"),
    "javaUnicodeIdentifierPart": lambda: recorded("is:UnicodeIdentifierPart"),
    "javaIdentifierIgnorable": lambda: recorded("is:IdentifierIgnorable"),
    "javaSpaceChar": lambda: categories("Zs Zl Zp"),
    "javaWhitespace": lambda: recorded("is:JavaWhitespace"),
    "javaISOControl": lambda: CharSet.of((0, 0x1F), (0x7F, 0x9F)),
    "javaMirrored": lambda: recorded("is:Mirrored"),
}  # fmt: skip


def posix(name: str, *, fold_case: bool) -> CharSet | None:
    """Give a POSIX class as `(?U)` reads it; the name in any case. None if there is none."""
    if fold_case and name.upper() in {"LOWER", "UPPER"}:
        return _any_case()
    maker = _POSIX.get(name.upper())
    return maker() if maker else None


def binary(name: str, *, fold_case: bool) -> CharSet | None:
    r"""Give what `\p{IsName}` means when Name is a binary property, or None."""
    if fold_case and name.upper() in {"LOWERCASE", "UPPERCASE", "TITLECASE"}:
        return _any_case()
    maker = _BINARY.get(name.upper())
    return maker() if maker else posix(name, fold_case=fold_case)


def named(name: str, *, fold_case: bool) -> CharSet | None:
    """Give a category, ASCII class or `java...` property by its exact name, or None."""
    if fold_case:
        if name in {"Lu", "Ll", "Lt"}:
            return categories(_CASED)
        if name in {"Lower", "Upper"}:
            return charset.ALPHA
        if name in {"javaLowerCase", "javaUpperCase", "javaTitleCase"}:
            return _any_case()
    if name in _JAVA:
        return _JAVA[name]()
    return _ASCII.get(name) or _category(name)


def _category(name: str) -> CharSet | None:
    names = _GROUPS.get(name, name)
    return categories(names) if all(f"gc:{n}" in _lines() for n in names.split(" ")) else None


def script(name: str) -> CharSet | None:
    """Give a script by its name or ISO 15924 alias, in any case, or None."""
    return _aliased("sc", name.upper())


def block(name: str) -> CharSet | None:
    """Give a block by its name, with blanks, underscores or neither, in any case, or None."""
    return _aliased("blk", name.upper().replace(" ", "~"))


def _aliased(kind: str, name: str) -> CharSet | None:
    lines = _lines()
    if not name.isascii() or ("~" in name and kind == "sc"):
        return None
    key = f"{kind}:{lines.get(f'{kind}a:{name}', name)}"
    return recorded(key) if key in lines else None


@cache
def cluster_types() -> tuple[tuple[int, int, int], ...]:
    """Give (first, last, type) of grapheme cluster breaking, sorted; what is in none is type 0."""
    found = [(*r, kind) for kind in range(1, 15) for r in recorded(f"gcb:{kind}").ranges]
    return tuple(sorted(found))
