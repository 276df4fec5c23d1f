"""Write the profile that a site starts from, with the inherited fields in comments."""

from __future__ import annotations

import os
import re
import shlex
from os import path
from typing import TYPE_CHECKING, Final

from osprofile.authoring.writer import escape_attribute, escape_text, format_fields, format_new_document
from osprofile.errors import NotFoundError
from osprofile.profile.model import (
    FILE_SAFE_NAME_HINT,
    FILE_SAFE_NAME_PATTERN,
    JOB_DIRECTIVES,
    PASSED,
    SITE_CONFIRM,
    SITE_CONTACT,
    SITE_NAME,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from osprofile.profile.model import Field, Profile

_INTRODUCTION: Final = """\
{name}: what is particular to this site; all else is inherited from {parent}{of_its_own_name}

     As {name}/profile.xml it belongs in ~/.config/osprofile/profiles, /etc/osprofile/profiles or a
     directory of $OSPROFILE_PATH. Then:

       incarnate lint {word}       what is wrong with it
       incarnate show -p {word}    the resolved profile, and where each part of it is defined
       incarnate START -p {word}   the script that starts a job

     The option schemas of incarnate show prints where the XML schemas are, and the settings for editors.

     An inherited item is replaced by one of the same kind and name, whole. To change a field, open
     its comment: remove the line that begins it and the line that ends it.

     <Value> fixes a field: no request can change it. <Default> is its value unless a request sets
     another one. A text may be in a file next to this one: <idb:Value ext:src="setup.sh"/>, and
     also <idb:Body ext:src="..."/>."""
_NOTES: Final = (
    "Each job works in a directory of its own below this one; all nodes must see it.",
    "What joins the parts of a path.",
)
_GLOBAL_FIELDS: Final = """
  <!-- The fields of all templates, as they are inherited: what a request may set, and the site itself. -->
  <idb:Template>"""
_MAX_NOTE: Final = "    <!-- A Max needs a Default, and a tag for the empty value: else a job without a wall time has no limit. -->"
_REMOVAL: Final = """
  <!-- Removes what is inherited: here, nobody can send signals to jobs. -->
  <!--
  <idb:Template name="SIGNAL" ext:absent="true"/>
  -->"""
_APPLICATION: Final = """
  <!-- An application of the site's own, for requests that name it, as -a Greeting does.
       A value that a request sets stands in single quotes, each quote in it escaped.
  -->
  <!--
  <idb:Template name="GREETING">
    <idb:Description>Greets, from the node that the job runs on.</idb:Description>
    <idb:Invocation>
      <idb:Body><![CDATA[printf 'Greetings, %s, from %s\\n' '<GREETED/'/'\\\\''>' "$(hostname)"
]]></idb:Body>
    </idb:Invocation>
    <idb:Field name="GREETED">
      <idb:Description>Who is greeted.</idb:Description>
      <idb:Default>world</idb:Default>
    </idb:Field>
  </idb:Template>
  <osp:Application name="Greeting" template="GREETING">
    <osp:ApplicationName>Greeting</osp:ApplicationName>
    <osp:ApplicationVersion>1.0</osp:ApplicationVersion>
  </osp:Application>
  -->"""
_NEW_FIELD: Final = """\
    <idb:Field name="FEATURES" ext:pattern="[A-Za-z0-9_]+" ext:directive="{} -l $1">
      <idb:Description>The value adds a directive, in which $1 is the value. Write your option.</idb:Description>
      <idb:Default/>
    </idb:Field>"""
_SITE_FIELD: Final = """\
    <idb:Field name="{}" isSettable="false">
      <idb:Description>{}</idb:Description>
      <idb:Value>{}</idb:Value>
    </idb:Field>"""
_SITE_FIELDS: Final = (
    (SITE_NAME, "The site's name, in the title of its page.", "the cluster of Example University"),
    (SITE_CONTACT, "What users should know of the site, as whom to ask.", "Questions: hpc@example.org"),
    (
        SITE_CONFIRM,
        "A job above one of these amounts needs a yes at the terminal, or the option yes.",
        "NODES>100 WALLTIME>86400",
    ),
)
"""Fields that the engine reads, which no bundled profile declares: name, description, an example of a value."""


def render_skeleton(name: str, parent: Profile, folder: str | None = None) -> str:
    """Return the document of a new profile that extends another without changing anything.

    The global fields of the parent that a site may want to change are in comments; the document stays
    valid if any of them is uncommented. `folder` is where the commands in the introduction find the
    profile, if they do not find it by its name. Raises `NotFoundError` for a name that is not allowed.
    """
    check_name(name)
    introduction = _INTRODUCTION.format(
        name=hide_hyphens(name),
        parent=hide_hyphens(parent.name),
        of_its_own_name="\n     of the next directory on the search path." if name == parent.name else "",
        word=format_shell_word(folder if folder and folder.isprintable() else name),
    )
    content = [
        *_list_global_fields(parent),
        *([_REMOVAL] if "SIGNAL" in parent.templates else []),
        _APPLICATION,
    ]
    return format_new_document(
        (name, parent.name), introduction, content,
        root=parent.uspace_root, delimiter=parent.delimiter, notes=_NOTES,
    )  # fmt: skip


def render_target_profile(
    name: str,
    parent: Profile,
    uspace_root: str,
    fields: Mapping[str, str],
    queue_fields: Iterable[Field] = (),
) -> str:
    """Return the document of a profile that is another one on a machine of its own.

    `uspace_root` is its UspaceRoot, `fields` are defaults of fields that the parent's SHELL declares, as SSH:HOST;
    `queue_fields` say which queues there are. Raises `NotFoundError` for a name that is not allowed.
    """
    check_name(name)
    declared = parent.get_template("SHELL").fields
    own = [*(declared[n]._replace(default=value) for n, value in fields.items()), *queue_fields]
    return format_new_document(
        (name, parent.name),
        f"{hide_hyphens(name)}: what is not here is inherited from {hide_hyphens(parent.name)}.",
        ["  <idb:Template>", *format_fields(own), "  </idb:Template>"] if own else (),
        root=uspace_root,
        delimiter=parent.delimiter,
        notes=("Each job works in a directory below this one: USER/JOB. All nodes must see it.", ""),
    )


def check_name(name: str) -> None:
    """Raise `NotFoundError` for a name that no profile may have."""
    if not FILE_SAFE_NAME_PATTERN.fullmatch(name):
        message = f"profile name {quote_value(name)} is not allowed"
        raise NotFoundError(message, hint=FILE_SAFE_NAME_HINT)


def format_shell_word(text: str) -> str:
    """Return a text as a shell word for a comment in a document."""
    # To a shell, '' within a word is nothing: also where the word is in single quotes.
    return re.sub("-(?=-)", "-''", shlex.quote(text))


def hide_hyphens(name: str) -> str:
    """Return a name for a comment in a document, which cannot contain two adjacent hyphens."""
    return re.sub("-(?=-)", "- ", name)


def _is_for_sites(field: Field) -> bool:
    """Return whether a site may want to change a field: a request may omit it, or it is empty.

    The engine sets PASSED.
    """
    if field.name == PASSED:
        return False
    return field.default is not None if field.settable else "" in {field.default, field.value}


def _list_global_fields(parent: Profile) -> Iterator[str]:
    """Yield the template of global fields, each in a comment: those of the parent, and examples of others."""
    fields = [f for f in parent.global_fields.values() if _is_for_sites(f)]
    blocks = [(field.name, "\n".join(format_fields([field]))) for field in fields]
    directives = parent.templates.get(JOB_DIRECTIVES)
    if directives is not None and directives.directive_prefix and "FEATURES" not in parent.global_fields:
        prefix = re.sub(r"([\\$>])", r"\\\1", directives.directive_prefix)
        blocks.append(("", _NEW_FIELD.format(escape_attribute(prefix))))
    if not blocks:
        return
    blocks += [("", _SITE_FIELD.format(name, text, escape_text(value))) for name, text, value in _SITE_FIELDS]
    yield _GLOBAL_FIELDS
    for name, block in blocks:
        if "--" not in block:  # XML does not allow it in a comment
            yield from (_MAX_NOTE,) if name == "WALLTIME" else ()
            yield from ("    <!--", block, "    -->")
    yield "  </idb:Template>"


def find_folder(directory: str, name: str, search_path: Iterable[str]) -> str | None:
    """Return the absolute path of DIRECTORY/NAME, or None if the directory is on the search path."""
    if path.realpath(directory) in map(path.realpath, search_path):
        return None
    return path.abspath(path.join(directory, name))


def write_skeleton(directory: str, name: str, document: str) -> str:
    """Write a document to `DIRECTORY/NAME/profile.xml` and return its path; create directories.

    Raises `FileExistsError` if the file exists, `OSError` if it cannot be written.
    """
    folder = path.join(directory, name)
    os.makedirs(folder, exist_ok=True)
    file_path = path.join(folder, "profile.xml")
    with open(file_path, "x", encoding="utf-8", newline="\n") as profile_file:
        profile_file.write(document)
    return file_path
