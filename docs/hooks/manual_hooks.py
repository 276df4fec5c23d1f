"""Hooks of mkdocs: they add the generated pages to the site, and tables of options to other pages.

A line `<!-- options: job submit -->` in a page is replaced by the table of that verb, `<!-- job fields -->` by the
table of the attributes of a job, `<!-- effects: GPUS -->` by that of what each batch system makes of fields, and
`<!-- native options -->` and `<!-- other options -->` by those of the options of sbatch, qsub and bsub.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from manual import batch_systems, native_options, options, profiles, rules

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

TEST_MARKS = re.compile(r"^ *<!-- (?:run|lint|exit|vary): .* -->\n", re.MULTILINE)
"""Comments that say how the tests run a block (tests/docs/pages.py)."""
README_LINKS = re.compile(r"\]\(((?:\.\./)*)\.\./profiles/(\w+)/README\.md")
"""Links to the README of a bundled profile, as they work in a checkout; the manual has a page of the profile."""
TABLES = {
    "<!-- job fields -->": options.format_fields_table,
    "<!-- native options -->": native_options.format_native_options,
    "<!-- other options -->": native_options.format_other_options,
}
EFFECTS_MARK = re.compile(r"^<!-- effects: ([A-Z_ ]+) -->$", re.MULTILINE)
BOOSTS = {"tasks/": 5, "tasks/many.md": 2, "tasks/efficiency.md": 2, "tasks/retry.md": 1}
"""How much more a hit in a page counts than elsewhere, for the manual's search, by the beginning of its path.

Less in "Many jobs", as the search takes the word a for the beginning of another one, such as array or asked.
Less in "Retry with more", too, where a heading is "Arrays".
"""
TABLE_MARKS = re.compile(r"^<!-- options: ([a-z ]+) -->$", re.MULTILINE)


def generate_pages() -> dict[str, str]:
    """Return the generated pages by their paths in docs/."""
    pages = {"rules.md": rules.format_rules_page(), "errors.md": rules.format_errors_page()}
    pages["batch-systems.md"] = batch_systems.format_batch_systems_page()
    return pages | {
        f"profiles/{name}.md": profiles.format_profile_page(name) for name in profiles.list_profiles()
    }


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, content in generate_pages().items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return a page with its tables, links to the manual's pages of profiles, and no comments for the tests."""
    for path, boost in BOOSTS.items():
        if page.file.src_uri.startswith(path):
            page.meta["search"] = {"boost": boost}
    markdown = README_LINKS.sub(r"](\1profiles/\2.md", markdown)
    for mark, format_one in TABLES.items():
        if mark in markdown:
            markdown = markdown.replace(mark, format_one())
    markdown = EFFECTS_MARK.sub(lambda m: batch_systems.format_effects_table(m[1].split()), markdown)
    return TABLE_MARKS.sub(lambda match: options.format_options_table(match[1]), TEST_MARKS.sub("", markdown))
