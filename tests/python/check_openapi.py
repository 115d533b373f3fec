"""Checks the API document, and answers of a running system against it.

usage: check_openapi.py DOCUMENT < ANSWERS

ANSWERS is a JSON array of {"method", "path", "status", "media", "body"}, the path as the document writes it. An answer
must be one that the document knows: the status, the media type, and a body of the schema. Fields that no schema names
are an error here, though clients are free to skip them.
"""

import copy
import json
import sys

from openapi_spec_validator import validate
from openapi_schema_validator import OAS31Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012


def closed(node):
    """The same schemas, with every object that lists its fields closed to others."""
    if isinstance(node, dict):
        for value in node.values():
            closed(value)
        if node.get("type") in ("object", ["object", "null"]) and "properties" in node:
            node.setdefault("additionalProperties", False)
    elif isinstance(node, list):
        for value in node:
            closed(value)
    return node


def main():
    with open(sys.argv[1]) as file:
        document = json.load(file)
    validate(document)
    strict = closed(copy.deepcopy(document))
    registry = Registry().with_resource("urn:document", DRAFT202012.create_resource(strict))

    def resolved(node):
        while "$ref" in node:
            target = strict
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            node = target
        return node

    def pointed(node):
        """References into the document, from wherever the schema stands."""
        if isinstance(node, dict):
            return {
                key: "urn:document" + value if key == "$ref" else pointed(value) for key, value in node.items()
            }
        return [pointed(value) for value in node] if isinstance(node, list) else node

    wrong, seen = [], set()
    for answer in json.load(sys.stdin):
        name = f"{answer['method']} {answer['path']}: {answer['status']}"
        operation = strict["paths"].get(answer["path"], {}).get(answer["method"].lower())
        if operation is None:
            wrong.append(f"{name}: no such operation")
            continue
        told = operation["responses"].get(str(answer["status"]))
        if told is None:
            wrong.append(f"{name}: not a status of this operation; the body was {answer['body']!r}")
            continue
        seen.add((answer["method"], answer["path"], answer["status"]))
        content = resolved(told).get("content")
        media = answer["media"].split(";")[0]
        if content is None:
            if answer["body"]:
                wrong.append(f"{name}: a body where there is none: {answer['body']!r}")
        elif media not in content and "*/*" not in content:
            wrong.append(f"{name}: {media!r} is not among {list(content)}")
        elif media == "application/json":
            schema = pointed(content[media]["schema"])
            validator = OAS31Validator(schema, registry=registry, format_checker=OAS31Validator.FORMAT_CHECKER)
            for error in validator.iter_errors(json.loads(answer["body"])):
                wrong.append(f"{name}: {error.json_path}: {error.message[:300]}")
    if wrong:
        sys.exit("\n".join(sorted(set(wrong))))
    print(f"{len(seen)} kinds of answers fit")


if __name__ == "__main__":
    main()
