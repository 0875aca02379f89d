// The common part of pages with live cells: shows whether figures are live, counts updates, pauses and resumes.
import type { LayerUpdate } from '../board/picture.ts';
import { toListingKey } from '../board/reading.ts';
import { roveCells, showTips } from './cell-tip.ts';
import { LiveCells } from './live-cells.ts';
import { type FeedState, LiveFeed } from './live-feed.ts';
import { measureClockError } from './page-clock.ts';
import { findElement } from './page-element.ts';

type LivePage = { readonly feed: LiveFeed; readonly cells: LiveCells };

type LiveOptions = {
  readonly table: HTMLElement;
  readonly query: Readonly<Record<string, string>>;
  readonly onTold?: (told: LayerUpdate) => void;
};

/** A browser has six connections to a site (HTTP/1.1), and a plan a number of streams: pages that nobody sees leave them to others. */
const HIDDEN_MS = 5_000;

/** Receives the stream while the page is seen, unless its user has paused it. */
const receiveWhileSeen = (feed: LiveFeed): void => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isOver = (): boolean => feed.state === 'paused' || feed.state === 'ended';
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => (isOver() ? undefined : feed.rest()), HIDDEN_MS);
    else if (feed.state === 'resting') feed.open();
  });
  addEventListener('pagehide', () => feed.close());
  addEventListener('pageshow', ({ persisted }) => (persisted && !isOver() ? feed.open() : undefined));
  if (document.hidden) feed.rest();
  else feed.open();
};

/** Opens the stream of the page; it ends with the page. */
export const openLivePage = ({ table, query, onTold }: LiveOptions): LivePage => {
  const [said, count, pause] = [findElement('live-state'), findElement('live-count'), findElement('live-pause')];
  const showCounts = (): void => {
    const { snapshots, updates, connections } = feed.counts;
    count.textContent = `${updates} updates`;
    // For programs that compare received events with sent ones.
    Object.assign(table.dataset, { updates, snapshots, connections, holes: feed.picture.holes });
  };
  const onState = (state: FeedState, words: string): void => {
    document.documentElement.dataset['live'] = state;
    if (said.textContent !== words) said.textContent = words;
  };
  const feed: LiveFeed = new LiveFeed(query, {
    onState,
    onTold: (told) => {
      if (told === null) return cells.refresh();
      cells.touch(toListingKey(told), told.layer);
      onTold?.(told);
    },
  });
  feed.clockErrorMs = measureClockError();
  const cells = new LiveCells(table, feed, showCounts);
  pause.hidden = false;
  pause.addEventListener('click', () => {
    if (feed.state === 'paused') {
      cells.thaw();
      feed.open();
      pause.textContent = 'Pause';
      return;
    }
    cells.freeze();
    feed.pause();
    pause.textContent = 'Go on';
  });
  showTips(table, findElement('cell-tip'), cells);
  roveCells(table);
  receiveWhileSeen(feed);
  return { feed, cells };
};
