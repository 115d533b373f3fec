"""A requester that is not ours: paho, driven by lines of JSON on its standard input, an answer each on its standard output.

    mqtt_paho.py PORT ORG/UNIT/NAME [PASSWORD]

    {"op": "cards", "filter": ..., "seconds": 1}
    {"op": "ask", "agent": ..., "method": ..., "params": ..., "token"?, "stop_after"?}
    {"op": "token", "agent": ..., "client_id": ..., "redirect_uri": ..., "username": ..., "password": ..., "scopes"?: [...]}
        a person signs in at the authorization server that the agent's card names, and agrees; card by "cards" before
    {"op": "refresh"}  another access token for the one of before
    {"op": "break"}    the connection is lost without a word; the next line has another one, with the session of before
"""

import base64
import hashlib
import html.parser
import http.cookiejar
import json
import queue
import secrets
import sys
import threading
import time
import urllib.request
import uuid
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

FINAL = {"TASK_STATE_" + s for s in ("COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED")}


class Form(html.parser.HTMLParser):
    """The form of a page: where it goes, and what it would send."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.action, self.fields = "", {}
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        given = dict(attrs)
        if tag == "form":
            self.action = given.get("action", "")
        elif tag in ("input", "button") and given.get("name"):
            # Of several buttons the first.
            self.fields.setdefault(given["name"], given.get("value", ""))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


class Person:
    """A browser in front of somebody who signs in and agrees, and the application that sent them there."""

    def __init__(self) -> None:
        jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar), NoRedirect)
        self.client_id = self.token_url = self.refresh_token = ""

    def send(self, url: str, fields: dict | None = None):
        body = urlencode(fields).encode() if fields is not None else None
        try:
            answer = self.opener.open(url, body)
        except urllib.error.HTTPError as refused:
            answer = refused
        return answer, answer.read().decode()

    def allow(self, card: dict, order: dict) -> dict:
        (scheme,) = (s["oauth2SecurityScheme"] for s in card["securitySchemes"].values() if "oauth2SecurityScheme" in s)
        named = scheme["flows"]["authorizationCode"]
        server = json.loads(self.send(scheme["oauth2MetadataUrl"])[1])
        assert server["authorization_endpoint"] == named["authorizationUrl"] and server["token_endpoint"] == named["tokenUrl"]
        (needed,) = (wanted["list"] for one in card["securityRequirements"] for wanted in one["schemes"].values())
        assert set(needed) <= set(named["scopes"]), named
        (resource,) = {i["url"].rstrip("/") for i in card["supportedInterfaces"] if i["protocolBinding"] == "JSONRPC"}
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {"response_type": "code", "client_id": order["client_id"], "redirect_uri": order["redirect_uri"], "state": state,
                 "scope": " ".join(order.get("scopes", needed) + ["offline_access"]), "resource": resource,
                 "code_challenge": challenge, "code_challenge_method": "S256"}
        back = self.follow(f"{named['authorizationUrl']}?{urlencode(asked)}", order)
        answer = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
        assert answer["state"] == state and answer["iss"] == server["issuer"] and "code" in answer, answer
        self.client_id, self.token_url = order["client_id"], server["token_endpoint"]
        return self.token({"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": order["redirect_uri"],
                           "code_verifier": verifier})

    def follow(self, url: str, order: dict) -> str:
        answer, text = self.send(url)
        for _ in range(10):
            to = answer.headers.get("location")
            if to and to.startswith(order["redirect_uri"]):
                return to
            if to:
                url = urljoin(url, to)
                answer, text = self.send(url)
                continue
            form = Form(text)
            if "password" in form.fields:
                form.fields |= {"username": order["username"], "password": order["password"]}
            url = urljoin(url, form.action)
            answer, text = self.send(url, form.fields)
        raise AssertionError(f"the server never sends the person back: {text}")

    def token(self, fields: dict) -> dict:
        told = json.loads(self.send(self.token_url, fields | {"client_id": self.client_id})[1])
        self.refresh_token = told.get("refresh_token", self.refresh_token)
        return told


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
    requester, person = Requester(port, name, password), Person()
    for line in sys.stdin:
        order = json.loads(line)
        if order["op"] == "cards":
            answer = requester.list(order["filter"], order["seconds"])
        elif order["op"] == "token":
            answer = person.allow(requester.cards[f"$a2a/v1/discovery/{order['agent']}"]["card"], order)
        elif order["op"] == "refresh":
            answer = person.token({"grant_type": "refresh_token", "refresh_token": person.refresh_token})
        elif order["op"] == "ask":
            more = (order.get("token"), order.get("stop_after"))
            answer = requester.ask(order["agent"], order["method"], order["params"], *more)
        else:
            answer = requester.lose()
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
