// The live table: drawn anew in place at most four times a second, whatever comes.
import type { Client, Connection, LiveRequest } from '../typescript/src/index.ts';
import { cleanText, type Streams } from './output.ts';
import { Picture } from './picture.ts';
import type { World } from './run.ts';

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

const describeConnection = (connection: Connection): string => {
  switch (connection.state) {
    case 'open':
      return connection.resumed ? 'resumed' : 'live';
    case 'ended':
      return `ended by the service: ${connection.reason}`;
    case 'lost':
      return `lost: ${connection.error.message}`;
  }
};

/** Until the signal, or until the service ends the stream for good. */
export const watch = async (
  client: Client<string>,
  request: LiveRequest,
  { out, signal }: Pick<World, 'out' | 'signal'>,
): Promise<void> => {
  const picture = new Picture();
  const timer = setInterval(() => draw(picture, out), DRAW_EVERY_MS);
  out.write(HIDE_CURSOR + CLEAR);
  try {
    for await (const event of client.live(request, {
      signal,
      onConnection: (connection) => {
        picture.connection = cleanText(describeConnection(connection));
      },
    }))
      picture.take(event, Date.now());
  } finally {
    clearInterval(timer);
    draw(picture, out);
    out.write(`${SHOW_CURSOR}\n`);
  }
};
