// The subscriptions of one connection that never rest for long: which have gone silent, which are merely quiet. Pure: instants go in.
import type { Watched } from '../venue.ts';

export type SubscriptionWatch = {
  readonly heard: (subscription: string, nowMs: number) => void;
  /** Those to subscribe again now; each is named again only after another such silence. */
  readonly silent: (nowMs: number) => readonly string[];
  /** One whose value is to be asked for now; it is named again only after another such quiet. */
  readonly quiet: (nowMs: number) => string | null;
  /** Nothing was read for a while: what was silent meanwhile says nothing about the venue. */
  readonly forgive: (nowMs: number) => void;
};

type Subscription = { readonly rule: Watched; heardMs: number; renewedMs: number; askedMs: number };

export const createSubscriptionWatch = (watched: readonly Watched[], openedMs: number): SubscriptionWatch => {
  const all = new Map<string, Subscription>();
  for (const rule of watched) {
    for (const name of rule.subscriptions) {
      all.set(name, { rule, heardMs: openedMs, renewedMs: openedMs, askedMs: openedMs });
    }
  }
  return {
    heard: (name, nowMs) => {
      const subscription = all.get(name);
      if (subscription) subscription.heardMs = nowMs;
    },
    silent: (nowMs) => {
      const names: string[] = [];
      for (const [name, subscription] of all) {
        const { rule, heardMs, renewedMs } = subscription;
        if (nowMs - Math.max(heardMs, renewedMs) < rule.silenceMs) continue;
        subscription.renewedMs = nowMs;
        names.push(name);
      }
      return names;
    },
    quiet: (nowMs) => {
      for (const [name, subscription] of all) {
        const { rule, heardMs, askedMs } = subscription;
        if (rule.confirmAfterMs === undefined || nowMs - Math.max(heardMs, askedMs) < rule.confirmAfterMs) continue;
        subscription.askedMs = nowMs;
        return name;
      }
      return null;
    },
    forgive: (nowMs) => {
      for (const subscription of all.values()) subscription.heardMs = nowMs;
    },
  };
};
