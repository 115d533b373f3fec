"""Holds what we ask of language models, and what our scripted ones answer, against what Bedrock and OpenAI publish.

Reads {"dialect", "requests": [body, …], "answers": [hex of a stream, …]} from its input, and prints the faults as a list.
"""

import json
import sys
from binascii import unhexlify

import botocore.session
from botocore.eventstream import EventStreamBuffer
from botocore.validate import ParamValidator
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError


def bedrock(told):
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    operation = model.operation_model("ConverseStream")
    validator = ParamValidator()
    faults = []
    for body in told["requests"]:
        # The model's id stands in the path.
        report = validator.validate({"modelId": "m", **body}, operation.input_shape)
        faults += [report.generate_report()] if report.has_errors() else []
    events = operation.get_event_stream_output().members
    for answer in told["answers"]:
        buffer = EventStreamBuffer()
        buffer.add_data(unhexlify(answer))
        for message in buffer:
            shape = events[message.headers[":event-type"]]
            report = validator.validate(json.loads(message.payload), shape)
            faults += [f"{shape.name}: {report.generate_report()}"] if report.has_errors() else []
    return faults


def kept(kind, value):
    """What the type knows of a value; what it does not know is missing in that."""
    known = TypeAdapter(kind).validate_python(value, strict=True)
    return [] if known == value else [f"{value} has more than {known}"]


def openai(told):
    faults = []
    for body in told["requests"]:
        messages = body.pop("messages")
        for message in messages:
            faults += kept(ChatCompletionMessageParam, message)
        # An iterable is read once, so that its items are held against their own type above.
        known = TypeAdapter(CompletionCreateParamsStreaming).validate_python({**body, "messages": []}, strict=True)
        faults += [f"{name} has more than is published" for name in body if known.get(name) != body[name]]
    for answer in told["answers"]:
        for line in unhexlify(answer).decode().split("\n\n"):
            data = line.removeprefix("data: ")
            if data not in ("", "[DONE]"):
                ChatCompletionChunk.model_validate_json(data, strict=True)
    return faults


told = json.load(sys.stdin)
try:
    faults = {"bedrock": bedrock, "openai": openai}[told["dialect"]](told)
except ValidationError as error:
    faults = [str(error)]
json.dump(faults, sys.stdout)
