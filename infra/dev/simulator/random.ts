// A seeded source of randomness (mulberry32): the same seed gives the same market, frame by frame.

export type Random = {
  /** Uniform in [0, 1). */
  readonly next: () => number;
  /** Uniform integer in [0, n). */
  readonly below: (n: number) => number;
  /** True with probability `p`. */
  readonly chance: (p: number) => boolean;
  /** About normal, mean 0 and deviation 1 (Irwin-Hall of four: cheap, bounded at 3.5). */
  readonly normal: () => number;
};

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    below: (n) => Math.floor(next() * n),
    chance: (p) => next() < p,
    normal: () => (next() + next() + next() + next() - 2) * Math.sqrt(3),
  };
}

/** FNV-1a, 32 bits: seeds one stream a symbol, and is the element hash of a book's order-independent hash. */
export function computeFnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}
