"""Verifies the tokens that hosts sign. Whose it is says `context.call_context.user.user_name` in the executor."""

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import ExpiredTokenError
from joserfc.jwk import KeySet
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

# Characters: a host's token has a few hundred.
TOKEN_MAX = 8192


class Hosts(AuthenticationBackend):
    """The hosts of the system whose list of endpoints this is, for an agent at this URL."""

    def __init__(self, client: httpx.AsyncClient, url: str, endpoints: Callable[[], dict[str, Any]]) -> None:
        self.client, self.url, self.endpoints = client, url, endpoints

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        scheme, _, token = conn.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            # Whoever calls without a token is nobody, and may ask. Raise an AuthenticationError here where nobody may.
            return None
        try:
            return AuthCredentials(), SimpleUser(await self.caller(token.strip()))
        except ExpiredTokenError as error:
            # A host that reads these words tries once more with a new token.
            raise AuthenticationError("token has expired") from error
        except Exception as error:
            # Whatever went wrong, it is not verified.
            raise AuthenticationError("the token is not valid here") from error

    async def caller(self, token: str) -> str:
        if len(token) > TOKEN_MAX:
            raise ValueError("no host's token is as long")
        # Which tenant it says that it is of. Nothing of this is true until that tenant's keys have verified it.
        tenant = str(json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["tenant_id"])
        if not re.fullmatch("[a-z0-9-]+", tenant):
            raise ValueError("no tenant is called so")
        vouched = await self.client.get(f"{self.endpoints()['idp'].rstrip('/')}/{tenant}/sessions.json")
        document = vouched.raise_for_status().json()
        read = jwt.decode(token, KeySet.import_key_set({"keys": document["keys"]}), algorithms=["ES256"])
        if read.header.get("typ") != "at+jwt":
            raise ValueError("it is no access token")
        jwt.JWTClaimsRegistry(
            leeway=60,
            iss={"essential": True, "value": document["issuer"]},
            aud={"essential": True, "value": self.url},
            exp={"essential": True},
            sub={"essential": True},
        ).validate(read.claims)
        return f"{tenant}/{read.claims['sub']}"


def refuse(_: HTTPConnection, error: AuthenticationError) -> JSONResponse:
    challenge = f'Bearer error="invalid_token", error_description="{error}"'
    return JSONResponse({"error": "invalid_token", "error_description": str(error)}, 401, {"www-authenticate": challenge})
