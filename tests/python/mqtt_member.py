"""A member of a pool that is not ours: paho, with a memory of its own. It asks which animal a story is about, and tells it when it is
answered; a task about turtles it hands over to its neighbour, and of a secret one it tells nothing. It prints a line of JSON for each thing it does.

    mqtt_member.py PORT ORG/UNIT/NAME POOL NEIGHBOUR
"""

import json
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

# Mosquitto shares nothing below `$`.
PREFIX = "a2a/v1"


class Member:
    def __init__(self, port: str, address: str, pool: str, neighbour: str) -> None:
        self.org, self.unit, self.name = address.split("/")
        self.neighbour = neighbour
        self.tasks: dict = {}
        self.answers: set = set()
        self.direct = f"{PREFIX}/request/{address}"
        pooled = f"$share/a2a.{self.org}.{self.unit}.{pool}/{PREFIX}/request/{self.org}/{self.unit}/pool/{pool}"
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=address, protocol=mqtt.MQTTv5)
        topics = [(pooled, 1), (self.direct, 1), (f"handover/{self.name}", 1)]
        self.client.on_connect = lambda c, u, f, reason, p: c.subscribe(topics)
        self.client.on_subscribe = lambda *a: self.did("is there", None)
        self.client.on_message = self.take
        self.client.connect("127.0.0.1", int(port))

    def did(self, what: str, task: str | None) -> None:
        print(json.dumps({"did": what, "member": self.name, "task": task}), flush=True)

    def reply(self, to, body: dict, responder: str) -> None:
        properties = Properties(PacketTypes.PUBLISH)
        properties.CorrelationData = to.properties.CorrelationData
        properties.ContentType = "application/json"
        properties.UserProperty = ("a2a-responder-agent-id", responder)
        self.client.publish(to.properties.ResponseTopic, json.dumps(body), qos=1, properties=properties)

    def take(self, client, userdata, message) -> None:
        told = json.loads(message.payload)
        if message.topic.startswith("handover/"):
            self.tasks[told["task"]] = told["state"]
            return
        params, method = told["params"], told["method"]
        said = params.get("message") or {}
        task = said.get("taskId") or params.get("id")
        text = "".join(part.get("text", "") for part in said.get("parts", []))
        context = said.get("contextId", "c")
        is_pooled = message.topic != self.direct

        def status(state: str, text: str | None = None) -> dict:
            status = {"state": f"TASK_STATE_{state}"}
            if text:
                status["message"] = {"messageId": f"{task}-{state}", "role": "ROLE_AGENT", "parts": [{"text": text}]}
            return status

        def tell(result: dict, responder: str = self.name) -> None:
            self.reply(message, {"jsonrpc": "2.0", "id": told["id"], "result": result}, responder)

        def event(state: str, text: str | None = None) -> dict:
            return {"statusUpdate": {"taskId": task, "contextId": context, "status": status(state, text)}}

        if method.startswith("Send") and task not in self.tasks and is_pooled:
            self.did("took", task)
            self.tasks[task] = "INPUT_REQUIRED"
            if "secret" in text:
                # It works, and tells nobody.
                self.tasks[task] = "WORKING"
                return
            tell(event("WORKING"))
            responder = self.name
            if "turtle" in text:
                responder = self.neighbour
                del self.tasks[task]
                client.publish(f"handover/{responder}", json.dumps({"task": task, "state": "INPUT_REQUIRED"}), qos=1)
            tell(event("INPUT_REQUIRED", "Which animal is the story about?"), responder)
        elif task not in self.tasks:
            self.did("does not know", task)
            error = {"code": -32001, "message": "Task not found"}
            self.reply(message, {"jsonrpc": "2.0", "id": told["id"], "error": error}, self.name)
        elif method.startswith("Send") and said["messageId"] in self.answers:
            # A message that comes again, under its own id.
            tell({"task": {"id": task, "contextId": context, "status": status(self.tasks[task])}})
        elif method.startswith("Send"):
            self.did("answered", task)
            self.answers.add(said["messageId"])
            self.tasks[task] = "COMPLETED"
            artifact = {"artifactId": "story", "parts": [{"text": f"{self.name} tells of the {text}."}]}
            tell({"artifactUpdate": {"taskId": task, "contextId": context, "artifact": artifact, "lastChunk": True}})
            tell(event("COMPLETED"))
        else:
            if method == "CancelTask":
                self.did("canceled", task)
                self.tasks[task] = "CANCELED"
            tell({"id": task, "contextId": context, "status": status(self.tasks[task])})


Member(*sys.argv[1:]).client.loop_forever()
