"""The client: one method an endpoint, with the interface's own words."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Iterable, Literal, Mapping, Union, overload
from urllib.parse import quote

from .. import dql
from .._answers import Account, AgentState, AnchorDay, Books, Catalogue, Check, Proof, Receipt, Snapshots, Venues
from .._asked import Freshness, Layer, StreamLayer, Where, instants_of, layer_names, query_body, where_text, window_of
from .._instants import Duration, Instant, format_day, format_duration, format_instant, from_micros, seconds_of
from .._payment import Payer
from ..types import Interval, PriceType, Timeframe, Units
from .archive import Archive
from .follow import Live
from .http import Http, Reply
from .results import Candles, History, Instruments, Liquidations, Screen

DEMO = "http://127.0.0.1:8080"
MICROS = 1_000_000
# Of an answer, from the catalogue's limits.
HISTORY_ROWS, CANDLES = 2_000, 1_500

Question = Union[str, dql.Query, dql.Condition, Mapping[str, Any]]


class Client:
    """Calls the service. Key and address come from `PERP_API_KEY` and `PERP_BASE_URL` where they are not given; `key=""` is none.

    `timeout` is the longest silence in seconds, not the longest answer.
    `retries` is how often a call is repeated that was refused for now or got no answer; a wait above a minute is an exception.
    `payer` signs payments for calls without a key, see `perp.x402_payer`.
    """

    def __init__(
        self,
        key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 5,
        payer: Payer | None = None,
    ) -> None:
        own_key = ((os.environ.get("PERP_API_KEY") if key is None else key) or "").strip() or None
        address = base_url or os.environ.get("PERP_BASE_URL") or DEMO
        # A payment is made where there is no key; a try that is repeated above it would sign a second one.
        self._http = Http(
            None if payer is not None and key is None else own_key,
            address,
            timeout=timeout,
            retries=0 if payer is not None else retries,
            payer=payer,
        )
        self.archive = Archive(self._http)
        self.dql = Dql(self._http)

    @property
    def base_url(self) -> str:
        return self._http.base_url

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.base_url}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. A `with` block does it, too."""
        self._http.close()

    # --- What there is ---

    def venues(self) -> Venues:
        """Venues, with their coverage and state. No key needed."""
        reply = self._http.get("/v2/venues")
        return Venues("venues", reply.content, reply.headers)

    def instruments(
        self,
        where: Where | None = None,
        *,
        as_of: Instant | None = None,
        units: Units | None = None,
        include_raw: bool | None = None,
        limit: int | None = None,
    ) -> Instruments:
        """Listings with their rules and layers, now or as of an instant. No key needed."""
        moment = None if as_of is None else format_instant(as_of)
        asked = {"where": where_text(where), "as_of": moment, "units": units, "include_raw": include_raw, "limit": limit}

        def ask(cursor: str | None) -> Reply:
            return self._http.get("/v2/instruments", {**asked, "cursor": cursor})

        return Instruments(self._http, ask)

    def catalogue(self) -> Catalogue:
        """Fields, sources and functions of the language, codes, limits. No key needed."""
        reply = self._http.get("/v2/dql/catalogue")
        return Catalogue("catalogue", reply.content, reply.headers)

    def account(self) -> Account:
        """Plan, limits and today's counters of the key. Not counted."""
        reply = self._http.get("/v2/account")
        return Account("account", reply.content, reply.headers)

    def agent_state(
        self, rule_id: Union[str, Iterable[str], None] = None, *, fresh: bool | None = None
    ) -> AgentState:
        """State of agent rules, all of the account or those named, and what it was at this key's last call.

        With `fresh`, they are evaluated now, which counts against the evaluations of the day.
        """
        named = rule_id if rule_id is None or isinstance(rule_id, str) else ",".join(rule_id)
        reply = self._http.get("/v2/agent/state", {"rule_id": named, "fresh": fresh})
        return AgentState("agent_state", reply.content, reply.headers)

    # --- Now ---

    def snapshots(
        self,
        where: Where | None = None,
        *,
        layers: Iterable[Layer] | None = None,
        units: Units | None = None,
        freshness: Freshness | None = None,
        allow_stale: bool | None = None,
        include_raw: bool | None = None,
    ) -> Snapshots:
        """The newest reading of each listing and layer. A stale one has no numbers, unless `allow_stale` shows them apart."""
        named = layer_names(layers)
        body = {
            "where": where_text(where),
            "layers": named,
            "units": units,
            "freshness": freshness,
            "allow_stale": allow_stale,
            "include_raw": include_raw,
        }
        reply = self._http.post("/v2/snapshots", body)
        return Snapshots("snapshots", reply.content, reply.headers, named)

    def books(self, where: Where | None = None, *, depth: int | None = None, units: Units | None = None) -> Books:
        """Order books, `depth` levels a side, and depth within bands of the mid."""
        reply = self._http.post("/v2/books", {"where": where_text(where), "depth": depth, "units": units})
        return Books("books", reply.content, reply.headers)

    def screen(
        self,
        query: Question,
        *,
        where: Where | None = None,
        freshness: Freshness | None = None,
        include_unknown: bool | None = None,
        units: Units | None = None,
        limit: int | None = None,
    ) -> Screen:
        """Instruments for which a query holds, now or as of an instant, with the values that decided."""
        asked = {
            **query_body(query),
            "where": where_text(where),
            "freshness": freshness,
            "include_unknown": include_unknown,
            "units": units,
            "limit": limit,
        }

        def ask(cursor: str | None) -> Reply:
            return self._http.post("/v2/screen", {**asked, "cursor": cursor})

        return Screen(self._http, ask)

    def live(
        self,
        where: Where | None = None,
        *,
        layers: Iterable[StreamLayer] | None = None,
        units: Units | None = None,
        freshness: str | None = None,
        allow_stale: bool | None = None,
        depth: int | None = None,
        timeframe: Timeframe | None = None,
        snapshot: bool | None = None,
        rules: bool | None = None,
        exact: bool = False,
    ) -> Live:
        """Events as they happen, for as long as they are iterated: snapshots first, then every change. A break is resumed.

        With `rules`, the states of the account's agent rules are events too. With `exact`, figures are `Decimal`.
        """
        named = layer_names(layers)
        params = {
            "where": where_text(where),
            "layers": None if named is None else ",".join(named),
            "units": units,
            "freshness": freshness,
            "allow_stale": allow_stale,
            "depth": depth,
            "timeframe": timeframe,
            "snapshot": snapshot,
            "rules": rules,
        }
        return Live(self._http, params, exact=exact)

    # --- The past ---

    @overload
    def history(
        self,
        where: Where | None = ...,
        *,
        layers: Iterable[Layer] | None = ...,
        interval: Interval,
        start: Instant | None = ...,
        end: Instant | None = ...,
        last: Duration | None = ...,
        units: Units | None = ...,
        freshness: Freshness | None = ...,
        allow_stale: bool | None = ...,
        include_gaps: bool | None = ...,
        progress: bool | None = ...,
    ) -> History: ...

    @overload
    def history(
        self,
        where: Where | None = ...,
        *,
        layers: Iterable[Layer] | None = ...,
        at: Union[Instant, Iterable[Instant]],
        units: Units | None = ...,
        freshness: Freshness | None = ...,
        allow_stale: bool | None = ...,
        include_gaps: bool | None = ...,
        progress: bool | None = ...,
    ) -> History: ...

    @overload
    def history(
        self,
        where: Where | None = ...,
        *,
        layers: Iterable[Layer] | None = ...,
        raw: Literal[True],
        start: Instant | None = ...,
        end: Instant | None = ...,
        last: Duration | None = ...,
        units: Units | None = ...,
        freshness: Freshness | None = ...,
        allow_stale: bool | None = ...,
        include_gaps: bool | None = ...,
        progress: bool | None = ...,
    ) -> History: ...

    def history(
        self,
        where: Where | None = None,
        *,
        layers: Iterable[Layer] | None = None,
        interval: Interval | None = None,
        at: Union[Instant, Iterable[Instant], None] = None,
        raw: bool = False,
        start: Instant | None = None,
        end: Instant | None = None,
        last: Duration | None = None,
        units: Units | None = None,
        freshness: Freshness | None = None,
        allow_stale: bool | None = None,
        include_gaps: bool | None = None,
        progress: bool | None = None,
    ) -> History:
        """Past readings: the last of each `interval`, the newest `at` each instant, or every stored row with `raw`.

        A window is `start` to `end`, or the `last` duration; it may be longer than one answer. A period without a reading is a row
        without figures that says why.
        """
        if (interval is not None) + (at is not None) + raw != 1:
            raise ValueError("say one of interval=, at= and raw=True")
        body: dict[str, Any] = {
            "where": where_text(where),
            "layers": layer_names(layers),
            "units": units,
            "freshness": freshness,
            "allow_stale": allow_stale,
            "include_gaps": include_gaps,
        }
        if at is not None:
            return History(self._http, {**body, "at": instants_of(at)}, None, progress=progress)
        step = MICROS if interval is None else seconds_of(interval) * MICROS
        window = window_of(start, end, last, step=step, most=None if interval is None else HISTORY_ROWS)
        mode = {"raw": True} if interval is None else {"interval": interval}
        return History(self._http, {**body, **mode}, window, progress=progress)

    def candles(
        self,
        where: Where | None = None,
        *,
        timeframe: Timeframe,
        start: Instant | None = None,
        end: Instant | None = None,
        last: Duration | None = None,
        price_type: PriceType | None = None,
        units: Units | None = None,
        include_gaps: bool | None = None,
        progress: bool | None = None,
    ) -> Candles:
        """Completed candles of trades, marks or indexes. A period without a candle is a hole with its cause, never a repeated price."""
        step = seconds_of(timeframe) * MICROS
        window = window_of(start, end, last, step=step, most=CANDLES)
        body = {
            "where": where_text(where),
            "timeframe": format_duration(timeframe),
            "price_type": price_type,
            "units": units,
            "include_gaps": include_gaps,
        }
        return Candles(self._http, body, window, progress=progress)

    def liquidations(
        self,
        where: Where | None = None,
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        last: Duration | None = None,
        side: Literal["long", "short"] | None = None,
        units: Units | None = None,
        limit: int | None = None,
    ) -> Liquidations:
        """Liquidations of a window, and the stretches of it in which nothing could be received. `side` is the position's."""
        window = window_of(start, end, last, step=MICROS, most=None)
        asked = {
            "where": where_text(where),
            "from": from_micros(window.begin),
            "to": from_micros(window.end),
            "side": side,
            "units": units,
            "limit": limit,
        }

        def ask(cursor: str | None) -> Reply:
            return self._http.post("/v2/liquidations", {**asked, "cursor": cursor})

        return Liquidations(self._http, ask)

    # --- Proof ---

    def anchor(self, day: Instant) -> AnchorDay:
        """Root and partitions of a closed day. No key needed."""
        reply = self._http.get(f"/v2/anchors/{quote(format_day(day), safe='')}")
        return AnchorDay("anchor", reply.content, reply.headers)

    def proof(
        self,
        venue: str,
        symbol: str,
        layer: str,
        at: Instant,
        *,
        price_type: PriceType | None = None,
        id: str | None = None,
        seq: int | None = None,
    ) -> Proof:
        """The row of a closed day with its path to the posted root; `proof.verify()` recomputes every step."""
        asked = {"venue": venue, "symbol": symbol, "layer": layer, "at": format_instant(at)}
        more = {"price_type": price_type, "id": id, "seq": seq}
        reply = self._http.get("/v2/anchors/proof", {**asked, **more})
        return Proof("proof", reply.content, reply.headers)

    def receipt(self, receipt_id: str) -> Receipt:
        """Outcome of the payment of one call. No key needed."""
        reply = self._http.get(f"/v2/receipts/{quote(receipt_id, safe='')}")
        return Receipt("receipt", reply.content, reply.headers)


class Dql:
    """`client.dql`."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def check(self, query: Question) -> Check:
        """The canonical text of a query and its cost. Raises QueryError with every fault, each underlined. No key needed."""
        reply = self._http.post("/v2/dql/parse", query_body(query))
        return Check("check", reply.content, reply.headers)

