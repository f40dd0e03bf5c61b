"""Pages of the Python package, from signatures and docstrings in its source: nothing is imported, nothing has to be built.

    python_reference.py FOLDER      writes FOLDER/*.md
"""
import ast
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join("bindings", "python", "cascademg")

# page, heading, what is on it; names of modules other than the package itself carry their module
PAGES = [
    ("hierarchies", "Hierarchies", ["Hierarchy", "Templates", "read", "generate", "from_pyamg", "from_petsc"]),
    ("solving", "Solving", ["Solver", "SolveInfo", "Step", "Batch"]),
    ("comparing", "Comparing", ["compare", "plan", "Table"]),
    ("meshes", "Meshes", ["Mesh", "read_mesh", "transfer"]),
    ("derivatives", "Derivatives", ["jax.solve", "jax.product", "lineax.CascadeMG", "lineax.SparseOperator", "torch.solve"]),
    ("contexts", "Contexts and builds", ["Context", "backends", "build_info", "methods", "version"]),
    ("errors", "Errors and warnings", ["CmgError", "ArgumentError", "StateError", "OutOfMemoryError", "FileError",
                                       "UnsupportedError", "DeviceError", "SingularError", "InternalError", "CmgWarning",
                                       "ConvergenceWarning"]),
]


def modules():
    """Syntax trees of the package's modules by name."""
    found = {}
    for name in sorted(os.listdir(os.path.join(ROOT, PACKAGE))):
        if name.endswith(".py"):
            with open(os.path.join(ROOT, PACKAGE, name), encoding="utf-8") as file:
                found[name[:-3]] = ast.parse(file.read())
    return found


def exported(trees):
    """{name: (module, node)} of what the package exports, and of what PAGES names in other modules."""
    where = {}
    for node in trees["__init__"].body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            where.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
    for _, _, names in PAGES:
        where.update({name: tuple(name.split(".")) for name in names if "." in name})
    found = {}
    for name, (module, inner) in where.items():
        for node in trees.get(module, ast.Module(body=[], type_ignores=[])).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == inner:
                found[name] = (module, node)
    return found


# ------------------------------------------------------------------ signatures

def signature(node, bound=False):
    """Arguments of a function as they are written, without types: "(b, x0=None, rtol=None)"."""
    args = node.args
    words = []
    plain = args.posonlyargs + args.args
    given = [None] * (len(plain) - len(args.defaults)) + args.defaults
    for argument, default in list(zip(plain, given))[1 if bound else 0:]:
        words.append(argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}")
    if args.vararg:
        words.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        words.append("*")
    for argument, default in zip(args.kwonlyargs, args.kw_defaults):
        words.append(argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}")
    if args.kwarg:
        words.append(f"**{args.kwarg.arg}")
    return f"({', '.join(words)})"


def decorators(node):
    return {ast.unparse(d) for d in node.decorator_list}


def members(node):
    """Public methods and properties of a class: (name, node, kind)."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
            marks = decorators(part)
            kind = "property" if "property" in marks else "classmethod" if "classmethod" in marks else "method"
            yield part.name, part, kind


def constructor(node):
    return next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)


def is_record(node):
    return any("dataclass" in mark for mark in decorators(node))


# ------------------------------------------------------------------ docstrings of numpydoc's form as Markdown

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Notes")


def inline(text):
    text = re.sub(r":(?:meth|class|attr|func):`~?([^`]+)`", r"`\1`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def cell(text):
    """Text in a row of a table; braces and stars are no marks."""
    text = inline(" ".join(text.split()))
    outside = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("*", r"\*").replace("_", r"\_") for part in outside).replace("|", r"\|")


def paragraphs(text):
    """Text with its blocks of code, which follow "::" indented."""
    out, code = [], False
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if code and block.startswith("    "):
            out += ["```python", textwrap.dedent(block), "```", ""]
            continue
        code = block.rstrip().endswith("::")
        out += [inline(" ".join((block.rstrip()[:-1] if code else block).split())), ""]
    return out


def entries(lines):
    """(head, text) of a section's entries: heads stand at the margin, their text is indented."""
    found = []
    for line in lines:
        if line and not line.startswith(" "):
            found.append([line, []])
        elif found:
            found[-1][1].append(line)
    return [(head, " ".join(" ".join(text).split())) for head, text in found]


def markdown(docstring):
    """A docstring as Markdown."""
    lines, parts, title = docstring.split("\n"), [("", [])], ""
    for k, line in enumerate(lines):
        if k + 1 < len(lines) and line in SECTIONS and re.fullmatch("-+", lines[k + 1]):
            parts.append((line, []))
        elif not (parts[-1][0] and re.fullmatch("-{3,}", line)):
            parts[-1][1].append(line)
    out = []
    for title, body in parts:
        if title in ("", "Notes"):
            out += paragraphs("\n".join(body))
            continue
        out += [f"**{title}**", "", "| | |", "|---|---|"]
        for head, text in entries(body):
            name, _, kind = head.partition(" : ")
            shown = f"`{name}`" if kind or title == "Parameters" and re.fullmatch(r"[\w*, ]+", name) else cell(name)
            out.append(f"| {shown} | {'. '.join(cell(part) for part in (kind, text) if part)} |")
        out.append("")
    return out


# ------------------------------------------------------------------ pages

def fenced(text):
    return ["```python", text, "```", ""]


def source_link(module, node, link):
    return [f"[source]({link(os.path.join(PACKAGE, module + '.py'), node.lineno)}){{ .source }}", ""] if link else []


def described(name, module, node, link):
    """A class or function with everything below it."""
    full = f"cascademg.{name}"
    out = [f"## {full}", ""]
    out += source_link(module, node, link)
    if isinstance(node, ast.FunctionDef):
        return out + fenced(full + signature(node)) + markdown(ast.get_docstring(node))
    init = constructor(node)
    if init is not None:
        out += fenced(f"class {full}{signature(init, True)}")
    elif is_record(node):
        fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
        out += fenced("\n    ".join([f"class {full}:", *fields]))
    else:
        out += fenced(f"class {full}({', '.join(ast.unparse(base) for base in node.bases)})")
    out += markdown(ast.get_docstring(node))
    for part, method, kind in members(node):
        short = f"{name.split('.')[-1]}.{part}"
        out += [f"### {short}", "", *source_link(module, method, link)]
        if kind == "property":
            out += fenced(f"{short}  # property")
        else:
            out += fenced(("@classmethod\n" if kind == "classmethod" else "") + short + signature(method, True))
        out += markdown(ast.get_docstring(method))
    return out


def pages(link=None):
    """{name of the page: Markdown}; `link(path, line)` gives the address of a line of the source."""
    found = exported(modules())
    made = {}
    for page, heading, names in PAGES:
        out = [f"# {heading}", ""]
        for name in names:
            if name in found:
                out += described(name, *found[name], link)
        made[page] = "\n".join(out)
    return made


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for page, text in pages().items():
        with open(os.path.join(folder, page + ".md"), "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
