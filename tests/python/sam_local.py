"""Plays every event as `sam local invoke` would, where no container engine answers. Run by `tests/run sam-local`:

    sam_local.py ENV_FILE PROGRAMS

What a function gets is sam's own doing: its code reads the templates and the file of --env-vars. Its program is started anew for each
event, as a container is, in the network namespace of this process, with a runtime API of ours.
"""

import http.server
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading

from samcli.commands.local.cli_common.invoke_context import InvokeContext
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = ["template.yaml", "infra/tenant.yaml"]
API = "/2018-06-01/runtime"


def functions(env_file):
    """Each function of the templates, by its logical id: the variables that it declares, and the environment that sam gives it."""
    found = {}
    for template in TEMPLATES:
        with Alone(template_file=str(ROOT / template), env_vars_file=env_file) as context:
            runner = LocalLambdaRunner(
                local_runtime=None,
                function_provider=context._function_provider,
                cwd=str(ROOT),
                real_path=str(ROOT),
                env_vars_values=context._env_vars_value,
            )
            for function in context._function_provider.get_all():
                declared = (function.environment or {}).get("Variables", {})
                found[function.name] = (declared, runner.get_invoke_config(function).env_vars.resolve())
    return found


class Alone(InvokeContext):
    """What `sam local invoke` sets up, but for the container engine."""

    @staticmethod
    def _get_container_manager(*_):
        return None


class Runtime(http.server.BaseHTTPRequestHandler):
    """The runtime API: one event, one answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        event = self.server.events.get()
        if event is None:
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("lambda-runtime-aws-request-id", "8a1f6f1e-0b6f-4a52-9e0c-2f4a4c1f3a10")
        self.send_header("lambda-runtime-deadline-ms", "4102444800000")
        self.send_header("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-north-1:123456789012:function:f")
        self.send_header("content-length", str(len(event)))
        self.end_headers()
        self.wfile.write(event)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        self.send_response(202)
        self.send_header("content-length", "0")
        self.end_headers()
        self.server.answers.put((self.path.endswith("/error"), body))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """The one of the runtime API; a function is killed while it waits for its next event."""

    daemon_threads = True

    def handle_error(self, *_):
        pass


def invoke(program, environment, event):
    """What the function answers to the event, or how it ended."""
    server = Server(("127.0.0.1", 0), Runtime)
    server.events, server.answers = queue.Queue(), queue.Queue()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.events.put(event)
    there = {**environment, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{server.server_port}", "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen([program], env=there, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        failed, body = server.answers.get(timeout=60)
        answer = json.loads(body)
        return answer if not failed else {"errorType": answer}
    except queue.Empty:
        return {"errorType": "no answer within a minute"}
    finally:
        process.kill()
        server.events.put(None)
        said = process.communicate()[1]
        server.shutdown()
        server.server_close()
        if said:
            invoke.said = said


def is_good(event, answer):
    """An answer is no error of the runtime, and none of ours; the first visit's is the whole chat."""
    if not isinstance(answer, dict):
        return True
    if "errorType" in answer or answer.get("statusCode", 200) >= 500:
        return False
    return event.name != "a_first_visit.json" or re.search("Oslo.*DONE", json.dumps(answer)) is not None


def main():
    env_file, programs = sys.argv[1:]
    given = json.loads(pathlib.Path(env_file).read_text())
    known, wrong, played = functions(env_file), 0, 0
    # What the file does not say has the template's value, which is of a deployed one: an address of AWS, a name of its secret.
    for name, (declared, environment) in known.items():
        if left := sorted(set(declared) - set(given.get(name, {}))):
            print(f"{name} gets from the template: {', '.join(f'{each}={environment[each]}' for each in left)}")
            wrong += 1
    for event in sorted((ROOT / "events").glob("*/*.json")):
        package = event.parent.name
        # Those come from IoT Core, and those to what stands before a pool; the local system has neither.
        if package in ("mqtt_bridge", "pool_authorizer", "wake_router"):
            continue
        name = "".join(word.capitalize() for word in package.split("_")) + "Function"
        answer = invoke(os.path.join(programs, package), known[name][1], event.read_bytes())
        if not is_good(event, answer):
            print(f"{event.relative_to(ROOT)}: {json.dumps(answer)[:2000]}")
            print("\n".join(getattr(invoke, "said", "").splitlines()[-5:]))
            wrong += 1
        played += 1
    print(f"{played} events played as by sam local, without containers, {wrong} not answered")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
