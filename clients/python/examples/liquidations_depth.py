"""Liquidations of a closed day, the depth around them, and one row of it proven to be what was held when its root was posted."""

# %% [markdown]
# # Liquidations and the depth around them, with a proof at the end

# %%
import tempfile
from datetime import timedelta

import perp

client = perp.Client()

# %%
files = list(client.archive.list(layer="liquidation"))
day = max(file["day"] for file in files if file["final"])
paths = client.archive.download([file for file in files if file["day"] == day], tempfile.mkdtemp())
stored = perp.read_archive(*paths).to_pandas()
present = stored[stored["status"] == "present"]
start, end = present["received_at"].min().to_pydatetime(), present["received_at"].max().to_pydatetime() + timedelta(seconds=1)
print(f"{day}: {len(present)} liquidations from {start} to {end}")

# %% [markdown]
# The same by the service, with value in quote currency. An empty stretch means something only where nothing was lost: the gaps are
# rows of the frame, and `completeness` states for each venue whether it publishes all, some or none.

# %%
liquidations = client.liquidations(start=start, end=end)
frame = liquidations.to_pandas()
known = frame[frame["status"] == "present"]
gaps = frame[frame["status"] == "missing"]
print(known.groupby(["venue", "side"])["value"].agg(["count", "sum"]))
print(f"{len(gaps)} stretches without hearing:", gaps["gap_cause"].value_counts().to_dict())
print({item["venue"]: item["completeness"] for page in liquidations.pages() for item in page})

# %% [markdown]
# Depth within 25 bps of the mid, before and after the largest liquidation of each listing: one row an instant, the newest reading that
# was known then. Where the book was not known that far, there is no number.

# %%
largest = known.sort_values("value", ascending=False).groupby(["venue", "venue_symbol"]).head(1)
for moment, row in largest.head(5).iterrows():
    where = perp.where(venue=row["venue"], symbol=row["venue_symbol"])
    around = [moment.to_pydatetime() + timedelta(seconds=offset) for offset in (-20, 0, 20)]
    depth = client.history(where, layers=["venue_depth"], at=around).to_pandas()
    print(row["venue"], row["venue_symbol"], row["side"], row["value"])
    print(depth[["status", "depth_bid_value_25bps", "depth_ask_value_25bps"]].to_string())

# %% [markdown]
# The proof. The row of the largest liquidation, the path from it to the root of its day, and every step recomputed here by the
# published verifier. With `rpc=` and the address of any node it also queries the chain.

# %%
row = largest.iloc[0]
proof = client.proof(row["venue"], row["venue_symbol"], "liquidation", largest.index[0].to_pydatetime(), id=row["id"])
assert float(proof["row"]["price"]) == row["price"]
found = proof.verify()
print(found)
assert found.ok
