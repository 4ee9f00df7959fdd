"""Makes keyword arguments from the fields in C++: types, defaults and help, for signatures, docstrings and stubs."""

from __future__ import annotations

import functools
import inspect
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from . import _core, _hints


@functools.cache
def settings() -> dict[str, dict[str, Any]]:
    """Every setting of a run by its keyword."""
    return {one["name"]: one for one in _core.settings()}


@functools.cache
def families() -> dict[str, dict[str, Any]]:
    """The families of parts by the keyword that chooses one of their parts."""
    return {one["key"]: one for one in _core.families()}


@functools.cache
def commands() -> dict[str, list[dict[str, Any]]]:
    """The flags of the program's commands by the command's name ("privacy epsilon")."""
    def described(command: str, flag: dict[str, Any]) -> dict[str, Any]:
        # Commands about accountants have flags with the names of settings but other values and defaults.
        is_own = command.startswith("privacy ") and flag["help"]
        return flag if is_own else settings().get(flag["name"], flag)

    return {name: [described(name, flag) for flag in flags if flag["help"] or flag["name"] in settings()]
            for name, flags in _core.commands().items()}


# The families whose parts may be functions.
OWN_PARTS = ("partition", "cohort", "aggregation", "server_optimizer", "optimizer")
_TYPES = {"flag": "bool", "whole": "int", "number": "float", "whole or auto": "int | Literal['auto']", "number or auto": "float | Literal['auto']",
          "place": "Place", "text": "str | float | Sequence[str | float]", "function": "Callable[..., Any]"}


def annotation(setting: dict[str, Any]) -> str:
    """The type of a setting's values, as a Python annotation."""
    names = "Literal[" + ", ".join(map(repr, setting["choices"])) + "]"
    if setting["kind"] == "part":
        own = " | Callable[..., Any]" if setting["name"] in OWN_PARTS else ""
        return f"{names} | Part{own}{' | Rows' if setting['name'] == 'partition' else ''} | None"
    if setting["kind"] == "choice":
        return f"{names} | None"
    return f"{'str' if setting['kind'] == 'text' and setting.get('known') else _TYPES[setting['kind']]} | None"


def default(setting: dict[str, Any]) -> Any:
    """The value of an absent setting; None if it has none or if it depends on the chosen part."""
    return None if setting["default"] == "" else setting["default"]


class _Shown(str):
    """An annotation that is shown verbatim, without quotes."""

    __repr__ = str.__str__


class Signature(inspect.Signature):
    """Shows each parameter on its own line."""

    def __str__(self) -> str:
        if len(self.parameters) < 4:
            return super().__str__()
        lines, after_star = [], False
        for parameter in self.parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and not after_star:
                lines.append("*")
            after_star = after_star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
            lines.append(str(parameter))
        returns = "" if self.return_annotation is self.empty else f" -> {self.return_annotation!r}"
        return "(\n    " + ",\n    ".join(lines) + f",\n){returns}"


def parameter_of(setting: dict[str, Any]) -> inspect.Parameter:
    from .parts import Part

    names = {"Any": Any, "Callable": Callable, "Literal": Literal, "Part": Part, "Place": str | os.PathLike, "Rows": Sequence[Sequence[int]],
             "Sequence": Sequence}
    return inspect.Parameter(setting["name"], inspect.Parameter.KEYWORD_ONLY, default=default(setting),
                             annotation=eval(annotation(setting), names))


def line_of(setting: dict[str, Any], indent: int = 4) -> str:
    """The setting's help: its meaning, valid values and default."""
    text = setting["help"]
    if setting.get("parts"):
        text += f" ({', '.join(setting['parts'])})"
    if setting["kind"] == "part":
        text += "; valid: " + ", ".join(setting["choices"])
    elif setting["valid"]:
        text += "; " + setting["valid"]
    shown = setting.get("default_text", "") or default(setting)
    if shown is not None and shown != "" and setting["kind"] != "flag":
        text += f" [{shown}]"
    return textwrap.fill(f"{setting['name']}: {text}", 100, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4))


def _section(chosen: list[dict[str, Any]]) -> str:
    questions: dict[str, list[str]] = {}
    for setting in chosen:
        questions.setdefault(setting.get("question", "Keywords"), []).append(line_of(setting))
    return "\n\n".join(f"{question}:\n" + "\n".join(lines) for question, lines in questions.items())


def takes(choose: Callable[[], list[dict[str, Any]]], describe: bool = False) -> Callable[[Any], Any]:
    """Decorator: a function's ** takes these settings and flags as keywords, except those that are named parameters. `describe`:
    lists them in the docstring."""

    def mark(function: Any) -> Any:
        own = inspect.signature(function)
        keywords = [one for one in choose() if one["name"] not in own.parameters]
        parameters = [one.replace(annotation=_Shown(one.annotation)) if isinstance(one.annotation, str) else one
                      for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        function.__signature__ = Signature(parameters + [parameter_of(one) for one in keywords],
                                           return_annotation=_Shown(own.return_annotation))
        function.__fedstride_keywords__ = keywords
        if describe:
            function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\n{_section(keywords)}\n"
        if any(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL) for one in own.parameters.values()):
            return function

        @functools.wraps(function)
        def by_name(*words: Any, **given: Any) -> Any:
            if words:
                raise TypeError(f"{function.__name__}() takes settings by name{_unnamed(function, words[0])}")
            for name in given:
                if "data" in own.parameters and name not in function.__signature__.parameters and (hint := _hints.of_keyword(name)):
                    raise _core.UsageError(f"key '{name}' is unknown; {hint}")
            return function(**given)

        return by_name

    return mark


def _unnamed(function: Any, value: Any) -> str:
    """Returns the end of the message about a value without a name."""
    if isinstance(value, Mapping):
        return f": {function.__name__}(**settings)"
    if "data" in function.__signature__.parameters and (hasattr(value, "shape") or isinstance(value, (list, tuple))):
        return "; arrays go in data=(x, y)"
    known = ((one["name"], dict(one.get("known", ()))) for one in function.__fedstride_keywords__)
    named = next((name for name, values in known if isinstance(value, str) and value in values), None)
    return f", and {value!r} has none" + (f"; did you mean {named}={value!r}?" if named else "")


def of_run() -> list[dict[str, Any]]:
    return [one for name, one in settings().items() if name != "code"]


def of_resume() -> list[dict[str, Any]]:
    functions = [{**settings()[name], "kind": "function", "default": "", "default_text": ""} for name in OWN_PARTS]
    return [one for one in of_run() if one["may_change"]] + functions


def of_reading() -> list[dict[str, Any]]:
    return [one for name, one in settings().items() if one["is_about_reading"] or name == "data_dir"]


def of_command(name: str) -> Callable[[], list[dict[str, Any]]]:
    return lambda: commands()[name]


