import { assert } from '../assert.ts';
import type { DatabaseDescription } from '../database/description.ts';
import { findProcedure } from '../doors/json-call.ts';
import type { UpdatedEvent } from '../host/feeds/live-connection.ts';
import type { LiveUpdate } from '../live/live-update.ts';
import type { EncodedRows } from '../protocol/message-parts.ts';
import {
  encodeQueryUpdate,
  encodeServerMessage,
  type QueryUpdate,
  type ServerMessage,
} from '../protocol/v1/server-message.ts';
import {
  laterRows,
  queryUpdateText,
  serverMessageToText,
  type ValueText,
} from '../protocol/v1/text.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { fullTablesOf, fullViewsOf } from '../schema/flatten.ts';
import { systemTables } from '../schema/system-tables.ts';
import { parseJson } from '../values/json.ts';
import type { NamedType, Typespace } from '../values/type.ts';
import { typeFromJson } from '../values/type-codec.ts';
import { EncodedMessage } from './encoded-message.ts';
import { LateMessage } from './late-message.ts';
import type { QueuedMessage } from './send-queue.ts';
import { queryUpdate } from './v1-rows.ts';
import {
  argumentsText,
  givenText,
  MessageRows,
  type RowType,
  type RowTypeOf,
  returnedText,
  type WrittenRows,
} from './v1-texts.ts';

/** A call as its sender wrote it: arguments in binary, in JSON, or both. */
export interface GivenArguments {
  readonly reducer: string;
  /** `undefined` if they could not be encoded. */
  readonly bytes: Uint8Array | undefined;
  readonly json: string | undefined;
}

/**
 * The encoding of version 1 messages. `Rows` is the changes of a commit, encoded once for all
 * receivers; `Given` is arguments and returned values.
 */
export interface V1Format<Rows, Given> {
  rowsOf(update: LiveUpdate): readonly Rows[];
  given(args: GivenArguments): Given;
  readonly nothingGiven: Given;
  /** The value of a procedure. */
  returned(procedure: string, value: Uint8Array): Given;
  write(message: ServerMessage<Rows | QueryUpdate, Given>): QueuedMessage;
  /** Messages sent to more than one connection. */
  readonly shared: WeakMap<UpdatedEvent, QueuedMessage>;
}

export type BinaryFormat = V1Format<EncodedRows, Uint8Array>;
export type TextFormat = V1Format<WrittenRows, ValueText>;

const noBytes = new Uint8Array(0);
const binaryRows = new WeakMap<LiveUpdate, readonly EncodedRows[]>();

export const binaryFormat: BinaryFormat = {
  rowsOf(update) {
    return cached(binaryRows, update, () =>
      update.changes.map((changes) => {
        return { kind: 'encoded', bytes: encodeQueryUpdate(queryUpdate(changes)) };
      }),
    );
  },
  given: ({ bytes }) => bytes ?? noBytes,
  nothingGiven: noBytes,
  returned: (_, value) => value,
  write: (message) => new EncodedMessage(encodeServerMessage(message)),
  shared: new WeakMap(),
};

const textRows = new WeakMap<LiveUpdate, readonly WrittenRows[]>();
const sharedTexts = new WeakMap<UpdatedEvent, QueuedMessage>();

/** Creates the text format; `describe` returns the current program, whose row types it needs. */
export function textFormat(describe: () => DatabaseDescription | undefined): TextFormat {
  const typeOf = rowTypeOf(describe);
  return {
    rowsOf(update) {
      const known = textRows.get(update);
      if (known?.every(({ late }) => late.every(({ isUsable }) => isUsable)) === true) return known;
      const written = update.changes.map((changes): WrittenRows => {
        const rows = new MessageRows(typeOf);
        const text = queryUpdateText(update.table, queryUpdate(changes), rows);
        return { kind: 'text', text, late: rows.late };
      });
      textRows.set(update, written);
      return written;
    },
    given(args) {
      return args.json === undefined ? binaryArguments(args, describe()) : givenText(args.json);
    },
    nothingGiven: '',
    returned: (procedure, value) => returnedValue(procedure, value, describe()),
    write(message) {
      const rows = new MessageRows(typeOf);
      const text = serverMessageToText(message, rows);
      if (rows.late.length === 0) return new EncodedMessage(Buffer.from(text));
      return new LateMessage(text.split(laterRows), rows.late);
    },
    shared: sharedTexts,
  };
}

function cached<Key extends WeakKey, Value>(
  cache: WeakMap<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const value = make();
  cache.set(key, value);
  return value;
}

/** Converts binary arguments to JSON. */
function binaryArguments(
  { reducer: name, bytes }: GivenArguments,
  description: DatabaseDescription | undefined,
): ValueText {
  const definition = description && flatDefinition(description.definition);
  const reducer = definition?.reducers.find((candidate) => candidate.name === name);
  if (bytes === undefined || definition === undefined || reducer === undefined) return '';
  return argumentsText({ type: reducer.params, typespace: definition.typespace }, bytes);
}

/** Converts the value of a procedure to JSON. */
function returnedValue(
  name: string,
  value: Uint8Array,
  description: DatabaseDescription | undefined,
): ValueText {
  const definition = description && flatDefinition(description.definition);
  const procedure = definition && findProcedure(definition, name);
  // An update of the program removed the procedure while the value was queued.
  if (definition === undefined || procedure === undefined) return '[]';
  return returnedText({ type: procedure.returnType, typespace: definition.typespace }, value);
}

function rowTypeOf(describe: () => DatabaseDescription | undefined): RowTypeOf {
  return (table) => {
    if (table.startsWith('{')) return writtenType(table);
    const description = describe();
    return description === undefined ? undefined : rowTypesOf(description).get(table);
  };
}

/** Returns the type of rows that belong to no table; it is encoded in their name. */
function writtenType(name: string): RowType {
  const known = writtenTypes.get(name);
  if (known !== undefined) return known;
  const type = typeFromJson(parseJson(`{"Product":${name}}`));
  assert(type.kind === 'product', 'rows are products');
  if (writtenTypes.size >= writtenTypesMax) writtenTypes.clear();
  const made = { type, typespace: { types: [] } };
  writtenTypes.set(name, made);
  return made;
}

const writtenTypes = new Map<string, RowType>();
const writtenTypesMax = 256;

const rowTypes = new WeakMap<DatabaseDescription, ReadonlyMap<string, RowType>>();

/** Returns the row types of everything that can be subscribed to, by canonical name. */
function rowTypesOf(description: DatabaseDescription): ReadonlyMap<string, RowType> {
  return cached(rowTypes, description, () => {
    const types = new Map<string, RowType>();
    const add = (name: string, columns: readonly NamedType[], typespace: Typespace): void => {
      types.set(name, { type: { kind: 'product', elements: columns }, typespace });
    };
    const { definition } = description;
    for (const { name, columns } of systemTables) add(name, columns, { types: [] });
    for (const { table, typespace } of fullTablesOf(definition)) {
      add(table.name, table.columns, typespace);
    }
    for (const { view, typespace } of fullViewsOf(definition)) {
      add(view.name, view.columns, typespace);
    }
    return types;
  });
}
