"""The stock Python client against a tool server, in both eras: prints one JSON object a line, what each step found."""
import asyncio
import json
import sys

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

URL, KEY = sys.argv[1:3]
CALLS = [
    ("venues", {}),
    ("instruments", {"where": {"base": ["BTC"]}}),
    ("snapshots", {"where": "base = BTC", "layers": ["mark"]}),
    ("screen", {"query": "any(venues where mark > 0)"}),
    ("screen", {"query": "mark > 0"}),
    ("snapshots", {"where": "base = BTCC"}),
    ("history", {"where": "base = BTC", "as_of": "2026-01-15T11:00:00Z"}),
]


def transport(key):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return streamable_http_client(URL, http_client=create_mcp_http_client(headers=headers))


async def ask(mode):
    async with Client(transport(KEY), mode=mode) as client:
        tools = (await client.list_tools()).tools
        pages = []
        for resource in (await client.list_resources()).resources:
            page = await client.read_resource(str(resource.uri))
            pages.append(len(page.contents[0].text.encode()) == resource.size)
        found = []
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            body = json.loads(result.content[0].text)
            found.append(body["code"] if result.is_error else result.structured_content == body)
        version = client.protocol_version
    print(json.dumps({"version": version, "tools": len(tools), "pages": pages, "found": found}))


async def refused(key):
    try:
        async with Client(transport(key)) as client:
            await client.list_tools()
        print(json.dumps({"refused": False}))
    except BaseException:
        print(json.dumps({"refused": True}))


async def main():
    for mode in ["auto", "legacy"]:
        await ask(mode)
    for key in [None, "sk_wrong"]:
        await refused(key)


asyncio.run(main())
