// The live table: drawn anew in place at most four times a second, whatever comes.
import type { Client, StreamRequest } from '../typescript/src/index.ts';
import type { Streams } from './output.ts';
import { Picture } from './picture.ts';

const DRAW_EVERY_MS = 250;
const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const HOME = '\x1b[H';
const CLEAR = '\x1b[2J';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

const draw = (picture: Picture, out: Streams['out']): void => {
  const lines = picture.lines(out, Date.now());
  out.write(`${HOME}${lines.map((line) => line + CLEAR_LINE).join('\n')}${CLEAR_BELOW}`);
};

/** Until the signal, or until the service ends the stream for good. */
export const watch = async (
  client: Client<string>,
  request: StreamRequest,
  { out, signal }: Streams & { readonly signal: AbortSignal },
): Promise<void> => {
  const picture = new Picture();
  const timer = setInterval(() => draw(picture, out), DRAW_EVERY_MS);
  out.write(HIDE_CURSOR + CLEAR);
  try {
    for await (const event of client.live(request, {
      signal,
      onConnection: (connection) => {
        picture.connection =
          connection.state === 'open' ? (connection.resumed ? 'resumed' : 'live') : `lost: ${connection.error.message}`;
      },
    }))
      picture.take(event);
  } finally {
    clearInterval(timer);
    draw(picture, out);
    out.write(`${SHOW_CURSOR}\n`);
  }
};
