// Books of the simulated OKX: changes, whole books for new subscribers, and an empty message of a quiet book.
import type { StreamRef } from '../../faults.ts';
import type { Diff, Instrument } from '../../market.ts';
import type { VenueDeps } from '../../venue.ts';
import { formatBookFrame, formatBookUpdate, formatEmptyUpdate, formatWholeBook } from './frames.ts';

/** A book without a change for this many seconds sends a message without levels. */
const QUIET_AFTER = 5;

export class Books {
  readonly #deps: VenueDeps;
  readonly #findStream: (instrument: Instrument) => StreamRef;
  /** The newest sent id of each book. */
  readonly #sent = new Map<Instrument, number>();
  /** Seconds since each book's last message. */
  readonly #quiet = new Map<Instrument, number>();

  constructor(deps: VenueDeps, findStream: (instrument: Instrument) => StreamRef) {
    this.#deps = deps;
    this.#findStream = findStream;
  }

  change(instrument: Instrument, diff: Diff): void {
    this.#sent.set(instrument, diff.last);
    this.#quiet.set(instrument, 0);
    this.#deps.delivery.emit(this.#findStream(instrument), () =>
      formatBookFrame(instrument.listing.symbol, 'update', formatBookUpdate(instrument, diff)),
    );
  }

  /** The book right after its newest message. */
  makeWhole(instrument: Instrument): string {
    const { truth, crossings } = this.#deps;
    truth.snapshot(instrument, crossings.priceOf(instrument));
    this.#sent.set(instrument, instrument.diffId);
    return formatBookFrame(
      instrument.listing.symbol,
      'snapshot',
      formatWholeBook(instrument, crossings.bids(instrument)),
    );
  }

  passSecond(instrument: Instrument): void {
    const seconds = (this.#quiet.get(instrument) ?? 0) + 1;
    this.#quiet.set(instrument, seconds);
    if (seconds >= QUIET_AFTER) this.sendSequence(instrument);
  }

  /** No level changes: the sequence keeps its id, or has another one since it began anew. */
  sendSequence(instrument: Instrument): void {
    const { delivery, truth, crossings } = this.#deps;
    const previous = this.#sent.get(instrument) ?? instrument.diffId;
    this.#sent.set(instrument, instrument.diffId);
    this.#quiet.set(instrument, 0);
    delivery.emit(this.#findStream(instrument), () => {
      truth.snapshot(instrument, crossings.priceOf(instrument));
      return formatBookFrame(instrument.listing.symbol, 'update', formatEmptyUpdate(instrument, previous));
    });
  }
}
