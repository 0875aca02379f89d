// Tracks the watched subscriptions of one connection: which are silent, or never began, and which are merely quiet. Pure: instants are arguments.
import type { Watched } from '../venues/contract/feed.ts';

type SubscriptionWatch = {
  /** The venue has accepted the subscription. */
  readonly begin: (subscription: string) => void;
  /** A data frame of the subscription. */
  readonly take: (subscription: string, text: string, nowMs: number) => void;
  /** Subscriptions to renew now; each is returned again only after another silence. */
  readonly silent: (nowMs: number) => readonly string[];
  /** A subscription whose value is to be requested now; it is returned again only after another quiet period. */
  readonly quiet: (nowMs: number) => string | null;
  /** Nothing was read for a while: silence in that time is not the venue's. */
  readonly forgive: (nowMs: number) => void;
};

/** A value with its own confirmation time: a member when it changes, or (`find` null) the whole subscription by any frame. */
type Value = { readonly find: RegExp | null; readonly confirmAfterMs: number; last: string | null; receivedMs: number };
type Subscription = {
  readonly rule: Watched;
  readonly values: readonly Value[];
  /** Whether it was accepted, or has had a frame. */
  hasBegun: boolean;
  receivedMs: number;
  renewedMs: number;
  askedMs: number;
};

const listValues = ({ confirmAfterMs, members = [] }: Watched, receivedMs: number): readonly Value[] => {
  const begun = { last: null, receivedMs };
  const whole = confirmAfterMs === undefined ? [] : [{ find: null, confirmAfterMs, ...begun }];
  const parts = members.map(({ name, ...rest }) => ({ find: new RegExp(`"${name}":"([^"]*)"`), ...rest, ...begun }));
  return [...whole, ...parts];
};

const takeValue = (value: Value, text: string, nowMs: number): void => {
  const found = value.find === null ? null : (value.find.exec(text)?.[1] ?? value.last);
  if (value.find === null || found !== value.last) value.receivedMs = nowMs;
  value.last = found;
};

export const createSubscriptionWatch = (watched: readonly Watched[], openedMs: number): SubscriptionWatch => {
  const all = new Map<string, Subscription>();
  for (const rule of watched) {
    for (const name of rule.subscriptions) {
      const values = listValues(rule, openedMs);
      const times = { receivedMs: openedMs, renewedMs: openedMs, askedMs: openedMs };
      all.set(name, { rule, values, hasBegun: false, ...times });
    }
  }
  return {
    begin: (name) => {
      const subscription = all.get(name);
      if (subscription) subscription.hasBegun = true;
    },
    take: (name, text, nowMs) => {
      const subscription = all.get(name);
      if (!subscription) return;
      subscription.hasBegun = true;
      subscription.receivedMs = nowMs;
      for (const value of subscription.values) takeValue(value, text, nowMs);
    },
    silent: (nowMs) => {
      const names: string[] = [];
      for (const [name, subscription] of all) {
        const { rule, hasBegun, receivedMs, renewedMs } = subscription;
        if (rule.mayBeQuiet === true && hasBegun) continue;
        if (nowMs - Math.max(receivedMs, renewedMs) < rule.silenceMs) continue;
        subscription.renewedMs = nowMs;
        names.push(name);
      }
      return names;
    },
    quiet: (nowMs) => {
      for (const [name, subscription] of all) {
        const { values, askedMs } = subscription;
        // One answer contains all values.
        const isQuiet = values.some((v) => nowMs - Math.max(v.receivedMs, askedMs) >= v.confirmAfterMs);
        if (!isQuiet) continue;
        subscription.askedMs = nowMs;
        return name;
      }
      return null;
    },
    forgive: (nowMs) => {
      for (const subscription of all.values()) {
        subscription.receivedMs = nowMs;
        for (const value of subscription.values) value.receivedMs = nowMs;
      }
    },
  };
};
