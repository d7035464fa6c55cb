/** Clients that subscribe and count what they are told. */
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import type { ServerMessage } from '../../src/protocol/v2/server-message.ts';
import { serverMessagesIn } from '../../src/protocol/v3.ts';
import { type DelaySummary, Delays } from './delays.ts';
import { obey } from './load-process.ts';
import { headOf, RawSocket } from './raw-socket.ts';

const skills = {
  /** Opens connections one after another, each with its query sets, and waits for their rows. */
  async watch({ port, database, connections, sets, queries, text }: Watch): Promise<void> {
    let number = 0;
    const texts = (): string => text.replace('#', String(number++));
    for (let at = 0; at < connections; at++) {
      const watcher = new Watcher(await RawSocket.open(port, database));
      watchers.push(watcher);
      for (let set = 0; set < sets; set++) {
        watcher.subscribe(set, Array.from({ length: queries }, texts));
      }
      await watcher.applied;
    }
  },

  /** Counts from now on. */
  begin(_: object): void {
    delays = new Delays();
    cpuBefore = process.cpuUsage();
  },

  /** Waits until so many updates have come, or too long, and says what came since `begin`. */
  async report({ updates, millisMax }: { updates: number; millisMax: number }): Promise<Told> {
    const deadline = performance.now() + millisMax;
    while (delays.count < updates && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    if (failure !== undefined) throw new Error(failure);
    const { user, system } = process.cpuUsage(cpuBefore);
    return { ...delays.summary, cpuSeconds: (user + system) / 1e6 };
  },

  leave(_: object): void {
    for (const watcher of watchers) watcher.end();
    watchers = [];
  },
};

export type Watchers = typeof skills;

export interface Watch {
  readonly port: number;
  readonly database: string;
  readonly connections: number;
  /** Query sets of each connection, and queries of each set. */
  readonly sets: number;
  readonly queries: number;
  /** The query; `#` stands for a number that no other query has. */
  readonly text: string;
}

export interface Told extends DelaySummary {
  /** Of the process with all watchers. */
  readonly cpuSeconds: number;
}

class Watcher {
  readonly #socket: RawSocket;
  readonly applied: Promise<void>;
  #isApplied: () => void = () => undefined;
  #isRefused: (reason: Error) => void = () => undefined;
  #missing = 0;

  constructor(socket: RawSocket) {
    this.#socket = socket;
    this.applied = new Promise((resolve, reject) => {
      this.#isApplied = resolve;
      this.#isRefused = reject;
    });
    const events = {
      frame: (payload: Buffer) => this.#frame(payload),
      bytes: (chunk: Buffer) => this.#bytes(chunk),
    };
    socket.listen(events, (reason) => {
      failure = reason;
    });
  }

  subscribe(querySetId: number, queries: readonly string[]): void {
    this.#missing += 1;
    const requestId = querySetId;
    this.#socket.send(encodeClientMessage({ kind: 'subscribe', requestId, querySetId, queries }));
  }

  end(): void {
    this.#socket.end();
  }

  /** What the client before got too needs no second look. */
  #bytes(chunk: Buffer): boolean {
    if (this.#missing > 0) return false;
    if (!chunk.equals(lastChunk.bytes)) {
      const sent = sentIn(chunk);
      if (sent === undefined) return false;
      lastChunk = { bytes: Buffer.from(chunk), sent };
    }
    count(lastChunk.sent);
    return true;
  }

  #frame(payload: Buffer): void {
    for (const message of serverMessagesIn(payload.subarray(1))) {
      if (message.kind === 'subscriptionError') {
        failure = message.error;
        this.#isRefused(new Error(failure));
      }
      if (message.kind === 'subscribeApplied') {
        this.#missing -= 1;
        if (this.#missing === 0) this.#isApplied();
      }
      count(sentOf(message));
    }
  }
}

let watchers: Watcher[] = [];
let delays = new Delays();
let cpuBefore = process.cpuUsage();
let failure: string | undefined;
let lastChunk: { readonly bytes: Buffer; readonly sent: readonly bigint[] } = {
  bytes: Buffer.alloc(0),
  sent: [],
};

function count(sent: readonly bigint[]): void {
  if (sent.length === 0) return;
  const now = process.hrtime.bigint();
  for (const moment of sent) delays.add(Number(now - moment) / 1000);
}

/** When the rows of whole frames were sent; `undefined`: there is something else, or not all of it. */
function sentIn(chunk: Buffer): bigint[] | undefined {
  const sent: bigint[] = [];
  for (let at = 0; at < chunk.length; ) {
    const frame = headOf(chunk, at);
    if (frame === undefined || frame.end > chunk.length || frame.opcode !== 2) return undefined;
    for (const message of serverMessagesIn(chunk.subarray(frame.start + 1, frame.end))) {
      sent.push(...sentOf(message));
    }
    at = frame.end;
  }
  return sent;
}

/** The second column of each row that was inserted. */
function sentOf(message: ServerMessage): bigint[] {
  if (message.kind !== 'transactionUpdate') return [];
  return message.querySets.flatMap(({ tables }) =>
    tables.flatMap(({ changes }) =>
      changes.flatMap((change) => {
        if (change.kind !== 'persistent') return [];
        const { data } = change.inserts;
        return data.length < 12
          ? []
          : [new DataView(data.buffer, data.byteOffset).getBigUint64(4, true)];
      }),
    ),
  );
}

obey(skills);
