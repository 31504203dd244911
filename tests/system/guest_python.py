"""Python for the virtual machine: the interpreter and the modules that a script imports, as files for tests/testbed/boot."""
import pathlib
import subprocess
import sys
import zipfile

PYTHON = pathlib.Path("/usr/bin/python3").resolve()  # Debian's, whatever runs the tests
# Imports what the script does, without running it, and says which files that took.
LIST = """
import ast, importlib, sys
for node in ast.walk(ast.parse(open(sys.argv[1]).read())):
    for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) else []):
        try: importlib.import_module(name)
        except ImportError: pass
import encodings.latin_1, encodings.idna, encodings.ascii
for module in list(sys.modules.values()):
    if getattr(module, "__file__", None): print(module.__file__)
"""


def files_for(script, folder):
    """NAME -> file, to be copied into the guest: bin/python3, its modules, and the script as bin/NAME."""
    listed = subprocess.run([PYTHON, "-c", LIST, script], capture_output=True, text=True, check=True).stdout.split()
    standard = pathlib.Path(f"/usr/lib/{PYTHON.name}")
    items = {f"usr/bin/{PYTHON.name}": PYTHON, "bin/python3": PYTHON, f"bin/{pathlib.Path(script).name}": pathlib.Path(script)}
    archive = pathlib.Path(folder) / "modules.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as modules:
        for name in sorted(set(listed)):
            path = pathlib.Path(name)
            if path.suffix == ".so":
                items[f"usr/lib/{PYTHON.name}/lib-dynload/{path.name}"] = path
            elif path.suffix == ".py" and path.is_relative_to(standard):
                modules.write(path, path.relative_to(standard))
    items[f"usr/lib/{PYTHON.name.replace('.', '')}.zip"] = archive
    return items


if __name__ == "__main__":
    print(files_for(*sys.argv[1:]))
