/** A client that calls reducers, at a pace or as fast as it is answered. */
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { serverMessagesIn } from '../../src/protocol/v3.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { type DelaySummary, Delays } from './delays.ts';
import { obey } from './load-process.ts';
import { RawSocket } from './raw-socket.ts';

const skills = {
  async connect({ port, database }: { readonly port: number; readonly database: string }) {
    socket = await RawSocket.open(port, database);
    socket.listen({ frame: heard }, (reason) => fail(reason));
  },

  /** Calls a reducer whose arguments are numbers of 32 bits. */
  async call({ reducer, args }: { readonly reducer: string; readonly args: readonly number[] }) {
    await send(reducer, words(args));
  },

  /** Puts rows at a steady pace: `id`, and the moment at which it was sent. */
  async pace({ perSecond, seconds, ids }: Pace): Promise<DelaySummary> {
    const replies = new Delays();
    const calls: Promise<void>[] = [];
    const started = process.hrtime.bigint();
    const total = Math.ceil(perSecond * seconds);
    while (calls.length < total) {
      const elapsed = Number(process.hrtime.bigint() - started) / 1e9;
      const due = Math.min(total, Math.ceil(elapsed * perSecond));
      while (calls.length < due) calls.push(put(calls.length % ids, replies));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(calls);
    return replies.summary;
  },

  /** Puts rows, each as soon as an earlier one is answered. Returns the seconds that it took. */
  async flood({ inFlight, calls, ids }: Flood): Promise<number> {
    const replies = new Delays();
    let sent = 0;
    const started = performance.now();
    const one = async (): Promise<void> => {
      while (sent < calls) {
        sent += 1;
        await put(sent % ids, replies);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, one));
    return (performance.now() - started) / 1000;
  },

  /** Puts one row after another, each when the one before was answered, until `hush`. */
  async drip(_: object): Promise<DelaySummary> {
    const replies = new Delays();
    isDripping = true;
    while (isDripping) await put(0, replies);
    return replies.summary;
  },

  hush(_: object): void {
    isDripping = false;
  },
};

export type Caller = typeof skills;

export interface Pace {
  readonly perSecond: number;
  readonly seconds: number;
  /** Rows with ids below it are put in turn. */
  readonly ids: number;
}

export interface Flood {
  readonly inFlight: number;
  readonly calls: number;
  readonly ids: number;
}

let socket: RawSocket | undefined;
let isDripping = false;
let lastRequest = 0;
const waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();

async function put(id: number, replies: Delays): Promise<void> {
  const writer = new BinaryWriter(16);
  const sent = process.hrtime.bigint();
  writer.u32(id);
  writer.u64(sent);
  writer.u32(lastRequest);
  await send('put', writer.finish());
  replies.add(Number(process.hrtime.bigint() - sent) / 1000);
}

function send(reducer: string, args: Uint8Array): Promise<void> {
  lastRequest += 1;
  const requestId = lastRequest;
  socket?.send(encodeClientMessage({ kind: 'callReducer', requestId, reducer, args }));
  return new Promise((resolve, reject) => waiting.set(requestId, { resolve, reject }));
}

/** The payload begins with its compression tag. */
function heard(payload: Buffer): void {
  for (const message of serverMessagesIn(payload.subarray(1))) {
    if (message.kind !== 'reducerResult') continue;
    const call = waiting.get(message.requestId);
    waiting.delete(message.requestId);
    if (message.outcome.kind === 'ok') call?.resolve();
    else call?.reject(new Error(JSON.stringify(message.outcome)));
  }
}

function fail(reason: string): void {
  for (const { reject } of waiting.values()) reject(new Error(reason));
}

function words(numbers: readonly number[]): Uint8Array {
  const writer = new BinaryWriter(16);
  for (const number of numbers) writer.u32(number);
  return writer.finish();
}

obey(skills);
