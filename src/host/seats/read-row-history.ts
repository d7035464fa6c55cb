import { RowAskError, rowHistory } from '../../history/row-history.ts';
import type { Disk } from '../../log/disk.ts';
import type { Catalog, TableSpec } from '../../schema/catalog.ts';
import { connectionIdToHex } from '../../values/connection-id.ts';
import { noConnection } from '../../values/connection-number.ts';
import { encodeValue } from '../../values/encode.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { argumentsFromLooseJson } from '../../values/json-loose.ts';
import { parseJson } from '../../values/json-text.ts';
import type { Value } from '../../values/value.ts';
import { readFrozen } from './frozen-disk.ts';
import type { HistoryAnswer, HistoryTask } from './history-task.ts';

type RowTask = Extract<HistoryTask, { readonly kind: 'row' }>;

/** Reads what became of a row while its database serves. Throws as `readFrozen`. */
export function readRowHistory(
  disk: Disk,
  identity: DatabaseIdentity,
  task: RowTask,
): HistoryAnswer {
  const reading = { durableOffset: task.offset, read: () => undefined };
  try {
    return readFrozen(disk, reading, (frozen) => answerOf(frozen, identity, task));
  } catch (error) {
    if (error instanceof RowAskError) return { kind: 'refused', message: error.message };
    throw error;
  }
}

function answerOf(disk: Disk, identity: DatabaseIdentity, task: RowTask): HistoryAnswer {
  const { changes, hasMore, firstOffset } = rowHistory(disk, identity, {
    table: task.table,
    key: (table, catalog) => encodedKey(task.key, table, catalog),
    durableOffset: task.offset,
    changesMax: task.changesMax,
  });
  const shown = changes.map(({ caller, connectionId, before, after, ...change }) => ({
    ...change,
    caller: identityToHex(caller),
    connection: connectionId === noConnection ? '' : connectionIdToHex(connectionId),
    before: before ?? null,
    after: after ?? null,
  }));
  return { kind: 'row', row: { changes: shown, hasMore, firstOffset } };
}

/** The key that people write as `text`: a string as it is, others as JSON or in quotes or not. */
function encodedKey(text: string, table: TableSpec, catalog: Catalog): Uint8Array {
  const column = table.columns[table.primaryKey ?? -1];
  if (column === undefined) throw new RowAskError(`table \`${table.name}\` has no primary key`);
  const { name, type } = column;
  const quoted = JSON.stringify([text]);
  const forms = type.kind === 'string' ? [quoted] : [`[${text}]`, quoted];
  for (const form of forms) {
    const value = valueIn(form, column, catalog);
    if (value !== undefined) return encodeValue(type, value, catalog);
  }
  throw new RowAskError(`\`key\` is not a value of \`${name}\`, the primary key of ${table.name}`);
}

function valueIn(
  form: string,
  { name, type }: TableSpec['columns'][number],
  catalog: Catalog,
): Value | undefined {
  try {
    const params = { kind: 'product', elements: [{ name, type }] } as const;
    return argumentsFromLooseJson(params, parseJson(form), 'key', catalog)[0];
  } catch {
    // It is no JSON, or no value of this type: the caller says so.
    return undefined;
  }
}
