"""Proofs: the published verifier, unchanged, over answers of the service and over altered ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perp
from perp import _verify_run
from tests.conftest import DAY


def test_a_row_is_proven(client: perp.Client) -> None:
    proof = client.proof("binance", "BTCUSDT", "funding", f"{DAY}T00:10:00Z")
    found = proof.verify()
    assert found and found.ok and not found.on_chain and not found.failed
    assert "ok   day_root" in str(found) and "Only the offline part was checked" in str(found)
    assert proof["row"]["symbol"] == "BTCUSDT"


@pytest.mark.parametrize("member, step", [("row", "canonical"), ("canonical", "leaf_hash"), ("day_root", "day_root")])
def test_an_altered_one_is_not(client: perp.Client, member: str, step: str) -> None:
    proof = client.proof("binance", "BTCUSDT", "mark", f"{DAY}T00:01:00Z")
    document = json.loads(proof.content)
    if member == "row":
        document["row"]["mark"] = "1"
    else:
        document[member] = document[member].replace("0", "1", 1)
    found = _verify_run.verify_proof(json.dumps(document).encode(), None)
    assert not found and step in found.failed


def test_a_whole_table_of_a_day(client: perp.Client, tmp_path: Path) -> None:
    day = tmp_path / "day.json"
    day.write_bytes(client.anchor(DAY).content)
    files = client.archive.download(client.archive.list(layer="oi", start=DAY, end=DAY), tmp_path)
    assert perp.verify_files([day, *files])
    files[0].write_bytes(files[1].read_bytes())
    assert not perp.verify_files([day, *files])


def test_what_is_no_proof(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ValueError, match="neither a proof"):
        perp.verify_files([tmp_path / "x.json"])


def test_the_verifier_is_the_published_one() -> None:
    published = Path(__file__).parents[3] / "infra/verify/verify.py"
    own = Path(_verify_run._verify.__file__)
    assert own.read_bytes() == published.read_bytes(), "copy infra/verify/verify.py to src/perp/_verify.py"
