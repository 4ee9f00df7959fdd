"""Parts of a run with their settings, as objects: one class for each part of each family, made from the fields in C++."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from . import _core
from ._core import UsageError
from ._settings import Signature, families, line_of, parameter_of


class Part:
    """A part of a run with its settings, given in place of its name.

        fedstride.run(partition=fedstride.Dirichlet(alpha=0.3), local_objective=fedstride.Prox(mu=0.01))

    `family` is the keyword that takes the part, and `name` its name there. Settings are attributes; omitted settings have their
    defaults. Parts are immutable; two are equal if their types and given settings are.
    """

    family: str = ""
    name: str = ""
    _defaults: dict[str, Any] = {}

    def __init__(self, *words: Any, **settings: Any) -> None:
        if words:
            first = next(iter(self._defaults), None)
            example = f": {type(self).__name__}({first}={words[0]!r})" if first else ", and it has none"
            raise TypeError(f"{type(self).__name__} takes settings by name{example}")
        for key in settings:
            if key not in self._defaults:
                hint = _core.advice("flag", key, [one.replace("_", "-") for one in self._defaults]) or _core.advice("algorithm", key, [])
                raise UsageError(f"{type(self).__name__} has no setting '{key}'; {_core.in_python_words(hint)}"
                                 f"valid: {', '.join(self._defaults) or 'none'}")
        given = {key: value for key, value in settings.items() if value is not None}
        if self.name:
            _core.check_part(self.family, self.name, given)
        object.__setattr__(self, "_given", given)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that were given."""
        return dict(self._given)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_") or key not in self._defaults:
            raise AttributeError(f"{type(self).__name__} has no setting '{key}'; valid: {', '.join(self._defaults) or 'none'}")
        return self._given.get(key, self._defaults[key])

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError(f"parts are immutable; make a new one: {type(self).__name__}({key}=...)")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._defaults]

    def __repr__(self) -> str:
        return f"fedstride.{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._given.items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **self._given), ()


def spread(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with each part, or part class, replaced by its name and its settings. Raises UsageError for a part of another
    family, and for a setting given twice."""
    result = dict(settings)
    for key, part in settings.items():
        if isinstance(part, type) and issubclass(part, Part):
            part = part()
        if isinstance(part, (list, tuple)) and any(isinstance(one, Part) for one in part):
            both = "; for both levels, use dp=fedstride.BothPrivacy(...)" if key == "dp" else ""
            raise UsageError(f"{key} is a list of parts; it must be one{both}")
        if not isinstance(part, Part):
            continue
        if part.family != key:
            raise UsageError(f"{key} is {part!r}; " + (f"that goes in {part.family}=" if part.family else "valid: its subclasses"))
        result[key] = part.name
        for name, value in part.settings.items():
            if settings.get(name) is not None:
                raise UsageError(f"{name} is given twice: {settings[name]!r}, and in {part!r}")
            result[name] = value
    return result


# Names with unusual capitals; all others are capitalized as words.
_INITIALS = {"adadp": "ADADP", "alie": "ALIE", "drive": "DRIVE", "ema": "EMA", "fedasync": "FedAsync", "fedbuff": "FedBuff", "iid": "IID",
             "qsgd": "QSGD", "sgd": "SGD", "stc": "STC", "terngrad": "TernGrad"}
# By family: text added before and after the names of its parts, which clash with another family's or mean little alone.
_AROUND = {"cohort": ("", "Cohort"), "server_optimizer": ("Server", ""), "dp": ("", "Privacy"), "compress_up": ("Up", ""),
           "compress_down": ("Down", ""), "devices": ("", "Devices"), "availability": ("", "Availability")}


def _words(name: str) -> str:
    return "".join(_INITIALS.get(word, word.capitalize()) for word in name.replace("_", "-").split("-"))


def _class_name(family: str, part: str) -> str:
    before, after = _AROUND.get(family, ("", ""))
    return f"No{after or _words(family)}" if part == "none" else before + _words(part) + after


def _made(family: dict[str, Any], part: dict[str, Any]) -> type[Part]:
    name = _class_name(family["key"], part["name"])
    settings = part["settings"]
    text = f"{family['key']}=\"{part['name']}\": {part['summary']}.\n\n" + "\n".join(line_of(one, 0) for one in settings)
    return type(name, (Part,), {
        "__module__": __name__, "__doc__": text.rstrip() + "\n", "family": family["key"], "name": part["name"],
        "_defaults": {one["name"]: one["default"] for one in settings},
        "__signature__": Signature([parameter_of(one) for one in settings]), "__fedstride_keywords__": settings})


def _all_classes() -> dict[str, type[Part]]:
    classes: dict[str, type[Part]] = {}
    for family in families().values():
        for part in family["parts"]:
            made = _made(family, part)
            if made.__name__ in classes:
                raise ImportError(f"fedstride: {family['key']} '{part['name']}' and {classes[made.__name__].family} "
                                  f"'{classes[made.__name__].name}' would both be the class {made.__name__}; see _AROUND in parts.py")
            classes[made.__name__] = made
    return classes


globals().update(_all_classes())
__all__ = ["Part", *(name for name, value in globals().items() if inspect.isclass(value) and issubclass(value, Part) and value is not Part)]


def __dir__() -> list[str]:
    return __all__
