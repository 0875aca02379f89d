// Requests that Node's parser refuses: the request line of one whose method it does not accept, and the last answer of a connection.
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** `rawPacket` is a Buffer where Node has one. */
export type ParseError = Error & {
  readonly code?: string;
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
};
export type RequestLine = { readonly method: string; readonly url: string };

/** A method is a token (RFC 9110 section 9.1), a target a path, an address or `*` (RFC 9112 section 3.2). */
const REQUEST_LINE = /^([\w!#$%&'*+.^`|~-]+) (\*|(?:\/|https?:\/\/[\w[])[!-~]*) HTTP\/1\.[01]\r?\n/;
/** The parser's codes for a method that it does not know, for one of RTSP, and for `PRI`, with which HTTP/2 begins. */
const UNKNOWN_METHOD: readonly unknown[] = ['HPE_INVALID_METHOD', 'HPE_INVALID_CONSTANT', 'HPE_INVALID_VERSION'];

/** The request line of a method that the parser does not accept; null for every other error, and where the line does not begin its packet. */
export const readUnknownMethod = ({ code, rawPacket, bytesParsed = 0 }: ParseError): RequestLine | null => {
  if (!UNKNOWN_METHOD.includes(code) || !Buffer.isBuffer(rawPacket)) return null;
  const [line = '', method = '', url = ''] = REQUEST_LINE.exec(rawPacket.toString('latin1')) ?? [];
  return line === '' || bytesParsed > line.length ? null : { method, url };
};

type LastAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Answers what never became a request, then ends the connection. */
export const endUnread = (error: ParseError, socket: Duplex, { status, headers, body }: LastAnswer): void => {
  // The check of Node's own handler: an answer that has begun cannot take another.
  const { _httpMessage: begun } = socket as { readonly _httpMessage?: ServerResponse | null };
  if (error.code === 'ECONNRESET' || !socket.writable || begun?.headersSent === true) {
    socket.destroy();
    return;
  }
  const sent = {
    ...headers,
    'Cache-Control': 'no-store',
    Connection: 'close',
    'Content-Length': Buffer.byteLength(body),
    Date: new Date().toUTCString(),
  };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
};
