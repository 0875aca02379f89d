// Keys of listings, and of each layer of a listing, by which streams find what they follow.

export const toListingKey = (venue: string, symbol: string): string => `${venue}|${symbol}`;

export const toTrackKey = (listingKey: string, layer: string): string => `${listingKey}|${layer}`;
