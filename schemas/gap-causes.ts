// Why a period has no reading, candle or events (L-08): the causes that this service writes. Readers of answers must treat the set as open.

/** Causes in the order of L-08, each with its meaning; the documentation prints them. */
export const GAP_CAUSES = {
  collector_down: 'No collector of ours ran.',
  connection_lost: 'The connection to the venue was lost.',
  venue_down: 'The venue did not respond, or responded with an error.',
  venue_maintenance: 'The venue announced maintenance.',
  venue_rate_limit: 'The venue refused requests above its limits.',
  parse_error: 'A message could not be read.',
  crossed_book: 'The book was crossed: its best bid was not below its best ask.',
  sequence_break: 'Messages of a book did not follow each other.',
  pipeline_restart: 'A processor restarted without its state.',
  storage_failure: 'Messages were lost before they were processed.',
  no_update: 'The connection was alive and the venue sent nothing.',
  not_listed: 'The venue did not list the instrument.',
  unknown: 'Not known, or not known yet.',
} as const;
export type GapCause = keyof typeof GAP_CAUSES;
