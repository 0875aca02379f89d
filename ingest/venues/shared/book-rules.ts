// Rules of books for venues that number messages in the same way; the snapshots of these feeds arrive on the socket.
import type { BookRule } from './book-sync.ts';

/** Each message has the number after the last one. A repeat is skipped; any other number is a gap, or a restarted numbering. */
export const COUNTED_STREAM: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.last === last) return 'skip';
    return next.last === last + 1n ? 'apply' : 'break';
  },
};

export const UNNUMBERED_STREAM: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: () => 'apply',
  isUnnumbered: true,
};
