"""Who may read and change what, over real HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from web_samples import MOST_BYTES, served

from rubriclab.web.server import TOKEN_HEADER, Access


def own(client: httpx.Client, access: Access, **others: str) -> dict[str, str]:
    return {"Origin": str(client.base_url).rstrip("/"), TOKEN_HEADER: access.token, **others}


def test_a_page_is_answered_under_its_own_name_only() -> None:
    with served() as (client, _):
        assert client.get("/state").json() == {"visitor": None, "written": 0}
        for host in ("rebound.example", f"rebound.example:{client.base_url.port}", "127.0.0.1", "127.0.0.1:1", ""):
            assert client.get("/state", headers={"Host": host}).status_code in (400, 421)


def test_only_the_own_page_may_write() -> None:
    with served() as (client, access):
        right = own(client, access)
        assert client.post("/write", json=1, headers=right).json() == {"written": 1}
        same_site = {TOKEN_HEADER: access.token, "Sec-Fetch-Site": "same-origin"}
        assert client.post("/write", json=1, headers=same_site).json() == {"written": 2}
        refused = (
            {TOKEN_HEADER: access.token},
            {**right, "Origin": "http://other.example"},
            {**right, "Origin": "null"},
            {**right, "Origin": f"https://{client.base_url.netloc.decode()}"},
            {**right, "Origin": f"http://127.0.0.1:{(client.base_url.port or 0) + 1}"},
            {"Sec-Fetch-Site": "cross-site", TOKEN_HEADER: access.token},
            {"Origin": right["Origin"]},
            own(client, access, **{TOKEN_HEADER: "guessed"}),
        )
        for headers in refused:
            assert client.post("/write", json=1, headers=headers).status_code == 403, headers
        assert client.get("/state").json()["written"] == 2


@pytest.mark.parametrize("chunked", [False, True])
def test_a_larger_body_is_refused_with_and_without_a_stated_length(chunked: bool) -> None:
    def body(size: int) -> Any:
        content = b'"' + b"x" * (size - 2) + b'"'
        return iter([content[:1000], content[1000:]]) if chunked else content

    with served() as (client, access):
        right = own(client, access)
        assert client.post("/write", content=body(MOST_BYTES), headers=right).json() == {"written": 1}
        refused = client.post("/write", content=body(MOST_BYTES + 1), headers=right)
        assert refused.status_code == 413
        assert "at most 100,000 bytes" in refused.text
        assert client.get("/state").json()["written"] == 1


def test_other_sites_may_link_to_a_page_but_not_embed_or_fetch_it() -> None:
    with served() as (client, _):
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert client.get("/", headers=link).status_code == 200
        for change in ({"Sec-Fetch-Dest": "iframe"}, {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}):
            assert client.get("/state", headers={**link, **change}).status_code == 403


def test_responses_restrict_the_browser_whatever_they_are() -> None:
    with served() as (client, _):
        for path in ("/", "/state", "/no-such-page", "/static/report.css", "/static/page.css", "/static/../page.py"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == ("no-cache" if path.endswith(".css") else "no-store")
        assert "<title>&lt;b&gt;&amp;&#34;&#39;</title>" in client.get("/").text


def test_a_shared_page_exists_for_holders_of_a_link_only() -> None:
    with served({"anna": "s1-long-secret", "ben": "s2-long-secret"}) as (client, access):
        for path in ("/", "/state", "/static/page.css", "/join/", "/join/s1-long-secre", "/join/anna", "/join/%ff"):
            assert client.get(path).status_code == 404, path
        assert client.post("/write", json=1, headers=own(client, access)).status_code == 404
        joined = client.get(access.link_path("anna"))
        cookie = joined.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get("/state").json()["visitor"] == "anna"
        assert client.post("/write", json=1).status_code == 403
        assert client.post("/write", json=1, headers=own(client, access)).status_code == 200
        client.cookies.clear()
        assert client.get("/state", headers={"Cookie": "rubriclab=x; =; \x7f"}).status_code == 404
