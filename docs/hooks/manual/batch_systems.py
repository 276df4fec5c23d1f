"""What each bundled profile makes of the fields of a job: drawn from its scripts, so the page cannot be wrong.

START is incarnated with a sample value and without it. What differs is a directive, an option on the command
line of the command that submits, or shell code of the job script. Profiles compute command lines in shell code,
so such a START is run, with a command in the place of the batch system's that notes its words.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, final

from manual.markdown import format_code, format_table
from manual.profiles import START, list_profiles, load_profile
from osprofile.errors import NotSettableError, UnknownFieldError, ValueRefusedError
from osprofile.incarnation.field_rules import END_WORD_PATTERN, is_special_field
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import get_plan
from osprofile.jobs.fields import FIELDS
from osprofile.jobs.shell.scripts import build_self_contained_script
from osprofile.profile.model import EXPERIMENTAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.profile.model import Field, Profile

WORKING_DIRECTORY: Final = "/srv/jobs/1"

SUBMIT_COMMANDS: Final = ("sbatch", "qsub", "bsub")
"""The commands that START runs to submit a job."""
OTHER_COMMANDS: Final = ("qselect", "squeue")
"""Other commands that START runs: Torque has qselect, by which START knows it; squeue knows a DEPENDENCY's job.

Without them, the page would depend on the machine on which it is made."""

SAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "JOB_NAME": ("mine",),
    "EXECUTABLE": ("/bin/date",),
    "ARGUMENTS": ("-u",),
    "ENVIRONMENT": ("export A='1'\n",),
    "STDIN": ("input",),
    "STDOUT": ("output",),
    "STDERR": ("errors",),
    "DIRECTORY": ("/data",),
    "QUEUE": ("long", "b"),
    "PROJECT": ("physics",),
    "NODES": ("2", "1"),
    "PROCESSES": ("4",),
    "CPUS": ("3",),
    "MEMORY": ("500",),
    "WALLTIME": ("5400",),
    "LIMIT_SIGNAL": ("USR1@300",),
    "CPUTIME": ("600",),
    "GPUS": ("2",),
    "GPU_TYPE": ("a100",),
    "QOS": ("high",),
    "CONSTRAINT": ("fast", "arch=linux"),
    "RESERVATION": ("lecture", "12"),
    "EXCLUSIVE": ("true",),
    "PRIORITY": ("-10",),
    "START_TIME": ("2030-01-31T08:30",),
    "NOTIFY": ("me@example.org",),
    "NOTIFY_EVENTS": ("begin,end",),
    "DEPENDENCY": ("afterok:12", "afterok:12-345-0123abcd", "afterany:12", "afterok:f12"),
    "ARRAY": ("1-9:2%4", "1-9%4", "1-9"),
    "REQUEUE": ("true",),
    "CONTAINER": ("debian.sif",),
    "NODE_FILE": ("nodes",),
    "TMP_DIR": ("/scratch",),
    "PE": ("smp",),
    "PE_NODES": ("mpi",),
    "CLUSTER": ("east",),
    "MODULES": ("gcc",),
    "SETUP": ("ulimit -c 0",),
}
"""Values to try, by field; the first one that a profile accepts is used. For other fields: tags and the following."""
OTHER_SAMPLES: Final = ("true", "3", "a", "/a")

COMPANIONS: Final[dict[str, dict[str, str]]] = {
    "NODES": {"PE_NODES": "mpi"},
    "PROCESSES": {"PE": "smp"},
    "CPUS": {"PE": "smp"},
    "PE": {"PROCESSES": "4"},
    "PE_NODES": {"NODES": "2"},
}
"""What a request gives together with a field, where the profile has it."""

DURATIONS: Final = {
    "59 s": 59,
    "60 s": 60,
    "90 s": 90,
    "1 h": 3600,
    "24 h": 86400,
    "100 h": 360000,
    "1000 h": 3600000,
}

MAX_NAMES: Final = 3
"""The most variables or pieces of shell code that a cell names."""

_CELL_WORDS: Final = {
    "refused": "*refused*: the profile does not take the option, and says so.",
    "job script": "*job script*: the script that runs the program does it.",
    "variable": "*variable*: nothing is reserved; the program finds the value in a variable `GPE_...`.",
}
"""What the words in the cells of a short table mean."""

_ASSIGNMENT: Final = re.compile(r"\b([A-Za-z_]\w*)=(?:'(?:[^']|'\\'')*'|\"[^\"]*\"|\S*)")
_DIRECTIVE: Final = re.compile(r"#[A-Z$]")
_NOTE_WORDS: Final = """#!/bin/sh
{
  printf '%s\\037' "${0##*/}" "$@"
  # which START adds to the script that bsub reads
  [ "${0##*/}" != bsub ] || sed -n 's/^#BSUB -R "\\(s[^"]*\\)"$/-R \\1/p' | tr ' \\n' '\\037\\037'
  printf '\\036'
} >> "$HOME/words"
echo 1
"""


@final
class Effect(NamedTuple):
    """What a field does to START: `sample` is the value.

    - `directives`: the lines that it adds, without the profile's prefix
    - `options`: the words that it adds to the command line, after the command's name
    - `pieces`: the fields of shell code that apply on the condition that it has a value
    - `variables`: the assignments that change in the job script, of variables that it reads
    - `changes_script`: it changes another part of the job script
    - `is_only_told`: nothing changes but a variable for the program
    - `start_lines`: the lines of START that change, where they change nothing of the above
    """

    sample: str
    directives: tuple[str, ...]
    options: tuple[str, ...]
    pieces: tuple[str, ...]
    variables: tuple[str, ...]
    changes_script: bool
    is_only_told: bool
    start_lines: tuple[str, ...]

    @property
    def is_something(self) -> bool:
        """Whether the job or its submission changes."""
        return any(self[1:-1])


@final
class _Start(NamedTuple):
    """START with the job script, and the rest of it."""

    text: str
    job: str
    rest: str


def list_batch_systems() -> list[str]:
    """Return the names of the bundled profiles, without the base of profiles that a site writes."""
    return [name for name in list_profiles() if name != "batch"]


def list_job_fields() -> list[str]:
    """Return the fields of a job that START of any bundled profile takes, in the order of their declarations."""
    plans = [get_plan(load_profile(name), START, "", None) for name in list_batch_systems()]
    return _sort_by_declaration({name for plan in plans for name in plan.settable})


def list_site_fields() -> list[str]:
    """Return the fields of START that only the context or a site's profile can set."""
    plans = [get_plan(load_profile(name), START, "", None) for name in list_batch_systems()]
    return _sort_by_declaration(
        {name for plan in plans for name, field in plan.declarations.items() if _is_site_field(field)}
    )


def _is_site_field(field: Field) -> bool:
    return not field.settable and field.value is None and not is_special_field(field.name)


def _sort_by_declaration(names: set[str]) -> list[str]:
    declared = dict[str, None]()
    for profile in map(load_profile, list_batch_systems()):
        declared |= dict.fromkeys(profile.global_fields)
        declared |= dict.fromkeys(name for t in profile.templates.values() for name in t.fields)
    return [name for name in declared if name in names]


def find_effect(profile: Profile, field: str, sample: str | None = None) -> Effect | None:
    """Return what a field does to START of a profile; None if the profile refuses it by name.

    If the profile refuses every sample, all of the effect is empty, `sample` too.
    """
    request = choose_request(profile, field, sample)
    if request is None:
        return None
    if field not in request:
        return Effect("", (), (), (), (), False, False, ())
    old, new = _render_start(profile, {}), _render_start(profile, request)
    prefix = profile.templates["JOB_DIRECTIVES"].directive_prefix
    old_shell, old_directives = _split_job(old.job, prefix)
    new_shell, new_directives = _split_job(new.job, prefix)
    directives = tuple(line for line in new_directives if line not in old_directives)
    changed = [m for m in _ASSIGNMENT.finditer(_omit_program(new_shell)) if m[0] not in old_shell]
    functions = _read_job_functions(profile)
    read = dict.fromkeys(m[0] for m in changed if _is_read(m[1], new_shell + functions))
    old_rest, new_rest = (_ASSIGNMENT.sub("", _omit_program(s)).split() for s in (old_shell, new_shell))
    old_program, new_program = (
        s.partition("gpe_run")[2].partition("\n)\n")[0] for s in (old_shell, new_shell)
    )
    others = (old_rest, old_program) != (new_rest, new_program)
    pieces = tuple(_list_pieces(profile, field))
    options = _find_options(profile, old, new, directives)
    told = bool(changed) and not (read or others or directives or options)
    shown = tuple(line.removeprefix(f"{prefix} ") for line in directives)
    effect = Effect(request[field], shown, options, pieces, tuple(read), others, told, ())
    if effect.is_something:
        return effect
    return effect._replace(
        start_lines=tuple(n for n in new.rest.splitlines() if n not in old.rest.splitlines())
    )


def _list_pieces(profile: Profile, field: str) -> list[str]:
    """Return the fields of START whose Value applies on the condition of a field, or of such a piece."""
    declared = get_plan(profile, START, "", None).declarations.values()
    names = [field]
    for name in names:
        names += [f.name for f in declared if f.when == name and f.name not in names]
    return names[1:]


def _split_job(job: str, prefix: str) -> tuple[str, list[str]]:
    """Return the shell code of a job script, and its directives."""
    lines = job.split("\n")
    directives = [line for line in lines if prefix and (line.startswith(prefix) or _DIRECTIVE.match(line))]
    return "\n".join(line for line in lines if line not in directives), directives


def choose_request(profile: Profile, field: str, sample: str | None = None) -> dict[str, str] | None:
    """Return a request with a sample value of a field that the profile accepts, and what the field needs.

    None: the profile refuses the field by name. An empty request: it refuses every sample.
    """
    plan = get_plan(profile, START, "", None)
    declared = plan.declarations.get(field)
    with_others = {n: v for n, v in COMPANIONS.get(field, {}).items() if n in plan.settable}
    if declared is not None and declared.requires:
        with_others[declared.requires] = SAMPLES.get(declared.requires, OTHER_SAMPLES)[0]
    tags = tuple(tag.name for tag in declared.tags) if declared is not None else ()
    candidates = (sample,) if sample is not None else (SAMPLES.get(field) or (*tags, *OTHER_SAMPLES))
    for value in candidates:
        try:
            _render_start(profile, with_others | {field: value})
        except (UnknownFieldError, NotSettableError):
            return None
        except ValueRefusedError:
            continue
        return with_others | {field: value}
    return {}


def _render_start(profile: Profile, request: Mapping[str, str]) -> _Start:
    """Incarnate START; what a request may not set, but a site or the context may, is in the context."""
    declared = get_plan(profile, START, "", None).declarations
    of_site = {n: v for n, v in request.items() if n in declared and _is_site_field(declared[n])}
    context = {"USER_NAME": "user", "WORKING_DIRECTORY": WORKING_DIRECTORY} | of_site
    fields = {n: v for n, v in request.items() if n not in of_site}
    found = incarnate(profile, START, fields=fields, context=context, strict=True)
    job = found.job_script or ""
    rest = re.sub(END_WORD_PATTERN, "END", found.text.replace(job, ""))
    return _Start(build_self_contained_script(found), job, rest)


def _read_job_functions(profile: Profile) -> str:
    """Return the functions of a profile's job scripts, without those for NODE_FILE and for the application Processes."""
    text = "".join(s.body.text for _, s in profile.list_static_scripts() if s.file_name.startswith("job"))
    return re.sub(r"(?ms)^[^\n]*\bgpe_(?:print_nodes|run_processes)\(\) \{.*?^\}$", "", text)


def _omit_program(shell: str) -> str:
    """Return the shell code of a job script without the line that runs the program, whose words are not its own."""
    return re.sub(r"(?ms)\bgpe_run\b.*?^\)$", "", shell)


def _is_read(variable: str, script: str) -> bool:
    """Return whether a script reads a shell variable, other than to give it to the program.

    The words NAME=VALUE of the functions of a job script are the variables GPE_NAME or gpe_name.
    """
    own = f"gpe_{variable.lower()}"
    names = f"(?:GPE_)?{variable}|{own}" if f"{variable}=*) {own}=" in script else f"(?:GPE_)?{variable}"
    uses = re.findall(rf"\S*\$\{{?(?:{names})\b", script)
    return any(not re.match(r"(export )?GPE_\w+=", use) for use in uses)


def _find_options(profile: Profile, old: _Start, new: _Start, directives: Sequence[str]) -> tuple[str, ...]:
    """Return the words that only the second script gives to the command that submits, behind its name."""
    if old.rest == new.rest or not re.search(rf"\b(?:{'|'.join(SUBMIT_COMMANDS)})\b", new.rest):
        return ()
    before, after = _run_start(old.text, profile.name), _run_start(new.text, profile.name)
    words = list[str]()
    for tag, _, _, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag in {"insert", "replace"}:
            is_value = re.fullmatch("-[A-Za-z]+", after[start - 1]) and not after[start].startswith("-")
            words += after[start - 1 if is_value else start : end]
    # Some profiles hand over the directives as words, too.
    known = {word for line in directives for word in line.split()}
    words = [word for word in words if word not in known]
    return (after[0], *words) if words else ()


@cache
def _run_start(text: str, profile: str) -> tuple[str, ...]:
    """Run a profile's START up to the command that submits; return that command's words."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for command in (*SUBMIT_COMMANDS, *OTHER_COMMANDS):
            stand_in = home / "bin" / command
            stand_in.parent.mkdir(exist_ok=True)
            stand_in.write_text(_NOTE_WORDS)
            stand_in.chmod(0o755)
        for dependency in SAMPLES["DEPENDENCY"]:  # jobs of this profile, which have ended
            job = home / ".gpe" / "jobs" / profile / dependency.partition(":")[2]
            job.mkdir(parents=True, exist_ok=True)
            (job / ".gpe_exit_status").write_text("0\n")
        environment = {"HOME": name, "PATH": f"{home}/bin:{os.environ.get('PATH', os.defpath)}"}
        script = text.replace(WORKING_DIRECTORY, f"{home}/job")
        done = subprocess.run(
            ["sh", "-s"], input=script, env=environment, cwd=name, capture_output=True, text=True, check=False
        )
        words = home / "words"
        if not words.exists():
            message = f"START submitted nothing: {done.stderr}"
            raise LookupError(message)
        *_, last, _ = words.read_text().split("\036")
        return tuple(word.replace(name, "") for word in last.split("\037")[:-1])


# The page, and tables of a few fields


def format_batch_systems_page() -> str:
    """Return the page that compares the bundled profiles."""
    names = list_batch_systems()
    loaded = [load_profile(name) for name in names]
    head = [f"[{name}](profiles/{name}.md)" for name in names]
    prefixes = {p.name: p.templates["JOB_DIRECTIVES"].directive_prefix for p in loaded}
    shown_prefixes = ", ".join(
        f"{format_code(prefix)} ({name})" for name, prefix in prefixes.items() if prefix
    )
    fields = [_format_row(field, loaded, "refused") for field in list_job_fields()]
    site_fields = [_format_row(field, loaded, "none") for field in list_site_fields()]
    times = [
        [label, *(_format_effect(find_effect(p, "WALLTIME", str(seconds))) for p in loaded)]
        for label, seconds in DURATIONS.items()
    ]
    templates = [
        [format_code(name), *(find_owner(p, name) for p in loaded)]
        for name in dict.fromkeys(name for p in loaded for name in p.templates)
    ]
    experimental = [
        f"{format_code(profile.name)} ({words})"
        for profile in loaded
        if (words := profile.get_value(START, EXPERIMENTAL))
    ]
    return f"""# All batch systems

What each bundled profile makes of the same request. These tables are made from the profiles' own scripts whenever the manual
is built.

Experimental are {", ".join(experimental)}.

## Fields of a job

A request gives one field the value in the first column, and other fields that it needs. A cell shows what that changes:

- a directive of the job script, without its beginning: {shown_prefixes}
- options on the command line of the command that submits, with the name of the command
- *job script*: what the job script does itself: a variable that its shell code reads, or [pieces](language.md#a-value-on-a-condition)
  of shell code that are only in such a job
- *variable*: the job script only tells the program, by a variable `GPE_...`
- *refused*: START does not take the field. The request is refused by name: nothing is ignored in silence.
- *other values*: the profile takes none of the values that were tried; `OPTIONS` has none until a site allows some.

A value before a colon is used in the place of that in the first column, which the profile would refuse.

{format_table(["field", *head], fields)}
## Fields of a site

Only a site's profile, or the context, gives these values. *none*: the profile does not use the field.

{format_table(["field", *head], site_fields)}
## Wall times

How each profile writes a `WALLTIME`, which is given in seconds. Where the batch system counts minutes, they are rounded up.

{format_table(["wall time", *head], times)}
## Templates

*own*: the profile has a script of its own. Otherwise the profile from which it inherits the script; *none*: it has no such
template.

{format_table(["template", *head], templates)}"""


def find_owner(profile: Profile, template: str) -> str:
    """Return `own`, the name of the profile from which the template is inherited, or `none`."""
    if template not in profile.templates:
        return "none"
    owner = next(d.name for d in profile.documents if template in d.templates)
    return "own" if owner == profile.name else owner


def format_effects_table(fields: Sequence[str]) -> str:
    """Return the table of what each bundled profile makes of some options: a row for each batch system."""
    loaded = [load_profile(name) for name in list_batch_systems()]
    options = {row.name: row.flags[0] for row in FIELDS.values() if row.flags}
    columns = [
        [cell.replace(format_code(field), format_code(options[field])), *cells]
        for field in fields
        for cell, *cells in [_format_row(field, loaded, "refused")]
    ]
    names = [f"[{profile.name}](../profiles/{profile.name}.md)" for profile in loaded]
    head, *rows = zip(["profile", *names], *columns, strict=True)
    table = format_table(head, rows)
    return f"{table}\n{' '.join(text for word, text in _CELL_WORDS.items() if word in table)}\n"


def _format_row(field: str, profiles: Sequence[Profile], refused: str) -> list[str]:
    effects = [find_effect(profile, field) for profile in profiles]
    samples = [effect.sample for effect in effects if effect is not None and effect.sample]
    sample = next((s for s in SAMPLES.get(field, ()) if s in samples), "".join(samples[:1]))
    name = f"{format_code(field)} {format_code(sample.strip())}" if sample else format_code(field)
    return [name, *(_format_effect(effect, sample, refused) for effect in effects)]


def _format_effect(effect: Effect | None, usual_sample: str = "", refused: str = "refused") -> str:
    """Return a cell: what a field becomes."""
    if effect is None:
        return refused
    if not effect.sample:
        return "other values"
    parts = list(effect.directives)
    if effect.options:
        parts.append(" ".join(effect.options))
    cells = [format_code(part) for part in parts or effect.start_lines]
    if not cells and (effect.pieces or effect.variables or effect.changes_script):
        cells.append(
            " ".join(["job script", *map(format_code, (effect.pieces or effect.variables)[:MAX_NAMES])])
        )
    if effect.is_only_told:
        cells.append("variable")
    if usual_sample and effect.sample != usual_sample:
        cells.insert(0, f"{format_code(effect.sample)}:")
    return "<br>".join(cells)
