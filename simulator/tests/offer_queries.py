"""Gives queries to vast.ai's own client, as `vastai search offers QUERY --raw` does, without starting Python for each.

Standard input: one query a line, as a JSON string. Standard output: one line a query, `true` where the client printed a list of
offers. The number of a query, from 1, is the limit that it asks for: by that it is seen what was sent for it.
"""

import contextlib
import io
import json
import os
import sys

from vastai.cli import main
from vastai.cli.commands import offers  # noqa: F401  (what `main` imports is shared by the children)


def searches(number, query):
    """Runs the client's `main`, which can run once in a process."""
    sys.argv = ["vastai", "search", "offers", query, "--limit", str(number), "--raw"]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            main.main()
    except (SystemExit, Exception):  # The client ends by either.
        pass
    return said.getvalue().strip() == "[]"


for number, line in enumerate(sys.stdin, start=1):
    child = os.fork()
    if child == 0:
        os._exit(0 if searches(number, json.loads(line)) else 1)
    print(json.dumps(os.waitpid(child, 0)[1] == 0), flush=True)
