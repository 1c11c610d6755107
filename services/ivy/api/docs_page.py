"""The page at `/docs`: the OpenAPI document as HTML. One file without scripts, so that it works without a network."""

import json
from html import escape
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1d2a1f;background:#fff}
h1,h2,h3{line-height:1.2} h2{margin-top:2.5rem;border-top:1px solid #cdd8cf;padding-top:1.5rem}
code,pre{font:14px/1.45 ui-monospace,monospace;background:#eef3ee;border-radius:4px} code{padding:.1em .3em}
pre{padding:1rem;overflow-x:auto} table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #dde5de}
.method{color:#2f6b3a;font-weight:700}
@media (prefers-color-scheme:dark){body{color:#dfe8e0;background:#151b16} code,pre{background:#222b24}
h2{border-color:#38453a} td,th{border-color:#2b352d} .method{color:#8ccf98}}
"""


def page(document: dict[str, Any], origin: str) -> str:
    """Render the document, with examples that ask `origin`: where the reader found this page."""
    title = escape(document["info"]["title"])
    keyed = "security" in document
    routes = "".join(
        _operation(origin, method, path, operation, keyed)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    )
    schemas = "".join(_schema(name, schema) for name, schema in document["components"]["schemas"].items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head><body>'
        f"<h1>{title} {escape(document['info']['version'])}</h1><p>{escape(document['info']['description'])} "
        f'The same as data: <a href="openapi.json"><code>/openapi.json</code></a>.</p>'
        f"{routes}<h2>Shapes</h2>{schemas}</body></html>"
    )


def _operation(origin: str, method: str, path: str, operation: dict[str, Any], keyed: bool) -> str:
    answers = "".join(
        f"<tr><td><code>{status}</code></td><td>{escape(answer['description'])}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    return (
        f'<h2><span class="method">{method.upper()}</span> <code>{escape(path)}</code></h2>'
        f"<p>{escape(operation['summary'])}</p>{_body(origin + path, operation, keyed)}"
        f"<table><tr><th>status</th><th>when</th></tr>{answers}</table>"
    )


def _body(url: str, operation: dict[str, Any], keyed: bool) -> str:
    if "requestBody" not in operation:
        return ""
    content = operation["requestBody"]["content"]["application/json"]
    example = json.dumps(content["example"])
    key = '  -H "authorization: Bearer $API_KEY" \\\n' if keyed else ""
    curl = f"curl {url} \\\n{key}  -H 'content-type: application/json' \\\n  -d '{example}'"
    return f"<p>Takes {_type(content['schema'])}.</p><pre>{escape(curl)}</pre>"


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code>{' (required)' if field in required else ''}</td>"
        f"<td>{_type(what)}</td><td>{escape(_description(what))}</td></tr>"
        for field, what in schema.get("properties", {}).items()
    )
    about = escape(schema.get("description", ""))
    return (
        f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{about}</p>'
        f"<table><tr><th>field</th><th>type</th><th>what it is</th></tr>{rows}</table>"
    )


def _type(schema: dict[str, Any]) -> str:
    """A type in words."""
    if "title" in schema and "$ref" not in schema:
        return escape(schema["title"])
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if values:
        return ", ".join(f"<code>{escape(json.dumps(value))}</code>" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return escape(str(schema.get("type", "any")))


def _description(schema: dict[str, Any]) -> str:
    own = schema.get("description", "")
    return str(own or next((_description(each) for each in schema.get("anyOf", ()) if _description(each)), ""))
