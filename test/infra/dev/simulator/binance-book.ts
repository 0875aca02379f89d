// What tests of the simulated Binance share: its messages, and a book of their own.
import { hashElement } from '../../../../infra/dev/simulator/book-model.ts';
import { type Client, trimZeros } from '../../../support/venues/fake-simulator.ts';

export type Depth = {
  E: number;
  T: number;
  s: string;
  U: number;
  u: number;
  pu: number;
  b: [string, string][];
  a: [string, string][];
};
export type Snapshot = { lastUpdateId: number; T: number; bids: [string, string][]; asks: [string, string][] };
export type Mark = { e: string; E: number; s: string; p: string; i: string; r: string; T: number };

export const parse = <T>(text: string): T => JSON.parse(text) as T;
export const listDepths = (client: Client): Depth[] =>
  client.frames.filter((f) => f.startsWith('{"e":"depthUpdate"')).map(parse<Depth>);

/** An independent book: two maps, nothing of the model's code but the element hash. */
export function mapBook(snapshot: Snapshot) {
  const sides = { b: new Map(snapshot.bids), a: new Map(snapshot.asks) };
  const best = (side: 'b' | 'a'): string => {
    const prices = [...sides[side].keys()].sort((x, y) => Number(x) - Number(y));
    return (side === 'b' ? prices.at(-1) : prices[0]) ?? '';
  };
  return {
    apply: (frame: Depth): void => {
      for (const side of ['b', 'a'] as const) {
        for (const [price, size] of frame[side]) {
          if (Number(size) === 0) sides[side].delete(price);
          else sides[side].set(price, size);
        }
      }
    },
    best,
    sizes: sides,
    hash: (): number =>
      (['b', 'a'] as const)
        .flatMap((side) => [...sides[side]].map(([p, q]) => hashElement(side, trimZeros(p), trimZeros(q))))
        .reduce((sum, one) => (sum ^ one) >>> 0, 0),
  };
}
