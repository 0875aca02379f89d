// The sentences that explain why a figure is withheld: reasons of statuses, causes of gaps, and reasons of the page itself.
import { GAP_CAUSES } from '../../../schemas/gap-causes.ts';

const REASONS: Readonly<Record<string, string>> = {
  connection_lost: 'The connection that delivered it was lost.',
  horizon_passed: 'Its horizon has passed: the venue has not published it again in time.',
  state_lag: 'Our own processing is behind.',
  horizon_unknown: 'Nothing proves that it is current.',
  freshness_bound: 'It is older than the freshness bound.',
  no_value: 'Nothing was received yet.',
  not_retained: 'Data of this time is not kept.',
  gap: 'There is a gap.',
  venue_capability: 'The venue does not publish it.',
  policy_off: 'It is not collected.',
  unit_unknown: 'Its unit is not known.',
  stream_lost: 'This page has lost its stream; later changes are not known.',
};

const isCause = (cause: string): cause is keyof typeof GAP_CAUSES => Object.hasOwn(GAP_CAUSES, cause);

/** Names may be added by the service: an unknown one is shown as it is. */
export const describeReason = (reason: string, cause?: string): string => {
  if (cause !== undefined && isCause(cause)) return GAP_CAUSES[cause];
  // Gaps of liquidations name the reason as their cause where nothing was collected.
  if (cause !== undefined) return REASONS[cause] ?? cause.replaceAll('_', ' ');
  return REASONS[reason] ?? reason.replaceAll('_', ' ');
};

/** Two or three words for a cell or a lane. */
export const formatReason = (reason: string, cause?: string): string => (cause ?? reason).replaceAll('_', ' ');
