"""Starts the agent and asks it as a host does: `python test_agent.py`."""

import json
import pathlib
import subprocess
import sys
import unittest
import urllib.request
import uuid
from typing import Any


def ask(url: str, text: str) -> Any:
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    request = urllib.request.Request(url, json.dumps(call).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["result"]["task"]


class Agent(unittest.TestCase):
    def setUp(self) -> None:
        command = [sys.executable, str(pathlib.Path(__file__).with_name("agent.py")), "--port", "0", "--no-join"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = json.loads(self.process.stdout.readline())["url"]

    def tearDown(self) -> None:
        self.process.terminate()
        self.process.communicate()

    def test_it_counts(self) -> None:
        task = ask(self.url, "Count the words: the quick brown fox")
        self.assertEqual(task["status"]["state"], "TASK_STATE_COMPLETED")
        self.assertIn("4 words", json.dumps(task["artifacts"]))

    def test_it_asks_for_what_it_lacks(self) -> None:
        task = ask(self.url, "Count the words")
        self.assertEqual(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED")


if __name__ == "__main__":
    unittest.main()
