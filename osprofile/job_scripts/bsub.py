"""The options of bsub, and what they ask for. Source: its manual page of LSF 10.1."""

from __future__ import annotations

import re
from typing import Final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    CommandLine,
    Option,
    OptionValue,
    UsageError,
    split_list,
)
from osprofile.job_scripts.script_request import (
    ExactOption,
    Given,
    ScriptRequest,
    convert_job_name,
    expand_file_name,
    leave_out_given,
    read_environment,
)
from osprofile.text import quote_value

BSUB_TABLE: Final = (
    Option("queue", ("-q",), "NAME"),
    Option("name.array", ("-J",), "NAME[INDICES]"),
    Option("processes", ("-n",), "N"),
    Option("nodes", ("-nnodes",), "N"),
    Option("walltime", ("-W",), "[HOURS:]MINUTES"),
    Option("cputime", ("-c",), "[HOURS:]MINUTES"),
    Option("project", ("-P",), "NAME"),
    Option("exclusive", ("-x",)),
    Option("reservation", ("-U",), "NAME"),
    Option("memory", ("-M",), "SIZE"),
    Option("gpus", ("-gpu",), "num=N"),
    Option("span", ("-R",), "EXPRESSION"),
    Option("export", ("-env",), "LIST"),
    Option("stdin", ("-i", "-is"), "FILE"),
    Option("stdout", ("-o", "-oo"), "FILE"),
    Option("stderr", ("-e", "-eo"), "FILE"),
    Option("directory", ("-cwd",), "DIR"),
    Option("notify", ("-u",), "ADDRESS"),
    Option("notify.begin", ("-B",)),
    Option("notify.end", ("-N",)),
    Option("notify.fail", ("-Ne",)),
    Option("dependency", ("-w",), "EXPRESSION"),
    Option("requeue", ("-r",)),
    Option("requeue.no", ("-rn",)),
    Option("dropped", ("-Jd", "-wt", "-wa", "-g"), "TEXT"),
    Option("dropped", ("-K", "-I", "-Ip", "-Is")),
)
_TIME: Final = re.compile(r"(?:([0-9]{1,6}):)?([0-9]{1,9})(?:/.*)?")
_NAME: Final = re.compile(r"([^\[]*)(?:\[([^\]]*)\](%[0-9]+)?)?")
_LETTERS: Final = re.compile(r"%[JI]")
_CONDITION: Final = re.compile(r"(done|exit|ended)\(([0-9]+)\)|([0-9]+)")
_CONDITIONS: Final = {"done": "after_ok", "exit": "after_not_ok", "ended": "after_any"}
_TEXTS: Final = ("queue", "project", "reservation", "directory")


def read_bsub(merged: CommandLine, given: Given) -> ScriptRequest:
    """Return what options of bsub ask for. Raises `UsageError`."""
    options, sources = leave_out_given(merged, given, besides=("name.array",))
    request = ScriptRequest(sources=sources, others=[*options.get_all("")])
    request.attributes |= {name: options.get_text(name) for name in _TEXTS}
    request.attributes["exclusive"] = True if "exclusive" in options else None
    if "requeue" in options or "requeue.no" in options:
        request.attributes["requeue"] = "requeue" in options
    for name, parse in (
        ("nodes", quantities.parse_count),
        ("walltime", parse_lsf_time),
        ("cputime", parse_lsf_time),
    ):
        if (option := options.get(name)) is not None:
            request.attributes[name] = parse(option)
    if (count := options.get("processes")) is not None:
        first, _, last = count.text.partition(",")
        request.attributes["processes"] = quantities.parse_count(count._replace(text=first))
        if last not in {"", first}:
            refusal = UsageError(f"{count}: {quote_value(count.text)} is a range", hint="give one number")
            request.exact.append(ExactOption(count, ("processes",), refusal))
    request.dropped += options.get_all("dropped")
    _read_name(options, request, given)
    _read_sizes(options, request)
    _read_places(options, request, given)
    _read_mail(options, request, given)
    _read_dependency(options, request)
    _read_files(options, request, given)
    if (option := options.get("export")) is not None:
        read_environment(request, option, [word.strip() for word in split_list(option)], "all")
    return request


def parse_lsf_time(option: OptionValue) -> int:
    """Return a time of LSF in seconds: `MIN` or `H:MIN`, perhaps with the name of a host."""
    match = _TIME.fullmatch(option.text)
    seconds = (int(match[1] or 0) * 60 + int(match[2])) * 60 if match else 0
    if seconds == 0:
        raise UsageError(f"{option}: {quote_value(option.text)} is not a time", hint="minutes, or as in 1:30")
    return seconds


def _read_name(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read `NAME[INDICES]%LIMIT`."""
    option = options.get("name.array")
    match = _NAME.fullmatch(option.text) if option is not None else None
    if option is None or match is None:
        if option is not None:
            message = f"{option}: {quote_value(option.text)} is not a name"
            raise UsageError(message, hint="as in sweep or sweep[1-10]%4")
        return
    if match[1] and "JOB_NAME" not in given.fields:
        convert_job_name(request, option._replace(text=match[1]))
    if match[2] and not given.is_array:
        request.attributes["array"] = match[2] + (match[3] or "")
        request.sources["ARRAY"] = option


def _read_sizes(options: CommandLine, request: ScriptRequest) -> None:
    """Read -M, if it has a unit, since a number alone has that of the site; and the number of -gpu."""
    if (memory := options.get("memory")) is not None:
        if memory.text[-1:].isalpha():
            request.attributes["memory"] = quantities.parse_slurm_size(memory)
        else:
            request.others.append(memory)
    if (gpus := options.get("gpus")) is not None:
        match = re.fullmatch(
            r"num=([0-9]{1,4})(?::(?:mode=shared|j_exclusive=(?:yes|no)|mps=no))*", gpus.text
        )
        if match is not None:
            request.attributes["gpus"] = int(match[1])
        else:
            request.others.append(gpus)


def _read_places(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read span[hosts=1] and span[ptile=N] of -R; the rest of its expressions have no field."""
    for option in options.get_all("span"):
        match = re.fullmatch(r"span\[(?:hosts=1|ptile=([1-9][0-9]{0,5}))\]", option.text.replace(" ", ""))
        processes = given.processes or request.attributes.get("processes") or 1
        if match is None:
            request.others.append(option)
        elif "NODES" not in given.fields:
            request.attributes["nodes"] = -(-int(processes) // int(match[1])) if match[1] else 1
            request.sources["NODES"] = option


def _read_mail(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    events = [event for event in ("begin", "end", "fail") if f"notify.{event}" in options]
    if events:
        request.attributes["notify"] = options.get_text("notify") or given.user_name
        request.attributes["notify_events"] = ",".join(events)
    elif "notify" in options:  # of the mail with the output, which goes to a file here
        request.dropped += options.options["notify"]


def _read_dependency(options: CommandLine, request: ScriptRequest) -> None:
    """Read `done(12) && ended(13)`."""
    if (option := options.get("dependency")) is None:
        return
    for part in option.text.split("&&"):
        match = _CONDITION.fullmatch(part.strip())
        if match is None:
            hint = "done(ID), exit(ID) and ended(ID) are, with && between them"
            refusal = UsageError(f"{option}: {quote_value(part.strip())} is not supported", hint=hint)
            request.exact.append(ExactOption(option, tuple(_CONDITIONS.values()), refusal))
            return
        attribute = _CONDITIONS[match[1]] if match[1] else "after_ok"
        request.attributes.setdefault(attribute, []).append(match[2] or match[3])


def _read_files(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read the names of the files; -o and -e append to them, -oo and -eo do not."""
    is_array = given.is_array or request.attributes.get("array")
    letters = {"%J": "%j", "%I": "%a" if is_array else "0"}
    for attribute in ("stdin", "stdout", "stderr"):
        if (option := options.get(attribute)) is not None:
            setattr(request, attribute, expand_file_name(option, _LETTERS, letters))
            if option.flag in {"-o", "-e"}:
                request.fields["APPEND_OUTPUT"] = "true"
    request.joins = True
