"""Runs a Python test where its modules are there, and says what is missing where they are not.

python_test.py "MODULE;MODULE;..." SCRIPT ARGUMENT...
"""
import importlib
import runpy
import sys

for module in filter(None, sys.argv[1].split(";")):
    try:
        importlib.import_module(module)
    except ImportError as error:
        print(f"skipped: Python module {module} is not here ({error})")
        sys.exit(77)
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
