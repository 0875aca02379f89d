"""Funding between venues, after fees, over the minutes in which both sides are known."""

# %% [markdown]
# # Funding arbitrage that respects fees and holes
#
# Short where funding is high, long where it is low, and be paid the difference. Two things ruin most studies of it: fees that the
# difference never earns back, and hours that were filled in because a venue sent nothing. Here a minute counts only when both sides
# were current in it.

# %%
import tempfile
from itertools import combinations

import pandas as pd

import perp

client = perp.Client()
TAKER_FEE = 0.0005  # of each of the four trades: in and out, on both venues

# %% [markdown]
# The service keeps closed days as files. The window of this study is what the newest of them covers.

# %%
files = list(client.archive.list("base = BTC", layer="funding"))
day = max(file["day"] for file in files if file["final"])
paths = client.archive.download([file for file in files if file["day"] == day], tempfile.mkdtemp())
ends = perp.read_archive(*paths).to_pandas()["window_end"]
start, end = ends.min().floor("min").to_pydatetime(), ends.max().ceil("min").to_pydatetime()
print(f"{day}: {start} to {end}")

# %% [markdown]
# One column for each listing. A gap is NaN, and its cause is in the long frame.

# %%
history = client.history("base = BTC", layers=["funding"], interval="1m", start=start, end=end)
rates = history.wide("funding_8h")
rows = history.to_pandas()
print(rows[rows["status"] != "present"].groupby(["venue", "reason", "gap_cause"], dropna=False).size())

# %% [markdown]
# For each pair: the mean difference over the minutes that both sides have, how many those are, and how many intervals of eight hours
# the position has to be held before the difference has paid for the four trades.


# %%
def study(pair: tuple[str, str]) -> dict[str, object]:
    both = rates[list(pair)].dropna()  # a minute with one side missing is no evidence of anything
    difference = both[pair[0]] - both[pair[1]]
    mean = abs(difference.mean()) if len(both) else float("nan")
    return {
        "short": pair[0] if difference.mean() > 0 else pair[1],
        "long": pair[1] if difference.mean() > 0 else pair[0],
        "minutes": len(both),
        "covered": len(both) / len(rates),
        "per_8h": mean,
        "intervals_to_pay_fees": 4 * TAKER_FEE / mean if mean else float("inf"),
    }


table = pd.DataFrame([study(pair) for pair in combinations(rates.columns, 2)])
best = table[table["minutes"] > 0].sort_values("per_8h", ascending=False)
print(best.head(10).to_string(index=False))

# %% [markdown]
# What filling would have done: the same mean with every hole filled from before. The difference is made up.

# %%
filled = rates.ffill()
invented = filled.notna().sum() - rates.notna().sum()
print("minutes that filling would invent:", dict(invented[invented > 0]))
