"""The pages of the Python reference, which are made from the source alone, say what the package has: names, signatures, and a
docstring in numpydoc's form for each."""
import ast
import inspect
import pathlib
import re
import sys

import pytest

import cascademg

SITE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "site"
sys.path.insert(0, str(SITE))
reference = pytest.importorskip("python_reference")
FOUND = reference.exported(reference.modules())


def live(name):
    """What a name of the pages is in the package that runs."""
    module, _, inner = name.rpartition(".")
    if module:
        return getattr(pytest.importorskip(f"cascademg.{module}", exc_type=ImportError), inner)
    return getattr(cascademg, inner)


def plain(function, bound):
    """The signature without types, as the pages have it."""
    parameters = list(inspect.signature(function).parameters.values())[1 if bound else 0:]
    words = []
    for p in parameters:
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = p.default.__name__ if inspect.isclass(p.default) else repr(p.default)
        words.append(star + p.name if p.default is p.empty else f"{p.name}={default}")
    return f"({', '.join(words)})"


def test_pages_have_all_that_is_exported():
    on_pages = {name for _, _, names in reference.PAGES for name in names if "." not in name}
    assert on_pages == set(cascademg.__all__) and on_pages <= set(FOUND)
    text = "\n".join(reference.pages().values())
    for name in on_pages:
        assert f"\n## cascademg.{name}\n" in text


@pytest.mark.parametrize("name", sorted(FOUND))
def test_signatures_are_those_of_the_package(name):
    if not any(name in names for _, _, names in reference.PAGES):
        pytest.skip("internal")
    thing, (_, node) = live(name), FOUND[name]
    if inspect.isfunction(thing):
        assert reference.signature(node, False) == plain(thing, False)
        return
    init = reference.constructor(node)
    if init is not None:
        assert reference.signature(init, True) == plain(thing.__init__, True)
    parts = {part for part in vars(thing) if not part.startswith("_")
             and (callable(vars(thing)[part]) or isinstance(vars(thing)[part], (property, classmethod)))}
    told = {part: (method, kind) for part, method, kind in reference.members(node)}
    assert set(told) == parts
    for part, (method, kind) in told.items():
        if kind == "method":
            assert reference.signature(method, True) == plain(inspect.unwrap(vars(thing)[part]), True)


def test_docstrings_say_what_goes_in_and_out():
    faults = []
    for name, (_, node) in FOUND.items():
        if not any(name in names for _, _, names in reference.PAGES):
            continue
        functions = [(name, node)] if isinstance(node, ast.FunctionDef) else \
            [(f"{name}.{part}", method) for part, method, _ in reference.members(node)]
        for full, function in functions:
            text = ast.get_docstring(function) or ""
            arguments = [a.arg for a in function.args.args + function.args.kwonlyargs if a.arg not in ("self", "cls")]
            if not text:
                faults.append(f"{full}: no docstring")
            elif arguments and "Parameters\n---" not in text:
                faults.append(f"{full}: no section Parameters")
            faults += [f"{full}: {a} is not described" for a in arguments if not re.search(rf"\b{a}\b", text)]
    assert not faults
    assert all(ast.get_docstring(node) for _, node in FOUND.values())
