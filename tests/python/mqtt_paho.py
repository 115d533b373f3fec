"""A requester that is not ours: paho, driven by lines of JSON on its standard input, an answer each on its standard output.

    mqtt_paho.py PORT ORG/UNIT/NAME [PASSWORD]

    {"op": "cards", "filter": ..., "seconds": 1}
    {"op": "ask", "agent": ..., "method": ..., "params": ..., "token"?, "stop_after"?}
    {"op": "break"}    the connection is lost without a word; the next line has another one, with the session of before
"""

import json
import queue
import sys
import threading
import time
import uuid

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

FINAL = {"TASK_STATE_" + s for s in ("COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED")}


class Requester:
    def __init__(self, port: str, name: str, password: str | None) -> None:
        self.port, self.name, self.password = int(port), name, password
        self.reply = f"$a2a/v1/reply/{name}/{uuid.uuid4().hex}"
        self.heard: queue.Queue = queue.Queue()
        self.cards: dict = {}
        self.pubacks: dict = {}
        self.client = None
        self.connect(clean=True)

    def connect(self, clean: bool) -> None:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=self.name, protocol=mqtt.MQTTv5)
        if self.password:
            client.username_pw_set(self.name, self.password)
        subscribed = threading.Event()
        client.on_connect = lambda c, u, f, reason, p: c.subscribe(self.reply, qos=1)
        client.on_subscribe = lambda *a: subscribed.set()
        client.on_message = self.take
        client.on_publish = lambda c, u, mid, reason, p: self.pubacks.__setitem__(mid, reason.value)
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 600
        client.connect("127.0.0.1", self.port, clean_start=clean, properties=properties)
        client.loop_start()
        if not subscribed.wait(10):
            raise SystemExit("the broker does not let it in")
        self.client = client

    def take(self, client, userdata, message) -> None:
        user = dict(getattr(message.properties, "UserProperty", []))
        if "/discovery/" in message.topic:
            self.cards[message.topic] = {"card": json.loads(message.payload or b"null"), "user": user}
        else:
            self.heard.put((getattr(message.properties, "CorrelationData", b""), json.loads(message.payload), user))

    def list(self, filter: str, seconds: float) -> dict:
        self.client.subscribe(filter, qos=1)
        time.sleep(seconds)
        return self.cards

    def ask(self, agent: str, method: str, params: dict, token: str | None, stop_after: int | None) -> dict:
        correlation = uuid.uuid4().bytes
        properties = Properties(PacketTypes.PUBLISH)
        properties.ResponseTopic = self.reply
        properties.CorrelationData = correlation
        properties.ContentType = "application/json"
        properties.PayloadFormatIndicator = 1
        if token:
            properties.UserProperty = ("a2a-authorization", f"Bearer {token}")
        body = {"jsonrpc": "2.0", "id": "r", "method": method, "params": params}
        sent = self.client.publish(f"$a2a/v1/request/{agent}", json.dumps(body), qos=1, properties=properties)
        sent.wait_for_publish(10)
        for _ in range(200):
            if sent.mid in self.pubacks:
                break
            time.sleep(0.01)
        told = {"puback": self.pubacks.get(sent.mid), "items": [], "others": 0}
        if told["puback"] != 0:
            return told
        is_stream = method == "SendStreamingMessage"
        while True:
            try:
                known, item, user = self.heard.get(timeout=20)
            except queue.Empty:
                return told
            if known != correlation:
                told["others"] += 1
                continue
            told["items"].append(item)
            result = item.get("result") or {}
            task = result.get("task") or result.get("statusUpdate") or result
            state = (task.get("status") or {}).get("state")
            ends = state in FINAL and not (is_stream and "task" in result)
            if "error" in item or ends or method == "GetTask" or len(told["items"]) == stop_after:
                return told

    def lose(self) -> None:
        # No DISCONNECT: as a cable that is pulled out.
        client, self.client = self.client, None
        client.on_message = None
        client.loop_stop()
        client._sock_close()
        self.connect(clean=False)


def main(port: str, name: str, password: str | None = None) -> None:
    requester = Requester(port, name, password)
    for line in sys.stdin:
        order = json.loads(line)
        if order["op"] == "cards":
            answer = requester.list(order["filter"], order["seconds"])
        elif order["op"] == "ask":
            more = (order.get("token"), order.get("stop_after"))
            answer = requester.ask(order["agent"], order["method"], order["params"], *more)
        else:
            answer = requester.lose()
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
