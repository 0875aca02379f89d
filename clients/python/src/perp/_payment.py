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

    def pay(headers: Mapping[str, str], _: bytes) -> Mapping[str, str]:
        # The three steps by themselves: the parameters of the method that takes them together change with minor versions of x402.
        named = {name.lower(): value for name, value in headers.items()}
        asked = http.get_payment_required_response(lambda name: named.get(name.lower()))
        signed: Mapping[str, str] = http.encode_payment_signature_header(http.create_payment_payload(asked))
        return signed

    return pay
