r"""The tree of a parsed pattern.

    Seq       nodes one after the other; the empty one matches everywhere
    Alt       alternatives, tried in order
    Chars     one code point of a set: every literal, class, escape and dot, flags applied
    Group     (X) with its number, or (?:X) with number 0
    Atomic    (?>X)
    Look      (?=X) (?!X) (?<=X) (?<!X)
    Repeat    X? X* X+ X{n,m}, each greedy, lazy or possessive
    BackRef   \1 \k<name>
    Assertion ^ $ \A \Z \z \b \B \G \b{g}
    LineBreak \R          Cluster \X

`Repeat.form` is the algorithm by which the JDK runs the repetition: they differ in what they do to
captures and in what they try again.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Literal, NamedTuple, final

if TYPE_CHECKING:
    from osprofile.javaregex.charset import CharSet

UNBOUNDED = 0x7FFFFFFF
RepeatKind = Literal["greedy", "lazy", "possessive"]


class AssertionKind(Enum):
    """What an assertion asks of a position."""

    BEGIN = auto()
    END = auto()
    LINE_BEGIN = auto()
    UNIX_LINE_BEGIN = auto()
    LAST_LINE_END = auto()
    UNIX_LAST_LINE_END = auto()
    LINE_END = auto()
    UNIX_LINE_END = auto()
    LAST_MATCH = auto()
    WORD_EDGE = auto()
    UNICODE_WORD_EDGE = auto()
    NO_WORD_EDGE = auto()
    UNICODE_NO_WORD_EDGE = auto()
    CLUSTER_EDGE = auto()


class RepeatForm(Enum):
    """How the JDK runs a repetition."""

    OPTION = auto()  # a group, zero or one: an alternative with nothing
    QUESTION = auto()  # anything else, zero or one; what is inside is never tried again
    RUN = auto()  # greedy and unbounded over one set
    CURLY = auto()  # what is inside is never tried again, and its captures stay
    GROUP_CURLY = auto()  # a group without choices inside
    LOOP = auto()  # any other group


@final
class Seq(NamedTuple):
    """Nodes one after the other."""

    nodes: tuple[Node, ...]


@final
class Alt(NamedTuple):
    """Alternatives, tried in order; two at least."""

    branches: tuple[Node, ...]


@final
class Chars(NamedTuple):
    """One code point of a set."""

    chars: CharSet


@final
class Group(NamedTuple):
    """A group; `number` is 0 if it does not capture."""

    body: Node
    number: int


@final
class Atomic(NamedTuple):
    """An independent group: once matched, it is never tried again."""

    body: Group


@final
class Look(NamedTuple):
    """A look-around.

    For a look-behind, `min_length` and `max_length` are the JDK's bounds of its length, which may
    have overflowed. `counts_code_points`: the JDK counts the bounds in code points, because a
    character outside the BMP follows in the pattern; bounds that have overflowed then mean
    something else.
    """

    body: Group
    behind: bool
    negative: bool
    min_length: int = 0
    max_length: int = 0
    counts_code_points: bool = False


@final
class Repeat(NamedTuple):
    """A repetition; `most` is UNBOUNDED without an upper bound."""

    body: Node
    least: int
    most: int
    kind: RepeatKind
    form: RepeatForm


@final
class BackRef(NamedTuple):
    """The text of a group again; `folding` is how the two are compared."""

    number: int
    folding: Literal["", "ascii", "unicode"]


@final
class Assertion(NamedTuple):
    """A condition on a position."""

    kind: AssertionKind


@final
class LineBreak:
    """Any line break, with CR LF as one."""

    __slots__ = ()


@final
class Cluster:
    """An extended grapheme cluster."""

    __slots__ = ()


Node = Seq | Alt | Chars | Group | Atomic | Look | Repeat | BackRef | Assertion | LineBreak | Cluster


@final
class ParsedPattern(NamedTuple):
    """A whole pattern: its tree, the number of capturing groups, and the named ones by name."""

    text: str
    tree: Node
    group_count: int
    group_names: dict[str, int]
    has_backrefs: bool


def get_children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node."""
    match node:
        case Seq(nodes) | Alt(nodes):
            return nodes
        case Group(body) | Atomic(body) | Look(body) | Repeat(body):
            return (body,)
    return ()
