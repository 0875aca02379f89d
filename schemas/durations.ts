// Durations: one unit only in the input, two formats for the output (N-04).
/** As documents state it. */
export const DURATION_FORM = '^(0|[1-9][0-9]{0,8})(s|m|h|d)$';
const DURATION = new RegExp(DURATION_FORM);
const MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `10s`, `2m`, `1h`, `1d`; null for anything else. */
export const parseDuration = (text: string): number | null => {
  const found = DURATION.exec(text);
  return found ? Number(found[1]) * (MS[found[2] ?? ''] ?? 0) : null;
};

/** Seconds form of freshness members: `300s`. */
export const formatSeconds = (ms: number): string => `${Math.floor(ms / 1_000)}s`;

/** The largest unit that divides exactly: `60s` becomes `1m`, `90s` stays. */
export const formatDuration = (ms: number): string => {
  const unit = (['d', 'h', 'm'] as const).find((u) => ms > 0 && ms % (MS[u] ?? 1) === 0) ?? 's';
  return `${ms / (MS[unit] ?? 1_000)}${unit}`;
};
