// Starts a life without a checkpoint on a log whose start is gone: continues after earlier lives and records what they lost (design section 5).
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { findLastEnd, SEALS_AFTER, toMinute } from '../../schemas/windows.ts';
import { createConnection } from './connections.ts';
import { isCollected, isOwnSymbol, openLayer, type TaskContext } from './context.ts';
import { pushListingGap } from './gap-records.ts';
import { pushLive } from './outputs.ts';
import { toInvalidation } from './readings.ts';
import type { Recovery } from './recovery.ts';
import { createListing, type LayerState, type ListingState } from './state.ts';
import type { Store } from './store.ts';
import { hasEnded, wasOffSince } from './versions.ts';
import { LAYERS_BY_WINDOW_MS } from './windows.ts';

/** Versions written by an instant, oldest first. */
const listWrittenBy = <T extends { readonly written_at: Micros }>(versions: readonly T[], at: Micros): T[] =>
  versions.filter((version) => version.written_at <= at).sort((a, b) => a.written_at - b.written_at);

/** Restores versions from before the log's start: their answers are no longer in the log. */
const seedVersions = (context: TaskContext, recovery: Recovery): void => {
  const { store, state } = context;
  const capabilities = listWrittenBy(recovery.capabilities, state.recordedAt);
  store.changeCore((core) => {
    core.capability = capabilities.pop() ?? null;
    core.capabilitiesBefore = capabilities;
  });
  const symbols = [...new Set(recovery.listings.map(({ venue_symbol }) => venue_symbol))].sort();
  for (const symbol of symbols.filter((name) => isOwnSymbol(context, name))) {
    const versions = recovery.listings.filter(({ venue_symbol }) => venue_symbol === symbol);
    const before = listWrittenBy(versions, state.recordedAt);
    const version = before.pop();
    if (version === undefined) continue;
    store.addListing(createListing(version, before));
    context.listings.set(symbol, version.record);
  }
};

/** A layer that had a reading is a gap of our own until its first new one, unless it was off since: then it has no value anyway (F-04). */
const seedFaults = (context: TaskContext, { revs, readAt }: Recovery): void => {
  const { store, state } = context;
  for (const { symbol } of state.listings.values()) {
    store.changeListing(symbol, (listing) => {
      for (const name of READING_LAYERS) {
        const hadReading = revs === null || revs[symbol]?.[name] !== undefined;
        if (!hadReading) continue;
        const since = readAt?.[symbol]?.[name];
        if (since !== undefined && wasOffSince(state, listing, { layer: name, since })) {
          openLayer(listing, name).wasOff = true;
        } else if (isCollected(context, listing, name)) {
          openLayer(listing, name).faults.push({ from: 0, to: null, cause: 'storage_failure' });
        }
      }
    });
  }
};

/** Sealing continues after the last W, so that every window has exactly one row, of an earlier life or of this one. */
const continueSealing = ({ changeCore }: Store, watermark: Micros): void => {
  const sealedBy = watermark - SEALS_AFTER;
  changeCore((core) => {
    for (const ms of LAYERS_BY_WINDOW_MS.keys()) {
      core.sealed[ms] = Math.min(core.sealed[ms] ?? 0, findLastEnd(sealedBy, ms));
      core.announced[ms] = Math.min(core.announced[ms] ?? 0, findLastEnd(sealedBy, ms));
    }
    core.minutesSealed = Math.min(core.minutesSealed, toMinute(sealedBy));
  });
};

/** Runs at the first remaining record. A connection that is not named again ends by the rule on the log (F-02). */
export const beginRecovered = (context: TaskContext, recovery: Recovery): void => {
  const { store, state } = context;
  store.changeCore((core) => {
    core.lostBefore = core.recordedAt;
  });
  seedVersions(context, recovery);
  seedFaults(context, recovery);
  for (const span of recovery.spans) store.addConnection(createConnection(span, state.recordedAt));
  if (recovery.watermark !== null) continueSealing(store, recovery.watermark);
  store.changeCore((core) => {
    core.recovery = { ...recovery, listings: [], capabilities: [], spans: [] };
  });
};

/**
 * Runs at the first record that no earlier life has published: `rev` continues above the published one, and a layer that had a reading
 * and has none now is invalidated. `receivedAt` is the record's.
 */
export const resumePublishing = (context: TaskContext, { revs }: Recovery, receivedAt: Micros): void => {
  const { store, state } = context;
  for (const held of state.listings.values()) {
    const published = revs?.[held.symbol];
    if (published === undefined || hasEnded(held.version, state.recordedAt)) continue;
    store.changeListing(held.symbol, (listing) => {
      const layers = READING_LAYERS.filter((name) => {
        const rev = published[name];
        return rev !== undefined && continueRev(openLayer(listing, name), rev) && isCollected(context, listing, name);
      });
      if (layers.length === 0) return;
      invalidateLayers(context, listing, { layers, receivedAt });
      const missed = { cause: 'pipeline_restart', receivedAt, connId: '' } as const;
      pushListingGap(context, { symbol: listing.symbol, of: layers }, missed);
    });
  }
};

/** Returns whether the layer had a reading that it would still hold, and has none. */
const continueRev = (layer: LayerState, published: number): boolean => {
  layer.rev = Math.max(layer.rev, published);
  return layer.reading === null && layer.wasOff !== true;
};

/** Layers that had a reading and have none at the record received at `receivedAt`. */
type Lost = { readonly layers: readonly ReadingLayer[]; readonly receivedAt: Micros };

/** The invalidations are not offered to windows: nothing was received. */
const invalidateLayers = (context: TaskContext, listing: ListingState, { layers, receivedAt }: Lost): void => {
  const { state, out } = context;
  for (const name of layers) {
    const layer = openLayer(listing, name);
    layer.rev += 1;
    layer.offset = out.offset;
    const source = {
      layer: name,
      rev: layer.rev,
      receivedAt,
      recordedAt: state.recordedAt,
      connId: '',
      capability: state.capability,
      listing: listing.version.record,
      raw: null,
    };
    layer.reading = toInvalidation(source, 'pipeline_restart', null);
    pushLive(context, { kind: 'reading', symbol: listing.symbol, reading: layer.reading });
  }
};
