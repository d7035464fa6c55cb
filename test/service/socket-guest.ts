import { rowsOf } from '../../src/protocol/row-list.ts';
import { type ClientMessage, encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import type { QuerySetUpdate, ServerMessage } from '../../src/protocol/v2/server-message.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { type OpenOptions, SocketClient, V2Reader } from './socket-client.ts';

/** A client of version 2 or 3 in the tavern. */
export class Guest extends V2Reader {
  first: Extract<ServerMessage, { kind: 'initialConnection' }> | undefined;

  /** Connects, and waits until it is let in. */
  static async arrive(url: string, database: string, options: OpenOptions): Promise<Guest> {
    const guest = new Guest(await SocketClient.open(url, database, options));
    guest.first = await guest.expect('initialConnection');
    return guest;
  }

  send(...messages: ClientMessage[]): void {
    for (const message of messages) this.client.send(encodeClientMessage(message));
  }

  call(requestId: number, reducer: string, ...args: (number | string | boolean)[]): void {
    this.send({ kind: 'callReducer', requestId, reducer, args: encoded(args) });
  }

  subscribe(requestId: number, querySetId: number, ...queries: string[]): void {
    this.send({ kind: 'subscribe', requestId, querySetId, queries });
  }
}

/** The encoded arguments of a call: numbers are 32 bits wide. */
export function encoded(args: readonly (number | string | boolean)[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const arg of args) {
    if (typeof arg === 'number') writer.u32(arg);
    else if (typeof arg === 'string') writer.string(arg);
    else writer.bool(arg);
  }
  return writer.finish();
}

/** Sets, tables, and names of persons that came (`+`) and went (`-`). */
export function readable(sets: readonly QuerySetUpdate[]): unknown {
  return sets.map(({ querySetId, tables }) => [
    querySetId,
    ...tables.map(({ table, changes }) => [
      table,
      ...changes.map((change) =>
        change.kind === 'event'
          ? Array.from(rowsOf(change.events), (row) => `!${new BinaryReader(row).string()}`)
          : [
              ...Array.from(rowsOf(change.deletes), (row) => `-${personOf(row)}`),
              ...Array.from(rowsOf(change.inserts), (row) => `+${personOf(row)}`),
            ],
      ),
    ]),
  ]);
}

export function personOf(row: Uint8Array): string {
  const reader = new BinaryReader(row);
  return `${reader.u32()} ${reader.string()}`;
}

export function tablesIn({
  tables,
}: Extract<ServerMessage, { kind: 'subscribeApplied' }>): unknown {
  return tables.map(({ table, rows }) => [table, ...Array.from(rowsOf(rows), personOf)]);
}
