import { JsonError } from '../values/json-error.ts';
import {
  boolean,
  either,
  list,
  number,
  object,
  optional,
  type Shape,
  string,
  word,
} from '../values/json-shape.ts';

/** What another host says is looked at whole: what it is used for is far from here. */
function byKind(shapes: Readonly<Record<string, Shape<unknown>>>): Shape<unknown> {
  const kindOf = object({ kind: word(...Object.keys(shapes)) });
  return (json, place) => shapes[kindOf(json, place).kind]?.(json, place);
}

const whole: Shape<number> = (json, place) => {
  if (!Number.isSafeInteger(json) || Number(json) < 0) throw wrong(place, 'a whole number');
  return Number(json);
};

function bits(count: number): Shape<bigint> {
  return (json, place) => {
    const fits = typeof json === 'bigint' && json >= 0n && json < 1n << BigInt(count);
    if (!fits) throw wrong(place, `a number of ${count} bits`);
    return json;
  };
}

const bytes: Shape<Uint8Array> = (json, place) => {
  if (!(json instanceof Uint8Array)) throw wrong(place, 'bytes');
  return json;
};

/** With any other one a socket does not close. */
const closeCode: Shape<number> = (json, place) => {
  const code = whole(json, place);
  const isOne = (code >= 1000 && code <= 1014) || (code >= 3000 && code <= 4999);
  if (!isOne || [1004, 1005, 1006].includes(code)) throw wrong(place, 'a close code');
  return code;
};

const strings = optional(list(string));

const caller = object({
  identity: bits(256),
  token: string,
  payload: string,
  tokenId: string,
  session: optional(object({ of: string, expiresAt: number })),
  capability: optional(
    object({
      ...{ database: bits(256), by: bits(256), tables: strings, reducers: strings },
      ...{ readOnly: boolean, sqlWrites: boolean, features: strings },
      ...{ rowsMax: optional(number), bytesMax: optional(number) },
    }),
  ),
  isAnonymous: boolean,
  address: optional(string),
  isReadOnly: optional(boolean),
});

const client = object({
  ...{ database: bits(256), connectionId: bits(128), caller, confirmed: boolean },
  ...{ protocol: string, sinceMillis: number, through: string },
  stays: optional(word('announced', 'perhaps')),
});

const asked = {
  requestId: whole,
  args: either(bytes, object({ fault: string })),
  schemaVersion: optional(number),
};

const request = byKind({
  call: object({ ...asked, reducer: string }),
  procedure: object({ ...asked, procedure: string }),
});

const error = object({ code: string, message: optional(string), value: optional(bytes) });
const body = object({ code: string, message: string });
const timestampMicros = bits(64);
const committed = optional(object({ offset: whole, rows: number }));

const answer = byKind({
  called: object({
    outcome: byKind({
      committed: object({
        ...{ offset: whole, micros: number },
        ...{ value: optional(bytes), rows: optional(number) },
      }),
      aborted: object({ error, micros: number }),
    }),
    timestampMicros,
    offset: optional(whole),
  }),
  procedure: object({
    outcome: byKind({
      returned: object({ value: bytes, timestampMicros, committed, micros: number }),
      failed: object({ error, committed, micros: number }),
    }),
    offset: optional(whole),
  }),
  refused: object({ body }),
});

const end = byKind({
  live: object({ reason: word('refused', 'database', 'schema', 'slow') }),
  closed: object({ code: closeCode, reason: string }),
  turnedAway: object({ body }),
});

const channel = whole;

/** By the kinds of frames; others are left out. */
export const lineShapes = {
  none: object({}),
  heard: object({ count: whole }),
  attach: object({ channel, client, registryOffset: whole }),
  request: object({ channel, number: whole, request }),
  leave: object({ channel }),
  connected: object({ channel, offset: whole }),
  answer: object({ channel, number: whole, answer }),
  ended: object({ channel, end }),
  lost: object({ channel, undone: list(whole) }),
};

function wrong(place: string, wanted: string): JsonError {
  return new JsonError(`\`${place}\` is not ${wanted}`);
}
