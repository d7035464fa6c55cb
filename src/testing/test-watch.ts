import { unreachable } from '../assert.ts';
import { querySetId } from '../database/live/set-id.ts';
import type {
  LiveConnection,
  LiveEnd,
  LiveEvent,
  LiveSink,
  LiveSubscribe,
  SetUpdate,
} from '../host/feeds/live-connection.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { parseJson } from '../values/json.ts';
import { nativeDecoderOf, nativeEncoderOf } from '../values/native.ts';
import type { ProductType, Typespace } from '../values/type.ts';
import { typeFromJson } from '../values/type-codec.ts';
import type { ModuleNames, NamedTable } from './module-names.ts';
import { QueryFailed } from './test-errors.ts';

/** A row that came, went, or got other values under its primary key. */
export type TestChange<Row> =
  | { readonly kind: 'insert'; readonly row: Row }
  | { readonly kind: 'delete'; readonly row: Row }
  | { readonly kind: 'update'; readonly row: Row; readonly oldRow: Row };

/**
 * The rows of a query, kept up to date as those of a client that has subscribed: a change is there
 * when the call that made it has settled.
 */
export interface TestWatch<Row> {
  /** The rows now, in no promised order. Throws `QueryFailed` once the watch has ended. */
  readonly rows: readonly Row[];
  /**
   * What has changed since it was last asked, or since the watch began, in order; changes of one
   * commit that cancel each other are left out. Rows of event tables are here alone.
   */
  changes(): readonly TestChange<Row>[];
  /** Ends the subscription, and the connection that it has. */
  stop(): void;
}

type Row = Readonly<Record<string, unknown>>;
type OpenLive = (sink: LiveSink) => LiveConnection;

/** Subscribes to a query; resolves with its first rows, rejects with `QueryFailed`. */
export async function watchQuery(
  sql: string,
  names: () => ModuleNames,
  open: OpenLive,
): Promise<TestWatch<Row>> {
  const watch = new LiveRows(sql, names, open);
  await watch.applied;
  return watch;
}

interface KeptRow {
  readonly row: Row;
  /** Of its primary key, if its table has one. */
  readonly key: string | undefined;
  /** Number of its derivations. */
  count: number;
}

interface RowReader {
  decode(reader: BinaryReader): Row;
  keyOf(row: Row): string | undefined;
}

/** Rows of one table in a message: encoded, one after another. */
interface EncodedRows {
  readonly data: Uint8Array;
}

class LiveRows implements TestWatch<Row>, LiveSink {
  readonly applied: Promise<void>;
  readonly #names: () => ModuleNames;
  readonly #live: LiveConnection;
  readonly #readers = new Map<string, RowReader>();
  /** By the bytes of the row. */
  readonly #rows = new Map<string, KeptRow>();
  #changes: TestChange<Row>[] = [];
  #end: string | undefined;
  #settle: (error: QueryFailed | undefined) => void = () => {};

  constructor(sql: string, names: () => ModuleNames, open: OpenLive) {
    this.#names = names;
    this.applied = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    this.#live = open(this);
    const setId = querySetId(1);
    const request: LiveSubscribe = {
      ...{ kind: 'subscribe', requestId: 1 },
      ...{ setId, queries: [sql], knowsEvents: true },
    };
    this.#live.send(request);
  }

  get rows(): readonly Row[] {
    if (this.#end !== undefined) throw new QueryFailed(this.#end);
    return [...this.#rows.values()].map(({ row }) => row);
  }

  changes(): readonly TestChange<Row>[] {
    return this.#changes.splice(0);
  }

  stop(): void {
    this.#end ??= 'the watch was stopped';
    this.#live.close();
  }

  deliver(events: readonly LiveEvent[]): void {
    for (const event of events) this.#take(event);
  }

  ended(reason: LiveEnd): void {
    this.#fail(endTexts[reason]);
  }

  #take(event: LiveEvent): void {
    switch (event.kind) {
      case 'subscribed': {
        const { outcome } = event;
        if (outcome.kind === 'refused') {
          this.#refused(outcome.error);
          return;
        }
        for (const { table, isEvent, fragments } of outcome.queries) {
          if (isEvent) continue;
          for (const rows of fragments) this.#count(table, rows, 1);
        }
        this.#settle(undefined);
        return;
      }
      case 'refused':
        this.#refused(event.body.message);
        return;
      case 'updated':
        for (const set of event.sets) this.#update(set);
        return;
      case 'setFailed':
        this.#fail(event.error);
        return;
      case 'connected':
      case 'called':
      case 'resumed':
      case 'unsubscribed':
      case 'oneOff':
      case 'procedure':
        // It asks for none of these.
        return;
      default:
        unreachable(event);
    }
  }

  #refused(error: string): void {
    this.#fail(error);
    this.#live.close();
  }

  #fail(error: string): void {
    this.#end ??= error;
    this.#settle(new QueryFailed(error));
  }

  #update({ updates }: SetUpdate): void {
    const before = new Map<string, KeptRow | undefined>();
    for (const { table, changes } of updates) {
      for (const change of changes) {
        if (change.kind === 'event') {
          for (const row of this.#decoded(table, change.events)) {
            this.#changes.push({ kind: 'insert', row });
          }
          continue;
        }
        this.#count(table, change.inserts, 1, before);
        this.#count(table, change.deletes, -1, before);
      }
    }
    this.#noteChanges(before);
  }

  /** Adds or takes away derivations; `before` gets what was there of each row that it touches. */
  #count(
    table: string,
    rows: EncodedRows,
    by: 1 | -1,
    before?: Map<string, KeptRow | undefined>,
  ): void {
    const reader = new BinaryReader(rows.data);
    const { decode, keyOf } = this.#reader(table);
    while (reader.remaining > 0) {
      const start = reader.offset;
      const row = decode(reader);
      const bytes = Buffer.from(rows.data.subarray(start, reader.offset)).toString('latin1');
      const id = `${table}\n${bytes}`;
      const kept = this.#rows.get(id);
      if (before !== undefined && !before.has(id)) before.set(id, kept);
      const count = (kept?.count ?? 0) + by;
      if (count === 0) this.#rows.delete(id);
      else if (kept === undefined) this.#rows.set(id, { row, key: keyOf(row), count });
      else kept.count = count;
    }
  }

  #noteChanges(before: ReadonlyMap<string, KeptRow | undefined>): void {
    const gone = new Set<KeptRow>();
    const byKey = new Map<string, KeptRow>();
    for (const [id, old] of before) {
      if (old === undefined || this.#rows.has(id)) continue;
      gone.add(old);
      if (old.key !== undefined) byKey.set(old.key, old);
    }
    for (const [id, old] of before) {
      const now = this.#rows.get(id);
      if (now === undefined || old !== undefined) continue;
      const { row, key = '' } = now;
      const replaced = byKey.get(key);
      if (replaced === undefined) {
        this.#changes.push({ kind: 'insert', row });
        continue;
      }
      gone.delete(replaced);
      this.#changes.push({ kind: 'update', row, oldRow: replaced.row });
    }
    for (const { row } of gone) this.#changes.push({ kind: 'delete', row });
  }

  #decoded(table: string, { data }: EncodedRows): Row[] {
    const reader = new BinaryReader(data);
    const { decode } = this.#reader(table);
    const rows: Row[] = [];
    while (reader.remaining > 0) rows.push(decode(reader));
    return rows;
  }

  #reader(table: string): RowReader {
    const made = this.#readers.get(table) ?? readerOf(table, this.#names());
    this.#readers.set(table, made);
    return made;
  }
}

const endTexts: Readonly<Record<LiveEnd, string>> = {
  refused: 'the watch has ended: `client_connected` of the module rejected the caller',
  database: 'the watch has ended: the database has stopped',
  schema: 'the watch has ended: the database was published with a change that breaks clients',
  slow: 'the watch has ended: too much waited to become durable',
};

/** `table`: canonical name of a table or a view, or the JSON of the type of computed rows. */
function readerOf(table: string, { byName, typespace }: ModuleNames): RowReader {
  const named = byName.get(table);
  const decode = nativeDecoderOf(named?.rowType ?? computedType(table), typespace);
  return {
    decode: (reader) => decode(reader) as Row,
    keyOf: named === undefined ? () => undefined : keyReader(named, typespace),
  };
}

function computedType(json: string): ProductType {
  const type = typeFromJson(parseJson(`{"Product":${json}}`));
  if (type.kind !== 'product') throw new TypeError(`not a row: ${json}`);
  return type;
}

function keyReader({ name, primaryKey, rowType }: NamedTable, typespace: Typespace) {
  const element = rowType.elements.find((one) => one.name === primaryKey);
  if (primaryKey === undefined || element === undefined) return () => undefined;
  const encode = nativeEncoderOf(element.type, typespace, name);
  return (row: Row) => {
    const writer = new BinaryWriter();
    encode(writer, row[primaryKey]);
    return `${name}\n${Buffer.from(writer.finish()).toString('latin1')}`;
  };
}
