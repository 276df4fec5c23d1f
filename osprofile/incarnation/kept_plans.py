"""Keep plans in the user's cache folder: a command that finds its plan there reads no profile.

A plan is used while every file that it was made from, and every place where another one would come first, is as it was.
Whatever is wrong with a file of the cache, it is as if there were none.
"""

from __future__ import annotations

import os
import sys
from os import path as paths

from osprofile.files import (
    compute_digest,
    have_settled,
    make_cache_folder,
    make_stamp,
    read_cached_data,
    write_cached_data,
)
from osprofile.incarnation.plain_plan import FORMAT, PlainPlan

TYPE_CHECKING = False  # to import this module takes no time
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    from osprofile.files import Stamp
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

    Key: TypeAlias = tuple[Any, ...]


def find_plan(
    profile: str, directories: Sequence[str], template: str, variation: str = ""
) -> PlainPlan | None:
    """Return the plan that `keep_plan` has kept for the same arguments, if it can be used.

    `profile` is a name, a path, or empty for the default one; `directories` are searched first.
    """
    try:
        key = _make_key(profile, directories, template, variation)
        kept_key, stamps, plan = read_cached_data(_make_name(key))
        is_current = kept_key == key and all(make_stamp(path) == stamp for path, stamp in stamps)
        return PlainPlan(plan) if is_current else None
    except Exception:  # noqa: BLE001  # whatever it is, the engine does without
        return None


def keep_plan(
    repository: Repository, resolved: Profile, plan: Plan, profile: str, directories: Sequence[str]
) -> None:
    """Keep a plan of a profile that was loaded from a repository, for `find_plan` with the same arguments.

    None is kept that has cases or an application of the request, where packages may have profiles, and of files that have
    just changed.
    """
    from osprofile.incarnation.context import has_group_cases
    from osprofile.incarnation.plain_plan import encode_plan
    from osprofile.profile.repository import has_entry_points

    template, variation = plan.template.name, plan.variation
    try:
        if plan.cases or has_group_cases(resolved):
            return
        make_cache_folder()  # where it cannot be written, nothing is encoded in vain
        if find_plan(profile, directories, template, variation) is not None or has_entry_points():
            return  # the request is unusual, not the plan
        stamps = _make_stamps(_list_paths(repository, resolved, directories), repository.created)
        if stamps:
            key = _make_key(profile, directories, template, variation)
            write_cached_data(_make_name(key), (key, stamps, encode_plan(resolved, plan)))
    except Exception:  # noqa: BLE001  # a full disk, or what `find_plan` will not miss
        return


def _make_key(profile: str, directories: Sequence[str], template: str, variation: str) -> Key:
    is_path = "/" in profile or profile.endswith(".xml") or profile in {".", ".."}
    search_path = filter(None, os.environ.get("OSPROFILE_PATH", "").split(os.pathsep))
    return (
        FORMAT,
        __file__,
        sys.version,
        paths.abspath(profile) if is_path else profile,
        template,
        variation,
        tuple(map(paths.abspath, directories)),
        tuple(map(paths.abspath, search_path)),
        tuple(map(paths.abspath, sys.path)),
        os.environ.get("XDG_CONFIG_HOME", ""),
        paths.expanduser("~"),
    )


def _make_name(key: Key) -> str:
    return compute_digest(repr(key).encode("utf-8", "surrogateescape"))[:32]


def _list_paths(repository: Repository, resolved: Profile, directories: Sequence[str]) -> set[str]:
    """Return the paths on which a plan depends: of profiles, settings, distributions and osprofile itself."""
    from osprofile.profile import repository as profiles
    from osprofile.profile.data_directories import INSTALLED_DATA

    settings = filter(None, (profiles.get_config_directory(), profiles.SITE_DIRECTORY))
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "osprofile"]
    return {
        *repository.probed,
        *(source.name for document in resolved.documents for source in document.sources),
        *directories,
        *(paths.join(directory, "config.toml") for directory in settings),
        *profiles.iter_metadata_paths(),
        *filter(None, (module.__file__ for module in modules)),
        INSTALLED_DATA,
    }


def _make_stamps(files: Iterable[str], begin: float) -> list[tuple[str, Stamp]]:
    """Return the stamps of files that were read after a time (s since 1970); none if one of them had just changed."""
    stamps = [(path, make_stamp(path)) for path in sorted(set(map(paths.abspath, files)))]
    return stamps if have_settled((stamp for _, stamp in stamps), begin) else []
