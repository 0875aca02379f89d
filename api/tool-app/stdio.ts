// The protocol over standard input and output: a message is a line, and its numbers keep their digits as over HTTP.
import { type JSONRPCMessage, ProtocolErrorCode, parseJSONRPCMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { clearFault } from './clear-faults.ts';
import { parseMessage } from './digits.ts';

/** No client sends one as long: a line without an end would fill the memory. */
const LONGEST_LINE_BYTES = 10 * 1024 * 1024;

/** Bytes of whole lines; the rest waits. */
class LineReader {
  #parts: Buffer[] = [];
  #bytes = 0;

  read(chunk: Buffer): string[] {
    const lines: string[] = [];
    let begin = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, begin)) {
      lines.push(Buffer.concat([...this.#parts, chunk.subarray(begin, end)]).toString());
      [this.#parts, this.#bytes, begin] = [[], 0, end + 1];
    }
    this.#parts.push(chunk.subarray(begin));
    this.#bytes += chunk.length - begin;
    if (this.#bytes > LONGEST_LINE_BYTES) throw new Error(`A message is longer than ${LONGEST_LINE_BYTES} bytes.`);
    return lines;
  }
}

const readMessage = (line: string): JSONRPCMessage | { readonly code: number; readonly message: string } => {
  let value: unknown;
  try {
    value = parseMessage(line);
  } catch {
    return { code: ProtocolErrorCode.ParseError, message: 'The line is not JSON.' };
  }
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return { code: ProtocolErrorCode.InvalidRequest, message: 'The line is not a message of JSON-RPC 2.0.' };
  }
};

/** The library's transport reads numbers as doubles, and leaves a line that is no message without an answer. */
export class ExactStdio extends StdioServerTransport {
  readonly #lines = new LineReader();

  override _ondata = (chunk: Buffer): void => {
    try {
      for (const line of this.#lines.read(chunk)) if (line.trim() !== '') this.#take(line);
    } catch (error) {
      this.onerror?.(error as Error);
      this.close().catch(() => undefined);
    }
  };

  #take(line: string): void {
    const message = readMessage(line);
    if ('jsonrpc' in message) return this.onmessage?.(message);
    // Its id cannot be known.
    const refusal = { jsonrpc: '2.0', id: null, error: message } as unknown as JSONRPCMessage;
    this.send(refusal).catch((error: Error) => this.onerror?.(error));
  }

  override send(message: JSONRPCMessage): Promise<void> {
    return super.send(clearFault(message));
  }
}
