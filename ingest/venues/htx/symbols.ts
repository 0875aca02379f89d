// What HTX's contract codes, channels and bytes imply: market, multiplier, the chain of a book message, the inflated frame.
import { gunzipSync } from 'node:zlib';
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import type { Chain } from '../shared/book-sync.ts';

export type Market = 'linear' | 'inverse';

/** `BTC-USDT` and `BTC-USD`; dated contracts have a third part (`BTC-USDT-211231`, `BTC-USDT-CQ`, `BTC-USDT-FUTURES`). */
export const isSwap = (code: string): boolean => /^[^-.*\s]+-[^-.*\s]+$/.test(code);

/** Only coin-margined swaps are quoted in dollars. */
export const toMarket = (code: string): Market => (code.endsWith('-USD') ? 'inverse' : 'linear');

export const splitSymbol = (code: string): { readonly base: string; readonly quote: string } => {
  const [base = '', quote = ''] = code.split('-');
  return { base, quote };
};

/** `market.BTC-USDT.depth.step0` -> `BTC-USDT`, `depth.step0`. */
export const splitChannel = (channel: string): { readonly symbol: string; readonly topic: string } | null => {
  const [, symbol, topic] = /^market\.([^.]+)\.(.+)$/.exec(channel) ?? [];
  return symbol === undefined || topic === undefined ? null : { symbol, topic };
};

/** Unmerged levels: `step0` is 150 a side and whole each time, `step6` its best 20, `size_N.high_freq` a snapshot and then changes. */
const DEPTH = /^depth\.(?:(step0|step6)|size_(\d+)\.high_freq)$/;

/** Levels a side the channel sends; null for a channel of merged levels. */
export const readDepth = (topic: string): number | null => {
  const [, step, size] = DEPTH.exec(topic) ?? [];
  if (step !== undefined) return step === 'step0' ? 150 : 20;
  return size === undefined ? null : Number(size);
};

/** The best 20 of `step6` are not part of the book's chain. */
export const isChained = (topic: string): boolean => topic !== 'depth.step6';

/** What the `event` of a message of the book makes of it; null for an unknown word. One without `event` is whole. */
export const toBookKind = (event: unknown): 'snapshot' | 'update' | null =>
  event === 'snapshot' || event === 'update' ? event : null;

/** `high_freq` numbers its messages consecutively. The version of `step0` is a second, and needs none: it is whole each time. */
export const toChain = (symbol: string, kind: 'snapshot' | 'update', version: bigint | null): Chain => ({
  symbol,
  kind,
  first: null,
  last: version,
  previous: null,
});

/** Chain of a frame of the book; REST answers have a `status` and are not part of it. */
export const readChain = (text: string): Chain | null => {
  const [, channel] = /"ch":"(market\.[^"]+)"/.exec(text) ?? [];
  const named = channel === undefined ? null : splitChannel(channel);
  if (named === null || readDepth(named.topic) === null || !isChained(named.topic) || !isSwap(named.symbol))
    return null;
  if (!text.includes('"tick"') || text.includes('"status"')) return null;
  const version = /"version":"?(\d{1,40})\b/.exec(text)?.[1];
  const event = /"event":(?!null|"")"?([^"]*)/.exec(text)?.[1];
  const kind = event === undefined ? 'snapshot' : toBookKind(event);
  if (kind === null) return null;
  return toChain(named.symbol, kind, version === undefined ? null : BigInt(version));
};

/** The channel of a frame of marks or indexes; null for channels that may be quiet. */
export const readSubscription = (text: string): string | null =>
  /^\{"ch":"(market\.[^".]+\.(?:mark_price|index)\.1min)"/.exec(text)?.[1] ?? null;

/** The minute of a candle sent after its end. No frame marks it, and the last frame within a minute may lack its last trades. */
export const readClosedMinute = (text: string): ClosedMinute | null => {
  const symbol = /^\{"ch":"market\.([^".]+)\.kline\.1min"/.exec(text)?.[1];
  const sentMs = /"ts":"?(\d+)/.exec(text)?.[1];
  const start = /"id":"?(\d+)/.exec(text)?.[1];
  if (symbol === undefined || sentMs === undefined || start === undefined) return null;
  const openMs = Number(start) * 1000;
  return Number(sentMs) >= openMs + MS_PER_MINUTE ? { symbol, openMs } : null;
};

/** Frames inflate to less than this; a larger one stays compressed, and is then no JSON. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Frames are gzip; REST answers are not, and recordings hold frames inflated or in base64. */
export const inflate = (bytes: Uint8Array): Uint8Array => {
  const packed = isBase64Gzip(bytes) ? Buffer.from(Buffer.from(bytes).toString('latin1'), 'base64') : bytes;
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(packed, { maxOutputLength: MOST_BYTES });
  } catch {
    return bytes;
  }
};

/** The base64 of gzip's first three bytes; no JSON starts so. */
const isBase64Gzip = (bytes: Uint8Array): boolean => Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'H4sI';
