// Stored history for the evaluations of rules: after a store has not responded, evaluations do not wait for it until it responds again.
import { setTimeout as pause } from 'node:timers/promises';
import { type HistoryStore, storeAway } from '../history/store.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * Each question about a store that is silent lasts as long as an evaluation may, and an instant as long as all its questions: the instants after
 * it would be late for every rule, and a call that evaluates a hundred rules now would take minutes. So the first question that finds it
 * silent (`isReachable`) ends the wait of the others.
 */
export const createImpatientStore = (store: HistoryStore, lookEveryMs = LOOK_EVERY_MS): HistoryStore => {
  let isAway = false;
  const awaitReturn = async (): Promise<void> => {
    do await pause(lookEveryMs, undefined, { ref: false });
    while (!(await store.isReachable()));
    isAway = false;
  };
  return {
    begin: () => {
      if (isAway) throw storeAway();
      return store.begin();
    },
    isReachable: async () => {
      const answers = await store.isReachable();
      if (!answers && !isAway) {
        isAway = true;
        void awaitReturn();
      }
      return answers;
    },
  };
};
