// The colour of a figure as a step: -5 to 5, so that the sheet of styles holds the colours and the legend can name them.
import { type Scale, SHARE_STEPS } from './measures.ts';

/** How many of the steps are reached. */
const countReached = (size: number, steps: readonly number[]): number => steps.filter((step) => size >= step).length;

/** `largest` is that of the row in the same unit, for shares. 0: no colour. */
export const computeColourStep = (figure: number, scale: Scale, largest: number): number => {
  if (!Number.isFinite(figure)) return 0;
  switch (scale.kind) {
    case 'signed':
      return Math.sign(figure) * countReached(Math.abs(figure), scale.steps) || 0;
    case 'above':
      return countReached(figure, scale.steps);
    case 'share':
      return largest > 0 ? countReached(figure / largest, SHARE_STEPS) : 0;
    default:
      return scale satisfies never;
  }
};
