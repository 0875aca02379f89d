"""Basis of perpetuals against their index, and its return to the mean, with what was known at each instant and nothing else."""

# %% [markdown]
# # Basis and mean reversion without look-ahead
#
# A z-score over a window that ends *before* the signal, a trade at the *next* reading, and a check that the past the study reads is
# the past the service would have answered at the time.

# %%
import perp
from perp import dql as q

client = perp.Client()
WINDOW, ENTRY = 15, 1.0

# %%
history = client.history("base = BTC", layers=["mark"], interval="1m", last="2h")
basis = history.wide("basis").dropna(axis="columns", how="all")
marks = history.wide("mark")[basis.columns]
print(basis.describe().T[["count", "mean", "std"]])

# %% [markdown]
# `min_periods` is the whole window: one hole in it, and there is no score. `shift(1)` keeps the newest reading out of its own mean.

# %%
past = basis.shift(1).rolling(WINDOW, min_periods=WINDOW)
score = (basis - past.mean()) / past.std(ddof=0).where(lambda deviation: deviation > 0)
signal = -score.where(score.abs() > ENTRY).map(lambda value: value if value != value else (1 if value > 0 else -1))
earned = signal * marks.pct_change(fill_method=None).shift(-1)  # the return after the signal, not the one that made it
print("signals", int(signal.notna().sum().sum()), "· of them with a next reading", int(earned.notna().sum().sum()))
print("mean return a signal, in bps:", (earned.stack().mean() or 0) * 10_000)

# %% [markdown]
# The term of the basis: what a longer interval sees of the same hour. Longer intervals are read, not averaged.

# %%
for interval in ("1m", "5m", "15m"):
    deviation = client.history("base = BTC", layers=["mark"], interval=interval, last="2h").wide("basis").std().mean()
    print(f"{interval}: standard deviation of the basis {deviation:.3g}")

# %% [markdown]
# Look-ahead check. For some instants, request what the service would have answered then: the same question `as of` the instant, and
# the newest reading `at` it. Both must be the row that the study used.

# %%
used = basis.dropna(how="any")
instants = [moment.to_pydatetime() for moment in used.index[:: max(1, len(used) // 4)]]
for moment in instants:
    told = client.history("base = BTC", layers=["mark"], at=moment).wide("basis")
    then = {listing: told[listing].iloc[0] for listing in used.columns}
    assert all(then[listing] == used.loc[moment, listing] for listing in used.columns), f"{moment}: the study saw something else"
    screen = client.screen(q.query(q.any(q.basis > -1), as_of=moment, where=perp.where(base="BTC"), select=[q.basis]))
    for found in screen:
        for listing in found["venues"]:
            name = f"{listing['venue']}:{listing['symbol']}"
            if name in then:
                assert listing["values"]["basis"]["value"] == then[name], f"{moment}: {name} was something else"
print(f"{len(instants)} instants: the past is what was known")
