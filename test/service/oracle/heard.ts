import { type RowList, rowsOf } from '../../../src/protocol/row-list.ts';
import * as v1 from '../../../src/protocol/v1/server-message.ts';
import type * as v2 from '../../../src/protocol/v2/server-message.ts';
import { serverMessagesIn } from '../../../src/protocol/v3.ts';
import { BinaryReader } from '../../../src/values/binary-reader.ts';
import { encodedToJson } from '../../../src/values/json-write.ts';
import type { ProductType } from '../../../src/values/type.ts';
import { bodyOf, type Frame } from '../socket-client.ts';
import type { Version } from '../speech.ts';

/** Rows of one table as JSON; those of events are inserts. */
export interface TableChange {
  readonly table: string;
  readonly deletes: readonly string[];
  readonly inserts: readonly string[];
}

/** Version 1 does not say which set a change is of. */
export interface SetChange {
  readonly setId: number | undefined;
  readonly tables: readonly TableChange[];
}

/** What a message says, whichever version it is of. */
export type Heard =
  | { readonly kind: 'first' }
  | { readonly kind: 'applied' | 'left'; readonly setId: number; readonly tables: TableChange[] }
  | { readonly kind: 'refused'; readonly setId: number | undefined; readonly error: string }
  | { readonly kind: 'changed'; readonly sets: readonly SetChange[] }
  | {
      readonly kind: 'called';
      readonly requestId: number;
      /** `undefined`: it has committed. */
      readonly error: string | undefined;
      readonly sets: readonly SetChange[];
    }
  | { readonly kind: 'answered'; readonly rows: readonly string[] | undefined };

/** Reads the frames of one version. */
export class Listener {
  readonly #version: Version;
  readonly #types: ReadonlyMap<string, ProductType>;

  constructor(version: Version, types: ReadonlyMap<string, ProductType>) {
    this.#version = version;
    this.#types = types;
  }

  read(frame: Frame): Heard[] {
    switch (this.#version) {
      case 'v3.bsatn':
      case 'v2.bsatn': {
        const messages = [...serverMessagesIn(bodyOf(frame))];
        if (this.#version === 'v2.bsatn' && messages.length > 1) throw new Error('packed');
        return messages.map((message) => this.#ofV2(message));
      }
      case 'v1.bsatn':
        return [this.#ofV1(v1.decodeServerMessage(bodyOf(frame)))];
      case 'v1.json':
        return [ofText(JSON.parse(frame.bytes.toString()))];
    }
  }

  #ofV2(message: v2.ServerMessage): Heard {
    switch (message.kind) {
      case 'initialConnection':
        return { kind: 'first' };
      case 'subscribeApplied':
        return { kind: 'applied', setId: message.querySetId, tables: this.#all(message.tables) };
      case 'unsubscribeApplied': {
        const { querySetId: setId, tables = [] } = message;
        return { kind: 'left', setId, tables: this.#all(tables) };
      }
      case 'subscriptionError':
        return { kind: 'refused', setId: message.querySetId, error: message.error };
      case 'transactionUpdate':
        return { kind: 'changed', sets: this.#setsOf(message.querySets) };
      case 'oneOffQueryResult': {
        const { result } = message;
        const rows =
          result.kind === 'ok'
            ? result.tables.flatMap((one) => this.#rows(one.table, one.rows))
            : undefined;
        return { kind: 'answered', rows };
      }
      case 'reducerResult': {
        const { requestId, outcome } = message;
        if (outcome.kind === 'ok') {
          const sets = this.#setsOf(outcome.querySets);
          return { kind: 'called', requestId, error: undefined, sets };
        }
        const error =
          outcome.kind === 'err'
            ? new BinaryReader(outcome.error).string()
            : outcome.kind === 'internalError'
              ? outcome.message
              : 'nothing to tell';
        return { kind: 'called', requestId, error, sets: [] };
      }
      case 'procedureResult':
        throw new Error('nobody has called a procedure');
    }
  }

  #setsOf(sets: readonly v2.QuerySetUpdate[]): SetChange[] {
    return sets.map(({ querySetId, tables }) => {
      return {
        setId: querySetId,
        tables: tables.flatMap(({ table, changes }) =>
          changes.map((change) =>
            change.kind === 'event'
              ? { table, deletes: [], inserts: this.#rows(table, change.events) }
              : {
                  table,
                  deletes: this.#rows(table, change.deletes),
                  inserts: this.#rows(table, change.inserts),
                },
          ),
        ),
      };
    });
  }

  #all(tables: readonly v2.TableRows[]): TableChange[] {
    return tables.map(({ table, rows }) => {
      return { table, deletes: [], inserts: this.#rows(table, rows) };
    });
  }

  #ofV1(message: v1.ServerMessage): Heard {
    switch (message.kind) {
      case 'identityToken':
        return { kind: 'first' };
      case 'subscribeMultiApplied':
        return { kind: 'applied', setId: message.queryId, tables: this.#ofTables(message.tables) };
      case 'unsubscribeMultiApplied':
        return { kind: 'left', setId: message.queryId, tables: this.#ofTables(message.tables) };
      case 'subscriptionError':
        return { kind: 'refused', setId: message.queryId, error: message.error };
      case 'transactionUpdateLight': {
        const tables = this.#ofTables(message.tables);
        return { kind: 'changed', sets: [{ setId: undefined, tables }] };
      }
      case 'transactionUpdate': {
        const { status, call } = message;
        const { requestId } = call;
        if (status.kind !== 'committed') {
          const error = status.kind === 'failed' ? status.message : status.kind;
          return { kind: 'called', requestId, error, sets: [] };
        }
        const sets = [{ setId: undefined, tables: this.#ofTables(status.tables) }];
        return { kind: 'called', requestId, error: undefined, sets };
      }
      case 'oneOffQueryResponse': {
        const rows = message.tables.flatMap((one) => this.#rows(one.table, one.rows));
        return { kind: 'answered', rows: message.error === undefined ? rows : undefined };
      }
      default:
        throw new Error(`nobody has asked for ${message.kind}`);
    }
  }

  #ofTables(tables: readonly v1.TableUpdate[]): TableChange[] {
    return tables.flatMap(({ table, updates, rowCount }) => {
      const changes = updates.map((update) => {
        if (update.kind !== 'plain') throw new Error('compressed inside');
        const [deletes, inserts] = [update.deletes, update.inserts];
        return { table, deletes: this.#rows(table, deletes), inserts: this.#rows(table, inserts) };
      });
      checkCount(changes, Number(rowCount));
      return changes;
    });
  }

  #rows(table: string, rows: RowList): string[] {
    const type = this.#types.get(table);
    if (type === undefined) throw new Error(`rows of the unknown table ${table}`);
    return Array.from(rowsOf(rows), (row) => {
      const reader = new BinaryReader(row);
      const text = encodedToJson(type, reader, 'positional');
      if (reader.remaining > 0) throw new Error(`a row of ${table} is too long`);
      return plain(text);
    });
  }
}

interface TextUpdate {
  readonly table_name: string;
  readonly num_rows: number;
  readonly updates: readonly { readonly deletes: string[]; readonly inserts: string[] }[];
}

interface TextTables {
  readonly tables: readonly TextUpdate[];
}

interface TextAnswer {
  readonly query_id: { readonly id: number };
  readonly update: TextTables;
}

/** One of them is there. */
interface TextMessage {
  readonly IdentityToken?: object;
  readonly SubscribeMultiApplied?: TextAnswer;
  readonly UnsubscribeMultiApplied?: TextAnswer;
  readonly SubscriptionError?: { readonly query_id: { some?: number }; readonly error: string };
  readonly TransactionUpdateLight?: { readonly update: TextTables };
  readonly TransactionUpdate?: {
    readonly status: { readonly Committed?: TextTables; readonly Failed?: string };
    readonly reducer_call: { readonly request_id: number };
  };
  readonly OneOffQueryResponse?: {
    readonly tables: readonly { readonly rows: readonly string[] }[];
    readonly error: { readonly some?: string };
  };
}

function ofText(message: TextMessage): Heard {
  if (message.IdentityToken !== undefined) return { kind: 'first' };
  const { SubscribeMultiApplied: applied, UnsubscribeMultiApplied: left } = message;
  if (applied !== undefined) return answerOf('applied', applied);
  if (left !== undefined) return answerOf('left', left);
  if (message.SubscriptionError !== undefined) {
    const { query_id, error } = message.SubscriptionError;
    return { kind: 'refused', setId: query_id.some, error };
  }
  if (message.TransactionUpdateLight !== undefined) {
    return { kind: 'changed', sets: wholeOf(message.TransactionUpdateLight.update) };
  }
  if (message.TransactionUpdate !== undefined) {
    const { status, reducer_call } = message.TransactionUpdate;
    const { Committed, Failed } = status;
    const sets = Committed === undefined ? [] : wholeOf(Committed);
    return { kind: 'called', requestId: reducer_call.request_id, error: Failed, sets };
  }
  if (message.OneOffQueryResponse !== undefined) {
    const { tables, error } = message.OneOffQueryResponse;
    const rows = tables.flatMap((one) => one.rows.map(plain));
    return { kind: 'answered', rows: error.some === undefined ? rows : undefined };
  }
  throw new Error(`nobody has asked for ${Object.keys(message)}`);
}

function answerOf(kind: 'applied' | 'left', { query_id, update }: TextAnswer): Heard {
  return { kind, setId: query_id.id, tables: ofTexts(update.tables) };
}

function wholeOf({ tables }: TextTables): SetChange[] {
  return [{ setId: undefined, tables: ofTexts(tables) }];
}

function ofTexts(tables: readonly TextUpdate[]): TableChange[] {
  return tables.flatMap(({ table_name: table, num_rows, updates }) => {
    const changes = updates.map(({ deletes, inserts }) => {
      return { table, deletes: deletes.map(plain), inserts: inserts.map(plain) };
    });
    checkCount(changes, num_rows);
    return changes;
  });
}

function checkCount(changes: readonly TableChange[], said: number): void {
  const count = changes.reduce(
    (sum, { deletes, inserts }) => sum + deletes.length + inserts.length,
    0,
  );
  if (count !== said) throw new Error(`${count} rows came with a message that says ${said}`);
}

/** The same value always has the same text. */
function plain(json: string): string {
  return JSON.stringify(JSON.parse(json));
}
