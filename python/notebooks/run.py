"""Runs the notebooks from top to bottom: `python python/notebooks/run.py [--write] [NAME …]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).parent


def run(notebook: nbformat.NotebookNode, folder: str) -> None:
    """Executes all cells in a new kernel of this interpreter, in a folder."""
    # Without folders of kernels there is but one: ours.
    specs = KernelSpecManager(kernel_dirs=[])
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs),
        timeout=300,
        extra_arguments=["--log-level=ERROR"],
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": folder}},
    )
    client.execute()


def warned(notebook: nbformat.NotebookNode) -> bool:
    """Whether something was written where warnings go; bars leave blanks behind, which go."""
    found = False
    for cell in notebook.cells:
        told = [o for o in cell.get("outputs", []) if o.get("name") == "stderr"]
        blank = [output for output in told if not output["text"].strip()]
        found |= len(told) > len(blank)
        if blank:
            cell["outputs"] = [o for o in cell["outputs"] if o not in blank]
    return found


def plain(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what changes from machine to machine."""
    notebook.metadata.clear()
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata.update(kernelspec=kernel, language_info={"name": "python"})
    for number, cell in enumerate(notebook.cells):
        cell.metadata.clear()
        cell["id"] = f"cell-{number}"
    return notebook


def main() -> int:
    """Whether one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="notebooks to run; all otherwise")
    parser.add_argument("--write", action="store_true", help="store the outputs in the files")
    given = parser.parse_args()
    paths = [HERE / Path(name).with_suffix(".ipynb").name for name in given.names]
    failed = False
    for path in paths or sorted(HERE.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            os.environ["IPYTHONDIR"] = folder
            try:
                run(notebook, folder)
                said = "ok, with warnings" if warned(notebook) else "ok"
            except CellExecutionError as error:
                print(error, file=sys.stderr)
                said, failed = "FAILED", True
        print(f"{path.name:<20} {time.perf_counter() - begin:5.1f} s  {said}", flush=True)
        if given.write and said != "FAILED":
            nbformat.write(plain(notebook), path)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
