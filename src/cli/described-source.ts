import { isObjectName } from '../backup/object-store.ts';
import type { DatabaseSource } from '../backup/ship.ts';
import { JsonError } from '../values/json-error.ts';
import {
  anything,
  boolean,
  either,
  list,
  number,
  object,
  optional,
  record,
  type Shape,
  string,
  word,
} from '../values/json-shape.ts';

const count: Shape<number> = (json, place) => {
  const value = number(json, place);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new JsonError(`\`${place}\` is not a count`);
};

function hex(digits: number): Shape<string> {
  return (json, place) => {
    const text = string(json, place);
    if (text.length === digits && /^[0-9a-f]*$/.test(text)) return text;
    throw new JsonError(`\`${place}\` is not ${digits} hexadecimal digits`);
  };
}

/** The name of an object, of which the repository knows the ending. */
const base: Shape<string> = (json, place) => {
  const name = string(json, place);
  if (name.startsWith('objects/') && isObjectName(name)) return name;
  throw new JsonError(`\`${place}\` is not a valid object name`);
};

const point = { epoch: hex(16), offset: count, position: count, chain: hex(16), micros: number };
const content = { base, file: string, bytes: count, identity: hex(64), sequence: count };
const place = object(point);

const shape = object({
  identity: hex(64),
  record: object({
    names: list(string),
    owner: string,
    roles: list(record(anything)),
    settings: record(anything),
    program: string,
    more: record(anything),
  }),
  end: place,
  lineage: list(object({ ...point, identity: hex(64), sequence: count })),
  objects: list(
    either(
      object({ kind: word('snapshot'), ...content, at: place }),
      object({ kind: word('segment'), ...content, from: place, to: place, isSealed: boolean }),
    ),
  ),
  files: list(object({ kind: word('file'), path: string, bytes: count, hash: hex(64) })),
  fault: optional(string),
});

/** What a service says of a database that is backed up elsewhere; see `DatabaseSource`. */
export const describedSource: Shape<Omit<DatabaseSource, 'read'>> = (json, at) => {
  shape(json, at);
  return json as Omit<DatabaseSource, 'read'>;
};
