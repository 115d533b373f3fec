"""EMQX's Responder, unchanged: says back what it is told, slowly where it is asked to, and prints a line for each task that it runs.

    mqtt_responder.py PORT ORG/UNIT/AGENT [SECONDS]

It signs in as the agent where the variable MQTT_PASSWORD is there.
"""

import asyncio
import os
import sys

from a2a_over_mqtt.discovery import build_card
from a2a_over_mqtt.mqtt import MqttConfig
from a2a_over_mqtt.responder import Responder
from a2a_over_mqtt.topics import TopicSpace


class Echo(Responder):
    def __init__(self, seconds: float, **rest):
        super().__init__(**rest)
        self.seconds = seconds

    async def on_request(self, request, stream):
        print(f"runs {request.task_id}", flush=True)
        await stream("Listening to the echo.")
        await asyncio.sleep(self.seconds)
        return f"The mountain answers: {request.text}"


async def main(port: str, agent: str, seconds: str = "0") -> None:
    org, unit, name = agent.split("/")
    card = build_card(
        name="Echo",
        description="Shouts a text into the mountains and says what echo comes back.",
        url=f"mqtt://127.0.0.1:{port}",
        skills=[
            {
                "id": "echo",
                "name": "Echo",
                "description": "Shouts a text into the mountains and says what echo comes back.",
                "tags": ["echo", "shout"],
                "examples": ["Shout hello into the mountains, what is the echo?"],
            }
        ],
    )
    password = os.environ.get("MQTT_PASSWORD", "")
    responder = Echo(
        float(seconds),
        agent_id=name,
        mqtt=MqttConfig("127.0.0.1", int(port), username=agent if password else "", password=password),
        topics=TopicSpace(org, unit),
        card=card,
    )
    await responder.run()


asyncio.run(main(*sys.argv[1:]))
