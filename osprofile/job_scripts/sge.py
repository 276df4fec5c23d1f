"""The options of the qsub of Grid Engine, and what they ask for. Source: submit(1) of Son of Grid Engine."""

from __future__ import annotations

import os
import re
from typing import Final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    CommandLine,
    Option,
    OptionValue,
    UsageError,
)
from osprofile.job_scripts.script_request import (
    ExactOption,
    Given,
    ScriptRequest,
    convert_job_name,
    expand_file_name,
    leave_out_given,
    read_variables,
)
from osprofile.text import quote_value

SGE_TABLE: Final = (
    Option("queue", ("-q",), "NAME"),
    Option("name", ("-N",), "NAME"),
    Option("project", ("-P",), "NAME"),
    Option("processes.slots", ("-pe",), "NAME SLOTS"),
    Option("resources", ("-l",), "LIST"),
    Option("walltime", ("-l h_rt",), "TIME"),
    Option("cputime", ("-l h_cpu",), "TIME"),
    Option("array", ("-t",), "INDICES"),
    Option("array.limit", ("-tc",), "N"),
    Option("after_any", ("-hold_jid",), "LIST"),
    Option("priority", ("-p",), "N"),
    Option("requeue", ("-r",), "y|n"),
    Option("reservation", ("-ar",), "ID"),
    Option("notify_events", ("-m",), "bea|n"),
    Option("notify", ("-M",), "ADDRESSES"),
    Option("variables", ("-v",), "LIST"),
    Option("export", ("-V",)),
    Option("here", ("-cwd",)),
    Option("directory", ("-wd",), "DIR"),
    Option("shell", ("-S",), "PATH"),
    Option("stdin", ("-i",), "FILE"),
    Option("stdout", ("-o",), "FILE"),
    Option("stderr", ("-e",), "FILE"),
    Option("join", ("-j",), "y|n"),
    Option(
        "dropped",
        ("-ac", "-ckpt", "-js", "-w", "-b", "-shell", "-sync", "-now", "-notify", "-R"),
        "VALUE",
        is_optional=True,
    ),
    Option("dropped", ("-terse", "-verify")),
)
_MAIL_EVENTS: Final = {"b": "begin", "e": "end", "a": "fail", "s": ""}
_NAMES: Final = re.compile(r"\$(?:JOB_ID|TASK_ID|JOB_NAME|USER|HOME|HOSTNAME|[A-Z_]+)")


def read_sge(merged: CommandLine, given: Given) -> ScriptRequest:
    """Return what options of the qsub of Grid Engine ask for. Raises `UsageError`."""
    options, sources = leave_out_given(merged, given)
    request = ScriptRequest(sources=sources, others=[*options.get_all("")])
    text = options.get_text
    convert_job_name(request, options.get("name"))
    request.attributes |= {
        "queue": text("queue"),
        "project": text("project"),
        "reservation": text("reservation"),
        "directory": text("directory"),
        "requeue": {"y": True, "yes": True, "n": False, "no": False}.get(text("requeue") or ""),
        "priority": text("priority"),
    }
    if (array := text("array")) is not None and array != "n":
        request.attributes["array"] = array + (f"%{limit}" if (limit := text("array.limit")) else "")
    request.dropped += options.get_all("dropped")
    request.interpreter = text("shell") or ""
    _read_slots(options, request, given)
    _read_resources(options, request, given)
    _read_mail(options, request, given)
    read_variables(options, request)
    _read_files(options, request, given)
    if (after := options.get("after_any")) is not None:
        _read_ids(after, request)
    return request


def _read_ids(option: OptionValue, request: ScriptRequest) -> None:
    """Read the ids of jobs; names and patterns of names are for Grid Engine."""
    ids = option.text.split(",")
    if all(re.fullmatch("[0-9]+", word) for word in ids):
        request.attributes["after_any"] = ids
        return
    message = f"{option}: {quote_value(option.text)} is not supported"
    refusal = UsageError(message, hint="give the ids of jobs, as in 12,13")
    request.exact.append(ExactOption(option, ("after_any",), refusal))


def _read_slots(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read `-pe NAME SLOTS`: the parallel environment and the number of processes."""
    option = options.get("processes.slots")
    if option is not None:
        name, _, slots = option.text.partition(" ")
        request.attributes["processes"] = quantities.parse_count(option._replace(text=slots))
        if "PE" not in given.fields:
            request.fields["PE"] = name
            request.sources["PE"] = option


def _read_resources(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read -l: the limits of time; what the machine must have; other limits have no field."""
    needs: list[str] = []
    times = {"h_rt": "walltime", "h_cpu": "cputime"}
    for option in options.get_all("resources"):
        for part in option.text.split(","):
            name, _, text = part.partition("=")
            field = times[name].upper() if name in times else "CONSTRAINT"
            if name not in times and re.match("[hs]_", name):
                request.others.append(option._replace(text=part))
            elif field in given.fields:
                continue
            elif name in times:
                value = option._replace(flag=f"{option.flag} {name}", text=text)
                request.attributes[times[name]] = quantities.parse_pbs_time(value)
                request.sources[field] = value
            else:
                needs.append(part)
                request.sources[field] = option
    if needs:
        request.attributes["constraint"] = ",".join(needs)


def _read_mail(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    points, users = options.get("notify_events"), options.get("notify")
    text = "n" if points is None else points.text
    if text == "n":
        request.dropped += [option for option in (points, users) if option is not None]
    elif points is not None and set(text) - _MAIL_EVENTS.keys():
        raise UsageError(f"{points}: {quote_value(text)} is not supported", hint="n, or as in bea")
    elif events := dict.fromkeys(event for c in text if (event := _MAIL_EVENTS[c])):
        request.attributes["notify"] = given.user_name if users is None else users.text
        request.attributes["notify_events"] = ",".join(events)


def _read_files(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    is_array = given.is_array or request.attributes.get("array")
    name = request.attributes.get("name") or given.name
    letters = {
        "$JOB_ID": "%j",
        "$TASK_ID": "%a" if is_array else "undefined",
        "$HOSTNAME": "%N",
        "$JOB_NAME": name.replace("%", "%%"),
        "$USER": given.user_name,
        "$HOME": os.path.expanduser("~").replace("%", "%%"),
    }
    for target in ("stdin", "stdout", "stderr"):
        if (option := options.get(target)) is not None:
            option = option._replace(text=re.sub("^[A-Za-z0-9.-]*:", "", option.text))  # HOST:PATH
            if option.text.endswith("/") or os.path.isdir(option.text):
                letter = target[3]
                task = ".$TASK_ID" if is_array else ""
                option = option._replace(text=os.path.join(option.text, f"$JOB_NAME.{letter}$JOB_ID{task}"))
            setattr(request, target, expand_file_name(option, _NAMES, letters))
    if (options.get_text("join") or "n")[:1] == "y":
        request.joins, request.stderr = True, None
        if request.stdout is None:
            request.fields["STDERR"] = "stdout"
            request.sources["STDERR"] = options.options["join"][-1]
