"""Rules about documents (1xx) and about what a resolved profile must have (2xx)."""

from __future__ import annotations

from typing import Final

from osprofile.lint.rules.rule import (
    Rule,
    format_application,
    format_directive_field,
    format_field,
    format_fixed_field,
    format_global_fields,
    format_profile,
    format_static_script,
    format_template,
    format_variations,
)

_STORAGE_XML: Final = '<osp:Storage name="HOME" template="HOME"/>'
_HOME_TEMPLATE: Final = format_template("/home/<USER_NAME>", name="HOME")
_EMPTY_BODY: Final = (
    '<idb:Template name="HOLD"><idb:Invocation><idb:Body ext:src="FILE"/></idb:Invocation></idb:Template>'
)
_STATE_FIELD: Final = (
    '<idb:Field name="STATE" isSettable="false"><idb:Tag name="R">RUNNING</idb:Tag></idb:Field>'
)
_STATUS_END: Final = format_fixed_field("STATUS_END", "#end")
_STATUS_FIELDS: Final = (format_fixed_field("STATUS_PATTERN", r"(?<id>\d+) (?<state>\w)"), _STATE_FIELD)
_OWN_IDS: Final = format_global_fields(format_fixed_field("JOB_ID_PATTERN", "[1-9][0-9]*"))
_JOB_TEMPLATES: Final = (
    format_variations("GET_JOB_STATUS", {"": "qstat", "ALL": "qstat -a"}, _STATE_FIELD, _STATUS_END),
    *(format_template(f"q{name.lower()}", name=name) for name in ("HOLD", "RESUME", "ABORT")),
)
_LEVEL_BODY: Final = "hold<VERBOSELY> -v'<LEVEL/'/'\\\\''>'"
_LEVEL_FIELD: Final = (
    '<idb:Field name="VERBOSELY" isSettable="false" ext:when="LEVEL"><idb:Value> -v</idb:Value></idb:Field>'
)

RULES: Final = (
    Rule(
        "OSP101", "error", "the file cannot be read as a profile",
        "A profile is encoded in UTF-8, UTF-16 or an ISO-8859, has at most 8 MiB, and nests its elements at most 32 deep.",
        '<?xml version="1.0" encoding="utf-32"?>\n' + format_profile(""),
        '<?xml version="1.0" encoding="UTF-8"?>\n' + format_profile(""),
    ),
    Rule(
        "OSP102", "error", "not well-formed XML",
        "Most often this is a bare < or & in a script: put the script's text into CDATA.",
        '<idb:Template name="T"><idb:Invocation><idb:Body>cmd < in</idb:Body></idb:Invocation>'
        "</idb:Template>",
        format_template("cmd < in", name="T"),
    ),
    Rule(
        "OSP103", "error", "declarations in a document type",
        "Entities are not supported, since a document could read files or grow without bound by them.",
        '<!DOCTYPE x [<!ENTITY e "x">]>\n' + format_profile(""),
        "<!DOCTYPE x>\n" + format_profile(""),
    ),
    Rule(
        "OSP104", "error", "not valid against the schema",
        "An element or attribute is missing, misspelled, in the wrong place, or has a bad value.",
        '<idb:Template name="T"><idb:Body>true</idb:Body></idb:Template>',
        format_template("true", name="T"),
    ),
    Rule(
        "OSP105", "error", "two elements of one kind with the same name",
        "Names of templates, storages and applications must be unique in a document, and ApplicationName and "
        "ApplicationVersion together; names of variations and fields in a template.",
        _HOME_TEMPLATE + "\n" + _HOME_TEMPLATE + "\n" + _STORAGE_XML,
        _HOME_TEMPLATE + "\n" + _STORAGE_XML,
    ),
    Rule(
        "OSP106", "error", "UspaceRoot is not absolute, or Delimiter is empty",
        "The working directories of jobs are created below UspaceRoot, whatever the current "
        "directory is. It may begin with ~, the home of the user on the target system.",
        format_profile("", 'name="example" extends="base"').replace(">/var", ">var"),
        format_profile("", 'name="example" extends="base"'),
    ),
    Rule(
        "OSP107", "error", "a static script's file name is not allowed",
        "The name may have letters, digits, dots, underscores and hyphens, and must begin with a "
        "letter or a digit: then it needs no quoting and cannot lead out of its directory.",
        format_static_script("T", "../list", "ls"),
        format_static_script("T", "list", "ls"),
    ),
    Rule(
        "OSP108", "error", "a name that cannot be used",
        "A profile's name must be that of its file or folder, and one that a request can use; a "
        "field's name must be one that a replacement can use, and have no value if the engine supplies one.",
        format_template("true", '<idb:Field name="1ST" isSettable="false"/>', name="T"),
        format_template("echo '<FIRST/'/'\\\\''>'", format_fixed_field("FIRST", "1"), name="T"),
    ),
    Rule(
        "OSP109", "warning", "the file's lines end with CR LF",
        "XML reads CR LF as LF, so nothing breaks here; other tools that read the file may keep the CR.",
        format_profile("").replace("\n", "\r\n"),
        format_profile(""),
    ),
    Rule(
        "OSP110", "error", "a carriage return in a script",
        "Batch systems reject scripts with CR LF, and a shell reads the CR as part of a word.",
        '<idb:Template name="HOLD"><idb:Invocation><idb:Body>true&#13;\ntrue</idb:Body>'
        "</idb:Invocation></idb:Template>",
        format_template("true\ntrue"),
    ),
    Rule(
        "OSP111", "error", "the file of a text cannot be used",
        "The file that ext:src names is in the profile's folder or below it, and is UTF-8 text without control "
        "characters. Its element is empty. All files of a document together have at most 8 MiB.",
        _EMPTY_BODY.replace("FILE", "../hold.sh"),
        _EMPTY_BODY.replace("FILE", "hold.sh"),
    ),
    Rule(
        "OSP201", "error", "the profile extends a profile that does not exist",
        "A parent is looked up by its name on the search path, never by a path.",
        format_profile("", 'name="example" extends="bass"'),
        format_profile("", 'name="example" extends="base"'),
    ),
    Rule(
        "OSP202", "error", "profiles extend each other",
        "The chain of parents must end. A profile may extend its own name: then its parent is the "
        "next profile of that name on the search path.",
        format_profile("", 'name="example" extends="loop"'),
        format_profile("", 'name="example" extends="base"'),
    ),
    Rule(
        "OSP203", "error", "a storage or application names a template that does not exist",
        "The template may be inherited, but the resolved profile must have it.",
        _STORAGE_XML,
        _HOME_TEMPLATE + "\n" + _STORAGE_XML,
    ),
    Rule(
        "OSP204", "error", "a required template is missing",
        "START, JOB_PROLOGUE, JOB_EPILOGUE, GET_JOB_STATUS, HOLD, RESUME, ABORT, DELETE, LIST, "
        "BIN and SHELL are needed to run jobs; most profiles inherit most of them.",
        format_profile(
            format_template("hostname", name="T") + "\n" + format_application("Executable", "T"),
            'name="example"',
        ),
        format_profile(""),
    ),
    Rule(
        "OSP205", "error", "a required variation is missing",
        "LIST needs FILE and DIR; BIN the default one, STATIC_SCRIPT and RUN_STATIC_SCRIPT; SHELL "
        "the default one and SSH; the others the default one. A template replaces all variations "
        "of the inherited one.",
        format_variations("SHELL", {"": "sh -s"}),
        format_variations("SHELL", {"": "sh -s", "SSH": "ssh -- '<SSH:HOST/'/'\\\\''>' sh -s"}),
    ),
    Rule(
        "OSP206", "warning", "a recommended variation is missing",
        "With the variation ALL of GET_JOB_STATUS, one call of the batch system returns the states "
        "of all watched jobs, instead of one call per job.",
        format_template("qstat", *_STATUS_FIELDS, name="GET_JOB_STATUS"),
        format_variations("GET_JOB_STATUS", {"": "qstat", "ALL": "qstat -a"}, *_STATUS_FIELDS, _STATUS_END),
    ),
    Rule(
        "OSP207", "warning", "there is no application Executable",
        "START runs it if a request names no application.",
        format_profile("", 'name="example" extends="parts"'),
        format_profile(
            format_template("hostname", name="T") + "\n" + format_application("Executable", "T"),
            'name="example" extends="parts"',
        ),
    ),
    Rule(
        "OSP208", "error", "a storage or application uses a template without a default variation",
        "The variation without a name is a storage's path, or an application's part of the job script.",
        format_variations("HOME", {"X": "/home/<USER_NAME>"}) + "\n" + _STORAGE_XML,
        _HOME_TEMPLATE + "\n" + _STORAGE_XML,
    ),
    Rule(
        "OSP209", "error", "an ext:patternField that names no pattern",
        "ext:patternField is the name of a global field with a fixed Value, its own or inherited, "
        "which is the field's pattern. A field has this attribute or ext:pattern, not both.",
        format_template("hold -n'<N/'/'\\\\''>'", format_field("N", "", ' ext:patternField="NUMBER"')),
        format_global_fields(format_fixed_field("NUMBER", "[1-9][0-9]*"))
        + "\n"
        + format_template("hold -n'<N/'/'\\\\''>'", format_field("N", "", ' ext:patternField="NUMBER"')),
    ),
    Rule(
        "OSP210", "error", "an ext:absent that removes nothing, or has more than a name",
        "A template, storage or application with ext:absent removes the inherited one of its name, "
        "and says nothing else but a Description.",
        '<idb:Template name="LIST_NOODLES" ext:absent="true"/>',
        '<idb:Template name="SIGNAL" ext:absent="true"><idb:Description>Not here.</idb:Description></idb:Template>',
    ),
    Rule(
        "OSP211", "warning", "an inherited script of another batch system",
        "A profile that declares the global field JOB_ID_PATTERN describes a batch system. The "
        "scripts about jobs and the machine that it inherits from a profile beyond it (HOLD, SIGNAL, "
        "LIST_NODES, ...) are for another batch system: define them, or remove them by ext:absent. "
        "Those that run a static script that it declares itself, as commands.sh of batch, or whose lines come from "
        "a fixed field of its own, are its own.",
        "\n".join([_OWN_IDS, *_JOB_TEMPLATES]),
        "\n".join([_OWN_IDS, *_JOB_TEMPLATES, '<idb:Template name="SIGNAL" ext:absent="true"/>']),
    ),
    Rule(
        "OSP212", "error", "an ext:directive that is not on a global field, or not one line",
        "A global field with ext:directive adds a line to the job script's directives. A template's own "
        "field is known only there, and a line end or an unescaped > would end the directive early.",
        format_template("hold -n'<N/'/'\\\\''>'", format_field("N", "", ' ext:directive="#PBS -W x=$1"')),
        format_directive_field("#PBS -W x=$1"),
    ),
    Rule(
        "OSP213", "error", "an ext:when that names no field, or is not on a fixed field",
        'The Value of a field with ext:when="NAME" applies only if field NAME has a value. The field has '
        'isSettable="false" and a Value; NAME is another field, global or of a template, that does not depend on it.',
        format_template(_LEVEL_BODY, _LEVEL_FIELD.replace("LEVEL", "LEVL"), format_field("LEVEL", "<idb:Default/>")),
        format_template(_LEVEL_BODY, _LEVEL_FIELD, format_field("LEVEL", "<idb:Default/>")),
    ),
    Rule(
        "OSP214", "error", "an ext:requires that names no field, or is not on a settable field",
        'A request that sets a field with ext:requires="NAME" must set field NAME, too. A request may set the field, '
        "and NAME is a field, global or of a template.",
        format_template("hold -n'<N/'/'\\\\''>'", format_field("N", "<idb:Default/>", ' ext:requires="LEVL"')),
        format_template(
            "hold -n'<N/'/'\\\\''>' -v'<LEVEL/'/'\\\\''>'",
            format_field("N", "<idb:Default/>", ' ext:requires="LEVEL"'), format_field("LEVEL", "<idb:Default/>"),
        ),
    ),
    Rule(
        "OSP215", "error", "an ext:for that is not NAME=VALUE, or not on a global field",
        "A declaration with ext:for is a case: it holds where another field has a value, as a queue's limits do. It is "
        "in the template without a name; it has Min, Max, ext:pattern, Default and a Description; both fields are "
        "declared; and the field that decides does not depend on another one, except on USER_NAME and USER_GROUPS.",
        format_global_fields(
            format_field("QUEUE", "<idb:Default/>"), format_field("MEMORY", "<idb:Max>500</idb:Max>", ' ext:for="debug"')
        ),
        format_global_fields(
            format_field("QUEUE", "<idb:Default/>"), format_field("MEMORY", "<idb:Max>500</idb:Max>", ' ext:for="QUEUE=debug"')
        ),
    ),
    Rule(
        "OSP216", "warning", "the list of all jobs has no last line",
        "A script that is cut, or whose program became empty, prints few jobs or none, and may end with 0. "
        "With STATUS_END, the last line of GET_JOB_STATUS ALL, that is no answer, and not a list without jobs.",
        format_variations("GET_JOB_STATUS", {"": "qstat", "ALL": "qstat -a"}, *_STATUS_FIELDS),
        format_variations(
            "GET_JOB_STATUS", {"": "qstat", "ALL": "qstat -a && echo '#end'"}, *_STATUS_FIELDS, _STATUS_END
        ),
    ),
)  # fmt: skip
