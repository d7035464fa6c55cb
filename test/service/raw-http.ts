import { connect, type Socket } from 'node:net';

/** One answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name; repeated ones are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Sent {
  /** What is written, one after the other. */
  readonly pieces: readonly Buffer[];
  /** Between two pieces. */
  readonly pauseMillis?: number;
  /** How many answers end the wait; fewer are waited for until nothing has come for a while. */
  readonly answersMin: number;
  /** The wait, once everything was sent. */
  readonly quietMillis: number;
}

export interface Conversation {
  readonly answers: readonly RawAnswer[];
  /** What came behind the last whole answer: frames of a WebSocket, or half an answer. */
  readonly rest: Buffer;
  readonly millis: number;
  /** Whether the service ended its side before, or soon after, this one did. */
  readonly hasEnded: boolean;
  /** Whether it was the first to end; what it answered may be lost then, if more was sent. */
  readonly wasCut: boolean;
}

/** How long is waited for more once something came: some answers have no end. */
const betweenMillisMax = 60;
/** How long the service may take to end a connection that its client has ended. */
const endMillisMax = 5_000;

/**
 * Writes bytes to a port as they are, takes what comes back, and ends the connection. Never throws:
 * a connection that is reset has ended.
 */
export async function converse(port: number, sent: Sent): Promise<Conversation> {
  const start = performance.now();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const inbox = new Inbox(socket);
  await write(socket, sent, inbox);
  await inbox.quiet(sent.answersMin, sent.quietMillis);
  const wasCut = inbox.hasEnded;
  if (!socket.destroyed) socket.end();
  const hasEnded = await inbox.closed(endMillisMax);
  socket.destroy();
  const { answers, rest } = parseAnswers(inbox.bytes);
  return { answers, rest, hasEnded, wasCut, millis: performance.now() - start };
}

async function write(socket: Socket, { pieces, pauseMillis = 0 }: Sent, inbox: Inbox) {
  for (const [at, piece] of pieces.entries()) {
    if (socket.destroyed || inbox.hasEnded) return;
    if (at > 0) await pause(pauseMillis);
    socket.write(piece);
  }
}

/** What a socket receives, and when. */
class Inbox {
  readonly #chunks: Buffer[] = [];
  #lastMillis = performance.now();
  #onChange: (() => void) | undefined;
  hasEnded = false;
  #isClosed = false;

  constructor(socket: Socket) {
    const ended = () => {
      this.hasEnded = true;
      this.#onChange?.();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#lastMillis = performance.now();
      this.#onChange?.();
    });
    socket.on('end', ended);
    // The reason does not matter: what is reset has ended.
    socket.on('error', ended);
    socket.on('close', () => {
      this.#isClosed = true;
      ended();
    });
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Resolves at the end of the connection, with enough answers, or when nothing comes. */
  async quiet(answersMin: number, millis: number): Promise<void> {
    this.#lastMillis = performance.now();
    while (!this.hasEnded) {
      const { answers, rest } = parseAnswers(this.bytes);
      if (answersMin > 0 && answers.length >= answersMin) return;
      const hasBegun = answers.length > 0 || rest.length > 0;
      const limit = hasBegun ? Math.min(millis, betweenMillisMax) : millis;
      const left = this.#lastMillis + limit - performance.now();
      if (left <= 0) return;
      await this.#change(left);
    }
  }

  /** Whether the connection is over before the time is. */
  async closed(millis: number): Promise<boolean> {
    const deadline = performance.now() + millis;
    while (!this.#isClosed && !this.hasEnded && performance.now() < deadline) {
      await this.#change(deadline - performance.now());
    }
    return this.hasEnded;
  }

  #change(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#onChange = undefined;
        resolve();
      };
      const timer = setTimeout(done, millis);
      this.#onChange = done;
    });
  }
}

/** The whole answers at the beginning of what was received; answers to HEAD have no body here. */
function parseAnswers(bytes: Buffer): { answers: RawAnswer[]; rest: Buffer } {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  for (;;) {
    const answer = parseOne(rest);
    if (answer === undefined) return { answers, rest };
    rest = rest.subarray(answer.end);
    // 100 Continue comes before an answer and is none.
    if (answer.status !== 100) answers.push(answer);
  }
}

function parseOne(bytes: Buffer): (RawAnswer & { readonly end: number }) | undefined {
  const head = headOf(bytes);
  const found = head && bodyAt(bytes, bytes.indexOf('\r\n\r\n') + 4, head.headers);
  return found && { ...head, ...found };
}

function headOf(bytes: Buffer): RawAnswer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(first) ?? [];
  if (status === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return { status: Number(status), headers, body: bytes.subarray(headEnd + 4) };
}

function bodyAt(bytes: Buffer, start: number, headers: Readonly<Record<string, string>>) {
  if (headers['transfer-encoding'] === 'chunked') return chunkedBody(bytes, start);
  const end = start + Number(headers['content-length'] ?? 0);
  return end > bytes.length ? undefined : { body: bytes.subarray(start, end), end };
}

function chunkedBody(bytes: Buffer, start: number) {
  const chunks: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + length + 2;
    if (!(end <= bytes.length)) return undefined;
    chunks.push(bytes.subarray(lineEnd + 2, end - 2));
    at = end;
    if (length === 0) return { body: Buffer.concat(chunks), end };
  }
}

function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

/** A request whose lines go over the wire as they are. */
export interface RawRequest {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

/** The one answer to a request that no ordinary client would write that way. */
export async function askRaw(port: number, request: RawRequest): Promise<RawAnswer> {
  const { method = 'GET', target, headers = [], body } = request;
  const usual = [
    ['Host', 'localhost'],
    ['Connection', 'close'],
  ].filter(([name]) => !headers.some(([given]) => given === name));
  const all = [...usual, ...headers];
  if (body !== undefined) all.push(['Content-Length', String(Buffer.byteLength(body))]);
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n${body ?? ''}`);
  const sent = { pieces: [bytes], answersMin: 1, quietMillis: 10_000 };
  const { answers, rest } = await converse(port, sent);
  // What answers HEAD says how long a body would be, and has none.
  const answer = answers[0] ?? (method === 'HEAD' ? headOf(rest) : undefined);
  if (answer === undefined) throw new Error(`no answer to ${method} ${target}`);
  return answer;
}
