"""Drives an authorization server with Authlib, as an application that has never heard of ours would.

Reads one JSON object from standard input: issuer, client_id, client_secret (null for a public client), redirect_uri,
resource, scope, username, password. Prints one JSON object with what was done; anything that is not as the RFCs have
it ends with a traceback and exit code 1.
"""

import base64
import json
import sys
from html.parser import HTMLParser
from urllib.parse import parse_qs, urljoin, urlsplit

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oauth2.rfc9068.claims import JWTAccessTokenClaims
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet

GIVEN = json.load(sys.stdin)
ISSUER = GIVEN["issuer"]
done = {}


class Form(HTMLParser):
    """The first form of a page: where it goes, its fields, its first button."""

    def __init__(self, html):
        super().__init__()
        self.action, self.fields, self.inside, self.buttons = None, {}, False, 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form" and self.action is None:
            self.action, self.inside = attributes.get("action", ""), True
        elif self.inside and tag == "input" and attributes.get("name"):
            self.fields[attributes["name"]] = attributes.get("value") or ""
        elif self.inside and tag == "button":
            self.buttons += 1
            if self.buttons == 1:
                self.fields[attributes["name"]] = attributes["value"]

    def handle_endtag(self, tag):
        if tag == "form":
            self.inside = False


class Person:
    """Somebody at a browser, who signs in and agrees."""

    def __init__(self):
        self.http = requests.Session()

    def follow(self, url):
        answer = self.http.get(url, allow_redirects=False)
        for _ in range(8):
            if answer.is_redirect:
                target = urljoin(answer.url, answer.headers["location"])
                if target.startswith(GIVEN["redirect_uri"]):
                    return target
                answer = self.http.get(target, allow_redirects=False)
                continue
            assert answer.status_code == 200, (answer.status_code, answer.text)
            form = Form(answer.text)
            if "password" in form.fields:
                form.fields |= {"username": GIVEN["username"], "password": GIVEN["password"]}
            target = urljoin(answer.url, form.action)
            answer = self.http.post(target, data=form.fields, allow_redirects=False)
        raise AssertionError("the server never sends the person back")


def discover():
    """Both documents of RFC 8414 and OIDC Discovery, checked by Authlib's own rules where https does not matter."""
    place = urlsplit(ISSUER)
    root = f"{place.scheme}://{place.netloc}"
    inserted = f"{root}/.well-known/oauth-authorization-server{place.path}"
    documents = []
    for url in (f"{ISSUER}/.well-known/openid-configuration", f"{ISSUER}/.well-known/oauth-authorization-server"):
        answer = requests.get(url)
        assert answer.status_code == 200, url
        documents.append(answer.json())
    # A server that shares its host with others may not own the host's root.
    answer = requests.get(inserted)
    if answer.status_code == 200:
        documents.append(answer.json())
    assert all(document == documents[0] for document in documents)
    found = documents[0]
    assert found["issuer"] == ISSUER
    for kind in (OpenIDProviderMetadata, AuthorizationServerMetadata):
        metadata = kind(found)
        for rule in kind.REGISTRY_KEYS:
            # These insist on https, which a loopback address does without.
            if rule.endswith(("_uri", "_endpoint")) or rule == "issuer":
                continue
            # OIDC Discovery wants RS256 of every provider; this one says what it signs with, which is ES256 by default.
            if rule == "id_token_signing_alg_values_supported":
                assert found[rule] in (["ES256"], ["RS256"], ["ES256", "RS256"]), found[rule]
                continue
            check = getattr(metadata, f"validate_{rule}", None)
            if check:
                check()
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["authorization_response_iss_parameter_supported"] is True
    return found


def session():
    return OAuth2Session(
        GIVEN["client_id"],
        GIVEN["client_secret"],
        scope=GIVEN["scope"],
        redirect_uri=GIVEN["redirect_uri"],
        code_challenge_method="S256",
        **{name: METADATA[name] for name in ("token_endpoint", "revocation_endpoint", "introspection_endpoint")},
    )


def ask(person, client):
    """To the code, with everything that a client must check of the answer."""
    verifier, nonce = generate_token(64), generate_token(24)
    url, state = client.create_authorization_url(
        METADATA["authorization_endpoint"], code_verifier=verifier, nonce=nonce, resource=GIVEN["resource"]
    )
    back = person.follow(url)
    answer = {name: values for name, values in parse_qs(urlsplit(back).query).items()}
    assert answer["state"] == [state], answer.keys()
    # RFC 9207: who answers says so, once.
    assert answer["iss"] == [ISSUER], answer.keys()
    assert "access_token" not in back and "id_token" not in back and "#" not in back
    return back, state, verifier, nonce


def redeem(client, asked, **changes):
    back, state, verifier, _ = asked
    return client.fetch_token(
        authorization_response=back, state=state, **{"code_verifier": verifier} | changes
    )


def refused(error, doing):
    try:
        doing()
    except OAuthError as fault:
        assert fault.error == error, fault
        return True
    raise AssertionError(f"it was not refused with {error}")


def verify_tokens(token, nonce):
    keys = KeySet.import_key_set(requests.get(METADATA["jwks_uri"]).json())
    assert len(keys.keys) >= 2, "the next key is published before it signs"
    algorithms = METADATA["id_token_signing_alg_values_supported"]
    access = jwt.decode(token["access_token"], keys, algorithms=algorithms)
    assert access.header["typ"] == "at+jwt", access.header
    # RFC 9068 as Authlib has it; the audience is exactly the resource.
    options = {
        "iss": {"essential": True, "validate": lambda _, iss: iss == ISSUER},
        "aud": {"essential": True, "value": GIVEN["resource"]},
        **{name: {"essential": True} for name in ("exp", "sub", "client_id", "iat", "jti")},
        "auth_time": {"essential": False},
        "scope": {"essential": False},
    }
    claims = JWTAccessTokenClaims(access.claims, access.header, options)
    claims.validate()
    assert claims["aud"] == GIVEN["resource"] and claims["client_id"] == GIVEN["client_id"]
    assert claims["exp"] - claims["iat"] <= 600
    if "id_token" in token:
        identity = jwt.decode(token["id_token"], keys, algorithms=algorithms)
        options = {"iss": {"values": [ISSUER]}, "aud": {"values": [GIVEN["client_id"]]}}
        parameters = {"nonce": nonce, "client_id": GIVEN["client_id"]}
        told = CodeIDToken(identity.claims, identity.header, options, parameters)
        told.validate(leeway=5)
        assert identity.header.get("typ") != "at+jwt" and told["sub"] == claims["sub"]
    # The check can fail: one changed letter of the payload.
    head, body, signature = token["access_token"].split(".")
    text = json.loads(base64.urlsafe_b64decode(body + "=="))
    text["scope"] = "everything"
    forged = base64.urlsafe_b64encode(json.dumps(text).encode()).rstrip(b"=").decode()
    try:
        jwt.decode(f"{head}.{forged}.{signature}", keys, algorithms=algorithms)
        raise AssertionError("a forged token verifies")
    except BadSignatureError:
        pass
    return claims


METADATA = discover()
done["discovery"] = True
person, client = Person(), session()

asked = ask(person, client)
token = redeem(client, asked)
claims = verify_tokens(token, asked[3])
done["code"] = done["iss"] = done["jwks"] = True
told = client.get(METADATA["userinfo_endpoint"])
# The access token is for the resource, and userinfo is the issuer's own: it tells who it is all the same.
assert told.status_code == 200 and told.json()["sub"] == claims["sub"], told.text
done["userinfo"] = True

# A code is good once; what it issued ends with the second attempt.
first = dict(token)
done["replayed_code"] = refused("invalid_grant", lambda: redeem(session(), asked))
done["replay_revokes"] = refused(
    "invalid_grant", lambda: session().refresh_token(refresh_token=first["refresh_token"])
)

# A wrong verifier is refused, and the code is used up.
asked = ask(person, client)
done["wrong_verifier"] = refused("invalid_grant", lambda: redeem(session(), asked, code_verifier=generate_token(64)))
refused("invalid_grant", lambda: redeem(session(), asked))
asked = ask(person, client)
refused("invalid_request", lambda: redeem(session(), asked, code_verifier=None))

# Rotation: the new one is good, the old one ends the family.
asked = ask(person, client)
first = dict(redeem(session(), asked))
second = dict(session().refresh_token(refresh_token=first["refresh_token"]))
assert second["refresh_token"] != first["refresh_token"] and second["access_token"] != first["access_token"]
verify_tokens(second, None)
done["refresh"] = True
third = dict(session().refresh_token(refresh_token=second["refresh_token"]))
done["reused_refresh"] = refused(
    "invalid_grant", lambda: session().refresh_token(refresh_token=first["refresh_token"])
)
done["reuse_revokes"] = refused(
    "invalid_grant", lambda: session().refresh_token(refresh_token=third["refresh_token"])
)

# Revocation (RFC 7009): also of what is not there, without a difference.
asked = ask(person, client)
token = dict(redeem(session(), asked))
for text in (token["refresh_token"], token["refresh_token"], "never-was-one"):
    answer = session().revoke_token(METADATA["revocation_endpoint"], token=text, token_type_hint="refresh_token")
    assert answer.status_code == 200, answer.text
done["revoked_refresh"] = refused(
    "invalid_grant", lambda: session().refresh_token(refresh_token=token["refresh_token"])
)

if GIVEN["client_secret"]:
    asked = ask(person, client)
    token = dict(redeem(session(), asked))
    places = METADATA["introspection_endpoint"]
    for kind in ("access_token", "refresh_token"):
        told = session().introspect_token(places, token=token[kind], token_type_hint=kind).json()
        assert told["active"] is True and told["iss"] == ISSUER and told["sub"] == claims["sub"], told
    session().revoke_token(METADATA["revocation_endpoint"], token=token["refresh_token"])
    for text in (token["refresh_token"], "never-was-one"):
        told = session().introspect_token(places, token=text).json()
        assert told == {"active": False}, told
    done["introspection"] = True
    own = session().fetch_token(grant_type="client_credentials", scope="tasks", resource=GIVEN["resource"])
    assert verify_tokens(own, None)["sub"] == GIVEN["client_id"] and "refresh_token" not in own
    done["client_credentials"] = True
    wrong = OAuth2Session(GIVEN["client_id"], "x" * 40, token_endpoint=METADATA["token_endpoint"])
    done["wrong_secret"] = refused(
        "invalid_client", lambda: wrong.fetch_token(grant_type="client_credentials", scope="tasks")
    )
json.dump(done, sys.stdout)
