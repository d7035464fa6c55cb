/** Text frames from clients of protocol v1: one JSON object each, `{"Variant":{fields}}`. */
import { limits } from '../../limits.ts';
import { DecodeError } from '../../values/binary-reader.ts';
import { encodeValue } from '../../values/encode.ts';
import {
  JsonError,
  type JsonValue,
  parseJson,
  parseJsonSteps,
  valueFromJson,
} from '../../values/json.ts';
import { bytesType, product, sum } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { readUtf8 } from '../../values/utf8.ts';
import { type ClientMessage, decodeClientMessage } from './client-message.ts';

/** A client message whose call arguments are JSON that has not been parsed yet. */
export type TextClientMessage = ClientMessage<string>;

/** Parses the message in a text frame of a client. Throws `DecodeError`. */
export function clientMessageFromText(text: string): TextClientMessage {
  const parts = new PartCounter(text, limits.socketTextPartsMax);
  if (parts.goOn(text.length)) throw tooManyParts();
  return readMessage(() => parseJson(text));
}

/** Runs `clientMessageFromText` in steps of about a millisecond, for frames of megabytes. */
export function* clientMessageSteps(text: string): Generator<undefined, TextClientMessage> {
  if (yield* hasTooManyParts(text, limits.socketTextPartsMax)) throw tooManyParts();
  const steps = parseJsonSteps(text);
  for (;;) {
    const { done, value } = located(() => steps.next());
    if (done) return readMessage(() => value);
    yield;
  }
}

/** Reads a message. Only `parse` can be slow: a message has few other parts. */
function readMessage(parse: () => JsonValue): TextClientMessage {
  // A string is encoded like bytes, so this is also the binary form of the message.
  const encoded = located(() =>
    encodeValue(clientMessageType, valueFromJson(clientMessageType, parse())),
  );
  const message = decodeClientMessage(encoded);
  if (message.kind !== 'callReducer' && message.kind !== 'callProcedure') return message;
  return { ...message, args: utf8Text(message.args) };
}

function located<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new DecodeError(error.message, { cause: error });
  }
}

/**
 * Whether a JSON text has so many parts that the parsed value would take far more memory than the
 * text; a string counts as one part. Yields between steps and returns the result.
 */
export function* hasTooManyParts(text: string, partsMax: number): Generator<undefined, boolean> {
  const parts = new PartCounter(text, partsMax);
  for (let until = 0; until < text.length; ) {
    until += unitsPerStep;
    if (parts.goOn(until)) return true;
    yield;
  }
  return false;
}

const unitsPerStep = 65_536;

function tooManyParts(): DecodeError {
  return new DecodeError(`the message has more than ${limits.socketTextPartsMax} parts`);
}

class PartCounter {
  readonly #text: string;
  readonly #partsMax: number;
  #at = 0;
  #isInString = false;
  #count = 0;

  constructor(text: string, partsMax: number) {
    this.#text = text;
    this.#partsMax = partsMax;
  }

  /** Scans up to `until`, or just past it; returns true if there are too many parts. */
  goOn(until: number): boolean {
    const text = this.#text;
    const end = Math.min(until, text.length);
    let at = this.#at;
    for (; at < end; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === quote) this.#isInString = !this.#isInString;
      else if (this.#isInString) at += unit === backslash ? 1 : 0;
      else if (unit === comma || unit === colon || unit === bracket || unit === brace) {
        this.#count += 1;
      }
    }
    this.#at = at;
    return this.#count > this.#partsMax;
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const bracket = 0x5b;
const backslash = 0x5c;
const brace = 0x7b;

/** Decodes UTF-8. Throws `DecodeError`. */
export function utf8Text(bytes: Uint8Array): string {
  const text = readUtf8(bytes, 0, bytes.length);
  if (text === undefined) throw new DecodeError('invalid utf8');
  return text;
}

const u8: AlgebraicType = { kind: 'u8' };
const u32: AlgebraicType = { kind: 'u32' };
const string: AlgebraicType = { kind: 'string' };
const strings: AlgebraicType = { kind: 'array', element: string };
const queryId = product(['id', u32]);

const clientMessageType = sum(
  [
    'CallReducer',
    product(['reducer', string], ['args', string], ['request_id', u32], ['flags', u8]),
  ],
  ['Subscribe', product(['query_strings', strings], ['request_id', u32])],
  ['OneOffQuery', product(['message_id', bytesType], ['query_string', string])],
  ['SubscribeSingle', product(['query', string], ['request_id', u32], ['query_id', queryId])],
  [
    'SubscribeMulti',
    product(['query_strings', strings], ['request_id', u32], ['query_id', queryId]),
  ],
  ['Unsubscribe', product(['request_id', u32], ['query_id', queryId])],
  ['UnsubscribeMulti', product(['request_id', u32], ['query_id', queryId])],
  [
    'CallProcedure',
    product(['procedure', string], ['args', string], ['request_id', u32], ['flags', u8]),
  ],
);
