// Faults of the local facilitator that a test switches on and off: failures of a real one.
import { setTimeout as pause } from 'node:timers/promises';

const CALLS = ['verify', 'settle'] as const;
export type Call = (typeof CALLS)[number];

const DOES = ['hold', 'delay', 'drop', 'fail', 'refuse'] as const;
const MOMENTS = ['before', 'after'] as const;

/** One kind of fault of one kind of call. */
type Fault = {
  readonly on: Call;
  /** Before the call is processed, or once its outcome is known and before the response. */
  readonly at: (typeof MOMENTS)[number];
  /**
   * `hold` waits until the faults are set anew, `delay` waits `ms`, `drop` breaks the connection, `fail` returns `status` (500),
   * `refuse` returns a refusal with `reason` (200, or `status`).
   */
  readonly does: (typeof DOES)[number];
  readonly ms?: number;
  readonly status?: number;
  readonly reason?: string;
  /** Number of calls it affects; all when absent. */
  readonly times?: number;
};

/** What the caller gets instead of the outcome. */
export type Spoilt =
  | { readonly kind: 'drop' }
  | { readonly kind: 'answer'; readonly status: number; readonly reason: string | null };

export type Faults = {
  /** Replaces all faults; held calls continue. */
  readonly set: (faults: readonly Fault[]) => void;
  /** Waits where required; returns what to do instead of continuing, or null. */
  readonly strike: (on: Call, at: Fault['at']) => Promise<Spoilt | null>;
  readonly list: () => readonly Fault[];
  /** Calls that wait in a `hold` now. */
  readonly held: () => number;
};

type Armed = { readonly fault: Fault; left: number };

export const createFaults = (): Faults => {
  let armed: readonly Armed[] = [];
  let released = Promise.withResolvers<void>();
  let held = 0;
  const hold = async (): Promise<null> => {
    held += 1;
    await released.promise;
    held -= 1;
    return null;
  };
  return {
    set: (faults) => {
      armed = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
      released.resolve();
      released = Promise.withResolvers<void>();
    },
    strike: async (on, at) => {
      const struck = armed.find(({ fault, left }) => fault.on === on && fault.at === at && left > 0);
      if (struck === undefined) return null;
      struck.left -= 1;
      return struck.fault.does === 'hold' ? hold() : spoil(struck.fault);
    },
    list: () => armed.filter(({ left }) => left > 0).map(({ fault }) => fault),
    held: () => held,
  };
};

const spoil = async ({ does, ms = 0, status, reason }: Fault): Promise<Spoilt | null> => {
  switch (does) {
    case 'hold':
      return null;
    case 'delay':
      await pause(ms);
      return null;
    case 'drop':
      return { kind: 'drop' };
    case 'fail':
      return { kind: 'answer', status: status ?? 500, reason: null };
    case 'refuse':
      return { kind: 'answer', status: status ?? 200, reason: reason ?? 'insufficient_funds' };
    default:
      return does satisfies never;
  }
};

/** Throws TypeError that names the fault. */
export const parseFaults = (text: string): readonly Fault[] => {
  const given: unknown = JSON.parse(text);
  if (!Array.isArray(given)) throw new TypeError('faults are a list');
  return given.map((fault: Fault) => {
    const isKnown = CALLS.includes(fault.on) && MOMENTS.includes(fault.at) && DOES.includes(fault.does);
    if (isKnown) return fault;
    throw new TypeError(`on: ${CALLS.join(', ')}; at: ${MOMENTS.join(', ')}; does: ${DOES.join(', ')}`);
  });
};
