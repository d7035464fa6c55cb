import { limits } from '../../limits.ts';
import type { FetchOutcome, RedirectMode } from '../../module/lane.ts';
import type { ModuleEnv } from '../../module/module-env.ts';
import { FrameReader, framed } from '../../node/frames.ts';
import { redirectModes } from '../../protocol/module-abi.ts';
import type { RequestMessage } from '../outbound/request-way.ts';
import { encodedHeadBytesMax } from '../outbound/way-requests.ts';

/**
 * What the keeper of a database's process and the gateway say to each other about lanes, and about
 * the files of its history; see
 * `process-main.ts`. Each message is a frame of its own kind (`frames.ts`) with a body of fixed
 * form, numbers little-endian:
 *
 * ```
 * 1 enter, 2 withdraw, 3 leave, 6 stuck, 7 entered, 11 envChanged,
 * 13 envSeen                                                         nothing
 * 4 request    id u32 · redirect u8 · bytes of the head u32 · head · body
 * 5 abort      id u32
 * 8 wanted     isWanted u8
 * 9 answer     id u32 · 0 u8 · message, or
 *              id u32 · 1 u8 · isRedirected u8 · bytes of the URL u32 · URL ·
 *              bytes of the head u32 · head · body
 * 10 askEnv    hash of the program, 64 hex digits
 * 14 history, 16 historyDone    id u32 · text
 * 15 stopHistory              id u32
 * 12 env       bytes of the JSON u32 · JSON: the configuration with [name, bytes of the value] for
 *              each value · the values, one after another
 * ```
 */
export type FromKeeper =
  /** Asks for a place for one more lane. */
  | { readonly kind: 'enter' }
  /** It no longer wants the last place that it asked for, if that is not given yet. */
  | { readonly kind: 'withdraw' }
  /** A lane has ended, or a place that was given is not needed. */
  | { readonly kind: 'leave' }
  /** A lane sends an HTTP request. There is one answer, also when it is aborted. */
  | (Omit<Extract<RequestMessage, { kind: 'send' }>, 'kind'> & { readonly kind: 'request' })
  /** The request with this number is of no use any more. */
  | { readonly kind: 'abort'; readonly id: number }
  /** A lane cannot be ended, so the process has to be. */
  | { readonly kind: 'stuck' }
  /** Asks for what a program may read, while no other such question is open. */
  | { readonly kind: 'askEnv'; readonly program: string }
  /** The answer to `envChanged`: its lanes know of it. */
  | { readonly kind: 'envSeen' }
  /** The answer to `history`; empty: the thread that should have given it ended. */
  | { readonly kind: 'historyDone'; readonly id: number; readonly answer: string };

export type ToKeeper =
  /** The place that it asked for first is given. */
  | { readonly kind: 'entered' }
  /** Whether others wait for a lane: see `LanePool`. */
  | { readonly kind: 'wanted'; readonly isWanted: boolean }
  | { readonly kind: 'answer'; readonly id: number; readonly outcome: FetchOutcome }
  /** The configuration is another one from now on. */
  | { readonly kind: 'envChanged' }
  /** The configuration that was asked for, with its secrets. */
  | { readonly kind: 'env'; readonly env: ModuleEnv }
  /** A task on the files of its database's history (`history-task.ts`). There is one answer. */
  | { readonly kind: 'history'; readonly id: number; readonly task: string }
  /** Nobody waits for that task any more. */
  | { readonly kind: 'stopHistory'; readonly id: number };

export type LaneMessage = FromKeeper | ToKeeper;

const kinds = {
  ...{ enter: 1, withdraw: 2, leave: 3, request: 4, abort: 5, stuck: 6 },
  ...{ entered: 7, wanted: 8, answer: 9, askEnv: 10, envChanged: 11, env: 12, envSeen: 13 },
  ...{ history: 14, stopHistory: 15, historyDone: 16 },
} as const;

/** A URL and a head, or a text about a failure, and a body. */
const frameBytesMax = 2 * encodedHeadBytesMax + limits.outboundBodyBytesMax + 64;

/** The frame of a message, in pieces to be written one after another. */
export function encodeLaneMessage(message: LaneMessage): readonly Uint8Array[] {
  return framed(kinds[message.kind], bodyOf(message), frameBytesMax);
}

function bodyOf(message: LaneMessage): readonly Uint8Array[] {
  switch (message.kind) {
    case 'request': {
      const { id, head, body, redirect } = message;
      const mode = Uint8Array.of(redirectModes[redirect]);
      return [u32(id), mode, u32(head.length), head, body];
    }
    case 'abort':
      return [u32(message.id)];
    case 'wanted':
      return [Uint8Array.of(message.isWanted ? 1 : 0)];
    case 'answer':
      return [u32(message.id), ...outcomePieces(message.outcome)];
    case 'askEnv':
      return [Buffer.from(message.program)];
    case 'history':
      return [u32(message.id), Buffer.from(message.task)];
    case 'stopHistory':
      return [u32(message.id)];
    case 'historyDone':
      return [u32(message.id), Buffer.from(message.answer)];
    case 'env':
      return envPieces(message.env);
    default:
      return [];
  }
}

function outcomePieces(outcome: FetchOutcome): Uint8Array[] {
  if (outcome.kind === 'failed') return [Uint8Array.of(0), Buffer.from(outcome.message)];
  const { head, body } = outcome;
  const url = Buffer.from(outcome.url);
  const marks = Uint8Array.of(1, outcome.isRedirected ? 1 : 0);
  return [marks, u32(url.length), url, u32(head.length), head, body];
}

function envPieces({ values, ...rest }: ModuleEnv): Uint8Array[] {
  const texts = Object.entries(values).map(([name, text]) => [name, Buffer.from(text)] as const);
  const lengths = texts.map(([name, { length }]) => [name, length]);
  const json = Buffer.from(JSON.stringify({ ...rest, lengths }));
  return [u32(json.length), json, ...texts.map(([, text]) => text)];
}

function u32(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}

/** Reads messages from the chunks of a stream; `push` throws on what is none. */
export class LaneMessageReader {
  readonly #frames = new FrameReader(frameBytesMax);

  /** Like `MessageReader.push`. */
  push(chunk: Buffer, receive: (message: LaneMessage) => void, isEnough?: () => boolean): Buffer {
    return this.#frames.push(chunk, (kind, body) => receive(decode(kind, body)), isEnough);
  }
}

function decode(kind: number, body: Buffer): LaneMessage {
  switch (kind) {
    case kinds.enter:
      return bare('enter', body);
    case kinds.withdraw:
      return bare('withdraw', body);
    case kinds.leave:
      return bare('leave', body);
    case kinds.stuck:
      return bare('stuck', body);
    case kinds.entered:
      return bare('entered', body);
    case kinds.askEnv:
      return { kind: 'askEnv', program: programOf(body) };
    case kinds.envSeen:
      return bare('envSeen', body);
    case kinds.envChanged:
      return bare('envChanged', body);
    case kinds.env:
      return { kind: 'env', env: envOf(body) };
    case kinds.request: {
      const [head, rest] = split(body, 5, limits.outboundBodyBytesMax);
      const redirect = redirectOf(body.readUInt8(4));
      return { kind: 'request', id: body.readUInt32LE(0), head, body: rest, redirect };
    }
    case kinds.abort:
      expectLength(body, 4);
      return { kind: 'abort', id: body.readUInt32LE(0) };
    case kinds.history:
      return { kind: 'history', id: body.readUInt32LE(0), task: body.toString('utf8', 4) };
    case kinds.stopHistory:
      expectLength(body, 4);
      return { kind: 'stopHistory', id: body.readUInt32LE(0) };
    case kinds.historyDone:
      return { kind: 'historyDone', id: body.readUInt32LE(0), answer: body.toString('utf8', 4) };
    case kinds.wanted:
      expectLength(body, 1);
      return { kind: 'wanted', isWanted: body[0] === 1 };
    case kinds.answer:
      return { kind: 'answer', id: body.readUInt32LE(0), outcome: outcomeOf(body) };
    default:
      throw new Error(`a frame of the unknown kind ${kind}`);
  }
}

function redirectOf(code: number): RedirectMode {
  for (const [mode, known] of Object.entries(redirectModes)) {
    if (known === code) return mode as RedirectMode;
  }
  throw new Error(`a redirect of the unknown kind ${code}`);
}

function programOf(body: Buffer): string {
  const program = body.toString('latin1');
  if (!/^[\da-f]{64}$/.test(program)) throw new Error('a program that is no hash');
  return program;
}

function bare<Kind extends LaneMessage['kind']>(kind: Kind, body: Buffer): { readonly kind: Kind } {
  expectLength(body, 0);
  return { kind };
}

function expectLength(body: Buffer, length: number): void {
  if (body.length !== length) throw new Error(`a body of ${body.length} bytes`);
}

function outcomeOf(body: Buffer): FetchOutcome {
  if (body.readUInt8(4) === 0) return { kind: 'failed', message: body.toString('utf8', 5) };
  const isRedirected = body.readUInt8(5) === 1;
  const [urlBytes, after] = split(body, 6, body.length);
  const [head, rest] = split(Buffer.from(after.buffer), 0, limits.outboundBodyBytesMax);
  const url = Buffer.from(urlBytes).toString();
  return { kind: 'response', head, body: rest, url, isRedirected };
}

/** The gateway has written it, so its form is not checked. */
function envOf(body: Buffer): ModuleEnv {
  let at = 4 + body.readUInt32LE(0);
  const { lengths, ...rest } = JSON.parse(body.toString('utf8', 4, at)) as WrittenEnv;
  const values = lengths.map(([name, length]) => {
    at += length;
    return [name, body.toString('utf8', at - length, at)];
  });
  return { ...rest, values: Object.fromEntries(values) };
}

type WrittenEnv = Omit<ModuleEnv, 'values'> & { readonly lengths: readonly [string, number][] };

/** A head, whose length stands at `at`, and what follows it; neither keeps the whole frame. */
function split(body: Buffer, at: number, restMax: number): [head: Uint8Array, rest: Uint8Array] {
  const length = body.readUInt32LE(at);
  const end = at + 4 + length;
  if (length > encodedHeadBytesMax || end > body.length) throw new Error('a head of wrong length');
  if (body.length - end > restMax) throw new Error(`a body of ${body.length - end} bytes`);
  return [new Uint8Array(body.subarray(at + 4, end)), new Uint8Array(body.subarray(end))];
}
