"""What a request may set and what it must: OS Profile 0.3, 2.3 and 2.3.1; docs/language.md, Fields."""

from __future__ import annotations

import pytest

from osprofile import MissingValueError, NotSettableError, UnknownFieldError, ValueRefusedError, incarnate
from tests.incarnation.parts import EXECUTABLE
from tests.strategies import default, field, fixed, invocation, profile, template, template_of

# A field without a value

NO_DEFAULT = "it has no Default: set F to something that is not empty"
UNDECLARED = "<data> is not declared in template T, nor a global field"
BLANK = "a shell's input redirection is written with a blank: < data"
MISSING = {
    # the body, the declaration, the value; the column, what is wrong, the hint
    "declared": ("<F>", field("F"), None, 1, "field F has no value: template T uses it", NO_DEFAULT),
    "declared with a description": (
        "<F>", field("F", "<idb:Description>Its queue.</idb:Description>"), None,
        1, "field F has no value: template T uses it", f"{NO_DEFAULT} (Its queue.)",
    ),
    "empty": ("<F>", field("F"), "", 1, "field F has no value: template T uses it", NO_DEFAULT),
    "in a two-level replacement": ("é <F/x/y>", field("F"), None, 3, "field F has no value: template T uses it", NO_DEFAULT),
    "for the context": (
        "<USER_NAME>", "", None,
        1, "field USER_NAME has no value: template T uses it", "the context must supply it: USER_NAME=...",
    ),
    "not settable": (
        "<F>", field("F", "", 'isSettable="false"'), None,
        1, "field F has no value: template T uses it", "the context must supply it: F=...",
    ),
    "undeclared": ("sort <data>out", field("DATA", default("")), None, 6, UNDECLARED, f"did you mean DATA?; {BLANK}"),
    "undeclared, in a redirection": (
        "sort <data/in/x.txt >y", "", None, 6, UNDECLARED,
        (
            "known: PROFILE_NAME, SSH:CONTROL_PATH, SSH:HOST, SSH:PORT, SUDO:USER, USER_GROUPS, USER_HOME, "
            f"USER_NAME, USPACE_ROOT, WORKING_DIRECTORY; {BLANK}"
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSING)
def test_a_missing_value(case: str) -> None:
    body, declared, value, column, message, hint = MISSING[case]
    made = profile(template("T", f"\n{body}\n", declared))
    with pytest.raises(MissingValueError) as caught:
        incarnate(made, "T", fields={} if value is None else {"F": value})
    caret = " " * (column - 1) + "^"
    assert str(caught.value) == f"p.xml:5:{column}: {message}\n    {body}\n    {caret}\n    hint: {hint}"
    assert caught.value.exit_code == 1


def test_an_error_names_the_variation() -> None:
    made = profile(template_of("T", invocation("x <F>", "V"), field("F")))
    with pytest.raises(MissingValueError, match="field F has no value: template T, variation V uses"):
        incarnate(made, "T", variation="V")
    with pytest.raises(UnknownFieldError, match="X is not used by template T, variation V, of profile p"):
        incarnate(made, "T", variation="V", fields={"X": "x"})


def test_an_empty_value_of_the_context_is_none() -> None:
    made = profile(template("T", "<USER_NAME>"))
    with pytest.raises(MissingValueError) as caught:
        incarnate(made, "T", context={"USER_NAME": ""})
    assert caught.value.hint == "the context gives it as the empty string, which means: not given"


# What a request may name (OS Profile 0.3, 2.3: isSettable; 2.3.1: special fields)

MADE = profile(
    template_of("", field("GLOBAL", default("g")), field("GLOBAL_FIXED", fixed("x"), 'isSettable="false"')),
    template(
        "T",
        "<SET><GLOBAL><NOT><FIXED><USER_NAME><HOME_DIR>",
        field("SET", default("s")),
        field("NOT", default("n"), 'isSettable="false"'),
        field("FIXED", fixed("f")),
        field("UNUSED", default("u")),
        field("USER_NAME", default("nobody")),
        field("FIXED_UNUSED", fixed("f")),
    ),
)  # fmt: skip
CONTEXT = {"HOME_DIR": "/h"}
REQUESTS: dict[str, tuple[str, type[Exception] | None, str]] = {
    # name in the request: (what it becomes where strictness says no, and the message)
    "SET": ("SET", None, ""),
    "global": ("GLOBAL", None, ""),
    "not settable": ("NOT", NotSettableError, "field NOT of template T is not settable"),
    "not settable, global, unused": (
        "GLOBAL_FIXED", NotSettableError, "field GLOBAL_FIXED of template T is not settable",
    ),
    "undeclared": (
        "HOME_DIR", NotSettableError,
        "field HOME_DIR is not declared in template T: only the context can give it",
    ),
    **{
        f"special {name}": (
            name, NotSettableError,
            f"field {name} is supplied by the engine or the context, not by a request",
        )
        for name in (
            "USER_NAME", "WORKING_DIRECTORY", "SSH:HOST", "SSH:PORT", "TargetSystemInfo:Queue",
            "TargetSystemInfo:", "JOB_SCRIPT",
        )
    },
    "special and hostile": (
        "TargetSystemInfo:\n\x1b[31m", NotSettableError,
        "field 'TargetSystemInfo:\\n\\x1b[31m' is supplied by the engine or the context, not by a request",
    ),
    "unused": ("UNUSED", UnknownFieldError, "field UNUSED is not used by template T of profile p"),
    "fixed, unused": (
        "FIXED_UNUSED", UnknownFieldError,
        "field FIXED_UNUSED is not used by template T of profile p",
    ),
    "unknown": ("QUEUE", UnknownFieldError, "field QUEUE is not used by template T of profile p"),
    "unknown and hostile": ("a\nb", UnknownFieldError, "field 'a\\nb' is not used by template T of profile p"),
    "no name": ("", UnknownFieldError, "field '' is not used by template T of profile p"),
    "a key of the engine": (
        "TARGET of s.sh at p.xml:4:1", UnknownFieldError,
        "field 'TARGET of s.sh at p.xml:4:1' is not used by template T of profile p",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "error", "told"), REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("strict", [False, True])
def test_names_in_a_request(name: str, error: type[Exception] | None, told: str, strict: bool) -> None:
    def made(fields: dict[str, str]) -> tuple[str, tuple[str, ...]]:
        found = incarnate(MADE, "T", fields=fields, context=CONTEXT, strict=strict)
        return found.text, found.warnings

    plain = made({})
    assert plain == ("sgnfnobody/h", ())
    if error is None:
        assert made({name: "Z"})[0] == plain[0].replace(name[0].lower(), "Z", 1)
    elif error is UnknownFieldError and not strict:
        assert made({name: "Z"}) == (plain[0], (told,))  # a warning, and nothing else
    else:
        with pytest.raises(error) as caught:
            made({name: "Z"})
        assert caught.value.message == told  # type: ignore[attr-defined]
        assert caught.value.field == name  # type: ignore[attr-defined]


def test_what_is_told_about_a_field_that_is_not_settable() -> None:
    declared = field("F", fixed("x"), 'isSettable="false"')
    made = profile(template("T", "<F>", f"\n{declared}\n"))
    with pytest.raises(NotSettableError) as caught:
        incarnate(made, "T", fields={"F": "y"})
    assert str(caught.value) == (
        "p.xml:5:1: field F of template T is not settable\n"
        '    <idb:Field name="F" isSettable="false"><idb:Value>x</idb:Value></idb:Field>\n    ^\n'
        "    hint: the profile alone decides it; leave it out of the request"
    )


HINTS = {
    "USER_NAME": "leave it out, or give it as context (USER_NAME=...)",
    "JOB_SCRIPT": "it consists of JOB_DIRECTIVES, JOB_PROLOGUE, the application's template and JOB_EPILOGUE",
}


@pytest.mark.parametrize("name", HINTS)
def test_what_is_told_about_special_fields(name: str) -> None:
    with pytest.raises(NotSettableError) as caught:
        incarnate(MADE, "T", fields={name: "y"})
    assert caught.value.hint == HINTS[name]


def test_an_unknown_field_is_an_error_and_gets_a_suggestion() -> None:
    with pytest.raises(UnknownFieldError) as caught:
        incarnate(MADE, "T", fields={"GLOABL": "x"}, context=CONTEXT)
    assert caught.value.hint == "did you mean GLOBAL?"
    with pytest.raises(UnknownFieldError) as caught:
        incarnate(profile(template("T", "x")), "T", fields={"X": "x"})
    assert caught.value.hint == "it has no settable field"


@pytest.mark.parametrize("strict", [False, True])
def test_what_one_template_does_not_let_a_request_set_no_other_one_does(strict: bool) -> None:
    """A global field of the name, which no text uses either, is no way around."""
    fixed_here = field("X", default("x"), 'isSettable="false"')
    made = profile(
        template_of("", field("X", default("g"))), template("START", "<JOB_SCRIPT>"),
        template("JOB_PROLOGUE", "p", fixed_here), template("RUN", "r", field("X", default("x"))),
        template("JOB_EPILOGUE", "e"), EXECUTABLE,
    )  # fmt: skip
    with pytest.raises(NotSettableError, match="field X of template START is not settable"):
        incarnate(made, "START", fields={"X": "y"}, strict=strict)


def test_a_request_never_overrides_what_only_the_context_gives() -> None:
    with pytest.raises(NotSettableError):
        incarnate(MADE, "T", fields={"HOME_DIR": "; rm -rf /"}, context=CONTEXT)


# Special fields and those of the user's profile (OS Profile 0.3, 2.3.1)


def test_special_fields_come_from_the_context() -> None:
    names = ["USER_NAME", "WORKING_DIRECTORY", "SSH:HOST", "SSH:PORT", "TargetSystemInfo:HMS"]
    names += ["TargetSystemInfo:Max wall time"]
    made = profile(template("T", " ".join(f"<{name}>" for name in names)))
    context = {name: f"value of {name}" for name in names}
    assert incarnate(made, "T", context=context).text == " ".join(context.values())


def test_a_special_field_may_be_declared_with_rules() -> None:
    content = default("h"), 'ext:pattern="[a-z.]+"'
    made = profile(template("T", "<SSH:HOST>", field("SSH:HOST", *content)))
    assert incarnate(made, "T").text == "h"
    assert incarnate(made, "T", context={"SSH:HOST": "a.b"}).text == "a.b"
    with pytest.raises(ValueRefusedError):
        incarnate(made, "T", context={"SSH:HOST": "-oProxyCommand=x"})
