#!/usr/bin/env python3
"""A CUDA source as C++ for the emulated device: translate.py IN.cu OUT.cpp

Two things of CUDA C are not C++. A launch, kernel<T><<<grid, block, shared, stream>>>(arguments), becomes a call of
emulated::launch with a function that calls the kernel; dynamic shared memory, extern __shared__ T name[], becomes a
pointer. Lines keep their numbers.
"""
import pathlib
import re
import sys

PAIRS = {"(": ")", "{": "}", "[": "]"}


def skip_back(text, k):
    """the last place before k that is neither blank nor the end of a line of a macro"""
    while text[k - 1].isspace() or text[k - 1] == "\\":
        k -= 1
    return k


def kernel_before(text, k):
    """where the kernel's name begins, with its template arguments, that ends before k"""
    if text[k - 1] == ">":
        depth = 0
        while True:
            k -= 1
            depth += {">": 1, "<": -1}.get(text[k], 0)
            if depth == 0:
                break
        k = skip_back(text, k)
    while re.match(r"[\w:#]", text[k - 1]):
        k -= 1
    return k


def closing(text, k):
    """the place of the bracket that closes the one at k"""
    depth = 0
    while True:
        if text[k] in PAIRS:
            depth += 1
        elif text[k] in PAIRS.values():
            depth -= 1
        if depth == 0:
            return k
        k += 1


def without_comments(text):
    """Comments may hold brackets: blanks instead, lines kept."""
    blank = lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n\\]", " ", found[0])
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


def translate(text):
    text = without_comments(text)
    text = re.sub(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w ]+?)\s+(\w+)\[\];",
                  r"\1 *const \2 = (\1 *)emulated::dynamic_shared();", text)
    text = re.sub(r"__shared__\s+(alignas\(\w+\))", r"\1 __shared__", text)
    out = []
    done = 0
    while True:
        launch = text.find("<<<", done)
        if launch < 0:
            return "".join(out) + text[done:]
        end = skip_back(text, launch)
        begin = kernel_before(text, end)
        middle = text.index(">>>", launch)
        open_ = middle + 3
        while text[open_] != "(":
            open_ += 1
        close = closing(text, open_)
        kernel = text[begin:end]
        arguments = re.sub(r"\bNULL\b", "nullptr", text[open_ + 1:close])  # NULL has no type to pass on
        comma = ", " if arguments.strip(" \\\n") else ""
        out += [text[done:begin], "emulated::launch(emulated::shape(", text[end:launch], text[launch + 3:middle],
                "), [=](auto... a_) { ", re.sub(r"\\?\n", " ", kernel), "(a_...); }", comma, arguments, ")"]
        done = close + 1


def main():
    source, target = sys.argv[1:3]
    text = translate(pathlib.Path(source).read_text())
    pathlib.Path(target).write_text(f'#include "emulated_cuda.h"\n#line 1 "{source}"\n{text}')


if __name__ == "__main__":
    main()
