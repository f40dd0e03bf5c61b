"""What a user sees of every public name: types of arguments, and documents in numpydoc's form."""
import importlib
import inspect

import pytest

import cascademg


def functions():
    for name in cascademg.__all__:
        thing = getattr(cascademg, name)
        if inspect.isclass(thing) and issubclass(thing, (Exception, Warning)):
            continue
        if inspect.isclass(thing):
            yield name, thing, thing.__doc__
            for part, method in vars(thing).items():
                method = getattr(method, "__func__", getattr(method, "fget", None) or method)
                if not part.startswith("_") and inspect.isfunction(method):
                    yield f"{name}.{part}", method, method.__doc__
        else:
            yield name, thing, thing.__doc__
    for name in ("torch.solve", "jax.solve", "jax.product", "lineax.SparseOperator", "lineax.CascadeMG"):
        module, _, inner = name.partition(".")
        try:
            thing = getattr(importlib.import_module(f"cascademg.{module}"), inner)
        except ImportError:
            continue
        yield name, thing, thing.__doc__


@pytest.mark.parametrize("name,thing,text", [pytest.param(*one, id=one[0]) for one in functions()])
def test_documents_and_types(name, thing, text):
    assert text and text.strip().split("\n")[0].endswith((".", ":")), "a first line that is a sentence"
    function = thing.__init__ if inspect.isclass(thing) else thing
    if inspect.isclass(thing) and ("__init__" not in vars(thing) or hasattr(thing, "__dataclass_fields__")):
        return
    signature = inspect.signature(function)
    given = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    assert all(p.annotation is not p.empty for p in given), [p.name for p in given if p.annotation is p.empty]
    assert signature.return_annotation is not signature.empty
    if len(given) > 1 and "parameters as those" not in text and "What :meth:" not in text and ":meth:`Hierarchy" not in text:
        assert "Parameters\n" in text
        assert not [p.name for p in given if p.name not in text]


def test_plan_is_a_table():
    from conftest import levels
    A, P = levels(16)
    steps = cascademg.plan(cascademg.Hierarchy(A, P), measure=1, smoother="jacobi")
    assert steps and {"text", "level", "bytes", "seconds"} <= set(steps.columns()) and str(steps).startswith("text")
    pandas = pytest.importorskip("pandas")
    assert isinstance(steps.frame(), pandas.DataFrame) and len(steps.frame()) == len(steps)
