"""A person at a terminal: runs a program in a pseudo-terminal of its own, and types.

    terminal.py PROGRAM [ARGUMENT...]

Standard input has a JSON list of steps: {"wait": TEXT} until the terminal has shown this since the step before, {"type": TEXT}, and {"end": true}
until the program has ended. All that was shown is printed at the end; what does not come within twenty seconds ends it with exit code 1.
"""

import json
import os
import pty
import select
import sys
import time


def main() -> int:
    steps = json.load(sys.stdin)
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.argv[1], sys.argv[1:])
    shown, seen, missed = "", 0, None
    for step in steps:
        if "type" in step:
            os.write(terminal, step["type"].encode())
            continue
        until = time.monotonic() + 20
        wanted = step.get("wait")
        while (wanted is None or wanted not in shown[seen:]) and missed is None:
            ready, _, _ = select.select([terminal], [], [], max(0, until - time.monotonic()))
            try:
                more = os.read(terminal, 65536) if ready else b""
            except OSError:
                more = b""
            if not more and wanted is None:
                break
            if not more:
                missed = wanted
            shown += more.decode(errors="replace")
        if missed is not None or wanted is None:
            break
        seen = shown.index(step["wait"], seen) + len(step["wait"])
    os.close(terminal)
    os.waitpid(process, 0)
    print(shown)
    if missed is not None:
        print(f"\nNOT SHOWN: {missed!r}")
    return int(missed is not None)


sys.exit(main())
