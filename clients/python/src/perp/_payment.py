"""Paying by the call: what signs a payment, and the stock x402 client as one."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from ._errors import MissingExtra

Payer = Callable[[Mapping[str, str], bytes], Mapping[str, str]]
"""Takes headers and body of a 402, gives the headers of the same request with a payment."""


def x402_payer(account: Any) -> Payer:
    """Pays with an account of eth_account through the stock x402 client, within that client's own limits on spending."""
    try:
        from x402 import x402ClientSync
        from x402.http import x402HTTPClientSync
        from x402.mechanisms.evm import EthAccountSigner
        from x402.mechanisms.evm.exact.register import register_exact_evm_client
    except ImportError:
        raise MissingExtra("x402", "payments") from None
    client = x402ClientSync()
    register_exact_evm_client(client, EthAccountSigner(account))
    http = x402HTTPClientSync(client)

    def pay(headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        signed, _ = http.handle_402_response(dict(headers), body)
        given: Mapping[str, str] = signed
        return given

    return pay
