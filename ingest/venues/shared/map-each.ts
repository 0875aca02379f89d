// Maps the elements of a message one by one: an element that cannot be read does not affect the others.
import { VenueError, VenueRefusal } from '../contract/listings.ts';
import { type Mapped, UnreadablePart } from '../contract/mapping.ts';

/**
 * The records of a message's elements; most messages have one. Where elements cannot be read, the first one's error is thrown at the end, with the
 * records of all others. Not for elements that only make sense together, such as changes of a book without ids.
 */
export const mapEach = <T>(elements: readonly T[], map: (element: T) => readonly Mapped[]): readonly Mapped[] => {
  if (elements.length === 1) return map(elements[0] as T);
  const all: Mapped[] = [];
  let fault: VenueError | null = null;
  for (const element of elements) {
    try {
      for (const mapped of map(element)) all.push(mapped);
    } catch (error) {
      // A refusal is about the whole message.
      if (!(error instanceof VenueError) || error instanceof VenueRefusal) throw error;
      if (error instanceof UnreadablePart) all.push(...error.mapped);
      fault ??= error;
    }
  }
  return giveReadable(all, fault);
};

/** The records of a ticker's layers, each read on its own: a figure that cannot be read takes its layer, and no other. Null: the ticker has none of it. */
export const mapLayers = (layers: readonly (() => Mapped | null)[]): readonly Mapped[] => {
  const all: Mapped[] = [];
  let fault: VenueError | null = null;
  for (const read of layers) {
    try {
      const mapped = read();
      if (mapped !== null) all.push(mapped);
    } catch (error) {
      if (!(error instanceof VenueError)) throw error;
      fault ??= error;
    }
  }
  return giveReadable(all, fault);
};

/** The records; with a fault of another part of the message, they are thrown with it. */
export const giveReadable = (mapped: readonly Mapped[], fault: VenueError | null): readonly Mapped[] => {
  if (fault === null) return mapped;
  throw mapped.length === 0 ? fault : new UnreadablePart(fault, mapped);
};

/** What `read` gives; after an error, what `otherwise` gives of it. */
export const readOrElse = <T>(read: () => T, otherwise: (fault: VenueError) => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof VenueError)) throw error;
    return otherwise(error);
  }
};
