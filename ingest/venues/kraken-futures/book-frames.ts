// Kraken Futures' usual frame, the change of one level, read from its text: JSON.parse of a frame this small costs as much as its mapping.
import { decodeText, type Fields } from '../shared/wire.ts';

/** At most fifteen digits, which a double keeps: the frame in JSON is the same after a parse. */
const FIGURE = String.raw`((?!0\d)\d{1,7}(?:\.\d{1,8})?)`;
const FRAME = new RegExp(
  String.raw`^\{"feed":"book","product_id":"([A-Z\d_]+)","side":"(buy|sell)","seq":([1-9]\d{0,14}),` +
    String.raw`"price":${FIGURE},"qty":${FIGURE},"timestamp":([1-9]\d{12})\}$`,
);
const LONGEST = 200;
const QUOTE = 0x22;
/** Where the feed's name ends, in `book` as in no other frame this short. */
const END_OF_FEED = '{"feed":"book'.length;

/** The members of such a frame, figures as text; in JSON it is the venue's own. Null: another frame, or one in another spelling. */
export const readBookFrame = (payload: Uint8Array): Fields | null => {
  if (payload.length > LONGEST || payload[END_OF_FEED] !== QUOTE) return null;
  const text = decodeText(payload);
  const found = FRAME.exec(text);
  if (found === null) return null;
  return {
    product_id: found[1],
    side: found[2],
    seq: found[3],
    price: found[4],
    qty: found[5],
    timestamp: Number(found[6]),
    toJSON: () => JSON.parse(text),
  };
};
