"""The promise: rendering is fast. A 59-line PBS script of 15 fields, against compiled jinja2.

Ours checks tags, limits, settable names and patterns and quotes what reaches a shell; the peer
gives the same bytes, with the same quoting, and checks nothing. Each call gets other values.
"""

from __future__ import annotations

import itertools
import sys
from xml.sax.saxutils import escape

import jinja2
from paired import Promise, compare, heading, rounds, timed

import osprofile
from osprofile.profile.repository import Repository

SCRIPT = r"""#!/bin/sh
#PBS -N <JOB_NAME>
#PBS -q <QUEUE>
#PBS -A <PROJECT>
#PBS -l select=<NODES>:ncpus=<CPUS>:mem=<MEMORY>mb
#PBS -l walltime=<WALLTIME>
#PBS -p <PRIORITY>
#PBS -o <STDOUT>
#PBS -e <STDERR>
#PBS -m <MAIL>
#PBS -V
set -eu
umask 077
job_name='<JOB_NAME/'/'\\''>'
queue=${PBS_QUEUE:-none}
directory='<DIRECTORY/'/'\\''>'
scratch='<SCRATCH/'/'\\''>'
export job_name queue directory scratch
log() {
  printf '%s %s\n' "$(date +%s)" "$1" >&2
}
finish() {
  code=$?
  log "ending with $code"
  printf '%s\n' "$code" > '<DIRECTORY/'/'\\''>'/.exit.new
  mv "$directory/.exit.new" "$directory/.exit"
  rm -rf -- "$scratch/run"
}
trap finish EXIT
mkdir -p -- "$directory" "$scratch/run"
cd -- '<DIRECTORY/'/'\\''>'
log 'nodes: <NODES>, cpus: <CPUS>, memory: <MEMORY>'
if [ -n "${PBS_NODEFILE:-}" ]; then
  sort -u "$PBS_NODEFILE" > nodes
else
  hostname > nodes
fi
case $(wc -l < nodes) in
  0) log 'no nodes'; exit 1 ;;
esac
OMP_NUM_THREADS=<CPUS>
export OMP_NUM_THREADS
ulimit -c 0
if [ -r input ]; then
  cp input "$scratch/run/input"
fi
log 'starting <JOB_NAME>'
command -v -- '<EXECUTABLE/'/'\\''>' > /dev/null || {
  log 'not found'
  exit 127
}
'<EXECUTABLE/'/'\\''>' \
  --input '<STDIN/'/'\\''>' \
  --threads <CPUS> \
  --priority <PRIORITY> \
  > '<STDOUT/'/'\\''>' \
  2> '<STDERR/'/'\\''>'
cp -- '<STDOUT/'/'\\''>' "$directory/result"
exit 0
"""

WORD = "[A-Za-z0-9_.-]*"
FIELDS = {  # name: (attributes, children)
    "JOB_NAME": (f'ext:pattern="{WORD}"', "<idb:Default>job</idb:Default>"),
    "QUEUE": (
        f'ext:pattern="{WORD}"',
        '<idb:Tag name="fast">short</idb:Tag><idb:Tag name="big">long</idb:Tag><idb:Default>fast</idb:Default>',
    ),
    "PROJECT": (f'ext:pattern="{WORD}"', "<idb:Default>none</idb:Default>"),
    "NODES": ('ext:type="integer"', "<idb:Min>1</idb:Min><idb:Max>512</idb:Max><idb:Default>1</idb:Default>"),
    "CPUS": ('ext:type="integer"', "<idb:Min>1</idb:Min><idb:Max>128</idb:Max><idb:Default>1</idb:Default>"),
    "MEMORY": ('ext:type="integer"', "<idb:Min>1</idb:Min><idb:Max>1e6</idb:Max><idb:Default>512</idb:Default>"),
    "WALLTIME": ('ext:type="integer"', "<idb:Min>1</idb:Min><idb:Max>604800</idb:Max><idb:Default>60</idb:Default>"),
    "PRIORITY": ('ext:type="integer"', "<idb:Min>0</idb:Min><idb:Max>1023</idb:Max><idb:Default>0</idb:Default>"),
    "MAIL": ("", '<idb:Tag name="never">n</idb:Tag><idb:Tag name="end">e</idb:Tag><idb:Default>never</idb:Default>'),
    **{
        name: ("", f"<idb:Default>{name.lower()}</idb:Default>")
        for name in ("DIRECTORY", "SCRATCH", "EXECUTABLE", "STDIN", "STDOUT", "STDERR")
    },
}  # fmt: skip
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
 xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension" name="bench">
<osp:UspaceRoot>/scratch</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
<idb:Template name="JOB"><idb:Invocation><idb:Body>{}</idb:Body></idb:Invocation>{}</idb:Template>
</osp:Profile>
"""


def requests() -> list[dict[str, str]]:
    """Return 2,000 requests that set every field: names and paths are new in each.

    Queues and resources repeat, as they do; one path in four has a quote to escape.
    """
    return [
        {
            "JOB_NAME": f"job-{n}", "QUEUE": "fast" if n % 2 else "big", "PROJECT": f"p{n % 7}",
            "NODES": str(n % 64 + 1), "CPUS": str(n % 16 + 1), "MEMORY": str(1024 * (n % 8 + 1)),
            "WALLTIME": str(600 + n % 100), "PRIORITY": str(n % 50), "MAIL": "end" if n % 3 else "never",
            "DIRECTORY": f"/home/user/jobs/{n}", "SCRATCH": f"/scratch/{n}",
            "EXECUTABLE": f"/opt/it's/{n}" if n % 4 == 0 else f"/opt/app/{n}",
            "STDIN": f"in.{n}", "STDOUT": f"out.{n}", "STDERR": f"err.{n}",
        }
        for n in range(2000)
    ]  # fmt: skip


def quoted(value: str) -> str:
    """Quote for a place inside single quotes, in the quickest way Python has."""
    return value.replace("'", "'\\''") if "'" in value else value


def jinja_template() -> jinja2.Template:
    """Return the same script for jinja2; a filter is its fastest way to quote."""
    text = SCRIPT
    for name in FIELDS:
        text = text.replace(f"<{name}>", f"{{{{ {name} }}}}")
        text = text.replace(f"<{name}/'/'\\\\''>", f"{{{{ {name}|quoted }}}}")
    environment = jinja2.Environment(autoescape=False, keep_trailing_newline=True)  # noqa: S701
    environment.filters["quoted"] = quoted
    return environment.from_string(text)


def main() -> int:
    """Compare and print; 1 where the promise is broken."""
    heading()
    if SCRIPT.count("\n") != 59 or len(FIELDS) != 15:
        message = f"{SCRIPT.count(chr(10))} lines, {len(FIELDS)} fields"
        raise RuntimeError(message)
    fields = "".join(
        f'<idb:Field name="{name}" {attributes}>{children}</idb:Field>'
        for name, (attributes, children) in FIELDS.items()
    )
    xml = PROFILE.format(escape(SCRIPT), fields).encode()
    profile = Repository([], use_standard_path=False).load_bytes(xml)
    template = jinja_template()
    tags = {"fast": "short", "big": "long", "never": "n", "end": "e"}
    given = requests()
    tagged = [{k: tags.get(v, v) for k, v in request.items()} for request in given]
    for request, values in zip(given, tagged, strict=True):
        if osprofile.incarnate(profile, "JOB", fields=request).text != template.render(values):
            message = "the peer gives another text"
            raise RuntimeError(message)
    mine, theirs = itertools.cycle(given), itertools.cycle(tagged)
    incarnate, render = osprofile.incarnate, template.render

    def ours() -> object:
        return incarnate(profile, "JOB", fields=next(mine), strict=True).text

    def peer() -> object:
        return render(next(theirs))

    # The aim is 0.4: the checks, which the peer does not make, take the rest.
    promise = Promise("render a 59-line script of 15 fields", "compiled jinja2", 0.65)
    count = max(rounds(), 31)  # the margin is small, and a round takes 0.1 s
    return 0 if compare(promise, timed(ours, 4000), timed(peer, 4000), count) else 1


if __name__ == "__main__":
    sys.exit(main())
