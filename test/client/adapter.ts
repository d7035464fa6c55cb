import type { SocketAdapter } from '../../src/client/index.ts';
import { type RowList, rowListOf } from '../../src/protocol/row-list.ts';
import type { ClientMessage } from '../../src/protocol/v2/client-message.ts';
import { encodeServerMessage, type ServerMessage } from '../../src/protocol/v2/server-message.ts';
import { clientMessagesIn } from '../../src/protocol/v3.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { settled } from './rig.ts';

/** A socket of the program's own, driven from the server's side. */
export class Adapter implements SocketAdapter {
  protocol = 'v3.bsatn.spacetimedb';
  readonly received: ClientMessage[] = [];
  isClosed = false;
  onopen: () => void = () => {};
  onmessage: (message: { data: Uint8Array }) => void = () => {};
  onclose: (event?: { code: number; reason: string }) => void = () => {};
  onerror: (event?: unknown) => void = () => {};

  send(bytes: Uint8Array): void {
    this.received.push(...clientMessagesIn(bytes));
  }

  close(): void {
    this.isClosed = true;
    this.onclose();
  }

  async open(): Promise<void> {
    this.onopen();
    await settled();
  }

  async say(message: ServerMessage): Promise<void> {
    this.onmessage({ data: encodeServerMessage(message) });
    await settled();
  }

  async welcome(): Promise<void> {
    const message = { kind: 'initialConnection', identity: 7n, connectionId: 9n, token: 'issued' };
    await this.say(message as ServerMessage);
  }
}

type HeroParts = readonly [id: number, nick: string, mood?: 'Calm' | 'Angry'];

/** Rows of the table `hero` of the bindings beside this file. */
export function heroRows(...heroes: readonly HeroParts[]): { table: string; rows: RowList } {
  const encoded = heroes.map(([id, nick, mood = 'Calm']) => {
    const writer = new BinaryWriter();
    writer.u256(1n);
    writer.u32(id);
    writer.string(nick);
    writer.u8(mood === 'Calm' ? 0 : 1);
    // No guild.
    writer.u8(1);
    return writer.finish();
  });
  return { table: 'hero', rows: rowListOf(encoded) };
}
