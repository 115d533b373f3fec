"""EMQX's Requester, unchanged: asks an agent over MQTT and prints each reply as a line of JSON.

    mqtt_requester.py PORT ORG/UNIT/AGENT TEXT [PASSWORD]

With a password it signs in as ORG/UNIT/emqx.
"""

import asyncio
import json
import sys
import uuid

from a2a_over_mqtt.mqtt import MqttConfig
from a2a_over_mqtt.protocol import A2ARequest
from a2a_over_mqtt.requester import Requester
from a2a_over_mqtt.topics import TopicSpace


async def main(port: str, agent: str, text: str, password: str = "") -> None:
    org, unit, name = agent.split("/")
    user = f"{org}/{unit}/emqx" if password else ""
    broker = MqttConfig("127.0.0.1", int(port), username=user, password=password)
    requester = Requester(broker, TopicSpace(org, unit), requester_id="emqx")
    request = A2ARequest(text=text, request_id=uuid.uuid4().hex)
    async for kind, content in requester.stream(name, request.to_json(), uuid.uuid4().hex):
        print(json.dumps({"kind": kind, "content": content}), flush=True)


asyncio.run(main(*sys.argv[1:]))
