"""Makes the cffi module of the package from the public headers, so that no struct is written down twice.

usage: declarations.py OUT.py HEADER...

The headers are plain C: comments, preprocessor lines, inline functions, the export mark and the C++ braces are taken out, the rest is
what cffi reads.
"""
import re
import sys

import cffi


def declarations(path):
    text = open(path, encoding="utf-8").read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r'#ifdef __cplusplus\s+extern "C" \{\s+#endif', "", text)
    text = re.sub(r"#ifdef __cplusplus\s+\}\s+#endif", "", text)
    constants = dict(re.findall(r"^#define (CMG_\w+) (\d+)\s*$", text, flags=re.M))
    text = re.sub(r"^\s*#[^\n]*(\\\n[^\n]*)*", "", text, flags=re.M)
    text = re.sub(r"^static inline [^{;]*\{.*?^\}", "", text, flags=re.M | re.S)  # callers give the size themselves
    for name, value in constants.items():
        text = re.sub(rf"\b{name}\b", value, text)
    return text.replace("CMG_API", "")


def main(out, *headers):
    builder = cffi.FFI()
    builder.cdef("\n".join(declarations(path) for path in headers))
    builder.set_source("cascademg._ffi", None)
    builder.emit_python_code(out)


main(*sys.argv[1:])
