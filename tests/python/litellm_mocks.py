"""Mocked tool calls for LiteLLM's proxy, which mocks text by itself, but streams no calls from its configuration."""

import json

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ChatCompletionMessageToolCall, Choices, Message, ModelResponse

CALLS = [
    ("first", {"do": [{"agent": "weather", "request": "Regnet det i Tromsø?"}], "say": ""}),
    ("second", {"do": [{"agent": "weather", "request": "And in Oslo?"}], "say": ""}),
]


class Mocks(CustomLogger):
    """Puts an answer with calls in the place of the model `calls`."""

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        if data.get("model") == "calls":
            calls = [
                ChatCompletionMessageToolCall(
                    id=name, type="function", function={"name": "decide", "arguments": json.dumps(arguments)}
                )
                for name, arguments in CALLS
            ]
            message = Message(content=None, role="assistant", tool_calls=calls)
            choice = Choices(finish_reason="tool_calls", index=0, message=message)
            data["mock_response"] = ModelResponse(choices=[choice], model="calls")
        return data


mocks = Mocks()
