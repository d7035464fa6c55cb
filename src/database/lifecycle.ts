import { assert, present } from '../assert.ts';
import { tableId } from '../schema/ids.ts';
import { noRow } from '../store/row-ref.ts';
import type { Table } from '../store/table.ts';
import type { Transaction } from '../store/transaction.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { type ConnectionNumber, connectionNumber } from '../values/connection-number.ts';
import { type CallerIdentity, callerIdentity } from '../values/identity-roles.ts';
import type { ConnectedClient, DatabaseCore } from './core.ts';
import { fatalErrorText } from './outcome.ts';
import {
  noBytes,
  type ReducerRun,
  runReducer,
  runWithin,
  seedOf,
  type TransactionOutcome,
} from './run-reducer.ts';

export interface Connecting extends ConnectedClient {
  readonly connectionId: ConnectionNumber;
  readonly timestampMicros: bigint;
  /** Used instead of fresh randomness. */
  readonly seed?: Uint8Array | undefined;
}

/**
 * Lets a connection in: its rows in the clients tables, then `client_connected`, in one transaction
 * that is always logged. Returns why the module refused it; then nothing of it is left.
 */
export function connectClient(core: DatabaseCore, connecting: Connecting): string | undefined {
  return refusalOf(runReducer(core, connectRun(core, connecting)));
}

/** Lets a connection in within a transaction that will be rolled back, without a trace. */
export function tryConnection(
  core: DatabaseCore,
  connecting: Connecting,
  transaction: Transaction,
): string | undefined {
  const run = connectRun(core, connecting);
  const refusal = refusalOf(runWithin(core, run, seedOf(core, run), transaction));
  transaction.dropEvents();
  return refusal;
}

function connectRun(core: DatabaseCore, connecting: Connecting): ReducerRun {
  const { identity, connectionId, timestampMicros, jwtPayload, seed } = connecting;
  return {
    reducer: core.program.lifecycle.onConnect,
    sender: identity,
    connectionId,
    timestampMicros,
    args: noBytes,
    jwtPayload,
    seed,
    before: (transaction) => insertClient(core, transaction, connecting),
    isAlwaysLogged: true,
  };
}

function refusalOf(outcome: TransactionOutcome): string | undefined {
  switch (outcome.kind) {
    case 'returned':
      return undefined;
    case 'refused':
    case 'overQuota':
    case 'notKept':
      return outcome.message;
    case 'crashed':
      return fatalErrorText;
  }
}

/**
 * Runs `client_disconnected`, then removes the connection's rows, in one transaction that is always
 * logged. If the reducer fails, the module's log says so, and the rows are removed anyway.
 */
export function disconnectClient(
  core: DatabaseCore,
  { identity, connectionId, timestampMicros, jwtPayload }: Connecting,
  skipReducer = false,
): void {
  const run = {
    sender: identity,
    connectionId,
    timestampMicros,
    args: noBytes,
    jwtPayload,
    after: (transaction: Transaction) => deleteClient(core, transaction, identity, connectionId),
    isAlwaysLogged: true,
  };
  const reducer = skipReducer ? undefined : core.program.lifecycle.onDisconnect;
  const outcome = runReducer(core, { ...run, reducer });
  if (outcome.kind !== 'returned') runReducer(core, { ...run, reducer: undefined });
}

/** Ends a connection that the actor before has left over; nothing happens if it has ended. */
export function endLeftover(
  core: DatabaseCore,
  { connectionId, timestampMicros }: Pick<Connecting, 'connectionId' | 'timestampMicros'>,
  skipReducer = false,
): void {
  const client = core.leftover.get(connectionId);
  if (client === undefined) return;
  core.leftover.delete(connectionId);
  disconnectClient(core, { ...client, connectionId, timestampMicros }, skipReducer);
}

/** Connections that have rows in the tables, by ascending connection id. */
export function connectedClients(
  core: DatabaseCore,
): (ConnectedClient & { connectionId: ConnectionNumber })[] {
  const payloads = new Map<ConnectionNumber, string>();
  readRows(credentialsTable(core), (reader) =>
    payloads.set(connectionNumber(reader.u128()), reader.string()),
  );
  const clients: (ConnectedClient & { connectionId: ConnectionNumber })[] = [];
  readRows(clientTable(core), (reader) => {
    const identity = callerIdentity(reader.u256());
    const connectionId = connectionNumber(reader.u128());
    clients.push({ identity, connectionId, jwtPayload: payloads.get(connectionId) ?? '' });
  });
  return clients.sort((one, other) => (one.connectionId < other.connectionId ? -1 : 1));
}

const clientTableId = tableId(7);
const credentialsTableId = tableId(11);

function clientTable(core: DatabaseCore): Table {
  return present(core.store.table(clientTableId), 'st_client');
}

function credentialsTable(core: DatabaseCore): Table {
  return present(core.store.table(credentialsTableId), 'st_connection_credentials');
}

const row = new BinaryWriter(1024);

function insertClient(core: DatabaseCore, transaction: Transaction, connecting: Connecting): void {
  writeClient(connecting.identity, connecting.connectionId);
  insert(transaction, clientTable(core));
  row.reset();
  row.u128(connecting.connectionId);
  row.string(connecting.jwtPayload);
  insert(transaction, credentialsTable(core));
}

function insert(transaction: Transaction, table: Table): void {
  const result = transaction.insert(table, row.view(), row.length);
  assert(result >= 0, `a connection's row in ${table.spec.name} was refused: ${result}`);
}

function deleteClient(
  core: DatabaseCore,
  transaction: Transaction,
  identity: CallerIdentity,
  connectionId: ConnectionNumber,
): void {
  writeClient(identity, connectionId);
  transaction.deleteEqual(clientTable(core), row.view(), 0, row.length);
  const credentials = credentialsTable(core);
  row.reset();
  row.u128(connectionId);
  const index = present(credentials.indexes[0], 'the index of st_connection_credentials');
  const found = credentials.find(index, row.view(), row.length);
  if (found !== -1 && found !== -3) transaction.deleteRef(credentials, found);
}

function writeClient(identity: CallerIdentity, connectionId: ConnectionNumber): void {
  row.reset();
  row.u256(identity);
  row.u128(connectionId);
}

function readRows(table: Table, read: (reader: BinaryReader) => void): void {
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const offset = table.offsetOf(ref);
    read(new BinaryReader(table.pageOf(ref), offset, offset + table.lengthOf(ref)));
  }
}
