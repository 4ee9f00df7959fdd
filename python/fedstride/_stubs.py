"""Writes the stubs (.pyi) of the modules whose signatures come from C++: `python3 -m fedstride._stubs FOLDER`. The build calls it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import sys
from typing import Any

from ._settings import annotation, default

_MODULES = ("data", "folder", "parts", "privacy", "running", "sweeps")


def _keywords(found: list[dict[str, Any]]) -> tuple[list[ast.arg], list[ast.expr | None]]:
    arguments = [ast.arg(one["name"], ast.parse(annotation(one), mode="eval").body) for one in found]
    return arguments, [ast.Constant(default(one)) for one in found]


class _Shorten(ast.NodeTransformer):
    """Reduces functions to their signatures and docstrings as the decorator `takes` leaves them."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._overloaded: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        is_private = node.name.startswith("_") and not node.name.startswith("__")
        if is_private and node.name != "_repr_html_":
            return None
        live = getattr(self._owner, node.name)
        live = live.fget if isinstance(live, property) else live
        is_overload = any(isinstance(one, ast.Name) and one.id == "overload" for one in node.decorator_list)
        if is_overload:
            self._overloaded.add(node.name)
        elif node.name in self._overloaded:
            return None  # the overloads' implementation
        node.decorator_list = [one for one in node.decorator_list if not (isinstance(one, ast.Call) and getattr(one.func, "id", "") == "takes")]
        if (found := getattr(live, "__fedstride_keywords__", None)) is not None:
            own = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
            arguments, defaults = _keywords([one for one in found if one["name"] not in own])
            node.args.kwonlyargs += arguments
            node.args.kw_defaults += defaults
            node.args.kwarg = None
        text = inspect.getdoc(live)
        node.body = [ast.Expr(ast.Constant(text))] if text else []
        node.body.append(ast.Expr(ast.Constant(...)))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST | None:
        if node.name.startswith("_"):
            return None
        inside = _Shorten(getattr(self._owner, node.name))
        node.body = [one for one in map(inside.visit, node.body) if one is not None]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        is_public = isinstance(node.targets[0], ast.Name) and not node.targets[0].id.startswith("_")
        return node if is_public and isinstance(node.value, ast.Subscript) else None  # Event = tuple[...]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        node.names = [one for one in node.names if node.module is None or not one.name.startswith("_")]
        return node if node.names else None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return node if isinstance(node.value, ast.Constant) else None


def _attributes_of_instances(module: Any) -> dict[str, str]:
    return {"Run": "    folder: pathlib.Path\n", "Cell": "    point: dict[str, Any]\n    status: str\n", "Sweep": "    folder: pathlib.Path\n"}


def _part(made: type) -> str:
    settings = made.__fedstride_keywords__  # type: ignore[attr-defined]
    lines = [f"class {made.__name__}(Part):", f"    {(made.__doc__ or '').strip()!r}"]
    lines += [f"    {one['name']}: {annotation(one).removesuffix(' | None')}" for one in settings]
    keywords = "".join(f", {one['name']}: {annotation(one)} = {default(one)!r}" for one in settings)
    return "\n".join([*lines, f"    def __init__(self{', *' if settings else ''}{keywords}) -> None: ...", "", ""])


def stub(name: str) -> str:
    """The stub of a module of the package."""
    module = importlib.import_module(f"fedstride.{name}")
    tree = _Shorten(module).visit(ast.parse(inspect.getsource(module)))
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    for owner, lines in _attributes_of_instances(module).items():
        text = text.replace(f"class {owner}:\n", f"class {owner}:\n{lines}").replace(f"class {owner}(Run):\n", f"class {owner}(Run):\n{lines}")
    imports = "from collections.abc import Callable, Sequence\nfrom typing import Any, Literal\n\nfrom ._types import Place, Rows\n"
    if name == "parts":
        return f"{imports}\n{text}\n" + "\n".join(_part(getattr(module, one)) for one in module.__all__ if one != "Part") + f"\n__all__ = {module.__all__!r}\n"
    imports += "from .parts import Part\n" if "parts import" not in text else ""
    return text.replace("from __future__ import annotations\n", f"from __future__ import annotations\n{imports}", 1)


def write(folder: str) -> None:
    for name in _MODULES:
        (pathlib.Path(folder) / f"{name}.pyi").write_text(stub(name), encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
