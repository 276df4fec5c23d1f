"""The promise: loading is cheap. A profile of four levels, against lxml's parse and validation.

Both read the same files, those with texts (`ext:src`) too; the schema is compiled once, by each, before the clock starts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from lxml import etree
from paired import Promise, compare, heading, rounds, timed

from osprofile.profile.data_directories import get_bundled_directory, get_schemas_directory
from osprofile.profile.repository import Repository

SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="site" extends="{}">
  <osp:UspaceRoot>/scratch</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""


def main() -> int:
    """Compare and print; 1 where the promise is broken."""
    heading()
    with tempfile.TemporaryDirectory() as directory:
        site = Path(directory, "site.xml")
        site.write_text(SITE.format("pbs"))
        bundled = get_bundled_directory()
        files = [str(site), *(str(Path(bundled, n, "profile.xml")) for n in ("pbs", "batch", "linux"))]
        documents = Repository([bundled]).load_file(site).documents
        chain = [d.element.source.name for d in documents]
        if chain != files:
            message = f"the chain is {chain}"
            raise RuntimeError(message)
        schema = etree.XMLSchema(etree.parse(f"{get_schemas_directory()}/osprofile.xsd"))

        def ours() -> None:
            Repository([bundled], use_standard_path=False, uses_cache=False).load_file(site)

        texts = [source.name for document in documents for source in document.files]

        def theirs() -> None:
            for file in files:
                schema.assertValid(etree.fromstring(Path(file).read_bytes()))
            for file in texts:
                Path(file).read_text(encoding="utf-8")

        size = sum(Path(file).stat().st_size for file in (*files, *texts))
        promise = Promise(
            f"load and resolve four levels, {size} bytes in {len(files) + len(texts)} files",
            "lxml alone",
            4.5,  # 3.0 on a quiet machine
        )
        return 0 if compare(promise, timed(ours, 20), timed(theirs, 20), rounds()) else 1


if __name__ == "__main__":
    sys.exit(main())
