"""A browser's and its push service's side of Web Push, by the packages of others: http-ece decrypts, py-vapid knows the sender.

`make` prints the keys of a new browser, {"private", "p256dh", "auth"}. `read` reads {"body": base64, "authorization": "vapid ...",
"private", "auth"} and prints {"message": what the browser gets, "claims": what the sender says of itself, "key": which one it is}.
"""

import base64
import json
import os
import sys

import http_ece
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def data(told):
    return base64.urlsafe_b64decode(told + "=" * (-len(told) % 4))


def make():
    key = ec.generate_private_key(ec.SECP256R1())
    point = key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    number = key.private_numbers().private_value.to_bytes(32, "big")
    return {"private": text(number), "p256dh": text(point), "auth": text(os.urandom(16))}


def read(told):
    number = int.from_bytes(data(told["private"]), "big")
    key = ec.derive_private_key(number, ec.SECP256R1())
    message = http_ece.decrypt(
        base64.b64decode(told["body"]),
        private_key=key,
        auth_secret=data(told["auth"]),
        version="aes128gcm",
    )
    scheme, _, parts = told["authorization"].partition(" ")
    named = dict(part.strip().split("=", 1) for part in parts.split(","))
    # The package knows no blank between the two.
    if not Vapid02.verify(f"{scheme} t={named['t']},k={named['k']}"):
        sys.exit("the sender is not the one that it says")
    claims = json.loads(data(named["t"].split(".")[1]))
    return {"message": json.loads(message), "claims": claims, "key": named["k"]}


print(json.dumps(make() if sys.argv[1] == "make" else read(json.load(sys.stdin))))
