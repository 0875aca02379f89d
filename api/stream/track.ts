// One listing and layer as printed for one format: its reading and status as sent, and when time alone may change it (F-04, ST-03, ST-07).
import { findStatusAt, type StatusAnswer } from '../../schemas/freshness.ts';
import { type JsonValue, writeJson } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { ListingVersion, Reading } from '../../schemas/topics.ts';
import { findVersionAt, isListed, type LiveListing } from '../live/listing-book.ts';
import { findHeldAt, findLostAt, makeLayerState, type VenueView } from '../live/listing-view.ts';
import type { Mark } from '../live/members.ts';
import { toListingKey, toTrackKey } from './keys.ts';
import type { Format } from './request.ts';

type Change = 'value' | 'status' | 'both';
export type LayerStatus = Pick<StatusAnswer, 'status' | 'reason' | 'gap_cause'>;

/** A listing and layer at one instant. `mark`: the one that its quantities convert with (N-07), the present one when left out. */
type Glance = {
  readonly view: VenueView;
  readonly reading: Reading | null;
  readonly at: Micros;
  readonly mark?: () => Mark | null;
};
/** The inputs of a text about a listing, while it is listed: a delisted one's last status is frozen (F-04). */
export type Sight = Glance & { readonly version: ListingVersion };

export const isSame = (a: LayerStatus, b: LayerStatus): boolean =>
  a.status === b.status && a.reason === b.reason && a.gap_cause === b.gap_cause;

export class Track<Reader> {
  readonly key: string;
  readonly listing: LiveListing;
  readonly layer: ReadingLayer;
  readonly format: Format;
  readonly readers = new Set<Reader>();
  reading: Reading | null = null;
  told: LayerStatus = { status: 'missing', reason: 'no_value', gap_cause: null };
  /** Earliest instant of the track in the queue. */
  queuedAt: Micros = Number.POSITIVE_INFINITY;

  constructor(listing: LiveListing, layer: ReadingLayer, format: Format) {
    this.key = toTrackKey(toListingKey(listing.venue, listing.venueSymbol), layer);
    this.listing = listing;
    this.layer = layer;
    this.format = format;
  }

  /** Null while the listing is not listed. */
  see(glance: Glance): Sight | null {
    const version = findVersionAt(this.listing.versions, glance.at);
    return version !== null && isListed(version, glance.at) ? { ...glance, version } : null;
  }

  status({ view, reading: newest, at }: Glance): StatusAnswer {
    const { capabilities } = view.venue;
    const reading = findHeldAt(newest, { capabilities, versions: this.listing.versions, at });
    return findStatusAt({
      reading,
      policy: findListingPolicy(view.capability, this.layer, findVersionAt(this.listing.versions, at)),
      lostAt: findLostAt(view, this.listing, reading),
      boundMs: this.format.bounds[this.layer],
      at,
      stateLag: view.stateLag,
    });
  }

  /** The next instant at which the passing of time can change the status; infinite when none can. */
  nextMoment({ view, reading, at }: Glance): Micros {
    if (reading === null || !reading.valid) return Number.POSITIVE_INFINITY;
    const moments = [
      findLostAt(view, this.listing, reading) ?? Number.POSITIVE_INFINITY,
      (reading.valid_until ?? Number.POSITIVE_INFINITY) + 1,
      reading.received_at + (this.format.bounds[this.layer] + 1) * 1_000,
    ];
    return Math.min(...moments.filter((moment) => moment > at));
  }

  /** Data of a `snapshot`, or of an `update` when something changed. */
  data({ view, reading, at, version, mark }: Sight, change?: Change): string {
    const { listing, layer, format } = this;
    const body: JsonValue = {
      venue: listing.venue,
      venue_symbol: listing.venueSymbol,
      instrument: version.record.values.instrument,
      layer: LAYERS[layer].recordName,
      rev: reading?.rev ?? 0,
      change,
      state: makeLayerState(
        view,
        { listing, version, mark },
        { layer, reading, options: { ...format, at, includeRaw: false } },
      ),
    };
    return writeJson(body, { numberFormat: format.numberFormat });
  }
}
