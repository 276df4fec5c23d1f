"""The Unicode data of JDK 17 (version 13): properties, scripts, blocks and case.

Python's `unicodedata` and the `regex` package have Unicode versions of their own, so neither is
used. The data is recorded from the JDK: `tests/javaregex/RecordUnicode.java` writes `unicode13.gz`
and describes its format. It is read when a pattern first needs it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from osprofile.javaregex import charset
from osprofile.javaregex.charset import CharSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    SetMaker = Callable[[], CharSet]


@cache
def _load_lines() -> Mapping[str, str]:
    import gzip
    from importlib.resources import files

    data = files("osprofile.javaregex").joinpath("unicode13.gz").read_bytes()
    text = gzip.decompress(data).decode("ascii")
    return dict(line.split(" ", 1) for line in text.splitlines())


@cache
def load_set(key: str) -> CharSet:
    """Return a recorded set, such as `gc:Lu`. KeyError if there is none."""
    ranges: list[tuple[int, int]] = []
    point = 0
    for item in filter(None, _load_lines()[key].split(",")):
        gap, _, more = item.partition("-")
        first = point + int(gap, 36)
        last = first + (int(more, 36) if more else 0)
        ranges.append((first, last))
        point = last + 1
    return CharSet(tuple(ranges))


@cache
def _load_mapping(key: str) -> Mapping[int, int]:
    mapped: dict[int, int] = {}
    point = 0
    for item in _load_lines()[key].split(","):
        gap, _, difference = item.partition(":")
        point += int(gap, 36)
        mapped[point] = point + int(difference, 36)
        point += 1
    return mapped


def to_upper(point: int) -> int:
    """Return Java's `Character.toUpperCase(point)`."""
    return _load_mapping("to:upper").get(point, point)


def to_lower(point: int) -> int:
    """Return Java's `Character.toLowerCase(point)`."""
    return _load_mapping("to:lower").get(point, point)


def to_folded(point: int) -> int:
    """Return the form that Java compares under `(?iu)`: upper case, then lower case."""
    return to_lower(to_upper(point))


@cache
def list_cased_points() -> tuple[int, ...]:
    """Return the code points that have another case."""
    return tuple(sorted({*_load_mapping("to:upper"), *_load_mapping("to:lower")}))


@cache
def _map_folded_points() -> Mapping[int, tuple[int, ...]]:
    folds: dict[int, list[int]] = {}
    for point in list_cased_points():
        folds.setdefault(to_folded(point), []).append(point)
    return {folded: tuple(points) for folded, points in folds.items()}


def get_fold_set(folded: int) -> CharSet:
    """Return the code points that are `folded` themselves, or when folded."""
    return CharSet.from_chars([folded, *_map_folded_points().get(folded, ())])


@cache
def get_categories(names: str) -> CharSet:
    """Return the union of general categories: two-letter names, separated by blanks."""
    ranges = [r for name in names.split() for r in load_set(f"gc:{name}").ranges]
    return CharSet.from_ranges(*ranges)


_CASED_LETTERS = "Lu Ll Lt"
_LETTERS = "Lu Ll Lt Lm Lo"
_PUNCTUATION = "Pd Ps Pe Pc Po Pi Pf"
_CATEGORY_GROUPS = {
    "L": _LETTERS, "M": "Mn Me Mc", "N": "Nd Nl No", "Z": "Zs Zl Zp", "C": "Cc Cf Co Cs Cn",
    "P": _PUNCTUATION, "S": "Sm Sc Sk So", "LC": _CASED_LETTERS, "LD": f"{_LETTERS} Nd",
}  # fmt: skip
_ASCII_CLASSES: Mapping[str, CharSet] = {
    "L1": CharSet.from_ranges((0, 0xFF)), "all": charset.ANY, "ASCII": CharSet.from_ranges((0, 0x7F)),
    "Alnum": charset.ALNUM, "Alpha": charset.ALPHA, "Blank": CharSet.from_chars(" \t"),
    "Cntrl": CharSet.from_ranges((0, 0x1F), (0x7F, 0x7F)), "Digit": charset.DIGIT,
    "Graph": CharSet.from_ranges((0x21, 0x7E)), "Lower": charset.LOWER, "Upper": charset.UPPER,
    "Print": CharSet.from_ranges((0x20, 0x7E)), "Space": charset.SPACE,
    "Punct": CharSet.from_ranges((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "XDigit": charset.DIGIT | CharSet.from_ranges((0x41, 0x46), (0x61, 0x66)),
}  # fmt: skip


def _get_cased_letters() -> CharSet:
    return load_set("is:Lowercase") | load_set("is:Uppercase") | get_categories("Lt")


def get_white_space() -> CharSet:
    r"""Return `\s` under `(?U)`."""
    return get_categories("Zs Zl Zp") | CharSet.from_ranges((0x09, 0x0D), (0x85, 0x85))


def _get_blanks() -> CharSet:
    return get_categories("Zs") | CharSet.from_chars("\t")


def _get_graphic_chars() -> CharSet:
    return ~get_categories("Zs Zl Zp Cc Cs Cn")


def get_word_chars() -> CharSet:
    r"""Return `\w` under `(?U)`."""
    joiners = CharSet.from_ranges((0x200C, 0x200D))
    return load_set("is:Alphabetic") | get_categories("Mn Me Mc Nd Pc") | joiners


def get_letters_or_digits() -> CharSet:
    r"""Return what `Character.isLetterOrDigit` accepts: with the underscore, a word for `\b`."""
    return get_categories(_CATEGORY_GROUPS["LD"])


def _get_hex_digits() -> CharSet:
    wide = CharSet.from_ranges((0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46))
    return get_categories("Nd") | _ASCII_CLASSES["XDigit"] | wide


def _get_noncharacters() -> CharSet:
    planes = [(plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(17)]
    return CharSet.from_ranges((0xFDD0, 0xFDEF), *planes)


_POSIX_CLASSES: Mapping[str, SetMaker] = {
    "ALPHA": lambda: load_set("is:Alphabetic"), "LOWER": lambda: load_set("is:Lowercase"),
    "UPPER": lambda: load_set("is:Uppercase"), "SPACE": get_white_space,
    "PUNCT": lambda: get_categories(_PUNCTUATION), "XDIGIT": _get_hex_digits,
    "ALNUM": lambda: load_set("is:Alphabetic") | get_categories("Nd"),
    "CNTRL": lambda: get_categories("Cc"), "DIGIT": lambda: get_categories("Nd"), "BLANK": _get_blanks,
    "GRAPH": _get_graphic_chars, "PRINT": lambda: (_get_graphic_chars() | _get_blanks()) & ~get_categories("Cc"),
}  # fmt: skip
_BINARY_PROPERTIES: Mapping[str, SetMaker] = {
    "ALPHABETIC": lambda: load_set("is:Alphabetic"), "ASSIGNED": lambda: ~get_categories("Cn"),
    "CONTROL": lambda: get_categories("Cc"), "HEXDIGIT": _get_hex_digits, "HEX_DIGIT": _get_hex_digits,
    "IDEOGRAPHIC": lambda: load_set("is:Ideographic"),
    "JOINCONTROL": lambda: CharSet.from_ranges((0x200C, 0x200D)),
    "JOIN_CONTROL": lambda: CharSet.from_ranges((0x200C, 0x200D)),
    "LETTER": lambda: get_categories(_LETTERS), "LOWERCASE": lambda: load_set("is:Lowercase"),
    "NONCHARACTERCODEPOINT": _get_noncharacters, "NONCHARACTER_CODE_POINT": _get_noncharacters,
    "TITLECASE": lambda: get_categories("Lt"), "PUNCTUATION": lambda: get_categories(_PUNCTUATION),
    "UPPERCASE": lambda: load_set("is:Uppercase"), "WHITESPACE": get_white_space,
    "WHITE_SPACE": get_white_space, "WORD": get_word_chars,
}  # fmt: skip
_JAVA_PROPERTIES: Mapping[str, SetMaker] = {
    "javaLowerCase": lambda: load_set("is:Lowercase"),
    "javaUpperCase": lambda: load_set("is:Uppercase"),
    "javaAlphabetic": lambda: load_set("is:Alphabetic"),
    "javaIdeographic": lambda: load_set("is:Ideographic"),
    "javaTitleCase": lambda: get_categories("Lt"), "javaDigit": lambda: get_categories("Nd"),
    "javaDefined": lambda: ~get_categories("Cn"), "javaLetter": lambda: get_categories(_LETTERS),
    "javaLetterOrDigit": get_letters_or_digits,
    "javaJavaIdentifierStart": lambda: load_set("is:JavaIdentifierStart"),
    "javaJavaIdentifierPart": lambda: load_set("is:JavaIdentifierPart"),
    "javaUnicodeIdentifierStart": lambda: load_set("is:UnicodeIdentifierStart"),
    "javaUnicodeIdentifierPart": lambda: load_set("is:UnicodeIdentifierPart"),
    "javaIdentifierIgnorable": lambda: load_set("is:IdentifierIgnorable"),
    "javaSpaceChar": lambda: get_categories("Zs Zl Zp"),
    "javaWhitespace": lambda: load_set("is:JavaWhitespace"),
    "javaISOControl": lambda: CharSet.from_ranges((0, 0x1F), (0x7F, 0x9F)),
    "javaMirrored": lambda: load_set("is:Mirrored"),
}  # fmt: skip


def find_posix_class(name: str, *, fold_case: bool) -> CharSet | None:
    """Return a POSIX class under `(?U)` by its name in any case, or None if there is none."""
    if fold_case and name.upper() in {"LOWER", "UPPER"}:
        return _get_cased_letters()
    maker = _POSIX_CLASSES.get(name.upper())
    return maker() if maker else None


def find_binary_property(name: str, *, fold_case: bool) -> CharSet | None:
    r"""Return `\p{IsName}` for a binary property, by its name in any case, or None."""
    if fold_case and name.upper() in {"LOWERCASE", "UPPERCASE", "TITLECASE"}:
        return _get_cased_letters()
    maker = _BINARY_PROPERTIES.get(name.upper())
    return maker() if maker else find_posix_class(name, fold_case=fold_case)


def find_named_property(name: str, *, fold_case: bool) -> CharSet | None:
    """Return a category, ASCII class or `java...` property by its exact name, or None."""
    if fold_case:
        if name in {"Lu", "Ll", "Lt"}:
            return get_categories(_CASED_LETTERS)
        if name in {"Lower", "Upper"}:
            return charset.ALPHA
        if name in {"javaLowerCase", "javaUpperCase", "javaTitleCase"}:
            return _get_cased_letters()
    if name in _JAVA_PROPERTIES:
        return _JAVA_PROPERTIES[name]()
    return _ASCII_CLASSES.get(name) or _find_category(name)


def _find_category(name: str) -> CharSet | None:
    names = _CATEGORY_GROUPS.get(name, name)
    return get_categories(names) if all(f"gc:{n}" in _load_lines() for n in names.split(" ")) else None


def find_script(name: str) -> CharSet | None:
    """Return a script by its name or ISO 15924 alias in any case, or None."""
    return _find_by_alias("sc", name.upper())


def find_block(name: str) -> CharSet | None:
    """Return a block by its name in any case, with blanks, underscores or neither, or None."""
    return _find_by_alias("blk", name.upper().replace(" ", "~"))


def _find_by_alias(kind: str, name: str) -> CharSet | None:
    lines = _load_lines()
    if not name.isascii() or ("~" in name and kind == "sc"):
        return None
    key = f"{kind}:{lines.get(f'{kind}a:{name}', name)}"
    return load_set(key) if key in lines else None


@cache
def list_cluster_types() -> tuple[tuple[int, int, int], ...]:
    """Return (first, last, type) of grapheme cluster breaking, sorted; all else is of type 0."""
    found = [(*r, kind) for kind in range(1, 15) for r in load_set(f"gcb:{kind}").ranges]
    return tuple(sorted(found))
