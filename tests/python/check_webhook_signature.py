"""Checks a notification as its receiver would: the HMAC with the official package of Standard Webhooks, the Ed25519
signature with PyCA's cryptography and a key of the sender's JWKS.

Reads {"headers": {...}, "body": "...", "secret": "whsec_...", "jwks": {...}} and prints {"hmac": bool, "ed25519": bool}.
"""

import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def hmac_fits(told):
    try:
        Webhook(told["secret"]).verify(told["body"], told["headers"])
    except WebhookVerificationError:
        return False
    return True


def ed25519_fits(told):
    headers = told["headers"]
    content = ".".join([headers["webhook-id"], headers["webhook-timestamp"], told["body"]]).encode()
    signatures = [one[4:] for one in headers["webhook-signature"].split(" ") if one.startswith("v1a,")]
    keys = [key for key in told["jwks"]["keys"] if key.get("crv") == "Ed25519"]
    for key in keys:
        x = key["x"]
        public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(x + "=" * (-len(x) % 4)))
        for signature in signatures:
            try:
                public.verify(base64.b64decode(signature), content)
                return True
            except InvalidSignature:
                pass
    return False


told = json.load(sys.stdin)
print(json.dumps({"hmac": hmac_fits(told), "ed25519": ed25519_fits(told)}))
