"""Make when it is first used what takes long to make: a command names many modules and patterns of which it needs few."""

from __future__ import annotations

import re
import sys
from collections import namedtuple
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # to import this module takes no time
if TYPE_CHECKING:
    from typing import Any, AnyStr
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  # else mypy takes it for this module's own


class _LateModule(ModuleType):
    """A module that is loaded when it is asked for what its code defines.

    Not `importlib.util.LazyLoader`: up to Python 3.11, an import statement is enough to load its modules.
    """

    def __getattr__(self, name: str) -> object:
        self.__class__ = ModuleType  # type: ignore[assignment]  # mypy takes it for a variable
        spec = self.__spec__
        if spec is not None and spec.loader is not None:
            if spec.submodule_search_locations is not None:
                self.__path__ = spec.submodule_search_locations
            spec.loader.exec_module(self)
        return getattr(self, name)


class _LoadedModules:
    """Finds and loads what is loaded of late packages.

    `import PACKAGE.NAME` asks a late package for its `__path__`, by which it is loaded, mostly with the module.
    """

    @classmethod
    def find_spec(cls, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how to load a module that is loaded."""
        is_loaded = name in sys.modules and name.partition(".")[0] in _late_packages
        return ModuleSpec(name, cls) if is_loaded else None  # type: ignore[arg-type]  # it is a loader, too

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """Return the module that is loaded."""
        return sys.modules[spec.name]

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing more."""


_late_packages: set[str] = set()


def import_late(*names: str) -> None:
    """Let a later `import NAME` give a module that is loaded when it is first used.

    For a process of our own that has a single thread: `sys.modules` is everybody's, and another thread could use a module
    of which only a part is loaded.
    """
    from importlib.util import find_spec, module_from_spec

    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            sys.modules[name] = module = module_from_spec(spec)
            if vars(module).pop("__path__", None) is not None:
                if not _late_packages:
                    sys.meta_path.insert(0, _LoadedModules)
                _late_packages.add(name)
            module.__class__ = _LateModule


def import_costly_modules_late() -> None:
    """Import late what brief commands do without: asyncio takes as long as the interpreter takes to start four times."""
    import_late("asyncio", "copy", "inspect", "json", "locale", "shlex", "traceback")


class _LatePattern:
    """A pattern of `re` that is compiled when it is first used."""

    def __init__(self, pattern: Any, flags: int) -> None:  # noqa: ANN401  # str or bytes
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> object:
        value = self.__dict__[name] = getattr(re.compile(*self._arguments), name)
        return value


def compile_late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what can be used as the result of `re.compile`, which is called at the first use."""
    late: re.Pattern[AnyStr] = _LatePattern(pattern, flags)  # type: ignore[assignment]
    return late


if not TYPE_CHECKING:

    class _NamedTupleType(type):
        """Makes what `typing.NamedTuple` makes, but for the compilation of each annotation, which takes longer than the rest."""

        def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> type:
            """Return the class of a class statement."""
            if not bases:
                return super().__new__(cls, name, bases, members)
            fields = members.pop("__annotations__", {})
            defaults = [members.pop(field) for field in fields if field in members]
            made = namedtuple(name, fields, defaults=defaults, module=members.pop("__module__"))  # noqa: PYI024
            made.__annotations__ = dict(fields)
            for member, value in members.items():
                if member not in {"__classcell__", "__firstlineno__", "__static_attributes__"}:
                    setattr(made, member, value)
            return made

    class NamedTuple(metaclass=_NamedTupleType):
        """The base of a class whose annotations are texts (`from __future__ import annotations`), as `typing.NamedTuple`."""
